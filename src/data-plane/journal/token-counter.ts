import type { CountTokensJob, TokenCounts } from '../../../workers/count-tokens.js';
import type { TokenLimitJob } from '../../../workers/token-limit.js';
import { copyInTurns } from '../../common/bytes/copy-in-turns.js';
import { noUsage, type Usage } from '../../common/core/usage.js';
import { JobThreads, threadModule } from '../../common/threads/job-threads.js';

export interface TokenCounterOptions {
  /** Limit of waiting jobs; a further one is not counted. */
  readonly maxQueue: number;
  /** Limit of the bodies of all waiting and running jobs; one that would exceed it is not counted. Default 128 MB. */
  readonly maxQueueBytes?: number;
  /** Milliseconds from the request to the result. A slower job is given up, and its thread ended. */
  readonly deadlineMs: number;
  /** Heap of the counting thread; a job that needs more ends the thread, not the process. */
  readonly maxHeapMb?: number;
}

/** A job whose bytes are copied, not transferred. */
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

/** Milliseconds after which an unused thread ends, with its encoders. */
const idleMs = 60_000;
const defaultHeapMb = 256;
/** Young generation of that thread. V8's default of 48 would fill up before anything is collected. */
const youngMb = 6;
/** Limit of jobs that check a token limit, since clients wait for them; a further one is not counted. */
const maxLimitJobs = 16;
/** Bytes of requests and answers that may wait to be counted. */
const defaultMaxQueueBytes = 128 * 1024 * 1024;

/** Creates a counter; its thread starts with the first job and ends after a minute without one. */
export function createTokenCounter(options: TokenCounterOptions): TokenCounter {
  const { maxQueueBytes = defaultMaxQueueBytes } = options;
  const threads = new JobThreads({
    module: threadModule('../../../workers/count-tokens', import.meta.url),
    threads: 1,
    heapMb: options.maxHeapMb ?? defaultHeapMb,
    youngMb,
    idleMs,
  });
  let queuedBytes = 0;
  let limitJobs = 0;
  let copying = 0;

  /** null: it failed. The thread gets copies of `bytes`, which `jobOf` puts into its job. */
  async function run<T>(
    name: string,
    bytes: readonly Buffer[],
    jobOf: (copies: readonly Uint8Array[]) => object,
  ): Promise<T | null> {
    const length = bytes.reduce((sum, { length }) => sum + length, 0);
    if (copying + threads.waiting >= options.maxQueue || queuedBytes + length > maxQueueBytes) return null;
    queuedBytes += length;
    try {
      const copies = await copiesOf(bytes);
      const transfer = copies.map(({ buffer }) => buffer);
      const job = jobOf(copies);
      return (await threads.runInTurn(options.deadlineMs, () => ({ task: job, name, transfer }))) as T;
    } catch {
      return null;
    } finally {
      queuedBytes -= length;
    }
  }

  async function copiesOf(bytes: readonly Buffer[]): Promise<Uint8Array<ArrayBuffer>[]> {
    copying++;
    try {
      const copies: Uint8Array<ArrayBuffer>[] = [];
      for (const each of bytes) copies.push(await copyInTurns(each));
      return copies;
    } finally {
      copying--;
    }
  }

  return {
    async count(job) {
      const bytes = job.request === null ? [job.answer] : [job.answer, job.request];
      const counts = await run<TokenCounts>('default', bytes, ([answer, request = null]): CountTokensJob => {
        return { ...job, request, answer: answer! };
      });
      if (counts === null) return null;
      return { ...noUsage(), input: counts.input, output: counts.output, source: 'counted' };
    },
    async exceeds(job) {
      if (limitJobs >= maxLimitJobs) return null;
      limitJobs++;
      const answer = await run<boolean>('exceedsLimit', [job.request], ([request]): TokenLimitJob => {
        return { ...job, request: request! };
      });
      limitJobs--;
      return answer;
    },
    close: () => threads.close(),
  };
}
