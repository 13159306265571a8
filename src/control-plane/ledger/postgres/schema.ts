import type { Client } from 'pg';
import { columnFields, type LedgerField, ledgerVersion } from '../../../common/ledger/fields.js';
import { postgresLanguage } from '../budgets/language.js';
import { createBudgets } from '../budgets/tables.js';
import { createFeedbacks } from '../feedback/tables.js';
import { within } from './connections.js';
import { createDayNotes, forgetDays, hasDayNotes, noteDeletion } from './day-notes.js';
import { LaterLedger, LedgerFailure } from './failure.js';
import { deleteFeedback } from './slices.js';

/** The oldest version of the ledger's fields whose program may use these tables. */
const compatibleFrom = 4;

export const quoted = (name: string): string => `"${name}"`;

/** Compared byte by byte: an index over ids needs no rules of a language. */
const text = 'text COLLATE "C"';

function columnType({ type }: LedgerField): string {
  if (type === 'text') return text;
  // Not jsonb, which refuses a NUL in a text and costs three times as much to put in.
  if (type === 'json') return 'json';
  return type === 'boolean' ? 'smallint' : 'bigint';
}

/** Without these a row is not found again. */
const isKey = ({ name }: LedgerField): boolean => name === 'id' || name === 'at' || name === 'org';

/** Columns that a batch gives, in the order of its lines. `tx` is filled by PostgreSQL. */
export const givenColumns = ['n', 'state', ...columnFields.map(({ name }) => name), 'rest'];
export const givenList = givenColumns.map(quoted).join(', ');

const rowColumns = [
  'n integer NOT NULL',
  'state smallint NOT NULL',
  ...columnFields.map(
    (field) => `${quoted(field.name)} ${columnType(field)}${isKey(field) ? ' NOT NULL' : ''}`,
  ),
  'rest json NOT NULL',
];

/** Rows on their way in, where some of them may be there already. */
export const stage = 'arriving_exchanges';
export const createStage = `CREATE TEMP TABLE IF NOT EXISTS ${stage} (${rowColumns.join(', ')}) ON COMMIT DELETE ROWS`;

/**
 * `(tx, n)` is the order in which followers get rows: the transaction that put a row in, and its place among the rows of
 * that. Transactions end in another order than they begin, so a follower reads only below the oldest that is open.
 */
const tables = `
  CREATE TABLE exchanges (
    tx xid8 NOT NULL DEFAULT pg_current_xact_id(),
    ${rowColumns.join(',\n    ')}
  ) PARTITION BY RANGE (at);
  CREATE INDEX exchanges_order ON exchanges (tx, n);
  CREATE INDEX exchanges_org_order ON exchanges (org, tx, n);
  CREATE INDEX exchanges_org_at ON exchanges (org, at);
  CREATE INDEX exchanges_workspace_at ON exchanges (org, workspace, at);
  CREATE INDEX exchanges_trace ON exchanges (trace) WHERE trace IS NOT NULL;
  CREATE TABLE exchange_bodies (
    id ${text} NOT NULL,
    at bigint NOT NULL,
    org ${text} NOT NULL,
    workspace ${text},
    cut boolean NOT NULL,
    request bytea,
    response bytea,
    headers ${text}
  ) PARTITION BY RANGE (at);
  CREATE INDEX exchange_bodies_id ON exchange_bodies (id);
  CREATE TABLE journal_positions (
    node ${text} NOT NULL, source ${text} NOT NULL, position bigint NOT NULL, PRIMARY KEY (node, source)
  );
  CREATE TABLE open_intents (
    node ${text} NOT NULL, id ${text} NOT NULL, writer ${text} NOT NULL, intent ${text} NOT NULL,
    PRIMARY KEY (node, id)
  );
  ${createBudgets(postgresLanguage)}
  ${createFeedbacks(postgresLanguage)}
  CREATE TABLE ledger_version (version integer NOT NULL, compatible_from integer NOT NULL);
  INSERT INTO ledger_version VALUES (${ledgerVersion}, ${compatibleFrom});`;

const lock = "SELECT pg_advisory_xact_lock(hashtext('headgate ledger'), hashtext(current_schema()))";

