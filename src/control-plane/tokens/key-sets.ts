import { LRUCache } from 'lru-cache';
import type { Logger } from '../../common/plugin-host/plugin.js';
import type { AuthSettings, KeySetDocument, KeySetStore, TokenAlgorithm } from '../store/store.js';
import { keysIn, publicKeySet, type TokenKey } from './key-set.js';

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
  /** Stores the set that was fetched last, for gateways that start while the key server does not answer. */
  readonly store: KeySetStore;
  readonly log: Pick<Logger, 'warn'>;
  /** Unix milliseconds. */
  readonly clock: () => number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** No key set is available. The message is for administrators of the organisation. */
export class KeySetUnavailable extends Error {
  override readonly name = 'KeySetUnavailable';
}

/** Least time between two fetches because of an unknown `kid`, and after a failed fetch. Milliseconds. */
const againMs = 30_000;
/** Age at which a set in use is fetched again, so that even a slow fetch ends before five minutes. Milliseconds. */
const refreshMs = 210_000;
/** How long the last keys are used while their server does not answer. Milliseconds. */
const keptMs = 24 * 60 * 60_000;
/** A set that has not changed is stored again when the stored one is this old. Milliseconds. */
const storeEveryMs = 600_000;
/** A stored set is used when the first fetch has not ended by then. Milliseconds. */
const firstFetchMs = 1000;
const maxBytes = 64 * 1024 * 1024;
/** Heap that a set takes besides its keys, for the limit of all sets. */
const stateBytes = 8192;
/** Fetches that `tick` lets run at the same time, of all organisations. */
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
  /** The stored set, and when it was stored (Unix milliseconds); empty: it was not stored. */
  storedText: string;
  storedOn: number;
  /** When the last token that it accepted expires. Monotonic milliseconds. */
  neededUntil: number;
  /** Must the next token wait for a fetch? */
  isDue: boolean;
  fetching: Promise<void> | null;
  /** The first fetch of this process, or the stored set in its place. */
  first: Promise<void> | null;
}

/** The public keys of organisations: those in their settings, and those that were fetched from their key servers. */
export class KeySets {
  readonly #states: LRUCache<string, KeySetState>;
  #fetches = 0;

