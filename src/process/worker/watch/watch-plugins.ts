import { fstatSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { threadModule } from '../../../common/threads/job-threads.js';
import { beatHooks, hookMemory } from '../../../data-plane/pipeline/plugins/live/running-hooks.js';

/** Milliseconds between two beats of the main thread. */
const beatMs = 100;
/** The pipe to the control process that a data worker is started with. */
export const stallPipe = 4;

let isWatched = false;

/** From now on the control process gets a report when a plugin blocks this thread. For workers with custom plugins. */
export function watchPlugins(): void {
  if (!isWatched && isPipe()) watch(stallPipe);
}

/** From now on a plugin that computes without end ends this process, with a line that names the hook. For commands. */
export function endWithEndlessPlugin(): void {
  if (!isWatched) watch(null);
}

function watch(pipe: number | null): void {
  isWatched = true;
  beatHooks();
  setInterval(beatHooks, beatMs).unref();
  const module = threadModule('../../../../workers/watch-plugins', import.meta.url);
  new Worker(fileURLToPath(module), {
    workerData: { ...hookMemory, pipe },
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  }).unref();
}

/** Workers that a test starts in its own process have none. */
function isPipe(): boolean {
  try {
    const found = fstatSync(stallPipe);
    return found.isSocket() || found.isFIFO();
  } catch {
    return false;
  }
}
