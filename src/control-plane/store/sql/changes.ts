import type { Change, ChangeStore, NewChange } from '../changes.js';
import type { Database, Sql } from './connection/driver.js';
import { insertRow } from './connection/statements.js';

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

type Listener = (changes: readonly Change[]) => void;

export class SqlChanges implements ChangeStore {
  readonly #listeners = new Set<Listener>();
  /** Deliveries and new listeners, one after the other: none misses a change or gets one twice. */
  #turn: Promise<void> = Promise.resolve();
  #delivered = 0;
  #waiting = false;
  #stopWaking: (() => void) | null = null;

  constructor(
    readonly database: Database,
    readonly now: () => number,
  ) {}

  append(change: NewChange): Promise<void> {
    return this.database.write(async (sql) => {
      await this.database.announce(sql);
      const row: Omit<ChangeRow, 'seq'> = {
        organisation_id: change.organisationId,
        workspace_id: change.workspaceId,
        kind: change.kind,
        record_id: change.id,
        slug: change.slug,
        action: change.action,
        forget: JSON.stringify(change.forget ?? []),
        at: this.now(),
      };
      await insertRow(sql, 'changes', row);
      this.database.afterCommit(() => this.#deliver());
    });
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

  async watch(listener: Listener): Promise<() => void> {
    const added = this.#turn.then(async () => {
      if (this.#listeners.size === 0) this.#delivered = await this.newest();
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

  stop(): void {
    this.#listeners.clear();
    this.#stopWaking?.();
    this.#stopWaking = null;
  }

  #deliver(): void {
    if (this.#waiting || this.#listeners.size === 0) return;
    this.#waiting = true;
    this.#turn = this.#turn
      .then(async () => {
        this.#waiting = false;
        for (let more = true; more && this.#listeners.size > 0; ) {
          const found = await this.since(this.#delivered, pieceOf);
          // Some changes are already deleted: those that remain are delivered.
          const changes = found === 'pruned' ? [] : found;
          if (found === 'pruned') this.#delivered = await this.database.read(prunedTo);
          this.#notify(changes);
          more = found === 'pruned' || changes.length === pieceOf;
        }
      })
      // The store is away: the next commit or wake-up tries again.
      .catch(() => {});
  }

  #notify(changes: readonly Change[]): void {
    const last = changes.at(-1);
    if (last === undefined) return;
    this.#delivered = last.seq;
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
