import { LRUCache } from 'lru-cache';
import {
  concernsKey,
  type Forget,
  type LookupRecords,
  type StoredKind,
} from '../../../common/ipc/messages.js';
import type { ChangePoint } from '../changes.js';
import type { MasterKey } from '../secrets/master-key.js';
import { seal, unseal } from '../secrets/seal.js';
import { type KnownEntry, KnownFile } from './known-file.js';

export interface KnownOptions {
  readonly path: string;
  readonly masterKey: MasterKey;
  /** Of all records together, sealed; the file is at most twice as long. */
  readonly maxBytes?: number;
  /** How long records are known for without a store. Milliseconds. */
  readonly staleMs: number;
  /** The file cannot be read or written. */
  readonly onProblem: (error: unknown) => void;
}

/** The keys of a store that serve all its organisations. */
interface StoreKeys {
  readonly pepper: Buffer;
  readonly audit: Buffer;
}

/** A record that the store is asked for. */
interface KnownQuestion extends Pick<Head, 'kind' | 'workspace' | 'name'> {
  isOvertaken: boolean;
}

/** A record, sealed, and what it can be forgotten by. */
interface Known {
  readonly sealed: Buffer;
  readonly head: Head;
}

interface Head {
  readonly kind: StoredKind;
  readonly workspace: string | null;
  readonly name: string;
  /** Of a key. */
  readonly workspaceId: string | null;
  readonly userId: string | null;
}

const types = { keys: 1, record: 2, forgotten: 3, current: 4 } as const;

const defaultMaxBytes = 64 * 1024 * 1024;
/** Of an entry's place in memory. */
const entryBytes = 512;
/** The file may have as much that is out of date. */
const slackBytes = 1024 * 1024;
/** Between two entries by which all is current. Milliseconds. */
const currentEveryMs = 2000;

const nameOf = ({ kind, workspace, name }: Pick<Head, 'kind' | 'workspace' | 'name'>): string =>
  `${kind}\n${workspace ?? ''}\n${name}`;

/**
 * The records that data workers have asked for, each sealed by the master key: for a worker that starts later, and in a
 * file for the next start, while the store is away. What was changed since is forgotten here as in the workers.
 */
export class KnownRecords {
  readonly #sealing: Buffer;
  readonly #records: LRUCache<string, Known>;
  readonly #file: KnownFile;
  readonly #staleMs: number;
  #keys: StoreKeys | null = null;
  #point: ChangePoint = { seq: 0, mark: '' };
  /** Monotonic milliseconds at which all that is known was as the store had it. */
  #currentAt = Number.NEGATIVE_INFINITY;
  #currentWritten = Number.NEGATIVE_INFINITY;
  #evicted: Forget[] = [];
  /** Questions to the store that are open. */
  readonly #asked = new Set<KnownQuestion>();

