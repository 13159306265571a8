import {
  BIGINT,
  BOOLEAN,
  DOUBLE,
  type DuckDBConnection,
  DuckDBDataChunk,
  type DuckDBInstance,
  type DuckDBType,
  type DuckDBValue,
  INTEGER,
  VARCHAR,
} from '@duckdb/node-api';
import { dayMs } from '../buckets.js';
import type { AnalyticsQuestion, AnswerTo } from '../question.js';
import { clearDay, rollUpDay } from '../rollups/roll-up.js';
import { askDatabase } from '../statements/ask.js';
import { Placeholders, type SelectedFigures } from '../statements/dialect.js';
import type { Changes } from './changes.js';
import { DuckdbDialect } from './dialect.js';
import { openFile } from './open.js';
import { columns, createTables, type DuckdbType, dropTables, tablesVersion, upgrades } from './tables.js';
import { type NameColumn, type ValuesOfRows, valueColumn, valuesOf } from './value-columns.js';

/** Rows of a chunk that is appended: DuckDB's own number. */
const chunkRows = 2048;

/** Days with more changes than this are forgotten: they are rolled up at once. */
const mostChanged = 10_000;
/** The rows of a day that has just ended arrive a little later. */
const usualQuietMs = 5000;

const dayOf = (at: number): number => Math.floor(at / dayMs);

const types: Readonly<Record<DuckdbType, DuckDBType>> = { BIGINT, INTEGER, DOUBLE, BOOLEAN, VARCHAR };

/** One feedback, at the row that it counts at. */
export interface ChangedFeedback {
  readonly id: string;
  readonly seq: number;
  readonly value: number;
  readonly weight: number;
  /** Number of the change. */
  readonly n: number;
}

/** The rows of the ledger in a file of DuckDB, and how far the ledger has been read. */
export class AnalyticsFile {
  /** When requests of a day were changed last, as `performance.now` counts. */
  readonly #changedAt = new Map<number, number>();

  private constructor(
    readonly instance: DuckDBInstance,
    readonly connection: DuckDBConnection,
  ) {}

  /** A file that cannot be read, or is of a version without an upgrade, is replaced by an empty one: it is derived from the ledger. */
  static async open(path: string): Promise<AnalyticsFile> {
    const { instance, connection } = await openFile(path);
    const file = new AnalyticsFile(instance, connection);
    const version = await file.#version();
    if (version !== tablesVersion) await file.#renew(upgrades[version ?? 0]);
    return file;
  }

