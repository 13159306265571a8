import { LRUCache } from 'lru-cache';
import type { Logger } from '../../common/plugin-host/plugin.js';
import type { AuthSettings, KeySetDocument, TokenAlgorithm } from '../store/store.js';
import { keysIn, type TokenKey } from './key-set.js';

/** A key set that was fetched, and how many bytes it had. */
export interface FetchedKeySet {
  readonly document: unknown;
  readonly bytes: number;
}

export interface KeySetsOptions {
  /** Rejects with a reason that may be logged and shown to administrators of the organisation. */
  readonly fetch: (url: string) => Promise<FetchedKeySet>;
  /** Keys of an organisation are no longer valid: tokens that they signed must be checked again. */
  readonly removed: (organisationId: string) => void;
  readonly log: Pick<Logger, 'warn'>;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** No key set is available. The message is for administrators of the organisation. */
export class KeySetAway extends Error {
  override readonly name = 'KeySetAway';
}

/** Between two fetches for keys that the set did not have, and after one that failed. Milliseconds. */
const againMs = 30_000;
/** A set in use is fetched again when it is this old: with a fetch that is slow, before five minutes. Milliseconds. */
const refreshMs = 210_000;
/** How long keys are valid whose server does not answer. Milliseconds. */
const keptMs = 24 * 60 * 60_000;
const maxBytes = 64 * 1024 * 1024;
/** Of heap, for what a set is read into. */
const stateBytes = 8192;
/** Fetches at a time for all organisations. */
const mostFetches = 32;

interface KeySetState {
  readonly url: string | null;
  readonly inline: KeySetDocument | null;
  readonly inlineKeys: readonly TokenKey[];
  fetched: readonly TokenKey[];
  bytes: number;
  /** Monotonic milliseconds; -Infinity: never, or the next use must wait for a new fetch. */
  fetchedAt: number;
  triedAt: number;
  /** Unix milliseconds of the last successful fetch. */
  fetchedOn: number | null;
  /** When the last token that it accepted expires. Monotonic milliseconds. */
  neededUntil: number;
  /** Must the next token wait for a fetch? */
  isDue: boolean;
  fetching: Promise<void> | null;
}

/** The keys that check an organisation's tokens, of its settings and of its key server. */
export class KeySets {
  readonly #states: LRUCache<string, KeySetState>;
  #fetches = 0;

