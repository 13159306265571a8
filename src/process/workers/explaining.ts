import type { ChildProcess } from 'node:child_process';
import type { Explained, ToExplain } from '../../common/ipc/explained.js';
import type { FromControl } from '../../common/ipc/messages.js';

/** Milliseconds to wait for a worker's explanation. */
const explainMs = 5000;

/** Asks data workers what would happen to a request. */
export class Explaining {
  readonly #waiting = new Map<number, (value: Explained | null) => void>();
  #next = 1;

  constructor(readonly send: (child: ChildProcess, message: FromControl) => boolean) {}

  /** null: it cannot answer. */
  ask(child: ChildProcess | undefined, asked: ToExplain): Promise<Explained | null> {
    const id = this.#next++;
    if (child === undefined || !this.send(child, { t: 'explain', id, asked })) return Promise.resolve(null);
    return new Promise((resolve) => {
      const done = (value: Explained | null): void => {
        clearTimeout(late);
        this.#waiting.delete(id);
        resolve(value);
      };
      const late = setTimeout(() => done(null), explainMs);
      this.#waiting.set(id, done);
    });
  }

  answered(id: number, value: Explained | null): void {
    this.#waiting.get(id)?.(value);
  }
}
