import { type FSWatcher, watch } from 'node:fs';

/** Waits for the next change in a folder, without reading it again and again. */
export class FolderChange {
  #watcher: FSWatcher | null = null;
  /** The system has no watches left, or none of such a folder. */
  #hasFailed = false;

  constructor(readonly dir: string) {}

  get isAwaited(): boolean {
    return this.#watcher !== null;
  }

  /** Calls `changed` once. Where the folder cannot be watched, never. */
  await(changed: () => void): void {
    if (this.#watcher !== null || this.#hasFailed) return;
    try {
      // One event, and no more: under load each write of each worker would be one.
      this.#watcher = watch(this.dir, { persistent: false }, () => {
        if (this.#watcher === null) return;
        this.stop();
        changed();
      });
      this.#watcher.on('error', () => this.#fail());
    } catch {
      this.#fail();
    }
  }

  #fail(): void {
    this.#hasFailed = true;
    this.stop();
  }

  stop(): void {
    this.#watcher?.close();
    this.#watcher = null;
  }
}
