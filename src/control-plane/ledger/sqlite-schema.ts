import { ledgerVersion } from '../../common/ledger/fields.js';
import { positions } from '../../common/ledger/positions.js';
import type { Intent } from '../../common/ledger/record.js';
import type { SqliteConnection } from '../database/sqlite.js';
import { sqliteLanguage } from './budgets/language.js';
import { createBudgets } from './budgets/tables.js';
import { createFeedbackChanges, createFeedbacks, hasFeedbackChanges } from './feedback/tables.js';
import { columnsSince, insertNumbered, rowArray } from './sqlite-rows.js';

/**
 * Trace ids are random. One index over all of them would have every batch rewrite as many pages as it has rows
 * (measured: 28 µs a row instead of 6), so it is ordered by parts of 4096 rows first; a search looks into each part.
 */
export const partBits = 12;

/** How far rows of an earlier version have been brought to this one. */
export interface UpgradeProgress {
  readonly done: number;
  readonly total: number;
}

const indexes = `CREATE UNIQUE INDEX exchanges_id ON exchanges (id);
  CREATE INDEX exchanges_org_at ON exchanges (org, at);
  CREATE INDEX exchanges_trace ON exchanges (seq >> ${partBits}, trace) WHERE trace IS NOT NULL;`;

/** Forward only; each in a transaction with its number. */
const migrations: readonly string[] = [
  `CREATE TABLE exchanges (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    org TEXT NOT NULL,
    workspace TEXT,
    "key" TEXT,
    provider TEXT,
    model TEXT,
    status INTEGER,
    trace TEXT,
    cost INTEGER,
    input INTEGER,
    output INTEGER,
    state INTEGER NOT NULL,
    record BLOB NOT NULL
  );
  ${indexes}
  CREATE TABLE journal_offsets (file TEXT PRIMARY KEY, "offset" INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE open_intents (id TEXT PRIMARY KEY, writer TEXT NOT NULL, text TEXT NOT NULL) WITHOUT ROWID;`,
  // Version 2 has the same tables: a record became the rest of what its columns have.
  '',
  // Rows follow in batches (`upgradeRows`), under the numbers that they have.
  `ALTER TABLE exchanges RENAME TO exchanges_before;
  DROP INDEX exchanges_id;
  DROP INDEX exchanges_org_at;
  DROP INDEX exchanges_trace;
  CREATE TABLE exchanges (
    seq INTEGER PRIMARY KEY,
    state INTEGER NOT NULL,
    ${columnsSince((version) => version <= 3).join(',\n    ')},
    rest BLOB NOT NULL
  );
  ${indexes}
  ALTER TABLE journal_offsets RENAME TO journal_positions;
  ALTER TABLE journal_positions RENAME COLUMN file TO source;
  ALTER TABLE journal_positions RENAME COLUMN "offset" TO position;
  ALTER TABLE open_intents RENAME COLUMN text TO intent;`,
  columnsSince((version) => version === 4)
    .map((column) => `ALTER TABLE exchanges ADD COLUMN ${column};`)
    .join(' '),
  createBudgets(sqliteLanguage),
  createFeedbacks(sqliteLanguage),
];

/** Brings the database to this version. `path`: for messages. */
export async function migrate(
  writer: SqliteConnection,
  path: string,
  onProgress: (progress: UpgradeProgress) => void,
): Promise<void> {
  const found = await versionOf(writer);
  if (found > ledgerVersion) {
    throw new Error(
      `${path} is at version ${found} and this program knows versions up to ${ledgerVersion}: start the newer program.`,
    );
  }
  for (let version = found + 1; version <= ledgerVersion; version++) {
    await inTransaction(writer, async () => {
      // Another process may have made this step while this one waited for the lock.
      if ((await versionOf(writer)) >= version) return;
      await writer.exec(`${migrations[version - 1] ?? ''} PRAGMA user_version = ${version};`);
    });
  }
  await upgradeRows(writer, onProgress);
  await ensureFeedbackChanges(writer);
}

/** Beside the versions: an earlier program may still use the file, and notes changes by the same triggers. */
async function ensureFeedbackChanges(writer: SqliteConnection): Promise<void> {
  const isMissing = async () => (await writer.all(hasFeedbackChanges)).length === 0;
  if (!(await isMissing())) return;
  await inTransaction(writer, async () => {
    // Another process may have made it while this one waited for the lock.
    if (await isMissing()) await writer.exec(createFeedbackChanges);
  });
}

async function versionOf(writer: SqliteConnection): Promise<number> {
  const [row] = await writer.all<{ user_version: number }>('PRAGMA user_version');
  return row?.user_version ?? 0;
}

const batchRows = 2000;

interface RowBefore {
  readonly seq: number;
  readonly id: string;
  readonly at: number;
  readonly org: string;
  readonly workspace: string;
  readonly key: string;
  readonly state: number;
  /** JSON of all, or what its columns do not have, without its opening bracket. */
  readonly record: string;
  readonly isWhole: number;
}

/** Rows of versions 1 and 2. Goes on where an interrupted start left off: what is done is deleted in the same step. */
async function upgradeRows(
  writer: SqliteConnection,
  onProgress: (progress: UpgradeProgress) => void,
): Promise<void> {
  const [table] = await writer.all("SELECT 1 FROM sqlite_master WHERE name = 'exchanges_before'");
  if (table === undefined) return;
  const [{ total } = { total: 0 }] = await writer.all<{ total: number }>(
    'SELECT count(*) AS total FROM exchanges_before',
  );
  for (let done = 0; done < total; ) {
    await inTransaction(writer, async () => {
      const rows = await writer.all<RowBefore>(
        `SELECT seq, id, at, org, workspace, "key", state, typeof(record) <> 'text' AS isWhole,
          CASE typeof(record) WHEN 'text' THEN record ELSE json(record) END AS record
          FROM exchanges_before ORDER BY seq LIMIT ?`,
        [batchRows],
      );
      // Another process was faster.
      done = rows.length === 0 ? total : Math.min(total, done + rows.length);
      await writer.run(insertNumbered, [JSON.stringify(rows.map(upgraded))]);
      await writer.run('DELETE FROM exchanges_before WHERE seq <= ?', [rows.at(-1)?.seq ?? 0]);
    });
    onProgress({ done, total });
  }
  await writer.exec('DROP TABLE IF EXISTS exchanges_before');
}

function upgraded({ seq, id, at, org, workspace, key, state, record, isWhole }: RowBefore): unknown[] {
  const own: unknown[] = isWhole ? [] : [id, at, org, workspace, key];
  const given = [...own, ...JSON.parse(isWhole ? record : `[${record}`)];
  return [
    ...rowArray(
      positions.settlement(
        given as Parameters<typeof positions.settlement>[0],
        state === 1 ? 'unknown' : 'settled',
      ),
    ),
    seq,
  ];
}

/** The intent of a row of `open_intents`: an object, or an array of positions where version 2 stored it. */
export function storedIntent(text: string): Intent {
  const given = JSON.parse(text);
  if (Array.isArray(given)) return positions.intent(given as Parameters<typeof positions.intent>[0]);
  return { charges: null, ...given };
}

export async function inTransaction<T>(writer: SqliteConnection, work: () => Promise<T>): Promise<T> {
  await writer.exec('BEGIN IMMEDIATE');
  try {
    const result = await work();
    await writer.exec('COMMIT');
    return result;
  } catch (error) {
    // Fails where SQLite has rolled back by itself (a full disk).
    await writer.exec('ROLLBACK').catch(() => {});
    throw error;
  }
}