/** What brings a ledger of the version before to each version. */
const steps: readonly (readonly [version: number, statements: string])[] = [
  [5, createBudgets(postgresLanguage)],
  [6, `${createFeedbacks(postgresLanguage)} ALTER TABLE exchange_bodies ADD COLUMN headers ${text};`],
];

/** Makes the tables where they are missing. Throws a sentence where a later program has changed them beyond this one. */
export async function prepareSchema(client: Client, place: string, makes: boolean): Promise<void> {
  let found = await versionsOf(client);
  if (found === null || found.version < ledgerVersion) {
    if (!makes) throw new LedgerFailure('no tables yet', place);
    await inTransaction(client, async () => {
      await within(client, client.query(lock));
      // Another node may have made them while this one waited.
      found = await versionsOf(client);
      if (found === null) await within(client, client.query(tables));
      else await upgrade(client, found.version);
    });
    found = await versionsOf(client);
  }
  if (found !== null && found.compatible_from > ledgerVersion) {
    throw new LaterLedger(
      `The ledger at ${place} is at version ${found.version}, which programs from version ${found.compatible_from} on can use; this program has version ${ledgerVersion}: start the newer program.`,
    );
  }
  await ensureDayNotes(client);
}

/** By any node: all of them write to these tables, and one of an earlier version has not made them. */
async function ensureDayNotes(client: Client): Promise<void> {
  const { rows } = await within(client, client.query<{ found: boolean }>(hasDayNotes));
  if (rows[0]?.found === true) return;
  await inTransaction(client, async () => {
    await within(client, client.query(`${lock}; ${createDayNotes}`));
  });
}

async function upgrade(client: Client, from: number): Promise<void> {
  for (const [version, statements] of steps) {
    if (version <= from) continue;
    await within(client, client.query(`${statements} UPDATE ledger_version SET version = ${version};`));
  }
}

interface Versions {
  readonly version: number;
  readonly compatible_from: number;
}

/**
 * null: there are no tables. Reads a table of the server's, at which a session learns what others have made meanwhile: without it
 * a session that waited for the lock still has it that there are none.
 */
async function versionsOf(client: Client): Promise<Versions | null> {
  const { rows } = await within(
    client,
    client.query<{ found: boolean }>(
      "SELECT to_regclass('ledger_version') IS NOT NULL AS found FROM pg_class LIMIT 1",
    ),
  );
  if (rows[0]?.found !== true) return null;
  const versions = await within(
    client,
    client.query<Versions>('SELECT version, compatible_from FROM ledger_version'),
  );
  return versions.rows[0] ?? { version: 0, compatible_from: 0 };
}

export async function inTransaction<T>(client: Client, work: () => Promise<T>): Promise<T> {
  await within(client, client.query('BEGIN'));
  const result = await work();
  await within(client, client.query('COMMIT'));
  return result;
}

export const dayMs = 86_400_000;
/** Times beyond are those of a broken clock or file. */
const lastAt = Date.UTC(9999, 11, 31);

/** A time that has a day: what is none becomes 1970. */
export const timeWithin = (at: number): number => (at >= 0 && at <= lastAt ? at : 0);

/** Number of the day (UTC) since 1970. */
export const dayOf = (at: number): number => Math.floor(timeWithin(at) / dayMs);
export const dayStart = (day: number): number => day * dayMs;

const partitioned = ['exchanges', 'exchange_bodies'] as const;
type Partitioned = (typeof partitioned)[number];

const nameOf = (table: Partitioned | Dropped, day: number): string =>
  `${table}_${new Date(dayStart(day)).toISOString().slice(0, 10).replaceAll('-', '')}`;

/** An id is of one day, since the time of its row never changes. Two rows of one id are refused there. */
const ownIndex: Readonly<Record<Partitioned, (name: string) => string>> = {
  exchanges: (name) => `CREATE UNIQUE INDEX ON ${name} (id);`,
  exchange_bodies: () => '',
};

/**
 * Makes the partitions of these days where they are missing. Attached, not created in their place: that would wait for
 * every reader of the ledger, and keep all others waiting meanwhile.
 */
