import { setImmediate } from 'node:timers/promises';
import type { Piscina } from 'piscina';
import type { ReadJson, ReadResult, ReadTask, readLargeAnswer } from '../../../workers/read-large-body.js';
import type { Awaitable } from '../../common/core/directory.js';
import type { Endpoint } from '../../common/core/endpoint.js';
import { GatewayError } from '../../common/core/errors.js';
import type { JsonObject } from '../../common/core/exchange.js';
import type { HeaderList } from '../../common/http/headers.js';
import { parseInSlices } from './parse-slices.js';
import {
  answerText,
  checkBodyHeaders,
  type ReadBody,
  scanBody,
  smallBytes,
  summarise,
  understand,
} from './read-body.js';

export interface BodyReaderOptions {
  /** Bodies in the worker thread or waiting for it; more are refused. */
  readonly maxQueue?: number;
  /** How long one may take there, waiting included. Milliseconds. */
  readonly deadlineMs?: number;
}

export interface BodyReader {
  /** Reads and checks the body of an endpoint that parses it; `readBody` does it at once for `smallBytes`. */
  read(endpoint: Endpoint, headers: HeaderList, bytes: Buffer): Awaitable<ReadBody>;
  /** A provider's answer that is too large to be parsed where it arrives. null: it is no JSON object. */
  readAnswer(bytes: Buffer): Promise<JsonObject | null>;
  close(): Promise<void>;
}

/** Smaller bodies with few values are parsed directly too: at most 7 ms for the characters and 5 ms for the values. */
const mediumBytes = 2 * smallBytes;
const mediumTokens = 100_000;

/**
 * Reads bodies without blocking the event loop. Large ones are parsed and checked in a worker thread, which starts
 * with the first of them. Their content comes back by structured clone where that is cheap (few values, long
 * strings: images), else it is parsed again here, in slices.
 */
export function createBodyReader(options: BodyReaderOptions = {}): BodyReader {
  const { maxQueue = 16, deadlineMs = 10_000 } = options;
  let pool: Promise<Piscina> | null = null;
  let inWorker = 0;

  const overloaded = (cause?: unknown): GatewayError =>
    new GatewayError(
      'overloaded',
      'The gateway has too many large bodies to read: send this one again later.',
      {
        cause,
      },
    );

  const started = (): Promise<Piscina> => {
    pool ??= startPool();
    return pool;
  };

  async function askWorker(task: ReadTask): Promise<ReadResult> {
    // Piscina's own maxQueue does not count tasks that carry an abort signal.
    if (inWorker >= maxQueue) throw overloaded();
    inWorker++;
    try {
      const transferList = [task.bytes.buffer as ArrayBuffer];
      const signal = AbortSignal.timeout(deadlineMs);
      return (await (await started()).run(task, { transferList, signal })) as ReadResult;
    } catch (thrown) {
      throw overloaded(thrown);
    } finally {
      inWorker--;
    }
  }

  async function readLarge(endpoint: Endpoint, bytes: Buffer): Promise<ReadBody> {
    // The thread gets a copy, since the bytes are still to be forwarded.
    const result = await askWorker({ endpoint: endpoint.name, bytes: new Uint8Array(bytes) });
    if (result.code !== null) {
      const { code, message, param } = result;
      throw new GatewayError(code, message, param === null ? {} : { param });
    }
    return summarise(await jsonOf(result, () => answerText(bytes)));
  }

  return {
    read(endpoint, headers, bytes) {
      checkBodyHeaders(headers);
      if (bytes.length <= mediumBytes) {
        const { tokens, bigNumbers } = scanBody(bytes);
        if (tokens <= mediumTokens) return understand(endpoint.name, bytes, bigNumbers);
      }
      return readLarge(endpoint, bytes);
    },
    async readAnswer(bytes) {
      const copy = new Uint8Array(bytes);
      // The answer has been paid for, so it always waits for its turn.
      const result = (await (
        await started()
      ).run(copy, {
        name: 'readLargeAnswer',
        transferList: [copy.buffer],
      })) as ReturnType<typeof readLargeAnswer>;
      return result === null ? null : jsonOf(result, () => answerText(bytes));
    },
    async close() {
      const running = await pool;
      pool = null;
      await running?.destroy();
    },
  };
}

async function jsonOf(
  { json, bigNumbers }: Pick<ReadJson, 'json' | 'bigNumbers'>,
  text: () => string,
): Promise<JsonObject> {
  // Its content has just been copied, and may be written again next: each in a separate turn.
  await setImmediate();
  return json ?? ((await parseInSlices(text(), bigNumbers)) as JsonObject);
}

async function startPool(): Promise<Piscina> {
  const { Piscina } = await import('piscina');
  // From source (tests) the worker is a TypeScript file too, and the loader comes with the inherited flags.
  const file = `../../../workers/read-large-body.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`;
  return new Piscina({
    filename: new URL(file, import.meta.url).href,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: 30_000,
    recordTiming: false,
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  });
}
