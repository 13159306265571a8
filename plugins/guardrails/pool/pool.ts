import { JobThreads, threadModule } from '../../../src/common/threads/job-threads.js';
import type { CheckPhase } from '../check.js';
import {
  type CheckJob,
  type JobCheck,
  type JobResult,
  packed,
  type TimedResult,
  transferable,
} from './job.js';

export interface CheckPoolOptions {
  /** Milliseconds that the checks of one job may take together, once it has begun. */
  readonly deadlineMs: number;
  /** Milliseconds that a job may wait for its turn. */
  readonly waitMs: number;
  readonly threads: number;
  /** Further threads, while texts take long in the others. */
  readonly spareThreads: number;
  /** Heap of a thread, in megabytes. */
  readonly heapMb: number;
  /** Jobs that run or wait; a further one does not run. */
  readonly maxQueue: number;
  /** Characters of the texts of all of them. */
  readonly maxQueueBytes: number;
}

/** Why a check did not run to its end. */
export type Unrun = 'queue_full' | 'timeout' | 'thread_lost';

/** A result for each check, or the reason why it has none. */
export type PoolResult = TimedResult | Unrun;

/** Characters: a job with longer texts takes more than a turn of the event loop to send. */
const longLength = 256 * 1024;
/** How often it is looked whether a job has begun. Milliseconds. */
const pollMs = 20;
/** Milliseconds after which an unused thread ends. */
const idleMs = 60_000;
/** Young generation of its heap, in megabytes. */
const youngMb = 8;

/** What the checks of a job see. */
interface JobTexts {
  readonly phase: CheckPhase;
  readonly texts: readonly string[];
  /** Has each check the deadline for itself? */
  readonly each: boolean;
}

/** Runs checks of texts on threads of their own. A job that takes too long is ended with its thread. */
export class CheckPool {
  #jobs = 0;
  #bytes = 0;
  #closed = false;
  readonly #threads: JobThreads;
  /** What the threads share: see `place` of a job. */
  readonly #progress: Int32Array;

  /** `thread`: the module that runs jobs. */
  constructor(
    readonly options: CheckPoolOptions,
    thread: URL = threadModule('./thread', import.meta.url),
  ) {
    const { threads, spareThreads, heapMb } = options;
    this.#progress = new Int32Array(new SharedArrayBuffer(4 * (threads + spareThreads)));
    this.#threads = new JobThreads({
      ...{ module: thread, threads, spareThreads, heapMb, youngMb, idleMs },
      workerData: this.#progress,
    });
  }

  get queued(): number {
    return this.#jobs;
  }

  /**
   * Never rejects. A check that exceeds the deadline is the only one without a result; the others run again. `each`: the
   * deadline is that of each check, and not of all together.
   */
  async run(
    phase: CheckPhase,
    texts: readonly string[],
    checks: readonly JobCheck[],
    each = false,
  ): Promise<PoolResult[]> {
    const bytes = texts.reduce((sum, { length }) => sum + length, 0);
    const { maxQueue, maxQueueBytes } = this.options;
    if (this.#closed || this.#jobs >= maxQueue || this.#bytes + bytes > maxQueueBytes)
      return checks.map(() => 'queue_full' as const);
    this.#jobs++;
    this.#bytes += bytes;
    try {
      const results = await this.#threads.inTurn(this.options.waitMs, (place) =>
        this.#withoutSlowest({ phase, texts, each }, checks, place),
      );
      return results ?? checks.map(() => 'timeout' as const);
    } finally {
      this.#jobs--;
      this.#bytes -= bytes;
    }
  }

  async #withoutSlowest(of: JobTexts, checks: readonly JobCheck[], place: number): Promise<PoolResult[]> {
    const first = await this.#attempt(of, checks, place);
    if (Array.isArray(first)) return first;
    const { reason, running } = first;
    if (running === null || checks.length === 1) return checks.map(() => reason);
    const others = checks.filter((_, i) => i !== running);
    const second = await this.#attempt(of, others, place);
    const results: PoolResult[] = Array.isArray(second) ? second : others.map(() => second.reason);
    return results.toSpliced(running, 0, reason);
  }

  async #attempt(
    { phase, texts, each }: JobTexts,
    checks: readonly JobCheck[],
    place: number,
  ): Promise<TimedResult[] | { readonly reason: Unrun; readonly running: number | null }> {
    const isLong = texts.some(({ length }) => length > longLength);
    const keys = checks.map(({ key }) => key).join('\n');
    const controller = new AbortController();
    Atomics.store(this.#progress, place, 0);
    const timer = new Deadline(this.#progress, place, this.options, each, () => controller.abort());
    try {
      const ask = async (given: readonly JobCheck[] | null): Promise<JobResult> => {
        const job: CheckJob = {
          ...{ phase, keys, checks: given, place },
          texts: isLong ? await packed(texts) : texts,
        };
        const transfer = isLong ? transferable(job.texts) : [];
        return this.#threads.run({ task: job, transfer }, controller.signal) as Promise<JobResult>;
      };
      // Most threads have the checks from an earlier text: sent each time they would cost more than the text.
      const answer = await ask(null);
      const made = 'results' in answer ? answer : await ask(checks);
      if ('results' in made) return [...made.results];
      return { reason: 'thread_lost', running: null };
    } catch {
      const running = Atomics.load(this.#progress, place) - 1;
      const reason = controller.signal.aborted ? 'timeout' : 'thread_lost';
      return { reason, running: running < 0 ? null : running };
    } finally {
      timer.clear();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#threads.close();
  }
}

/** Ends a job whose thread does not begin, or that takes too long from there on. */
class Deadline {
  #timer: NodeJS.Timeout;
  #beganAt: number | null = null;
  #running = 0;
  readonly #askedAt = performance.now();

  constructor(
    readonly progress: Int32Array,
    readonly place: number,
    readonly options: CheckPoolOptions,
    /** Does it begin again with each check? It is looked at when it is over: a check may have twice as long. */
    readonly each: boolean,
    readonly end: () => void,
  ) {
    this.#timer = setTimeout(() => this.#look(), Math.min(pollMs, options.deadlineMs));
  }

  #look(): void {
    const now = performance.now();
    const running = Atomics.load(this.progress, this.place);
    if (running > this.#running && (this.#beganAt === null || this.each)) {
      this.#beganAt = now - pollMs;
      this.#running = running;
    }
    const { waitMs, deadlineMs } = this.options;
    const until = this.#beganAt === null ? this.#askedAt + waitMs : this.#beganAt + deadlineMs;
    if (now >= until) this.end();
    else this.#timer = setTimeout(() => this.#look(), this.#beganAt === null ? pollMs : until - now);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}
