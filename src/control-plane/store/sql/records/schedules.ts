import type { Knex } from 'knex';
import type { Listed, Page } from '../../records/place.js';
import {
  type ClaimedRun,
  type Claims,
  leaseMs,
  type Schedule,
  type ScheduleRun,
  type ScheduleStore,
} from '../../records/schedules.js';
import type { Database, Sql, Transaction } from '../connection/driver.js';
import { databaseNow } from '../database-clock.js';
import { listed } from '../lists.js';

interface ScheduleRow {
  readonly name: string;
  readonly interval_s: number;
  readonly next_due_at: number;
  readonly fence: number;
}

interface RunRow {
  readonly name: string;
  readonly due_at: number;
  readonly fence: number;
  readonly node_id: string;
  readonly started_at: number;
  readonly lease_until: number;
  readonly ended_at: number | null;
  readonly outcome: 'done' | 'failed' | 'lost' | null;
}

/** Due times that passed while no node was there are made up for up to this age; of older ones the last alone. Milliseconds. */
const makeUpMs = 60_000;
/** Runs are kept for a week, and of each schedule no more than this. */
const keptForMs = 7 * 24 * 60 * 60_000;
const keptRuns = 10_000;

const runColumns = ['due_at', 'node_id', 'started_at', 'ended_at', 'outcome'] as const;

export class SqlSchedules implements ScheduleStore {
  constructor(
    readonly database: Database,
    readonly now: () => number,
  ) {}

