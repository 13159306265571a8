import { LRUCache } from 'lru-cache';
import { SecretFailure } from '../../common/http/secret-access.js';
import type { Forget } from '../../common/ipc/messages.js';
import type { SecretReferenceRecord } from '../../common/ipc/records.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import type { FetchedSecret } from './secret-source.js';

/** Milliseconds. */
export interface SecretTimes {
  /** A value is fetched again after this time. */
  readonly freshMs: number;
  /** How long the last value serves beyond that, where no other can be fetched. */
  readonly graceMs: number;
  /** A fetch that takes longer has failed. */
  readonly fetchMs: number;
  /** The longest wait of a call for a value that was not fetched yet: the first time, and after a failed fetch. */
  readonly waitMs: readonly [first: number, again: number];
  /** Between fetches while they fail: at first, and at most. */
  readonly retryMs: readonly [first: number, most: number];
  /** A reference is no longer fetched once no call has used it for this long. */
  readonly unusedMs: number;
  /** Between fetches that a provider's refusal causes. */
  readonly refusedMs: number;
}

export const usualTimes = (graceMs: number): SecretTimes => ({
  // Without a grace period, the next value has to be fetched before the last one expires.
  freshMs: graceMs === 0 ? 285_000 : 300_000,
  graceMs: graceMs === 0 ? 15_000 : graceMs,
  // Enough for the login and the fetch with a slow manager.
  fetchMs: 20_000,
  waitMs: [8000, 1000],
  retryMs: [5000, 30_000],
  unusedMs: 3_600_000,
  refusedMs: 30_000,
});

export interface SecretValuesOptions {
  readonly fetch: (reference: SecretReferenceRecord) => Promise<FetchedSecret>;
  /** Makes data workers forget records that contain an outdated value. */
  readonly forget: (what: readonly Forget[]) => void;
  readonly log: Logger;
  readonly times: SecretTimes;
}

/** The secret, or why there is none. */
export type SecretValue =
  | { readonly secret: FetchedSecret }
  | { readonly failure: string; readonly secret?: undefined };

interface Entry {
  reference: SecretReferenceRecord;
  /** null: none was fetched yet, or the last one is too old to be used. */
  secret: FetchedSecret | null;
  /** JSON text, by which a value is compared with the one before. */
  text: string;
  /** When the last successful fetch ended. Monotonic milliseconds, as the times below. */
  fetchedAt: number;
  /** When the last fetch began, whatever became of it. */
  begunAt: number;
  /** When a provider's refusal last caused a fetch. */
  refusedAt: number;
  failure: string | null;
  /** How many fetches have failed since the last successful one. */
  failures: number;
  coming: Promise<void> | null;
  /** Records of data workers that contain this value, by kind, workspace and name. */
  readonly dependants: Map<string, Forget>;
  askedAt: number;
  timer: NodeJS.Timeout | null;
}

/** A value is fetched up to this part of its time earlier, so that those fetched together are refreshed at different times. */
const early = 0.05;

/** Beyond this many, data workers forget all records of the kind instead of single ones. */
const maxDependants = 1000;
const maxEntries = 2000;
const maxBytes = 32 * 1024 * 1024;
const entryBytes = 4096;

const nameOf = ({ kind, workspace, name }: Forget): string => `${kind}\n${workspace ?? ''}\n${name}`;
const allOf = ({ kind }: Forget): Forget => ({ kind, workspace: null, name: '*' });

/**
 * Values of secret references in memory, for all data workers of this node. One fetch a reference is under way, however
 * many ask. Values that are in use are fetched again in the background; data workers learn of another value by a `forget`.
 */
export class SecretValues {
  readonly #entries: LRUCache<string, Entry>;
  #closed = false;

