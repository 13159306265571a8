import type { ChildProcess } from 'node:child_process';
import type { Forget } from '../../common/ipc/messages.js';

/** A write waits for every worker to forget; a worker that takes longer is replaced. Milliseconds. */
const forgetMs = 3000;

/** Makes data workers forget changed records, and waits for their confirmations. */
export class Forgetting {
  readonly #waiting = new Map<number, { left: Set<ChildProcess>; done: () => void }>();
  #next = 1;
  /** The next message, and the promise that all workers have confirmed it. */
  #batch: { readonly what: Forget[]; readonly forgotten: Promise<void> } | null = null;

  /** `send` returns the workers that have to confirm; `late` is called with those that have not confirmed in time. */
  constructor(
    readonly send: (id: number, what: readonly Forget[]) => Set<ChildProcess>,
    readonly late: (left: ReadonlySet<ChildProcess>) => void,
  ) {}

  /** Resolves when every worker has confirmed, or has ended. */
  forget(what: readonly Forget[]): Promise<void> {
    if (this.#batch === null) {
      const all: Forget[] = [];
      // Changes of one commit arrive here one right after the other.
      const forgotten = Promise.resolve().then(() => {
        this.#batch = null;
        return this.#send(all);
      });
      this.#batch = { what: all, forgotten };
    }
    this.#batch.what.push(...what);
    return this.#batch.forgotten;
  }

  #send(what: readonly Forget[]): Promise<void> {
    const id = this.#next++;
    const left = this.send(id, what);
    if (left.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.late(left), forgetMs);
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.#waiting.set(id, { left, done });
    });
  }

  confirmed(id: number, child: ChildProcess): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined || !waiting.left.delete(child) || waiting.left.size > 0) return;
    this.#waiting.delete(id);
    waiting.done();
  }

  /** A worker that has ended remembers nothing. */
  ended(child: ChildProcess): void {
    for (const id of [...this.#waiting.keys()]) this.confirmed(id, child);
  }
}
