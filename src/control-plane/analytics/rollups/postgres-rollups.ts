import { dayMs } from '../buckets.js';
import { PostgresAnalytics } from '../postgres.js';
import { createRollups, createValues } from './cells.js';
import { keptCells } from './kept-cells.js';
import { again, type InConnection, rollupsLock, transaction, type WorkConnection } from './postgres-work.js';
import { addToDay, clearDay, rollUpDay } from './roll-up.js';
import {
  daysToMake,
  dropEarlierIndex,
  haveMovesBeenLookedFor,
  lookForMoves,
  prepareFeedbackIndex,
} from './valid-days.js';
import { changedWeeks, createWeeks, rollUpWeek } from './weeks.js';

const text = 'text COLLATE "C"';

const indexesOfValues = `CREATE INDEX day_values_day ON day_values (org, rolled_by, day);
  CREATE INDEX day_values_only_day ON day_values (day);
  CREATE INDEX day_names_day ON day_names (day, org, workspace, name);`;

/**
 * Rollups of days beside the ledger in PostgreSQL. Each day has the snapshot that its cells were made in: a day with a row that this
 * does not show is counted row by row, so that nothing has to be recorded when rows arrive.
 */
const tables = `${createRollups(text)}
  CREATE INDEX day_sums_day ON day_sums (org, rolled_by, day);
  CREATE INDEX day_sums_only_day ON day_sums (day);
  CREATE INDEX day_users_day ON day_users (org, day);
  CREATE INDEX day_users_only_day ON day_users (day);
  CREATE INDEX day_durations_day ON day_durations (org, rolled_by, measure, day);
  CREATE INDEX day_durations_only_day ON day_durations (day);
  ${indexesOfValues}
  CREATE TABLE rolled_days (day integer PRIMARY KEY, snapshot pg_snapshot NOT NULL, at bigint NOT NULL,
    values_snapshot pg_snapshot);`;
/** Adds cells of values to tables of an earlier version. */
const addValues = `${createValues(text)} ${indexesOfValues}
  ALTER TABLE rolled_days ADD COLUMN values_snapshot pg_snapshot;`;

/** Makes the cells of days that have ended: again where their rows have changed. */
export class PostgresRollups {
  #isPrepared = false;

  constructor(readonly inConnection: InConnection) {}

  /** Resolves with how many days were made. */
  rollUp(now: number): Promise<number> {
    return this.#prepared(async (connection) => {
      const today = Math.floor(now / dayMs);
      const days = await daysToMake(connection, today, 'values');
      let made = 0;
      for (const day of days) {
        await again(() => rollUpOne(connection, day));
        made++;
      }
      return made;
    });
  }

  /** Of weeks whose days are all rolled up: without them, questions read these. Resolves with how many were made. */
  rollUpWeeks(): Promise<number> {
    return this.#prepared(async (connection) => {
      const { rows } = await connection.query<{ day: number }>(changedWeeks);
      for (const { day } of rows)
        await again(() =>
          transaction(connection, 'REPEATABLE READ', async () => {
            for (const statement of rollUpWeek(day)) await connection.query(statement);
          }),
        );
      return rows.length;
    });
  }

  #prepared<T>(work: (connection: WorkConnection) => Promise<T>): Promise<T> {
    return this.inConnection(async (connection) => {
      if (!this.#isPrepared) await prepareRollups(connection);
      this.#isPrepared = true;
      return work(connection);
    });
  }
}

type Found = 'found' | 'has_values' | 'has_weeks' | 'has_moves';

export async function prepareRollups(connection: WorkConnection): Promise<void> {
  await transaction(connection, 'READ COMMITTED', async () => {
    await connection.query(`SELECT ${rollupsLock}`);
    const { rows } = await connection.query<Readonly<Record<Found, boolean>>>(
      `SELECT to_regclass('rolled_days') IS NOT NULL AS found, to_regclass('day_names') IS NOT NULL AS has_values,
        to_regclass('rolled_weeks') IS NOT NULL AS has_weeks,
        ${haveMovesBeenLookedFor} AS has_moves FROM pg_class LIMIT 1`,
    );
    if (rows[0]?.found !== true) await connection.query(tables);
    else if (!rows[0].has_values) await connection.query(addValues);
    if (rows[0]?.has_weeks !== true) await connection.query(createWeeks(text));
    await prepareFeedbackIndex(connection);
    if (rows[0]?.has_moves !== true) await connection.query(lookForMoves);
  });
  await dropEarlierIndex(connection);
}

/**
 * In one transaction. Fails if another node rolls up the same day at the same time; that node's result is kept. `isRebuilt`: the
 * cells may be wrong.
 */
export async function rollUpOne(connection: WorkConnection, day: number, isRebuilt = false): Promise<void> {
  const from = day * dayMs;
  await transaction(connection, 'REPEATABLE READ', async () => {
    const { isKept, isLate } = await keptCells(connection, day, isRebuilt);
    await connection.query(`INSERT INTO rolled_days (day, snapshot, at, values_snapshot)
      VALUES (${day}, pg_current_snapshot(), ${Date.now()}, pg_current_snapshot()) ON CONFLICT (day) DO UPDATE
      SET snapshot = excluded.snapshot, at = excluded.at, values_snapshot = excluded.values_snapshot`);
    for (const statement of clearDay(day, (table) => `NOT ${isKept(table)}`))
      await connection.query(statement);
    // These cells may be from an earlier version, which creates none for values.
    await connection.query(`INSERT INTO day_names SELECT ${day}, org, workspace, NULL, false FROM kept_cells
      WHERE NOT EXISTS (SELECT 1 FROM day_names AS found WHERE found.day = ${day} AND found.org = kept_cells.org
        AND found.workspace IS NOT DISTINCT FROM kept_cells.workspace)`);
    const source = {
      source: () => PostgresAnalytics.sourceOf(from, from + dayMs),
      scored: PostgresAnalytics.scored,
      metadataPairs: PostgresAnalytics.metadataPairs,
    };
    for (const statement of rollUpDay(day, source, `NOT ${isKept('requests')}`))
      await connection.query(statement);
    if (isLate === null) return;
    for (const statement of addToDay(day, source, isLate)) await connection.query(statement);
  });
}