  async #version(): Promise<number | null> {
    const tables = await this.rows(
      "SELECT table_name FROM duckdb_tables() WHERE table_name = 'progress' AND database_name = current_database()",
      [],
    );
    if (tables.length === 0) return null;
    const [row] = await this.rows('SELECT version FROM progress', []);
    return Number(row?.['version'] ?? 0);
  }

  /** `upgrade`: of its version; undefined: there is none. */
  async #renew(upgrade: string | undefined): Promise<void> {
    if (upgrade === undefined) return this.clear();
    await this.#transaction(async () => {
      await this.connection.run(upgrade);
    });
  }

  /** Empties it, so that it is read from the ledger again. */
  async clear(): Promise<void> {
    await this.#transaction(async () => {
      await this.connection.run(dropTables);
      await this.connection.run(createTables);
    });
    await this.connection.run('CHECKPOINT');
  }

  /** The number of the last row of the ledger that is in it. */
  async cursor(): Promise<number> {
    const [row] = await this.rows('SELECT CAST("cursor" AS DOUBLE) AS "cursor" FROM progress', []);
    return Number(row?.['cursor'] ?? 0);
  }

  async #transaction(work: () => Promise<void>): Promise<void> {
    await this.connection.run('BEGIN');
    try {
      await work();
      await this.connection.run('COMMIT');
    } catch (error) {
      await this.connection.run('ROLLBACK').catch(() => {});
      throw error;
    }
  }

  /** Adds rows, and moves the cursor to the last one: all of it or nothing. */
  async add(rows: Changes): Promise<void> {
    const { last, unknown } = rows;
    if (last === null) return;
    const values = await this.#valuesOf(rows);
    await this.#transaction(async () => {
      const replaced = await this.#replace({ ids: rows.ids, list: (name) => rows.list(name) });
      await this.#changeDays((rows.list('at') as readonly number[]).map(dayOf));
      await this.#append(
        'requests',
        [...columns.map(({ type }) => type), ...values.lists.map(() => 'VARCHAR' as const)],
        [...columns.map(({ name }) => rows.list(name)), ...values.lists],
      );
      await this.#append(
        'metadata_columns',
        ['VARCHAR', 'VARCHAR', 'INTEGER'],
        [
          values.added.map(({ org }) => org),
          values.added.map(({ name }) => name),
          values.added.map(({ number }) => number),
        ],
      );
      for (const [before, after] of replaced)
        await this.connection.run(`UPDATE feedback SET seq = ${after} WHERE seq = ${before}`);
      if (replaced.size > 0) await this.#sumFeedback([...replaced.values()]);
      await this.#append(
        'unknown_requests',
        ['BIGINT', 'VARCHAR'],
        [unknown.map(({ seq }) => seq), unknown.map(({ id }) => id)],
      );
      await this.connection.run(`UPDATE progress SET "cursor" = ${last}`);
    });
  }

  /** The number of the last change of feedback that is in it. */
  async feedbackCursor(): Promise<number> {
    const [row] = await this.rows('SELECT CAST(feedback_cursor AS DOUBLE) AS n FROM progress', []);
    return Number(row?.['n'] ?? 0);
  }

  /** No change up to this one counts at a request beside those that are in it. */
  async moveFeedbackCursor(n: number): Promise<void> {
    await this.connection.run(`UPDATE progress SET feedback_cursor = ${n}`);
  }

  /** Takes changes of feedback in, and moves the cursor to the last one: all of it or nothing. */
  async addFeedback(given: readonly ChangedFeedback[]): Promise<void> {
    const last = given.at(-1);
    if (last === undefined) return;
    const numbers = new Placeholders();
    const changed = numbers.in(
      'id',
      given.map(({ id }) => id),
    );
    await this.#transaction(async () => {
      const before = await this.rows(
        `SELECT CAST(seq AS DOUBLE) AS seq FROM feedback WHERE ${changed}`,
        numbers.list,
      );
      await this.connection.run(`DELETE FROM feedback WHERE ${changed}`, numbers.list);
      await this.#append(
        'feedback',
        ['VARCHAR', 'BIGINT', 'DOUBLE', 'DOUBLE'],
        [
          given.map(({ id }) => id),
          given.map(({ seq }) => seq),
          given.map(({ value }) => value),
          given.map(({ weight }) => weight),
        ],
      );
      const changedRows = [...new Set([...before, ...given].map(({ seq }) => Number(seq)))];
      await this.#changeDaysOf(changedRows);
      await this.#sumFeedback(changedRows);
      await this.connection.run(`UPDATE progress SET feedback_cursor = ${last.n}`);
    });
  }

  /** Adds up what counts at these requests. */
  async #sumFeedback(seqs: readonly number[]): Promise<void> {
    const rows = seqs.join(', ');
    await this.connection.run(`UPDATE requests SET feedback_count = NULL, feedback_value = NULL,
      feedback_weight = NULL WHERE seq IN (${rows})`);
    await this.connection.run(`UPDATE requests SET feedback_count = given.count, feedback_value = given.value,
      feedback_weight = given.weight FROM (SELECT seq, count(*) AS count, sum(value * weight) AS value,
        sum(weight) AS weight FROM feedback WHERE seq IN (${rows}) GROUP BY seq) AS given
      WHERE requests.seq = given.seq`);
  }

  /**
   * A request whose outcome was lost may still be settled: it is a later row with the same id. Resolves with the
   * numbers of such rows, by the numbers of the rows that they replace.
   */
  async #replace({ ids, list }: Pick<Changes, 'ids' | 'list'>): Promise<ReadonlyMap<number, number>> {
    const lost = await this.rows('SELECT CAST(seq AS DOUBLE) AS seq, id FROM unknown_requests', []);
    if (lost.length === 0) return new Map();
    const seqs = list('seq');
    const arrived = new Map(ids.map((id, i) => [id, Number(seqs[i])]));
    const replaced = new Map(
      lost.flatMap(({ seq, id }) => {
        const after = arrived.get(String(id));
        return after === undefined ? [] : [[Number(seq), after]];
      }),
    );
    if (replaced.size === 0) return replaced;
    for (const table of ['requests', 'unknown_requests'])
      await this.connection.run(`DELETE FROM ${table} WHERE seq IN (${[...replaced.keys()].join(', ')})`);
    return replaced;
  }

  async #changeDaysOf(seqs: readonly (number | string | null | undefined)[]): Promise<void> {
    const rows = await this.rows(
      `SELECT DISTINCT CAST("at" // ${dayMs} AS DOUBLE) AS day FROM requests WHERE seq IN (${seqs.join(', ')})`,
      [],
    );
    await this.#changeDays(rows.map(({ day }) => Number(day)));
  }

  /** In the transaction that changes the requests of these days: their rollups are not used until they are made again. */
  async #changeDays(changed: readonly number[]): Promise<void> {
    const days = [...new Set(changed)];
    if (days.length === 0) return;
    const now = performance.now();
    for (const day of days) this.#changedAt.set(day, now);
    if (this.#changedAt.size > mostChanged) this.#changedAt.clear();
    await this.connection.run(`DELETE FROM days WHERE day IN (${days.join(', ')})`);
    await this.connection.run(`INSERT INTO days VALUES ${days.map((day) => `(${day}, false)`).join(', ')}`);
  }

  /**
   * Makes the rollups of one day whose requests have changed: all of it or nothing. Days that have not ended, or were changed a moment
   * ago, are left for later. Was there such a day? `quietMs`: since the last change.
   */
  async rollUp(now: number, quietMs = usualQuietMs): Promise<boolean> {
    const found = await this.rows(
      `SELECT CAST(day AS DOUBLE) AS day FROM days WHERE NOT is_rolled AND day < ${dayOf(now)} ORDER BY day DESC`,
      [],
    );
    const isQuiet = (day: number): boolean =>
      performance.now() - (this.#changedAt.get(day) ?? Number.NEGATIVE_INFINITY) >= quietMs;
    const day = found.map((row) => Number(row['day'])).find(isQuiet);
    if (day === undefined) return false;
    await this.#transaction(async () => {
      for (const statement of [...clearDay(day), ...rollUpDay(day, new DuckdbDialect(this, new Map()))])
        await this.connection.run(statement);
      await this.connection.run(`UPDATE days SET is_rolled = true WHERE day = ${day}`);
    });
    this.#changedAt.delete(day);
    return true;
  }

  async rolledDays(first: number, last: number): Promise<readonly number[]> {
    const rows = await this.rows(
      `SELECT CAST(day AS DOUBLE) AS day FROM days WHERE is_rolled AND day BETWEEN ${first} AND ${last} ORDER BY day`,
      [],
    );
    return rows.map(({ day }) => Number(day));
  }

  /** Adds rows to a table, given as a list for each column. */
  async #append(
    table: string,
    columnTypes: readonly DuckdbType[],
    lists: readonly (readonly (number | string | null)[])[],
  ): Promise<void> {
    const count = lists[0]?.length ?? 0;
    if (count === 0) return;
    const appender = await this.connection.createAppender(table);
    for (let from = 0; from < count; from += chunkRows) {
      const chunk = DuckDBDataChunk.create(columnTypes.map((type) => types[type]));
      const part = lists.map((list, column) =>
        duckdbValues(list.slice(from, from + chunkRows), columnTypes[column]!),
      );
      chunk.setColumns(part);
      appender.appendDataChunk(chunk);
    }
    appender.closeSync();
  }

  /** Adds the columns of metadata that rows need, apart from them: a table is not altered and appended to in one transaction. */
  async #valuesOf(rows: Changes): Promise<ValuesOfRows> {
    if (!(await this.#hasValues())) return { lists: [], added: [] };
    const known = await this.#columnsOf(new Set(rows.list('org') as readonly string[]));
    const { lists, added } = valuesOf(rows, known);
    for (const { number } of added)
      await this.connection.run(
        `ALTER TABLE requests ADD COLUMN IF NOT EXISTS ${valueColumn(number)} VARCHAR`,
      );
    const [found] = await this.rows(
      "SELECT CAST(count(*) AS DOUBLE) AS count FROM pragma_table_info('requests')",
      [],
    );
    return { lists: lists.slice(0, Number(found?.['count']) - columns.length), added };
  }

  /** A file of an earlier version has requests without them. */
  async #hasValues(): Promise<boolean> {
    const [row] = await this.rows('SELECT has_values FROM progress', []);
    return Boolean(row?.['has_values']);
  }

  async #columnsOf(orgs: ReadonlySet<string>): Promise<readonly NameColumn[]> {
    const values = new Placeholders();
    const rows = await this.rows(
      `SELECT org, name, number FROM metadata_columns WHERE ${values.in('org', [...orgs])}`,
      values.list,
    );
    return rows as unknown as readonly NameColumn[];
  }

  async ask<Q extends AnalyticsQuestion>(question: Q): Promise<AnswerTo<Q>> {
    const columns = await this.#columnsOf(new Set([question.sight.org]));
    return askDatabase(
      question,
      new DuckdbDialect(this, new Map(columns.map(({ name, number }) => [name, number]))),
    );
  }

  async rows(statement: string, values: readonly string[]): Promise<readonly SelectedFigures[]> {
    const found = await this.connection.runAndReadAll(statement, [...values]);
    return found.getRowObjectsJS() as unknown as SelectedFigures[];
  }

  /** Ends the statement that runs. */
  interrupt(): void {
    this.connection.interrupt();
  }

  close(): void {
    this.connection.closeSync();
    this.instance.closeSync();
  }
}

const withinInt32 = (value: number): number => Math.max(-(2 ** 31), Math.min(value, 2 ** 31 - 1));

function duckdbValues(list: readonly (number | string | null)[], type: DuckdbType): readonly DuckDBValue[] {
  if (type === 'BIGINT')
    return list.map((value) => (value === null ? null : BigInt(Math.trunc(Number(value)))));
  // A number that does not fit would stop the reading of the ledger at its row, for every tenant.
  if (type === 'INTEGER') return list.map((value) => (value === null ? null : withinInt32(Number(value))));
  return type === 'BOOLEAN' ? list.map((value) => (value === null ? null : Boolean(value))) : list;
}
