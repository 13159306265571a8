import type { FromWorker, LookupKind, LookupRecords } from '../core/messages.js';

/** A data worker's questions to the control process. Answers come by number; a lost channel fails them all. */
export class LookupChannel {
  #next = 1;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();

  constructor(readonly post: (message: FromWorker) => void) {}

  ask<K extends LookupKind>(
    kind: K,
    workspace: string | null,
    name: string,
  ): Promise<LookupRecords[K] | null> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.post({ t: 'lookup', id, kind, workspace, name });
    });
  }

  answered(id: number, value: LookupRecords[LookupKind] | null): void {
    this.#waiting.get(id)?.resolve(value);
    this.#waiting.delete(id);
  }

  failed(id: number): void {
    this.#waiting.get(id)?.reject(new Error('lookup failed'));
    this.#waiting.delete(id);
  }

  lost(): void {
    for (const { reject } of this.#waiting.values()) reject(new Error('control process gone'));
    this.#waiting.clear();
  }
}
