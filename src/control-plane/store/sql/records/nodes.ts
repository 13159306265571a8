import { migrations } from '../../migrations/list.js';
import {
  lostAfterMs,
  type Node,
  type NodeReport,
  type NodeStart,
  type NodeStore,
  type OtherStart,
  type Reported,
} from '../../records/nodes.js';
import type { Database } from '../connection/driver.js';
import { databaseNow } from '../database-clock.js';
import { newestOf, refusalOf, schemaState } from '../migrate.js';

interface NodeRow {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly schema_version: number;
  readonly role: Node['role'];
  readonly state: NodeReport['state'];
  readonly instance: string;
  readonly place: string;
  readonly started_at: number;
  readonly last_seen_at: number;
  readonly workers: number;
  readonly journal_behind_ms: number;
}

const keptForMs = 7 * 24 * 60 * 60_000;

/** Nothing else has to wait for a report, nor a report for anything else. */
const alone = { lock: async () => {} };

/** The nodes that share a PostgreSQL database. Who is alive is a matter of its clock alone: theirs may differ. */
export class SqlNodes implements NodeStore {
  constructor(readonly database: Database) {}

  claim(start: NodeStart, dead?: OtherStart): Promise<OtherStart | null> {
    return this.database.write(async (sql) => {
      const found: NodeRow | undefined = await sql('nodes').where({ id: start.id }).forUpdate().first();
      const now = await databaseNow(sql);
      if (found !== undefined && !isOver(found, start, now, dead))
        return { instance: found.instance, name: found.name, lastSeenAt: found.last_seen_at };
      const { id, name, version, role, instance, place } = start;
      await sql('nodes')
        .insert({
          ...{ id, name, version, role, instance, place },
          schema_version: newestOf(migrations),
          state: 'starting',
          started_at: now,
          last_seen_at: now,
          workers: 0,
          journal_behind_ms: 0,
        } satisfies NodeRow)
        .onConflict('id')
        .merge();
      return null;
    });
  }

  report(start: NodeStart, { state, workers, journalBehindMs }: NodeReport): Promise<Reported> {
    const { id, instance } = start;
    return this.database.write(async (sql) => {
      const last_seen_at = await databaseNow(sql);
      const count = await sql('nodes')
        .where({ id, instance })
        .update({ state, workers, last_seen_at, journal_behind_ms: Math.round(journalBehindMs) });
      if (count > 0) return 'reported';
      return (await sql('nodes').where({ id }).first('id')) === undefined ? 'missing' : 'replaced';
    }, alone);
  }

  refusal(): Promise<string | null> {
    return this.database.read(async (sql) => refusalOf(await schemaState(sql), newestOf(migrations)));
  }

  list(): Promise<readonly Node[]> {
    return this.database.read(async (sql) => {
      const now = await databaseNow(sql);
      const rows: NodeRow[] = await sql('nodes').whereNot({ state: 'starting' }).orderBy(['name', 'id']);
      return rows.map((row) => fromRow(row, now));
    });
  }

  prune(): Promise<void> {
    return this.database.write(async (sql) => {
      await sql('nodes')
        .where('last_seen_at', '<', (await databaseNow(sql)) - keptForMs)
        .delete();
    }, alone);
  }
}

/** Has the start that has the id ended? */
function isOver(found: NodeRow, start: NodeStart, now: number, dead?: OtherStart): boolean {
  if (found.state === 'left' || found.instance === start.instance) return true;
  // Its directory is this one's, which is for one process at a time: it was killed.
  if (found.place === start.place) return true;
  if (now - found.last_seen_at >= lostAfterMs) return true;
  return found.instance === dead?.instance && found.last_seen_at === dead.lastSeenAt;
}

function fromRow(row: NodeRow, now: number): Node {
  const { id, name, version, role, workers } = row;
  const isLost = row.state !== 'left' && now - row.last_seen_at >= lostAfterMs;
  return {
    ...{ id, name, version, role, workers },
    state: isLost ? 'lost' : (row.state as Node['state']),
    startedAt: row.started_at,
    lastSeenAt: row.last_seen_at,
    journalBehindMs: row.journal_behind_ms,
  };
}

/** The one node that has a SQLite store: it is kept in memory, since no other process reads it. */
export class OwnNode implements NodeStore {
  #node: Node | null = null;

  constructor(readonly now: () => number) {}

  async claim({ id, name, version, role }: NodeStart): Promise<null> {
    const at = this.now();
    const own = { id, name, version, role, startedAt: at, lastSeenAt: at };
    this.#node = { ...own, state: 'up', workers: 0, journalBehindMs: 0 };
    return null;
  }

  async report(_start: NodeStart, { state, workers, journalBehindMs }: NodeReport): Promise<Reported> {
    if (this.#node === null) return 'missing';
    const shown = state === 'starting' ? 'up' : state;
    this.#node = { ...this.#node, state: shown, workers, journalBehindMs, lastSeenAt: this.now() };
    return 'reported';
  }

  async refusal(): Promise<null> {
    return null;
  }

  async list(): Promise<readonly Node[]> {
    return this.#node === null ? [] : [this.#node];
  }

  async prune(): Promise<void> {}
}
