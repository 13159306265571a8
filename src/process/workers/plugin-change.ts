import type { ChildProcess } from 'node:child_process';
import type { FromControl } from '../../common/ipc/messages.js';
import type { InsertedPlugin } from '../../common/plugin-files/inserted.js';

/** Milliseconds for a worker to set plugins up. */
const setUpMs = 15_000;

interface Waiting {
  readonly child: ChildProcess;
  done(failure: string | null): void;
}

/** Makes data workers run other plugins: all of them, or none. */
export class PluginChange {
  readonly #waiting = new Map<number, Waiting>();
  #next = 1;

  constructor(readonly send: (child: ChildProcess, message: FromControl) => boolean) {}

  /** Resolves with the reason of the first worker that cannot; then none has changed. */
  async apply(children: readonly ChildProcess[], insert: readonly InsertedPlugin[]): Promise<string | null> {
    const failures = await Promise.all(children.map((child) => this.#prepare(child, insert)));
    const failure = failures.find((one) => one !== null) ?? null;
    for (const child of children) this.send(child, { t: 'plugins-go', commit: failure === null });
    return failure;
  }

  #prepare(child: ChildProcess, insert: readonly InsertedPlugin[]): Promise<string | null> {
    const id = this.#next++;
    return new Promise((resolve) => {
      const timer = setTimeout(() => done(`A data worker did not set it up within ${setUpMs} ms.`), setUpMs);
      const done = (failure: string | null): void => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve(failure);
      };
      this.#waiting.set(id, { child, done });
      if (!this.send(child, { t: 'plugins', id, insert })) done(null);
    });
  }

  answered(id: number, failure: string | null): void {
    this.#waiting.get(id)?.done(failure);
  }

  /** One that has ended starts again with what is decided meanwhile. `failure`: it may have ended for this. */
  ended(child: ChildProcess): void {
    for (const waiting of [...this.#waiting.values()])
      if (waiting.child === child) waiting.done('A data worker ended while it set it up.');
  }
}