  constructor(readonly options: KeySetsOptions) {
    this.#states = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ bytes }) => stateBytes + 4 * bytes,
      dispose: ({ neededUntil }, organisationId, reason) => {
        // A dropped set is no longer refreshed, so a removed key would go unnoticed.
        if (reason === 'evict' && neededUntil > options.now()) options.removed(organisationId);
      },
    });
  }

  /** The key of that id and algorithm; null: the organisation has none. Throws KeySetUnavailable. */
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
    if (state.triedAt === Number.NEGATIVE_INFINITY)
      state.first = this.#firstFetch(organisationId, state).finally(() => {
        state.first = null;
      });
    await state.first;
    if (state.isDue) await this.#fetchAgain(organisationId, state);
    const found = named();
    if (found.length > 0) return found;
    const hasKeys = state.fetchedAt !== Number.NEGATIVE_INFINITY;
    const mayAsk = this.options.now() - state.triedAt >= againMs;
    if (mayAsk || state.fetching !== null) await this.#fetchAgain(organisationId, state);
    else if (!hasKeys) throw new KeySetUnavailable('The key server of this organisation does not answer.');
    return named();
  }

  /** A token of that organisation is accepted until then. Monotonic milliseconds. */
  accepted(organisationId: string, until: number): void {
    const state = this.#states.peek(organisationId);
    if (state !== undefined) state.neededUntil = Math.max(state.neededUntil, until);
  }

  /** Makes the next token wait for a new fetch. If that fails, the keys stay as they are. */
  expire(organisationId: string): void {
    const state = this.#states.peek(organisationId);
    if (state !== undefined) state.isDue = true;
  }

  /** Fetches the set now, and returns all keys. Throws KeySetUnavailable. */
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
      storedText: sameUrl?.storedText ?? '',
      storedOn: sameUrl?.storedOn ?? 0,
      neededUntil: before?.neededUntil ?? 0,
      isDue: false,
      fetching: null,
      first: null,
    };
    this.#states.set(organisationId, state);
    return state;
  }

  /** After a start: if the key server is slow or unavailable, the stored keys are used. */
  async #firstFetch(organisationId: string, state: KeySetState): Promise<void> {
    const fetched = this.#fetch(organisationId, state).catch((error: unknown) => error);
    const late = new Promise<'late'>((resolve) => setTimeout(resolve, firstFetchMs, 'late').unref());
    if ((await Promise.race([fetched, late])) === undefined) return;
    await this.#useStored(organisationId, state);
    if (state.fetched.length === 0 && state.inlineKeys.length === 0) {
      const failed = await fetched;
      if (failed !== undefined) throw failed;
    }
  }

  async #useStored(organisationId: string, state: KeySetState): Promise<void> {
    const { store, clock, now } = this.options;
    const stored = await store.get(organisationId, state.url!);
    const keys = stored === null ? null : await keysIn(stored.keys);
    const age = clock() - (stored?.fetchedAt ?? 0);
    // The fetch may have ended meanwhile.
    if (stored === null || keys === null || age > keptMs || state.fetchedOn !== null) return;
    const fetchedAt = now() - Math.max(0, age);
    const storedText = JSON.stringify(stored.keys);
    const bytes = state.bytes + storedText.length;
    Object.assign(state, { fetched: keys, bytes, fetchedAt, fetchedOn: stored.fetchedAt });
    Object.assign(state, { storedText, storedOn: stored.fetchedAt });
    this.#resized(organisationId, state);
  }

  /** Sets the entry again, since the cache does not notice that its size has changed. */
  #resized(organisationId: string, state: KeySetState): void {
    if (this.#states.peek(organisationId) !== state) return;
    this.#states.delete(organisationId);
    this.#states.set(organisationId, state);
  }

  async #store(organisationId: string, state: KeySetState, document: unknown): Promise<void> {
    const { store, log, clock } = this.options;
    const keys = publicKeySet(document);
    const text = JSON.stringify(keys);
    const fetchedAt = clock();
    if (text === state.storedText && fetchedAt - state.storedOn < storeEveryMs) return;
    Object.assign(state, { storedText: text, storedOn: fetchedAt });
    try {
      await store.put(organisationId, { url: state.url!, keys, fetchedAt });
    } catch (error) {
      state.storedText = '';
      log.warn({ organisation: organisationId, err: error }, 'the key set of an organisation was not stored');
    }
  }

  /** A failed fetch leaves the keys as they are, for a day. Throws KeySetUnavailable if there are none. */
  async #fetchAgain(organisationId: string, state: KeySetState): Promise<void> {
    try {
      await this.#fetch(organisationId, state);
    } catch (error) {
      if (!(error instanceof KeySetUnavailable)) throw error;
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
      if (keys === null)
        throw new KeySetUnavailable('The answer of the key server is not a JSON Web Key Set.');
      const after = new Set(keys.map(({ kid, thumbprint }) => `${kid}\n${thumbprint}`));
      const isShorter = state.fetched.some(({ kid, thumbprint }) => !after.has(`${kid}\n${thumbprint}`));
      Object.assign(state, { fetched: keys, bytes, fetchedAt: now(), fetchedOn: this.options.clock() });
      this.#resized(organisationId, state);
      if (isShorter) removed(organisationId);
      void this.#store(organisationId, state, document);
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'the fetch failed';
      log.warn({ organisation: organisationId, reason }, 'the key set of an organisation was not fetched');
      throw error instanceof KeySetUnavailable ? error : new KeySetUnavailable(reason);
    } finally {
      state.isDue = false;
      this.#fetches--;
    }
  }
}
