import { fileURLToPath } from 'node:url';
import type { Piscina } from 'piscina';
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

/** Runs checks of texts on threads of their own. A job that takes too long is ended with its thread. */
export class CheckPool {
  #pool: Promise<Piscina> | null = null;
  #jobs = 0;
  #bytes = 0;
  #closed = false;
  readonly #turns: Turns;
  /** What the threads share: see `place` of a job. */
  readonly #progress: Int32Array;

  /** `thread`: the module that runs jobs. */
  constructor(
    readonly options: CheckPoolOptions,
    readonly thread: URL = ownThread,
  ) {
    this.#turns = new Turns(options.threads, options.waitMs);
    this.#progress = new Int32Array(new SharedArrayBuffer(4 * options.threads));
  }

  get queued(): number {
    return this.#jobs;
  }

  /** Never rejects. A check that exceeds the deadline is the only one without a result; the others run again. */
  async run(phase: CheckPhase, texts: readonly string[], checks: readonly JobCheck[]): Promise<PoolResult[]> {
    const bytes = texts.reduce((sum, { length }) => sum + length, 0);
    const { maxQueue, maxQueueBytes } = this.options;
    if (this.#closed || this.#jobs >= maxQueue || this.#bytes + bytes > maxQueueBytes)
      return checks.map(() => 'queue_full' as const);
    this.#jobs++;
    this.#bytes += bytes;
    try {
      const place = await this.#turns.take();
      if (place === null) return checks.map(() => 'timeout' as const);
      try {
        return await this.#withoutSlowest(phase, texts, checks, place);
      } finally {
        this.#turns.give(place);
      }
    } finally {
      this.#jobs--;
      this.#bytes -= bytes;
    }
  }

  async #withoutSlowest(
    phase: CheckPhase,
    texts: readonly string[],
    checks: readonly JobCheck[],
    place: number,
  ): Promise<PoolResult[]> {
    const first = await this.#attempt(phase, texts, checks, place);
    if (Array.isArray(first)) return first;
    const { reason, running } = first;
    if (running === null || checks.length === 1) return checks.map(() => reason);
    const others = checks.filter((_, i) => i !== running);
    const second = await this.#attempt(phase, texts, others, place);
    const results: PoolResult[] = Array.isArray(second) ? second : others.map(() => second.reason);
    return results.toSpliced(running, 0, reason);
  }

  async #attempt(
    phase: CheckPhase,
    texts: readonly string[],
    checks: readonly JobCheck[],
    place: number,
  ): Promise<TimedResult[] | { readonly reason: Unrun; readonly running: number | null }> {
    const isLong = texts.some(({ length }) => length > longLength);
    const keys = checks.map(({ key }) => key).join('\n');
    const controller = new AbortController();
    Atomics.store(this.#progress, place, 0);
    const timer = new Deadline(this.#progress, place, this.options, () => controller.abort());
    try {
      this.#pool ??= createPool(this.options, this.thread, this.#progress);
      const pool = await this.#pool;
      const ask = async (given: readonly JobCheck[] | null): Promise<JobResult> => {
        const job: CheckJob = {
          ...{ phase, keys, checks: given, place },
          texts: isLong ? await packed(texts) : texts,
        };
        const transferList = isLong ? transferable(job.texts) : [];
        return pool.run(job, { signal: controller.signal, transferList }) as Promise<JobResult>;
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
    await (await this.#pool)?.destroy();
  }
}

/**
 * Lets as many jobs go on as there are threads. Piscina would queue the others, and start no thread for them when the one
 * that they wait for is ended.
 */
class Turns {
  readonly #free: number[];
  readonly #waiting = new Set<(place: number) => void>();

  constructor(
    places: number,
    readonly waitMs: number,
  ) {
    this.#free = Array.from({ length: places }, (_, i) => i);
  }

  /** A place, as many of which there are as threads; null: it took too long. */
  take(): Promise<number | null> | number {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    return new Promise((resolve) => {
      const turn = (place: number): void => {
        clearTimeout(timer);
        this.#waiting.delete(turn);
        resolve(place);
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(turn);
        resolve(null);
      }, this.waitMs);
      this.#waiting.add(turn);
    });
  }

  give(place: number): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free.push(place);
    else next(place);
  }
}

/** Ends a job whose thread does not begin, or that takes too long from there on. */
class Deadline {
  #timer: NodeJS.Timeout;
  #beganAt: number | null = null;
  readonly #askedAt = performance.now();

  constructor(
    readonly progress: Int32Array,
    readonly place: number,
    readonly options: CheckPoolOptions,
    readonly end: () => void,
  ) {
    this.#timer = setTimeout(() => this.#look(), Math.min(pollMs, options.deadlineMs));
  }

  #look(): void {
    const now = performance.now();
    if (this.#beganAt === null && Atomics.load(this.progress, this.place) > 0) this.#beganAt = now - pollMs;
    const { waitMs, deadlineMs } = this.options;
    const until = this.#beganAt === null ? this.#askedAt + waitMs : this.#beganAt + deadlineMs;
    if (now >= until) this.end();
    else this.#timer = setTimeout(() => this.#look(), this.#beganAt === null ? pollMs : until - now);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

// From source (tests) the thread is TypeScript too.
const ownThread = new URL(`./thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

async function createPool(
  { threads, heapMb }: CheckPoolOptions,
  thread: URL,
  progress: Int32Array,
): Promise<Piscina> {
  // Loaded with the first job: most gateways run no check here.
  const { Piscina } = await import('piscina');
  // Which needs the same loader as this file.
  const fromSource = thread.href.endsWith('.ts');
  const pool = new Piscina({
    filename: fromSource ? thread.href : fileURLToPath(thread),
    ...(fromSource ? { execArgv: ['--import', 'tsx'] } : {}),
    workerData: progress,
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: idleMs,
    resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: 8 },
    recordTiming: false,
  });
  // The lost job is rejected separately; without a listener, this event would end the process.
  pool.on('error', () => {});
  return pool;
}
