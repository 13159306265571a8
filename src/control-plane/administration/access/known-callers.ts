import type { KeyRecord } from '../../../common/ipc/records.js';
import type { Store } from '../../store/store.js';
import type { TokenChecker } from '../../tokens/token-checker.js';
import type { Standing } from './can.js';

/** A key that was found valid, and the roles that limit it. */
export interface KnownCaller {
  readonly key: KeyRecord;
  readonly standing: Standing | null;
}

interface KeptCaller extends KnownCaller {
  readonly until: number;
  /** Of rights and of keys of tokens. */
  readonly changes: number;
}

/** So long what another node changed may go unnoticed. Milliseconds. */
const keptForMs = 500;
const mostKept = 1000;

/** Callers of a moment ago, by the hash of their key: who makes many calls is not looked up for each. */
export class KnownCallers {
  readonly #kept = new Map<string, KeptCaller>();

  constructor(
    readonly store: Store,
    readonly tokens: Pick<TokenChecker, 'find' | 'changes'> | undefined = undefined,
  ) {}

  get #changes(): number {
    return this.store.rightsChanged + (this.tokens?.changes ?? 0);
  }

  /** `find` looks a key up by its hash; null: there is none. */
  async get(text: string, find: (hash: string) => Promise<KnownCaller | null>): Promise<KnownCaller | null> {
    const hash = this.store.hashKey(text);
    // Both read before the store is: a change meanwhile makes what was found useless.
    const changes = this.#changes;
    const now = performance.now();
    const kept = this.#kept.get(hash);
    if (kept !== undefined && kept.changes === changes && now < kept.until) return kept;
    this.#kept.delete(hash);
    const found = await find(hash);
    if (found === null) return null;
    if (this.#kept.size >= mostKept) this.#kept.clear();
    this.#kept.set(hash, { ...found, changes, until: now + keptForMs });
    return found;
  }
}