  constructor(readonly options: SecretValuesOptions) {
    this.#entries = new LRUCache({
      max: maxEntries,
      maxSize: maxBytes,
      sizeCalculation: ({ text }) => entryBytes + 4 * text.length,
      dispose: (entry, _id, reason) => {
        clearTimeout(entry.timer ?? undefined);
        // The workers that have this value would not learn of another one.
        if (reason === 'evict') this.#forget(entry);
      },
    });
  }

  /** The value now, or after the fetch that is under way. `dependant`: the record that gets it. */
  async get(reference: SecretReferenceRecord, dependant: Forget): Promise<SecretValue> {
    const entry = this.#entryOf(reference);
    const value = await this.#valueOf(entry);
    this.#depend(entry, dependant);
    return value;
  }

  async #valueOf(entry: Entry): Promise<SecretValue> {
    const { times } = this.options;
    const now = performance.now();
    entry.askedAt = now;
    this.#expire(entry);
    if (entry.secret !== null) return { secret: entry.secret };
    if (entry.coming === null && entry.failure !== null && this.#pauseMs(entry) > 0)
      return { failure: entry.failure };
    // While a secret manager hangs, calls wait only briefly: they may have another target.
    const waitMs = times.waitMs[entry.failure === null ? 0 : 1];
    if (!(await inTime(this.#fetch(entry), waitMs)))
      return { failure: 'its secret manager does not answer in time' };
    return entry.secret === null
      ? { failure: entry.failure ?? 'its value was not fetched' }
      : { secret: entry.secret };
  }

  /** Workers have forgotten these. */
  forgotten(what: readonly Forget[]): void {
    for (const one of what) {
      if (one.kind !== 'provider' && one.kind !== 'partner') continue;
      for (const entry of this.#entries.values()) {
        if (one.name !== '*') entry.dependants.delete(nameOf(one));
        else
          for (const [name, { kind }] of entry.dependants)
            if (kind === one.kind) entry.dependants.delete(name);
      }
    }
  }

  /** A provider has refused the credential of this record: its secrets may have been rotated. */
  refused(record: Forget): void {
    const now = performance.now();
    const name = nameOf(record);
    for (const entry of this.#entries.values()) {
      if (!entry.dependants.has(name) || entry.coming !== null) continue;
      if (now - entry.refusedAt < this.options.times.refusedMs) continue;
      entry.refusedAt = now;
      void this.#fetch(entry);
    }
  }

  get size(): number {
    return this.#entries.size;
  }

  close(): void {
    this.#closed = true;
    for (const { timer } of this.#entries.values()) clearTimeout(timer ?? undefined);
    this.#entries.clear();
  }

  #entryOf(reference: SecretReferenceRecord): Entry {
    const known = this.#entries.get(reference.id);
    if (known !== undefined && known.reference.revision >= reference.revision) return known;
    const entry: Entry = {
      reference,
      secret: null,
      text: '',
      fetchedAt: Number.NEGATIVE_INFINITY,
      begunAt: Number.NEGATIVE_INFINITY,
      refusedAt: known?.refusedAt ?? Number.NEGATIVE_INFINITY,
      failure: null,
      failures: 0,
      coming: null,
      dependants: new Map(known?.dependants),
      askedAt: performance.now(),
      timer: null,
    };
    this.#entries.set(reference.id, entry);
    return entry;
  }

  #depend(entry: Entry, dependant: Forget): void {
    const one = entry.dependants.size >= maxDependants ? allOf(dependant) : dependant;
    entry.dependants.set(nameOf(one), one);
  }

  #isCurrent(entry: Entry): boolean {
    return !this.#closed && this.#entries.peek(entry.reference.id) === entry;
  }

  #fetch(entry: Entry): Promise<void> {
    entry.coming ??= this.#fetchNow(entry).finally(() => {
      entry.coming = null;
    });
    return entry.coming;
  }

  async #fetchNow(entry: Entry): Promise<void> {
    entry.begunAt = performance.now();
    clearTimeout(entry.timer ?? undefined);
    try {
      this.#succeeded(entry, await deadline(this.options.fetch(entry.reference), this.options.times.fetchMs));
    } catch (error) {
      this.#failed(entry, error instanceof SecretFailure ? error.message : 'its value could not be fetched');
    }
  }

  #succeeded(entry: Entry, secret: FetchedSecret): void {
    const { id, slug, managerType } = entry.reference;
    const text = JSON.stringify(secret);
    const isNew = entry.secret === null || entry.text !== text;
    if (entry.failures > 0)
      this.options.log.info(
        { reference: slug, manager: managerType },
        'secret reference: it has a value again',
      );
    Object.assign(entry, { secret, text, fetchedAt: performance.now(), failure: null, failures: 0 });
    if (!this.#isCurrent(entry)) return;
    if (isNew) {
      // The cache does not notice that the size of this object has changed.
      this.#entries.delete(id);
      this.#entries.set(id, entry);
      this.#forget(entry);
    }
    this.#wake(entry, this.options.times.freshMs * (1 - early * Math.random()));
  }

  #failed(entry: Entry, failure: string): void {
    const { slug, managerType } = entry.reference;
    if (entry.failures === 0)
      this.options.log.warn(
        { reference: slug, manager: managerType, why: failure },
        'secret reference: no value was fetched',
      );
    entry.failure = failure;
    entry.failures += 1;
    if (!this.#isCurrent(entry)) return;
    this.#expire(entry);
    this.#wake(entry, this.#retryMs(entry));
  }

  #retryMs({ failures }: Entry): number {
    const [first, most] = this.options.times.retryMs;
    return Math.min(most, first * 2 ** Math.min(10, failures - 1));
  }

  /** Milliseconds until the next fetch after a failed one; 0: it may be fetched now. */
  #pauseMs(entry: Entry): number {
    if (entry.failure === null) return 0;
    return Math.max(0, entry.begunAt + this.#retryMs(entry) - performance.now());
  }

  #endsAt({ fetchedAt }: Entry): number {
    return fetchedAt + this.options.times.freshMs + this.options.times.graceMs;
  }

  /** Drops the value if it is too old to be used. */
  #expire(entry: Entry): void {
    if (entry.secret === null || performance.now() < this.#endsAt(entry)) return;
    const { slug, managerType } = entry.reference;
    this.options.log.error(
      { reference: slug, manager: managerType, why: entry.failure },
      'secret reference: its last value is too old, calls that need it are refused',
    );
    entry.secret = null;
    entry.text = '';
    this.#forget(entry);
  }

  #wake(entry: Entry, ms: number): void {
    const untilEnd = entry.secret === null ? ms : this.#endsAt(entry) - performance.now();
    const wait = Math.max(1, Math.min(ms, untilEnd));
    clearTimeout(entry.timer ?? undefined);
    entry.timer = setTimeout(() => this.#onTimer(entry), wait).unref();
  }

  #onTimer(entry: Entry): void {
    if (!this.#isCurrent(entry)) return;
    // No worker has a record with it, so no call needs it.
    if (entry.dependants.size === 0) return void this.#entries.delete(entry.reference.id);
    this.#expire(entry);
    if (entry.secret === null) {
      // Workers request it again with the next call that needs it, and it is fetched then.
      this.#forget(entry);
      this.#wake(entry, this.options.times.retryMs[1]);
      return;
    }
    // Workers that still use it request their record again.
    if (performance.now() - entry.askedAt >= this.options.times.unusedMs) this.#forget(entry);
    const pauseMs = this.#pauseMs(entry);
    // Woken for the end of the value, a moment too early.
    if (pauseMs > 0) this.#wake(entry, pauseMs);
    else void this.#fetch(entry);
  }

  #forget(entry: Entry): void {
    if (entry.dependants.size === 0 || this.#closed) return;
    const what = [...entry.dependants.values()];
    entry.dependants.clear();
    this.options.forget(what);
  }
}

/** Rejects if the promise takes longer. */
async function deadline<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new SecretFailure('its secret manager does not answer in time')), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Does the promise, which never rejects, resolve within that time? */
async function inTime(promise: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