  constructor(readonly options: KeySetsOptions) {
    this.#states = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ bytes }) => stateBytes + 4 * bytes,
      dispose: ({ neededUntil }, organisationId, reason) => {
        // No longer refreshed: a key that is removed would go unnoticed.
        if (reason === 'evict' && neededUntil > options.now()) options.removed(organisationId);
      },
    });
  }

  /** The key of that id and algorithm; null: the organisation has none. Throws KeySetAway. */
  async find(
    organisationId: string,
    settings: AuthSettings,
    kid: string,
    alg: TokenAlgorithm,
  ): Promise<readonly TokenKey[]> {
    const state = await this.#state(organisationId, settings);
    const named = (): TokenKey[] =>
      [...state.inlineKeys, ...state.fetched].filter((key) => key.kid === kid && key.alg === alg);
    if (state.url === null) return named();
    if (state.isDue) await this.#fetchAgain(organisationId, state);
    const found = named();
    if (found.length > 0) return found;
    const hasKeys = state.fetchedAt !== Number.NEGATIVE_INFINITY;
    const mayAsk = this.options.now() - state.triedAt >= againMs;
    if (mayAsk || state.fetching !== null) await this.#fetchAgain(organisationId, state);
    else if (!hasKeys) throw new KeySetAway('The key server of this organisation does not answer.');
    return named();
  }

  /** A token of that organisation is accepted until then. Monotonic milliseconds. */
  accepted(organisationId: string, until: number): void {
    const state = this.#states.peek(organisationId);
    if (state !== undefined) state.neededUntil = Math.max(state.neededUntil, until);
  }

  /** The next token waits for a new fetch. Keys are kept where that fails. */
  expire(organisationId: string): void {
    const state = this.#states.peek(organisationId);
    if (state !== undefined) state.isDue = true;
  }

  /** Fetches the set now, and returns all keys. Throws KeySetAway. */
  async refresh(
    organisationId: string,
    settings: AuthSettings,
  ): Promise<{ readonly keys: readonly TokenKey[]; readonly fetchedOn: number | null }> {
    const state = await this.#state(organisationId, settings);
    if (state.url !== null) {
      // A fetch that is already running may have begun before the keys were changed.
      await state.fetching?.catch(() => {});
      await this.#fetch(organisationId, state);
    }
    return { keys: [...state.inlineKeys, ...state.fetched], fetchedOn: state.fetchedOn };
  }

  /** Fetches again what is in use and old; to be called every few seconds. */
  tick(): void {
    const now = this.options.now();
    for (const [organisationId, state] of this.#states.entries()) {
      if (state.url === null || state.neededUntil <= now) continue;
      const isOld = now - state.fetchedAt >= refreshMs && now - state.triedAt >= againMs;
      if (!isOld || this.#fetches >= mostFetches) continue;
      this.#fetchAgain(organisationId, state).catch(() => {});
    }
  }

  async #state(organisationId: string, settings: AuthSettings): Promise<KeySetState> {
    const { jwksUrl: url, jwks: inline } = settings;
    const before = this.#states.get(organisationId);
    if (before !== undefined && before.url === url && before.inline === inline) return before;
    const inlineKeys = inline === null ? [] : ((await keysIn(inline)) ?? []);
    const current = this.#states.get(organisationId);
    // Another call may have set it while the keys were read.
    if (current !== before && current?.url === url && current.inline === inline) return current;
    const sameUrl = before?.url === url ? before : undefined;
    const bytes = (inline === null ? 0 : JSON.stringify(inline).length) + (sameUrl?.bytes ?? 0);
    const state: KeySetState = {
      url,
      inline,
      inlineKeys,
      fetched: sameUrl?.fetched ?? [],
      bytes,
      fetchedAt: sameUrl?.fetchedAt ?? Number.NEGATIVE_INFINITY,
      triedAt: sameUrl?.triedAt ?? Number.NEGATIVE_INFINITY,
      fetchedOn: sameUrl?.fetchedOn ?? null,
      neededUntil: before?.neededUntil ?? 0,
      isDue: false,
      fetching: null,
    };
    this.#states.set(organisationId, state);
    return state;
  }

  /** Throws KeySetAway where nothing is known; else what is known stays valid for a day. */
  async #fetchAgain(organisationId: string, state: KeySetState): Promise<void> {
    try {
      await this.#fetch(organisationId, state);
    } catch (error) {
      if (!(error instanceof KeySetAway)) throw error;
      if (this.options.now() - state.fetchedAt <= keptMs) return;
      if (state.fetched.length > 0) {
        state.fetched = [];
        state.fetchedAt = Number.NEGATIVE_INFINITY;
        this.options.removed(organisationId);
      }
      if (state.inlineKeys.length === 0) throw error;
    }
  }

  /** Concurrent callers share one fetch. */
  #fetch(organisationId: string, state: KeySetState): Promise<void> {
    state.fetching ??= this.#fetchNow(organisationId, state).finally(() => {
      state.fetching = null;
    });
    return state.fetching;
  }

  async #fetchNow(organisationId: string, state: KeySetState): Promise<void> {
    const { fetch, removed, log, now } = this.options;
    state.triedAt = now();
    this.#fetches++;
    try {
      const { document, bytes } = await fetch(state.url!);
      const keys = await keysIn(document);
      if (keys === null) throw new KeySetAway('The answer of the key server is no JSON Web Key Set.');
      const after = new Set(keys.map(({ kid, thumbprint }) => `${kid}\n${thumbprint}`));
      const isShorter = state.fetched.some(({ kid, thumbprint }) => !after.has(`${kid}\n${thumbprint}`));
      Object.assign(state, { fetched: keys, bytes, fetchedAt: now(), fetchedOn: Date.now() });
      if (this.#states.peek(organisationId) === state) this.#states.set(organisationId, state);
      if (isShorter) removed(organisationId);
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'the fetch failed';
      log.warn({ organisation: organisationId, reason }, 'the key set of an organisation was not fetched');
      throw error instanceof KeySetAway ? error : new KeySetAway(reason);
    } finally {
      state.isDue = false;
      this.#fetches--;
    }
  }
}