export async function ensureDays(client: Client, days: Iterable<number>): Promise<void> {
  await inTransaction(client, async () => {
    await within(client, client.query(lock));
    const { rows } = await within(
      client,
      client.query<{ name: string }>(
        `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
          WHERE i.inhparent IN ('exchanges'::regclass, 'exchange_bodies'::regclass)`,
      ),
    );
    const present = new Set(rows.map(({ name }) => name));
    for (const day of days) {
      for (const table of partitioned) {
        const name = nameOf(table, day);
        if (present.has(name)) continue;
        await within(
          client,
          client.query(`CREATE TABLE IF NOT EXISTS ${name} (LIKE ${table} INCLUDING DEFAULTS); ${ownIndex[table](name)}
            ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM (${dayStart(day)}) TO (${dayStart(day + 1)})`),
        );
      }
    }
  });
}

/** What the bodies of all days take on the server's disk. */
export async function bytesOfBodies(client: Client): Promise<number> {
  const { rows } = await within(
    client,
    client.query<{ bytes: number }>(
      `SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0)::bigint AS bytes FROM pg_inherits
        WHERE inhparent = 'exchange_bodies'::regclass`,
    ),
  );
  return rows[0]?.bytes ?? 0;
}

export interface DroppedPartitions {
  /** Names of the tables that are gone. */
  readonly names: readonly string[];
}

export interface Retention {
  /** Rows of days before this one are dropped; null: none. */
  readonly rowsBefore: number | null;
  /** Bodies of days before this one are dropped; null: none. */
  readonly bodiesBefore: number | null;
  /** Bodies of the oldest days are dropped until the rest has at most so many bytes. */
  readonly bodiesBytes: number;
  /** Bodies of this day and later ones are kept. */
  readonly today: number;
}

interface DayTable {
  readonly name: string;
  readonly bytes: string;
  readonly isAttached: boolean;
  readonly isPending: boolean;
}

/** Copies of requests that analytics makes: they are dropped with the requests. */
export const copiesOfRequests = 'copied_requests';
const dropped = [...partitioned, copiesOfRequests] as const;
type Dropped = (typeof dropped)[number];

/** Drops what has passed its time. `client`: of a connection whose statements may take long. */
export async function dropDays(client: Client, retention: Retention): Promise<DroppedPartitions> {
  const names: string[] = [];
  const { rowsBefore } = retention;
  if (rowsBefore !== null) {
    await noteDeletion(client, rowsBefore);
    await deleteFeedback(client, [0, dayStart(rowsBefore)]);
  }
  for (const table of dropped) {
    const { rows } = await client.query<DayTable>(
      `SELECT c.relname AS name, pg_total_relation_size(c.oid)::text AS bytes, i.inhrelid IS NOT NULL AS "isAttached",
        coalesce(i.inhdetachpending, false) AS "isPending"
        FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname ~ $1 ORDER BY c.relname`,
      [`^${table}_[0-9]{8}$`],
    );
    for (const { name, isAttached, isPending } of toDrop(table, rows, retention)) {
      // The way that waits for readers without letting others wait; one that was interrupted is finished.
      if (isPending) await client.query(`ALTER TABLE ${table} DETACH PARTITION ${name} FINALIZE`);
      else if (isAttached) await client.query(`ALTER TABLE ${table} DETACH PARTITION ${name} CONCURRENTLY`);
      await client.query(`DROP TABLE IF EXISTS ${name}`);
      names.push(name);
    }
  }
  if (rowsBefore !== null) await forgetDays(client, rowsBefore);
  return { names };
}

const latest = (one: number | null, other: number | null): number | null =>
  one === null ? other : other === null ? one : Math.max(one, other);

function toDrop(table: Dropped, rows: readonly DayTable[], retention: Retention): readonly DayTable[] {
  const { rowsBefore, bodiesBefore, bodiesBytes, today } = retention;
  const before = table === 'exchange_bodies' ? latest(rowsBefore, bodiesBefore) : rowsBefore;
  const limit = before === null ? '' : nameOf(table, before);
  const old = rows.filter(({ name }) => name < limit);
  if (table !== 'exchange_bodies') return old;
  let total = rows.reduce((sum, { bytes }) => sum + Number(bytes), 0);
  const chosen: DayTable[] = [];
  for (const row of rows) {
    const isTooMuch = total > bodiesBytes && row.name < nameOf(table, today);
    if (!isTooMuch && !old.includes(row)) continue;
    total -= Number(row.bytes);
    chosen.push(row);
  }
  return chosen;
}
