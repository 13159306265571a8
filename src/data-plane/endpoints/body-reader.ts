import { setImmediate } from 'node:timers/promises';
import type { ReadJson, ReadResult, ReadTask, readLargeAnswer } from '../../../workers/read-large-body.js';
import { copyInTurns } from '../../common/bytes/copy-in-turns.js';
import type { Endpoint } from '../../common/core/endpoint.js';
import { GatewayError } from '../../common/core/errors.js';
import type { JsonObject } from '../../common/core/exchange.js';
import { quickCost } from '../../common/json/json-scan.js';
import { JobThreads, threadModule } from '../../common/threads/job-threads.js';
import { parseInSlices } from './parse-slices.js';
import { answerText, type ReadBody, summarise } from './read-body.js';

export interface BodyReaderOptions {
  /** Bodies in the worker thread or waiting for it; more are refused, unless all together have at most `maxQueueBytes`. */
  readonly maxQueue?: number;
  readonly maxQueueBytes?: number;
  /** How long one may take there, waiting included. Milliseconds. */
  readonly deadlineMs?: number;
  /** The same for a provider's answer. Milliseconds. */
  readonly answerDeadlineMs?: number;
}

export interface BodyReader {
  /** Reads and checks a body that `readQuickly` has left, in another thread. Rejects with the error for the client. */
  readLong(endpoint: Endpoint, bytes: Buffer): Promise<ReadBody>;
  /**
   * A provider's answer that is too large to be parsed where it arrives. null: it is no JSON object. Rejects with
   * `overloaded` if it was not read in time, or needs too much memory.
   */
  readAnswer(bytes: Buffer): Promise<JsonObject | null>;
  close(): Promise<void>;
}

/** As many as `maxQueue` bodies that are just too long to be read where they arrive. */
const defaultQueueBytes = 16 * quickCost;

/**
 * Reads bodies without blocking the event loop. Large ones and those of many values are parsed and checked in a worker
 * thread, which starts with the first of them. Their content comes back by structured clone where that is cheap (few values, long
 * strings: images), else it is parsed again here, in slices.
 */
export function createBodyReader(options: BodyReaderOptions = {}): BodyReader {
  const { maxQueue = 16, maxQueueBytes = defaultQueueBytes } = options;
  const { deadlineMs = 10_000, answerDeadlineMs = 30_000 } = options;
  const threads = new JobThreads({
    module: threadModule('../../../workers/read-large-body', import.meta.url),
    threads: 1,
    heapMb: 512,
    idleMs: 30_000,
  });
  let inWorker = 0;
  let inWorkerBytes = 0;

  const overloaded = (cause?: unknown): GatewayError =>
    new GatewayError(
      'overloaded',
      'The gateway has too many large bodies to read: send this one again later.',
      {
        cause,
      },
    );

  const unreadAnswer = (cause: unknown): GatewayError =>
    new GatewayError(
      'overloaded',
      'The gateway could not read the large answer of the provider in time, or had too little memory for it: ' +
        'send the request again later, or ask for a shorter answer.',
      { cause },
    );

  // Each copies its bytes when it has the thread: they are needed here too, and fewer copies wait.
  async function askWorker(endpoint: Endpoint, bytes: Buffer): Promise<ReadResult> {
    const { length } = bytes;
    if (inWorker >= maxQueue && inWorkerBytes + length > maxQueueBytes) throw overloaded();
    inWorker++;
    inWorkerBytes += length;
    try {
      return (await threads.runInTurn(deadlineMs, async () => {
        const copy = await copyInTurns(bytes);
        const task: ReadTask = { endpoint: endpoint.name, bytes: copy };
        return { task, transfer: [copy.buffer] };
      })) as ReadResult;
    } catch (thrown) {
      throw overloaded(thrown);
    } finally {
      inWorker--;
      inWorkerBytes -= length;
    }
  }

  async function readLong(endpoint: Endpoint, bytes: Buffer): Promise<ReadBody> {
    const result = await askWorker(endpoint, bytes);
    if (result.code !== null) {
      const { code, message, param } = result;
      throw new GatewayError(code, message, param === null ? {} : { param });
    }
    return summarise(await jsonOf(result, () => answerText(bytes)), result.tokens);
  }

  return {
    readLong,
    async readAnswer(bytes) {
      // The answer has been paid for: it waits for its turn, however many others do.
      const result = (await threads
        .runInTurn(answerDeadlineMs, async () => {
          const copy = await copyInTurns(bytes);
          return { task: copy, name: 'readLargeAnswer', transfer: [copy.buffer] };
        })
        .catch((cause: unknown) => {
          throw unreadAnswer(cause);
        })) as ReturnType<typeof readLargeAnswer>;
      return result === null ? null : jsonOf(result, () => answerText(bytes));
    },
    close: () => threads.close(),
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
