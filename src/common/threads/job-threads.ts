import { fileURLToPath } from 'node:url';
import type { Piscina } from 'piscina';

export interface JobThreadsOptions {
  /** The module that runs the jobs. If it is TypeScript, its threads get the loader for it. */
  readonly module: URL;
  /** Jobs that run at the same time. */
  readonly threads: number;
  /** Further threads: one of them runs a job for each other job that takes longer than `longMs`. Absent: none. */
  readonly spareThreads?: number;
  /** Heap of a thread, in megabytes; a job that needs more ends its thread, not the process. */
  readonly heapMb: number;
  /** Young generation of that heap, in megabytes. Absent: V8's default. */
  readonly youngMb?: number;
  /** Milliseconds after which an unused thread ends. */
  readonly idleMs: number;
  /** What each thread gets when it starts. */
  readonly workerData?: unknown;
}

export interface Job {
  readonly task: unknown;
  /** The exported function of the module. Absent: its default export. */
  readonly name?: string;
  /** Buffers that are moved to the thread, not copied. */
  readonly transfer?: readonly ArrayBuffer[];
}

/** A job that runs for longer lets another one use a spare thread. Milliseconds. */
const longMs = 20;

/**
 * Runs jobs in threads that start with the first job. Jobs wait here for a thread, and not in Piscina: without threads
 * that always run, it starts none for the jobs in its queue when the one before them is ended or loses its thread.
 */
export class JobThreads {
  #pool: Promise<Piscina> | null = null;
  #closed = false;
  /** Places without a job, spare ones included. */
  readonly #free: number[];
  /** Places with a job, and when it began. */
  readonly #running = new Map<number, number>();
  readonly #waiting = new Set<(place: number | null) => void>();
  /** Set while jobs wait and a place is free: checks again later whether a running job takes long. */
  #look: NodeJS.Timeout | null = null;

  constructor(readonly options: JobThreadsOptions) {
    this.#free = Array.from({ length: allThreads(options) }, (_, i) => i);
  }

  /** Jobs that wait for a thread. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Calls `use` when a thread is free, and keeps it free for the jobs that `use` runs. `place`: from 0, different for all
   * that have a thread. null: none was free within `waitMs`, or this is closed.
   */
  async inTurn<T>(waitMs: number, use: (place: number) => Promise<T>): Promise<T | null> {
    const isNext = this.#waiting.size === 0 && this.#mayStart();
    const place = isNext ? this.#take() : await this.#turn(waitMs);
    if (place === null) return null;
    try {
      return this.#closed ? null : await use(place);
    } finally {
      this.#running.delete(place);
      this.#free.push(place);
      this.#startNext();
    }
  }

  /** Runs a job at once: only inside `inTurn`. Rejects if the signal is aborted, which ends the thread, or the thread is lost. */
  async run({ task, name = 'default', transfer = [] }: Job, signal: AbortSignal): Promise<unknown> {
    this.#pool ??= createPool(this.options);
    const pool = await this.#pool;
    if (this.#closed) throw new Error('The threads are closed.');
    return pool.run(task, { name, transferList: [...transfer], signal });
  }

  /**
   * Runs a job in its turn. `job`: called when a thread is free. `deadlineMs`: from now to the result; a job that still
   * runs then is ended with its thread. Rejects then, if the thread is lost, or if this is closed.
   */
  async runInTurn(deadlineMs: number, job: () => Job | Promise<Job>): Promise<unknown> {
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), deadlineMs);
    try {
      const done = await this.inTurn(deadlineMs, async () => ({
        result: await this.run(await job(), deadline.signal),
      }));
      if (done === null) throw new Error(`No thread was free for the job within ${deadlineMs} ms.`);
      return done.result;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends all jobs, those that wait included. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const turn of [...this.#waiting]) turn(null);
    await (await this.#pool)?.destroy();
  }

  #mayStart(): boolean {
    const { threads } = this.options;
    if (this.#free.length === 0) return false;
    if (this.#running.size < threads) return true;
    const longSince = performance.now() - longMs;
    let short = 0;
    for (const began of this.#running.values()) if (began > longSince) short++;
    return short < threads;
  }

  #take(): number {
    const place = this.#free.pop()!;
    this.#running.set(place, performance.now());
    return place;
  }

  #startNext(): void {
    for (const next of this.#waiting) {
      if (!this.#mayStart()) break;
      next(this.#take());
    }
    if (this.#waiting.size === 0 || this.#free.length === 0 || this.#look !== null) return;
    this.#look = setTimeout(() => {
      this.#look = null;
      this.#startNext();
    }, longMs);
  }

  #turn(waitMs: number): Promise<number | null> {
    return new Promise((resolve) => {
      const turn = (place: number | null): void => {
        clearTimeout(timer);
        this.#waiting.delete(turn);
        resolve(place);
      };
      const timer = setTimeout(() => turn(null), waitMs);
      this.#waiting.add(turn);
      this.#startNext();
    });
  }
}

const allThreads = ({ threads, spareThreads = 0 }: JobThreadsOptions): number => threads + spareThreads;

/** The module at a path from the importing one: TypeScript from source (tests), else JavaScript. */
export const threadModule = (path: string, importer: string): URL =>
  new URL(`${path}.${importer.endsWith('.ts') ? 'ts' : 'js'}`, importer);

async function createPool(options: JobThreadsOptions): Promise<Piscina> {
  // Loaded with the first job: most gateways have none.
  const { Piscina } = await import('piscina');
  const { module, heapMb, youngMb } = options;
  // Piscina imports an address: what reads TypeScript from source, its threads inherit from this process.
  const fromSource = module.href.endsWith('.ts');
  const pool = new Piscina({
    filename: fromSource ? module.href : fileURLToPath(module),
    ...(options.workerData === undefined ? {} : { workerData: options.workerData }),
    minThreads: 0,
    maxThreads: allThreads(options),
    idleTimeout: options.idleMs,
    resourceLimits: {
      maxOldGenerationSizeMb: heapMb,
      ...(youngMb === undefined ? {} : { maxYoungGenerationSizeMb: youngMb }),
    },
    recordTiming: false,
  });
  // The lost job is rejected separately; without a listener, this event would end the process.
  pool.on('error', () => {});
  return pool;
}
