import type { KeyRecord } from '../../../common/ipc/records.js';
import type { Store } from '../../store/store.js';
import type { Standing } from './can.js';

/** A key that was found valid, and the roles that limit it. */
export interface KnownCaller {
  readonly key: KeyRecord;
  readonly standing: Standing | null;
}

interface KeptCaller extends KnownCaller {
  readonly until: number;
  readonly rightsChanged: number;
}

/** So long what another node changed may go unnoticed. Milliseconds. */
const keptForMs = 500;
const mostKept = 1000;

/** Callers of a moment ago, by the hash of their key: who makes many calls is not looked up for each. */
export class KnownCallers {
  readonly #kept = new Map<string, KeptCaller>();

  constructor(readonly store: Store) {}

  /** `find` looks a key up by its hash; null: there is none. */
  async get(text: string, find: (hash: string) => Promise<KnownCaller | null>): Promise<KnownCaller | null> {
    const hash = this.store.hashKey(text);
    // Both read before the store is: a change meanwhile makes what was found useless.
    const { rightsChanged } = this.store;
    const now = performance.now();
    const kept = this.#kept.get(hash);
    if (kept !== undefined && kept.rightsChanged === rightsChanged && now < kept.until) return kept;
    this.#kept.delete(hash);
    const found = await find(hash);
    if (found === null) return null;
    if (this.#kept.size >= mostKept) this.#kept.clear();
    this.#kept.set(hash, { ...found, rightsChanged, until: now + keptForMs });
    return found;
  }
}
