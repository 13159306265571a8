import { fileURLToPath } from 'node:url';
import type { Piscina } from 'piscina';
import type { CountTokensJob, TokenCounts } from '../../../workers/count-tokens.js';
import type { TokenLimitJob } from '../../../workers/token-limit.js';
import { noUsage, type Usage } from '../../common/core/usage.js';

export interface TokenCounterOptions {
  /** Jobs that may wait; one more is not counted. */
  readonly maxQueue: number;
  /** Bytes of the bodies of all jobs that wait or are counted; one that would exceed it is not counted. Default 128 MB. */
  readonly maxQueueBytes?: number;
  /** From the asking to the answer. What takes longer is given up, and its thread with it. */
  readonly deadlineMs: number;
  /** Heap of the counting thread; a job that needs more costs the thread, not the process. */
  readonly maxHeapMb?: number;
}

/** A job with its bytes as they are: they are copied, not taken. */
export type CountJob = Omit<CountTokensJob, 'request' | 'answer'> & {
  readonly request: Buffer | null;
  readonly answer: Buffer;
};

export type LimitJob = Omit<TokenLimitJob, 'request'> & { readonly request: Buffer };

/** Counts tokens that no provider reported, on a thread of its own. */
export interface TokenCounter {
  /** null: too busy, too slow, or broken; never rejects. */
  count(job: CountJob): Promise<Usage | null>;
  /**
   * Do the texts of an embedding request have more tokens than `limit`, all together? null: too busy, too slow, or
   * broken; never rejects.
   */
  exceeds(job: LimitJob): Promise<boolean | null>;
  close(): Promise<void>;
}

/** An encoder in memory is worth keeping for a while, and not for a day. */
const idleMs = 60_000;
const defaultHeapMb = 256;
/** Of that thread. V8's own 48 would be filled before anything is collected. */
const youngMb = 6;
/** Requests that wait to be held against a limit: clients wait for these, so that one more is not counted. */
const maxLimitJobs = 16;
/** Bytes of requests and answers that may wait to be counted. */
const defaultMaxQueueBytes = 128 * 1024 * 1024;

/** Makes a counter; its thread starts with the first job and ends when none has come for a minute. */
export function createTokenCounter(options: TokenCounterOptions): TokenCounter {
  const { maxQueueBytes = defaultMaxQueueBytes } = options;
  let pool: Promise<Piscina> | null = null;
  let closed = false;
  let queuedBytes = 0;
  let limitJobs = 0;

  /** null where it could not be done. The bytes are the thread's from here on. */
  async function run<T>(name: string, job: object, buffers: readonly Uint8Array[]): Promise<T | null> {
    if (closed) return null;
    pool ??= createPool(options);
    const threads = await pool;
    const bytes = buffers.reduce((sum, { length }) => sum + length, 0);
    if (closed || threads.queueSize >= options.maxQueue || queuedBytes + bytes > maxQueueBytes) return null;
    queuedBytes += bytes;
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), options.deadlineMs);
    try {
      const transferList = buffers.map(({ buffer }) => buffer as ArrayBuffer);
      return (await threads.run(job, { name, transferList, signal: deadline.signal })) as T;
    } catch {
      return null;
    } finally {
      clearTimeout(timer);
      queuedBytes -= bytes;
    }
  }

  return {
    async count(job) {
      const request = job.request === null ? null : new Uint8Array(job.request);
      const answer = new Uint8Array(job.answer);
      const own: CountTokensJob = { ...job, request, answer };
      const counts = await run<TokenCounts>('default', own, request === null ? [answer] : [request, answer]);
      if (counts === null) return null;
      return { ...noUsage(), input: counts.input, output: counts.output, source: 'counted' };
    },
    async exceeds(job) {
      if (limitJobs >= maxLimitJobs) return null;
      limitJobs++;
      const request = new Uint8Array(job.request);
      const own: TokenLimitJob = { ...job, request };
      const answer = await run<boolean>('exceedsLimit', own, [request]);
      limitJobs--;
      return answer;
    },
    async close() {
      closed = true;
      await (await pool)?.destroy();
    },
  };
}

async function createPool(options: TokenCounterOptions): Promise<Piscina> {
  // Loaded with the first job: most gateways never count.
  const { Piscina } = await import('piscina');
  // From source (tests, development) the worker is TypeScript and needs the loader that this file came through.
  const fromSource = import.meta.url.endsWith('.ts');
  const worker = new URL(`../../../workers/count-tokens.${fromSource ? 'ts' : 'js'}`, import.meta.url);
  const pool = new Piscina({
    filename: fromSource ? worker.href : fileURLToPath(worker),
    ...(fromSource ? { execArgv: ['--import', 'tsx'] } : {}),
    minThreads: 0,
    maxThreads: 1,
    maxQueue: options.maxQueue,
    idleTimeout: idleMs,
    resourceLimits: {
      maxOldGenerationSizeMb: options.maxHeapMb ?? defaultHeapMb,
      maxYoungGenerationSizeMb: youngMb,
    },
    recordTiming: false,
  });
  // The job that was lost has its own rejection; unheard, this event would end the process.
  pool.on('error', () => {});
  return pool;
}
