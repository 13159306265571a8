// Required by mocha (.mocharc.json).
import { AsyncLocalStorage } from 'node:async_hooks';

// uWebSockets.js reads this once a process, when it is first loaded, and tests of several files share a process: the first
// to load it may be one that opens no server, such as that of `headgate doctor`. The gateway's own value.
process.env['UWS_HTTP_MAX_HEADERS_SIZE'] ??= String(80 * 1024);

const tasks: (() => unknown)[] = [];

/**
 * Each storage that was used makes every promise of its process slower from then on: those that one file has used (the
 * scope of plugins, those of client SDKs) would slow down the files after it.
 */
const storages = new Set<AsyncLocalStorage<unknown>>();
const { run, enterWith } = AsyncLocalStorage.prototype;
Object.assign(AsyncLocalStorage.prototype, {
  run(this: AsyncLocalStorage<unknown>, ...given: Parameters<typeof run>) {
    storages.add(this);
    return run.apply(this, given);
  },
  enterWith(this: AsyncLocalStorage<unknown>, store: unknown) {
    storages.add(this);
    enterWith.call(this, store);
  },
});

/** Has `task` done once the tests that run now have ended, with those of other files of the same lane. */
export function cleanUpLater(task: () => unknown): void {
  tasks.push(task);
}

function disableStorages(): void {
  for (const storage of storages) storage.disable();
  storages.clear();
}

/** The file of the test that ran last. */
let file: string | undefined;

/** A process runs several lanes, and imports a module for the first of them alone: an `after` there would be that one's. */
export const mochaHooks = {
  beforeEach(this: Mocha.Context): void {
    const { file: next } = this.currentTest!;
    if (next !== file) disableStorages();
    file = next;
  },
  async afterAll(this: Mocha.Context): Promise<void> {
    // A long form has hundreds of databases to drop.
    this.timeout(600_000);
    for (const task of tasks.splice(0)) await task();
    disableStorages();
  },
};
