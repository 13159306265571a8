import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { CountTokensJob, TokenCounts } from '../../workers/count-tokens.js';
import { noUsage, type Usage } from '../core/usage.js';

export interface TokenCounterOptions {
  /** Jobs that may wait; one more is not counted. */
  readonly maxQueue: number;
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

/** Counts tokens that no provider reported, on a thread of its own. */
export interface TokenCounter {
  /** null: too busy, too slow, or broken; never rejects. */
  count(job: CountJob): Promise<Usage | null>;
  close(): Promise<void>;
}

/** An encoder in memory is worth keeping for a while, and not for a day. */
const idleMs = 60_000;
const defaultHeapMb = 256;

/** Makes a counter; its thread starts with the first job and ends when none has come for a minute. */
export function createTokenCounter(options: TokenCounterOptions): TokenCounter {
  let pool: Piscina<CountTokensJob, TokenCounts> | null = null;
  let closed = false;
  return {
    async count(job) {
      if (closed) return null;
      pool ??= createPool(options);
      if (pool.queueSize >= options.maxQueue) return null;
      const request = job.request === null ? null : new Uint8Array(job.request);
      const answer = new Uint8Array(job.answer);
      const deadline = new AbortController();
      const timer = setTimeout(() => deadline.abort(), options.deadlineMs);
      try {
        const counts = await pool.run(
          { ...job, request, answer },
          {
            transferList: request === null ? [answer.buffer] : [request.buffer, answer.buffer],
            signal: deadline.signal,
          },
        );
        return { ...noUsage(), input: counts.input, output: counts.output, source: 'counted' };
      } catch {
        return null;
      } finally {
        clearTimeout(timer);
      }
    },
    async close() {
      closed = true;
      await pool?.destroy();
    },
  };
}

function createPool(options: TokenCounterOptions): Piscina<CountTokensJob, TokenCounts> {
  // From source (tests, development) the worker is TypeScript and needs the loader that this file came through.
  const fromSource = import.meta.url.endsWith('.ts');
  const worker = new URL(`../../workers/count-tokens.${fromSource ? 'ts' : 'js'}`, import.meta.url);
  const pool = new Piscina<CountTokensJob, TokenCounts>({
    filename: fromSource ? worker.href : fileURLToPath(worker),
    ...(fromSource ? { execArgv: ['--import', 'tsx'] } : {}),
    minThreads: 0,
    maxThreads: 1,
    maxQueue: options.maxQueue,
    idleTimeout: idleMs,
    resourceLimits: { maxOldGenerationSizeMb: options.maxHeapMb ?? defaultHeapMb },
    recordTiming: false,
  });
  // The job that was lost has its own rejection; unheard, this event would end the process.
  pool.on('error', () => {});
  return pool;
}
