import type { Logger } from '../../../common/plugin-host/plugin.js';
import type { AuditEntry, Store } from '../../store/store.js';
import { timeOf } from '../grpc/wire.js';

/** Refusals of one kind are counted for this long after the first, then written as one row. Milliseconds. */
const windowMs = 60_000;
/** Windows per actor that distinguish records and client addresses; further ones distinguish methods only. */
const maxPerActor = 32;
/** Windows of all actors, each of at most about 3 KB. When there are more, the oldest is written early. */
const maxWindows = 4096;

/** Refusals of one kind since the first one, which has a row already. */
interface RefusalWindow {
  readonly actor: string;
  readonly since: number;
  readonly end: number;
  /** Not counting the first. */
  count: number;
  lastAt: number;
  /** The newest one, without its body. */
  last: AuditEntry;
}

const short = (text: string): string => text.slice(0, 256);

/** The part of an entry that is kept until its window ends; its size is bounded for every request. */
const trimmed = (entry: AuditEntry): AuditEntry => ({
  ...entry,
  uri: short(entry.uri),
  requestId: short(entry.requestId),
  requestBody: '{}',
  queryParams: '',
  resourceId: entry.resourceId === null ? null : short(entry.resourceId),
});

const actorOf = (entry: AuditEntry): string =>
  JSON.stringify([entry.organisationId, entry.userType, entry.userId]);
const kindOf = (...parts: readonly (string | null)[]): string => JSON.stringify(parts);

/** The row for all refusals of a window except the first. */
const repeatsRow = ({ last, count, since, lastAt }: RefusalWindow): AuditEntry => ({
  ...last,
  requestBody: JSON.stringify({ repeated: count, since: timeOf(since), until: timeOf(lastAt) }),
});

/**
 * Writes the audit rows of refused calls. A caller that repeats a call it has no rights for (403) must not fill the audit
 * log: the first refusal of a kind (actor, method, record, client address) is written at once; further ones within a
 * minute are counted and written as one row when the minute ends, or when the gateway stops. A killed process loses that
 * count.
 */
export class RefusalLog {
  /** Ordered by their end. */
  readonly #windows = new Map<string, RefusalWindow>();
  readonly #perActor = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(
    readonly store: Store,
    readonly log: Logger,
    readonly now: () => number = Date.now,
  ) {}

  /** Resolves when the row is on disk, or the refusal is counted. `method`: its name. */
  async add(method: string, entry: AuditEntry): Promise<void> {
    if (entry.responseStatusCode !== 403 || this.#isClosed) return this.#write([entry]);
    const now = this.now();
    await this.#endUntil(now);
    const actor = actorOf(entry);
    const resource = entry.resourceId === null ? null : short(entry.resourceId);
    const exact = kindOf(actor, method, resource, entry.clientIp);
    const isFull = (this.#perActor.get(actor) ?? 0) >= maxPerActor;
    const kind = isFull && !this.#windows.has(exact) ? kindOf(actor, method) : exact;
    const window = this.#windows.get(kind);
    if (window === undefined) return this.#open(kind, actor, entry, now);
    window.count += 1;
    window.lastAt = now;
    // What differs among the refusals of a window is left open.
    const { resourceId, clientIp } = window.last;
    window.last = {
      ...trimmed(entry),
      resourceId: resourceId === resource ? resource : null,
      clientIp: clientIp === entry.clientIp ? clientIp : null,
    };
  }

  async #open(kind: string, actor: string, entry: AuditEntry, now: number): Promise<void> {
    // Before the first await: refusals that arrive in the meantime must find the window.
    const last = trimmed(entry);
    this.#windows.set(kind, { actor, since: now, end: now + windowMs, count: 0, lastAt: now, last });
    this.#perActor.set(actor, (this.#perActor.get(actor) ?? 0) + 1);
    this.#wake();
    const [oldest] = this.#windows.keys();
    if (this.#windows.size > maxWindows && oldest !== undefined) await this.#end([oldest]);
    await this.#write([entry]);
  }

  /** Writes the rows of all open windows; later refusals are written at once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#end([...this.#windows.keys()]);
  }

  /** How many windows are open. */
  get size(): number {
    return this.#windows.size;
  }

  #wake(): void {
    const [first] = this.#windows.values();
    if (this.#timer !== null || first === undefined || this.#isClosed) return;
    const wait = Math.min(Math.max(0, first.end - this.now()), windowMs);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#endUntil(this.now()).then(() => this.#wake());
    }, wait);
    this.#timer.unref();
  }

  async #endUntil(now: number): Promise<void> {
    const over: string[] = [];
    for (const [kind, { since, end }] of this.#windows) {
      // A window that starts in the future was opened before the clock was set back.
      if (since <= now && now < end) break;
      over.push(kind);
    }
    if (over.length > 0) await this.#end(over);
  }

  async #end(kinds: readonly string[]): Promise<void> {
    const rows: AuditEntry[] = [];
    for (const kind of kinds) {
      const window = this.#windows.get(kind);
      if (window === undefined) continue;
      this.#windows.delete(kind);
      const left = (this.#perActor.get(window.actor) ?? 1) - 1;
      if (left === 0) this.#perActor.delete(window.actor);
      else this.#perActor.set(window.actor, left);
      if (window.count > 0) rows.push(repeatsRow(window));
    }
    await this.#write(rows);
  }

  async #write(rows: readonly AuditEntry[]): Promise<void> {
    for (const organisation of new Set(rows.map(({ organisationId }) => organisationId))) {
      const own = rows.filter(({ organisationId }) => organisationId === organisation);
      try {
        await this.store.unit(organisation, async () => {
          for (const row of own) await this.store.audit.append(row);
        });
      } catch (failure) {
        this.log.error({ err: failure, rows: own.length }, 'refusals are not in the audit log');
      }
    }
  }
}
