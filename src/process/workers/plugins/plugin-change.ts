import type { ChildProcess } from 'node:child_process';
import type { FromControl } from '../../../common/ipc/messages.js';
import type { InsertedPlugin } from '../../../common/plugin-host/files/inserted.js';

/** Milliseconds for a worker to set plugins up. */
const setUpMs = 15_000;

interface Waiting {
  readonly child: ChildProcess;
  readonly mayEnd: boolean;
  done(failure: string | null): void;
}

/** Makes data workers run other plugins: all of them, or none. */
export class PluginChange {
  readonly #waiting = new Map<number, Waiting>();
  #next = 1;

  constructor(readonly send: (child: ChildProcess, message: FromControl) => boolean) {}

  /** Resolves with the reason of the first worker that cannot; then none has changed. `mayEnd`: one
   * that ends meanwhile is no reason. */
  async apply(
    children: readonly ChildProcess[],
    insert: readonly InsertedPlugin[],
    mayEnd = false,
  ): Promise<string | null> {
    const failures = await Promise.all(children.map((child) => this.#prepare(child, insert, mayEnd)));
    const failure = failures.find((one) => one !== null) ?? null;
    for (const child of children) this.send(child, { t: 'plugins-go', commit: failure === null });
    return failure;
  }

  #prepare(child: ChildProcess, insert: readonly InsertedPlugin[], mayEnd: boolean): Promise<string | null> {
    const id = this.#next++;
    return new Promise((resolve) => {
      const timer = setTimeout(() => done(`A data worker did not set it up within ${setUpMs} ms.`), setUpMs);
      const done = (failure: string | null): void => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve(failure);
      };
      this.#waiting.set(id, { child, mayEnd, done });
      if (!this.send(child, { t: 'plugins', id, insert })) done(null);
    });
  }

  answered(id: number, failure: string | null): void {
    this.#waiting.get(id)?.done(failure);
  }

  /** It starts again with what was decided meanwhile; but it may have ended by what it was to set up. */
  ended(child: ChildProcess): void {
    for (const waiting of [...this.#waiting.values()])
      if (waiting.child === child)
        waiting.done(waiting.mayEnd ? null : 'A data worker ended while it set it up.');
  }
}
