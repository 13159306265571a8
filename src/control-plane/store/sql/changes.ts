import type { Change, ChangeListener, ChangePoint, ChangeStore, NewChange } from '../changes.js';
import type { Database, Sql } from './connection/driver.js';
import { insertRow, insertRows } from './connection/statements.js';

interface ChangeRow {
  readonly seq: number;
  readonly organisation_id: string;
  readonly workspace_id: string | null;
  readonly kind: string;
  readonly record_id: string;
  readonly slug: string | null;
  readonly action: Change['action'];
  /** JSON. */
  readonly forget: string;
  readonly at: number;
}

const keptForMs = 7 * 24 * 60 * 60_000;
const pieceOf = 500;

const fromRow = (row: ChangeRow): Change => ({
  seq: row.seq,
  organisationId: row.organisation_id,
  workspaceId: row.workspace_id,
  kind: row.kind,
  id: row.record_id,
  slug: row.slug,
  action: row.action,
  forget: JSON.parse(row.forget),
  at: row.at,
});

/** Up to which number changes are no longer kept. */
async function prunedTo(sql: Sql): Promise<number> {
  const row: { value: string } | undefined = await sql('meta').where({ name: 'changes_pruned_to' }).first();
  return Number(row?.value ?? 0);
}

const markOf = ({ at, record_id }: Pick<ChangeRow, 'at' | 'record_id'>): string => `${at} ${record_id}`;

async function newestPoint(sql: Sql): Promise<ChangePoint> {
  const row: ChangeRow | undefined = await sql('changes').orderBy('seq', 'desc').first();
  if (row !== undefined) return { seq: row.seq, mark: markOf(row) };
  return { seq: await prunedTo(sql), mark: '' };
}

/** A piece of them. `missed`: some are no longer kept, or the feed is not the one that the point was in. */
async function rowsAfter(sql: Sql, { seq, mark }: ChangePoint): Promise<readonly ChangeRow[] | 'missed'> {
  const rows: ChangeRow[] = await sql('changes')
    .where('seq', '>=', seq)
    .orderBy('seq')
    .limit(pieceOf + 1);
  // Asked last: what is removed in between must not be missed in silence.
  const pruned = await prunedTo(sql);
  if (seq < pruned) return 'missed';
  if (rows[0]?.seq === seq) return mark !== '' && markOf(rows[0]) !== mark ? 'missed' : rows.slice(1);
  return seq > pruned ? 'missed' : rows.slice(0, pieceOf);
}

export class SqlChanges implements ChangeStore {
  readonly #listeners = new Set<ChangeListener>();
  readonly #onCurrent: ((point: ChangePoint) => void)[] = [];
  /** Deliveries and new listeners, one after the other: none misses a change or gets one twice. */
  #turn: Promise<void> = Promise.resolve();
  #delivered: ChangePoint = { seq: 0, mark: '' };
  /** Monotonic milliseconds. */
  #currentAt: number | null = null;
  #waiting = false;
  #stopWaking: (() => void) | null = null;

  constructor(
    readonly database: Database,
    readonly now: () => number,
  ) {}

  append(change: NewChange): Promise<void> {
    return this.database.write(async (sql) => {
      await this.database.announce(sql);
      await insertRow(sql, 'changes', this.#rowOf(change));
      this.database.afterCommit(() => this.#deliver());
    });
  }

  appendAll(changes: readonly NewChange[]): Promise<void> {
    return this.database.write(async (sql) => {
      if (changes.length === 0) return;
      await this.database.announce(sql);
      const rows = changes.map((change) => this.#rowOf(change));
      await insertRows(sql, 'changes', rows);
      this.database.afterCommit(() => this.#deliver());
    });
  }

  #rowOf(change: NewChange): Omit<ChangeRow, 'seq'> {
    return {
      organisation_id: change.organisationId,
      workspace_id: change.workspaceId,
      kind: change.kind,
      record_id: change.id,
      slug: change.slug,
      action: change.action,
      forget: JSON.stringify(change.forget ?? []),
      at: this.now(),
    };
  }

  newest(): Promise<number> {
    return this.database.read(async (sql) => {
      const row = await sql('changes').max('seq as seq').first();
      return Math.max(Number(row?.['seq'] ?? 0), await prunedTo(sql));
    });
  }

  since(seq: number, limit: number, organisationId?: string): Promise<readonly Change[] | 'pruned'> {
    return this.database.read(async (sql) => {
      const wanted = sql('changes').where('seq', '>', seq).orderBy('seq').limit(limit);
      if (organisationId !== undefined) wanted.where({ organisation_id: organisationId });
      const rows: ChangeRow[] = await wanted;
      // Asked last: what is removed in between must not be missed in silence.
      return seq < (await prunedTo(sql)) ? 'pruned' : rows.map(fromRow);
    });
  }

  async watch(listener: ChangeListener, from?: ChangePoint): Promise<() => void> {
    const added = this.#turn.then(async () => {
      if (this.#listeners.size === 0) {
        this.#delivered = from ?? (await this.database.read(newestPoint));
        this.#currentAt = performance.now();
      }
      this.#listeners.add(listener);
    });
    this.#turn = added.catch(() => {});
    await added;
    this.#stopWaking ??= this.database.onCommitElsewhere(() => this.#deliver());
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.stop();
    };
  }

  onCurrent(listener: (point: ChangePoint) => void): void {
    this.#onCurrent.push(listener);
  }

  get behindMs(): number | null {
    return this.#currentAt === null ? null : performance.now() - this.#currentAt;
  }

  stop(): void {
    this.#listeners.clear();
    this.#currentAt = null;
    this.#stopWaking?.();
    this.#stopWaking = null;
  }

  #deliver(): void {
    if (this.#waiting || this.#listeners.size === 0) return;
    this.#waiting = true;
    this.#turn = this.#turn
      .then(async () => {
        this.#waiting = false;
        for (let more = true; more && this.#listeners.size > 0; ) more = await this.#deliverPiece();
      })
      // The store is away: the next commit or wake-up tries again.
      .catch(() => {});
  }

  /** Are there more? */
  async #deliverPiece(): Promise<boolean> {
    const from = performance.now();
    const rows = await this.database.read((sql) => rowsAfter(sql, this.#delivered));
    if (rows === 'missed') {
      // Read first: what is committed after it is reported as well.
      this.#delivered = await this.database.read(newestPoint);
      this.#notify('missed');
      return true;
    }
    const last = rows.at(-1);
    if (last !== undefined) {
      this.#delivered = { seq: last.seq, mark: markOf(last) };
      this.#notify(rows.map(fromRow));
    }
    if (rows.length === pieceOf) return true;
    if (this.#listeners.size > 0) this.#currentAt = from;
    for (const listener of this.#onCurrent) listener(this.#delivered);
    return false;
  }

  #notify(changes: readonly Change[] | 'missed'): void {
    for (const listener of this.#listeners) {
      try {
        listener(changes);
      } catch {
        // An error of one listener does not affect the others.
      }
    }
  }

  async prune(): Promise<void> {
    await this.database.write(async (sql) => {
      const old = await sql('changes')
        .where('at', '<', this.now() - keptForMs)
        .max('seq as seq')
        .first();
      const seq = Number(old?.['seq'] ?? 0);
      if (seq === 0) return;
      await sql('changes').where('seq', '<=', seq).delete();
      await sql('meta')
        .insert({ name: 'changes_pruned_to', value: String(seq) })
        .onConflict('name')
        .merge();
    });
  }
}