  constructor(options: KnownOptions) {
    const { path, masterKey, maxBytes = defaultMaxBytes, staleMs, onProblem } = options;
    this.#sealing = masterKey.knownKey('records');
    this.#staleMs = staleMs;
    this.#file = new KnownFile(path, masterKey.knownKey('order'), onProblem);
    this.#records = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ sealed }, name) => sealed.length + name.length + entryBytes,
      dispose: ({ head: { kind, workspace, name } }, _, reason) => {
        if (reason === 'evict') this.#evicted.push({ kind, workspace, name });
      },
    });
    const read = new Map<string, Known>();
    for (const entry of this.#file.read()) this.#replay(entry, read);
    for (const [name, known] of read) this.#records.set(name, known);
    this.#evicted = [];
  }

  /** The keys of the store that it was read for; null: nothing is known, or no more. */
  get keys(): StoreKeys | null {
    return this.isStale ? null : this.#keys;
  }

  /** The change up to which everything is known. */
  get point(): ChangePoint {
    return this.#point;
  }

  /** Has the store been away for too long? */
  get isStale(): boolean {
    return performance.now() - this.#currentAt > this.#staleMs;
  }

  get size(): number {
    return this.#records.size;
  }

  #sealed(type: number, clear: Buffer): Buffer {
    return seal(this.#sealing, 1, placeOf(type), clear);
  }

  #append(type: number, value: unknown): void {
    if (!this.#file.isOpen) return;
    this.#file.append({ type, sealed: this.#sealed(type, Buffer.from(JSON.stringify(value))) });
  }

  /** From here on for a store with these keys: what is known of another one is forgotten. */
  async begin(keys: StoreKeys): Promise<void> {
    const isSame = this.#keys?.pepper.equals(keys.pepper) === true && !this.isStale;
    if (!isSame) {
      this.#records.clear();
      this.#point = { seq: 0, mark: '' };
      this.#currentAt = Number.NEGATIVE_INFINITY;
    }
    this.#keys = keys;
    await this.#rewrite();
  }

  /** Is nothing known from before? */
  get isNew(): boolean {
    return this.#currentAt === Number.NEGATIVE_INFINITY;
  }

  /** Every change up to `point` has been taken into account, as of now. */
  current(point: ChangePoint): void {
    const now = performance.now();
    this.#point = point;
    this.#currentAt = now;
    if (!this.#file.isOpen || this.#file.bytes > 2 * this.#records.calculatedSize + slackBytes) {
      if (this.#file.isDue) void this.#rewrite();
    } else if (now - this.#currentWritten >= currentEveryMs) {
      this.#currentWritten = now;
      this.#append(types.current, this.#currentEntry());
    }
  }

  #currentEntry(): { readonly point: ChangePoint; readonly at: number } {
    return { point: this.#point, at: Date.now() - (performance.now() - this.#currentAt) };
  }

  /** To be called before the store is asked, and to be ended by `answered`. */
  ask(kind: StoredKind, workspace: string | null, name: string): KnownQuestion {
    const question = { kind, workspace, name, isOvertaken: false };
    this.#asked.add(question);
    return question;
  }

  /**
   * Keeps the answer, unless it was forgotten while it was asked for: it may be out of date. undefined: there was no answer.
   * null is kept of policies, which most workspaces have none of; other records may be made at any time.
   */
  answered(question: KnownQuestion, record: LookupRecords[StoredKind] | null | undefined): void {
    this.#asked.delete(question);
    const { kind, workspace, name } = question;
    if (record === undefined || question.isOvertaken || (record === null && kind !== 'policies')) return;
    const { workspaceId = null, userId = null } = (record ?? {}) as {
      workspaceId?: string | null;
      userId?: string | null;
    };
    const head: Head = { kind, workspace, name, workspaceId, userId };
    const headText = Buffer.from(JSON.stringify(head));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(headText.length);
    const clear = Buffer.concat([length, headText, Buffer.from(JSON.stringify(record))]);
    const sealed = this.#sealed(types.record, clear);
    this.#records.set(nameOf(head), { sealed, head });
    if (this.#file.isOpen) this.#file.append({ type: types.record, sealed });
    if (this.#evicted.length > 0) this.#append(types.forgotten, this.#evicted.splice(0));
  }

  /** undefined: it is not known; null: there is none. */
  find<K extends StoredKind>(
    kind: K,
    workspace: string | null,
    name: string,
  ): LookupRecords[K] | null | undefined {
    if (this.isStale) return undefined;
    const known = this.#records.get(nameOf({ kind, workspace, name }));
    if (known === undefined) return undefined;
    const clear = unseal(this.#sealing, placeOf(types.record), known.sealed);
    return JSON.parse(clear.toString('utf8', 4 + clear.readUInt32BE(0)));
  }

  /** On its way to the disk when this returns. */
  forget(what: readonly Forget[]): void {
    for (const question of this.#asked) {
      question.isOvertaken ||= what.some(
        (one) => one.kind === question.kind && (one.name === '*' || nameOf(one) === nameOf(question)),
      );
    }
    if (!remove(this.#records, what)) return;
    this.#append(types.forgotten, what);
    this.#file.flush();
  }

  async #rewrite(): Promise<void> {
    if (this.#keys !== null) await this.#file.rewrite(this.#entries(this.#keys));
  }

  *#entries({ pepper, audit }: StoreKeys): Generator<KnownEntry> {
    const entry = (type: number, value: unknown): KnownEntry => ({
      type,
      sealed: this.#sealed(type, Buffer.from(JSON.stringify(value))),
    });
    yield entry(types.keys, { pepper: pepper.toString('hex'), audit: audit.toString('hex') });
    if (!this.isNew) yield entry(types.current, this.#currentEntry());
    // Those used last are read last.
    for (const known of [...this.#records.rvalues()])
      if (known !== undefined) yield { type: types.record, sealed: known.sealed };
  }

  #replay({ type, sealed }: KnownEntry, read: Map<string, Known>): void {
    const clear = unseal(this.#sealing, placeOf(type), sealed);
    if (type === types.record) {
      const head = JSON.parse(clear.toString('utf8', 4, 4 + clear.readUInt32BE(0))) as Head;
      read.set(nameOf(head), { sealed: Buffer.from(sealed), head });
      return;
    }
    const value = JSON.parse(clear.toString());
    if (type === types.keys) {
      this.#keys = { pepper: Buffer.from(value.pepper, 'hex'), audit: Buffer.from(value.audit, 'hex') };
    } else if (type === types.forgotten) {
      remove(read, value);
    } else if (type === types.current) {
      this.#point = value.point;
      // Not later than now, where the clock was set back.
      this.#currentAt = performance.now() - Math.max(0, Date.now() - value.at);
    }
  }

  close(): void {
    this.#file.close();
  }
}

const placeOf = (type: number) => ({
  table: 'known',
  row: String(type),
  organisation: '',
  field: 'entry',
});

/** By a change with the name `*`. */
function isConcerned(what: Forget, head: Head): boolean {
  if (what.kind === 'key') return concernsKey(what, head);
  return what.kind !== 'policies' || what.workspace === null || what.workspace === head.workspace;
}

/** Was any of it there? */
function remove(
  records: {
    delete(name: string): boolean;
    entries(): Iterable<readonly [string, Known]>;
  },
  what: readonly Forget[],
): boolean {
  let found = false;
  for (const one of what) {
    if (one.name !== '*') {
      if (records.delete(nameOf(one))) found = true;
      continue;
    }
    for (const [name, { head }] of [...records.entries()]) {
      if (head.kind !== one.kind || !isConcerned(one, head)) continue;
      records.delete(name);
      found = true;
    }
  }
  return found;
}
