import { deserialize } from 'node:v8';
import type { Pack } from '../../../../common/plugin-host/files/pack.js';
import type { Host, Plugin } from '../../../../common/plugin-host/plugin.js';
import { JobThreads, threadModule } from '../../../../common/threads/job-threads.js';
import { outsidePluginScope } from '../plugin-scope.js';

const threads = 2;
const heapMb = 128;
const idleMs = 30_000;
/** Jobs that run or wait, of one plugin in one data worker. */
const most = 256;
const defaultMs = 1000;
const longestMs = 600_000;

/** What a thread is given when it starts. */
export interface JobThreadData {
  readonly pack: Pack;
}

/** What a thread is given for a job. */
export interface PluginJobTask {
  readonly job: string;
  readonly data: unknown;
}

/** The threads in which the jobs of a plugin run; they start with its first job. */
export class PluginJobThreads {
  #threads: JobThreads | null = null;
  #running = 0;

  constructor(
    readonly plugin: Plugin,
    /** null: the plugin was not loaded from a file, as in tests of plugins, where its jobs run on the same thread. */
    readonly pack: Pack | null,
  ) {}

  async run(...[job, data, { timeoutMs = defaultMs } = {}]: Parameters<Host['runJob']>): Promise<unknown> {
    const { name, jobs } = this.plugin;
    if (jobs === undefined || !Object.hasOwn(jobs, job) || typeof jobs[job] !== 'function')
      throw new TypeError(`jobs of ${name} has no function ${job}.`);
    if (!(timeoutMs >= 1 && timeoutMs <= longestMs))
      throw new TypeError(`timeoutMs of the job ${job} of ${name} must be from 1 to ${longestMs}.`);
    if (this.pack === null) return structuredClone(await jobs[job](structuredClone(data) as never));
    if (this.#running >= most) throw new Error(`${most} jobs of ${name} run or wait: try again later.`);
    this.#running++;
    try {
      return await outsidePluginScope(() => this.#inThread({ job, data }, timeoutMs));
    } finally {
      this.#running--;
    }
  }

  #inThread(task: PluginJobTask, timeoutMs: number): Promise<unknown> {
    this.#threads ??= new JobThreads({
      ...{
        module: threadModule('../../../../../workers/run-plugin-job', import.meta.url),
        threads,
        heapMb,
        idleMs,
      },
      workerData: { pack: this.pack! } satisfies JobThreadData,
    });
    return this.#threads
      .runInTurn(timeoutMs, () => ({ task }))
      .then((result) => deserialize(result as Uint8Array) as unknown)
      .catch((error: unknown) => {
        if ((error as { name?: unknown } | null)?.name !== 'AbortError') throw error;
        throw new Error(`The job ${task.job} of ${this.plugin.name} took longer than ${timeoutMs} ms.`);
      });
  }

  async close(): Promise<void> {
    await this.#threads?.close();
  }
}