  /** Leases are by PostgreSQL's clock; a node with SQLite has no other than its own. */
  #leaseClock(sql: Sql): Promise<number> {
    return this.database.dialect === 'postgres' ? databaseNow(sql) : Promise.resolve(this.now());
  }

  #write<T>(work: (sql: Transaction) => Promise<T>): Promise<T> {
    // A process that is stopped within its transaction must not keep the rows locked.
    const lock = (sql: Transaction): Promise<unknown> =>
      this.database.dialect === 'postgres'
        ? sql.raw("SET LOCAL idle_in_transaction_session_timeout = '2s'")
        : Promise.resolve();
    return this.database.write(work, { lock });
  }

  declare(intervals: ReadonlyMap<string, number>): Promise<void> {
    return this.#write(async (sql) => {
      // In one order on every node: two that start at once must not wait for each other.
      for (const [name, interval_s] of [...intervals].sort(([a], [b]) => (a < b ? -1 : 1))) {
        const next_due_at = dueAfter(this.now(), interval_s);
        const row: ScheduleRow = { name, interval_s, next_due_at, fence: 0 };
        await sql('schedules').insert(row).onConflict('name').ignore();
        await sql('schedules').where({ name }).whereNot({ interval_s }).update({ interval_s, next_due_at });
      }
    });
  }

  async claim(names: readonly string[], nodeId: string): Promise<Claims> {
    const idle = await this.database.read((sql) => this.#nextDue(sql, names));
    if (idle === null || idle > this.now()) return { runs: [], lost: [], nextDueAt: idle };
    return this.#write(async (sql) => {
      const runs: ClaimedRun[] = [];
      const lost: string[] = [];
      const due = sql('schedules')
        .whereIn('name', [...names])
        .andWhere('next_due_at', '<=', this.now())
        .orderBy('name');
      const free: ScheduleRow[] = await (this.database.dialect === 'postgres'
        ? due.forUpdate().skipLocked()
        : due);
      for (const schedule of free) {
        const at = await this.#leaseClock(sql);
        const before: RunRow | undefined = await sql('schedule_runs')
          .where({ name: schedule.name })
          .whereNull('outcome')
          .first();
        if (before !== undefined) {
          // One run of a schedule at a time.
          if (before.lease_until > at) continue;
          await endRun(sql, before, 'lost', before.lease_until);
          lost.push(schedule.name);
        }
        runs.push(await this.#begin(sql, schedule, nodeId, at));
      }
      return { runs, lost, nextDueAt: await this.#nextDue(sql, names) };
    });
  }

  async #nextDue(sql: Sql, names: readonly string[]): Promise<number | null> {
    const row = await sql('schedules')
      .whereIn('name', [...names])
      .min('next_due_at as at')
      .first();
    return row?.['at'] == null ? null : Number(row['at']);
  }

  async #begin(
    sql: Transaction,
    { name, interval_s, next_due_at, fence: before }: ScheduleRow,
    nodeId: string,
    at: number,
  ): Promise<ClaimedRun> {
    const intervalMs = interval_s * 1000;
    const isOld = this.now() - next_due_at > Math.max(makeUpMs, intervalMs);
    const dueAt = isOld ? dueAfter(this.now(), interval_s) - intervalMs : next_due_at;
    const fence = before + 1;
    await sql('schedules')
      .where({ name })
      .update({ fence, next_due_at: dueAt + intervalMs });
    await sql('schedule_runs').insert({
      ...{ name, due_at: dueAt, fence, node_id: nodeId },
      ...{ started_at: at, lease_until: at + leaseMs, ended_at: null, outcome: null },
    } satisfies RunRow);
    return { name, dueAt, fence };
  }

  renew(run: ClaimedRun): Promise<boolean> {
    return this.#write(async (sql) => {
      const lease_until = (await this.#leaseClock(sql)) + leaseMs;
      return (await ofRun(sql, run).update({ lease_until })) === 1;
    });
  }

  confirm(run: ClaimedRun): Promise<void> {
    return this.database.write(
      async (sql) => {
        const at = await this.#leaseClock(sql);
        const query = ofRun(sql, run).andWhere('lease_until', '>', at);
        const found = await (this.database.dialect === 'postgres' ? query.forUpdate() : query).first('name');
        if (found === undefined) throw new Error(`The run of the schedule ${run.name} is lost.`);
      },
      { lock: async () => {} },
    );
  }

  finish(run: ClaimedRun, outcome: 'done' | 'failed'): Promise<boolean> {
    return this.#write(async (sql) => endRun(sql, rowOf(run), outcome, await this.#leaseClock(sql)));
  }

  list(): Promise<readonly Schedule[]> {
    return this.database.read(async (sql) => {
      const rows: ScheduleRow[] = await sql('schedules').orderBy('name');
      const schedules: Schedule[] = [];
      for (const { name, interval_s, next_due_at } of rows) {
        const last: RunRow | undefined = await sql('schedule_runs')
          .where({ name })
          .orderBy('due_at', 'desc')
          .first();
        const lastRun = last === undefined ? null : fromRow(last);
        schedules.push({ name, intervalS: interval_s, nextDueAt: next_due_at, lastRun });
      }
      return schedules;
    });
  }

  runs(name: string, page: Page): Promise<Listed<ScheduleRun> | null> {
    return this.database.read(async (sql) => {
      if ((await sql('schedules').where({ name }).first('name')) === undefined) return null;
      const order = [{ column: 'due_at', order: 'desc' }] as const;
      return listed<RunRow, ScheduleRun>(
        sql('schedule_runs').where({ name }),
        order,
        page,
        fromRow,
        runColumns,
      );
    });
  }

  async prune(): Promise<void> {
    const names: string[] = await this.database.read((sql) => sql('schedules').pluck('name'));
    for (const name of names) {
      await this.#write(async (sql) => {
        const newest = sql('schedule_runs').where({ name }).orderBy('due_at', 'desc');
        const surplus = await newest.offset(keptRuns).first('due_at');
        const before = Math.max(Number(surplus?.due_at ?? 0) + 1, this.now() - keptForMs);
        // The last run of a schedule stays, however old it is.
        const last = await sql('schedule_runs').where({ name }).max('due_at as at').first();
        await sql('schedule_runs')
          .where({ name })
          .andWhere('due_at', '<', Math.min(before, Number(last?.['at'] ?? 0)))
          .whereNotNull('outcome')
          .delete();
      });
    }
  }
}

/** The first due time after `now`: all nodes count in whole intervals from the same moment. */
function dueAfter(now: number, intervalS: number): number {
  const intervalMs = intervalS * 1000;
  return (Math.floor(now / intervalMs) + 1) * intervalMs;
}

type RunKey = Pick<RunRow, 'name' | 'due_at' | 'fence'>;

const rowOf = ({ name, dueAt, fence }: ClaimedRun): RunKey => ({ name, due_at: dueAt, fence });

const ofRun = (sql: Sql, run: ClaimedRun): Knex.QueryBuilder =>
  sql('schedule_runs').where(rowOf(run)).whereNull('outcome');

async function endRun(
  sql: Transaction,
  { name, due_at, fence }: RunKey,
  outcome: NonNullable<RunRow['outcome']>,
  ended_at: number,
): Promise<boolean> {
  const count = await sql('schedule_runs')
    .where({ name, due_at, fence })
    .whereNull('outcome')
    .update({ outcome, ended_at });
  return count === 1;
}

const fromRow = (row: RunRow): ScheduleRun => ({
  dueAt: row.due_at,
  nodeId: row.node_id,
  startedAt: row.started_at,
  endedAt: row.ended_at,
  outcome: row.outcome ?? 'running',
});
