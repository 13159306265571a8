import { dayMs, hourMs } from '../buckets.js';
import type { Stretch } from './rolled-range.js';

/**
 * Copies of the requests of days that have ended, in a ledger in PostgreSQL, with only the columns that most questions need: rows of
 * a workspace are stored together, and a third of the pages is read. For each day the snapshot of its copy is stored, as for rollups.
 */
export const copiesTable = 'copied_requests';
export const copiedDays = 'copied_days';

const text = 'text COLLATE "C"';

/** Those of a fixed length first: PostgreSQL then reads them without the others. */
const columns = {
  at: 'bigint NOT NULL',
  cost: 'bigint',
  input: 'bigint',
  output: 'bigint',
  total_us: 'bigint',
  first_byte_us: 'bigint',
  status: 'integer',
  retries: 'integer',
  ok: 'boolean',
  is_fallback: 'boolean',
  org: `${text} NOT NULL`,
  workspace: text,
  model: text,
  provider: text,
  provider_slug: text,
  key_id: text,
  user_name: text,
  cache: text,
  config: text,
  prompt: text,
  saved_cost: 'bigint',
  feedback_count: 'bigint',
  feedback_value: 'double precision',
  feedback_weight: 'double precision',
  metadata: 'json',
} as const;
const names = Object.keys(columns);

/** Expressions for columns that are not copied as they are: the usual status of the cache takes no space. */
const stored: Readonly<Record<string, string>> = { cache: "nullif(cache, 'DISABLED')" };

export const createCopies = `CREATE TABLE ${copiesTable} (${Object.entries(columns)
  .map(([name, type]) => `"${name}" ${type}`)
  .join(', ')}) PARTITION BY RANGE (at);
  CREATE INDEX ${copiesTable}_workspace_at ON ${copiesTable} (org, workspace, at);
  CREATE TABLE ${copiedDays} (day integer PRIMARY KEY, snapshot pg_snapshot NOT NULL, at bigint NOT NULL);`;

/** `copied_requests_20261123`. */
export const copyOf = (day: number): string =>
  `${copiesTable}_${new Date(day * dayMs).toISOString().slice(0, 10).replaceAll('-', '')}`;

export const createCopy = (
  day: number,
): string => `CREATE TABLE IF NOT EXISTS ${copyOf(day)} (LIKE ${copiesTable} INCLUDING DEFAULTS);
  ALTER TABLE ${copiesTable} ATTACH PARTITION ${copyOf(day)} FOR VALUES FROM (${day * dayMs}) TO (${(day + 1) * dayMs})`;

/** Statements that copy a day, in one transaction: an hour each, so that none takes a minute. `source`: of the requests of an hour. */
export function copyDay(day: number, source: (from: number, to: number) => string): readonly string[] {
  const inserts = Array.from({ length: dayMs / hourMs }, (_, hour) => {
    const from = day * dayMs + hour * hourMs;
    return `INSERT INTO ${copyOf(day)} (${names.map((name) => `"${name}"`).join(', ')})
      SELECT ${names.map((name) => stored[name] ?? `"${name}"`).join(', ')} FROM ${source(from, from + hourMs)} AS requests
      WHERE "at" >= ${from} AND "at" < ${from + hourMs} ORDER BY org, workspace, "at"`;
  });
  return [
    `INSERT INTO ${copiedDays} (day, snapshot, at) VALUES (${day}, pg_current_snapshot(), ${Date.now()})
      ON CONFLICT (day) DO UPDATE SET snapshot = excluded.snapshot, at = excluded.at`,
    `DELETE FROM ${copyOf(day)}`,
    ...inserts,
  ];
}

/** The columns of `source` of PostgreSQL that copies have in another form. What they don't have is null: no question about them reads it. */
const shown: Readonly<Record<string, string>> = {
  status: 'status::bigint',
  retries: 'retries::bigint',
  cache: `coalesce(cache, 'DISABLED')`,
  feedback_average: 'feedback_value / nullif(feedback_weight, 0)',
  trace: 'NULL::text',
  span: 'NULL::text',
  integration: 'NULL::text',
  request_id: 'NULL::text',
  cached: 'NULL::bigint',
  cache_write: 'NULL::bigint',
  reasoning: 'NULL::bigint',
  usage_kinds: 'NULL::json',
  is_used: 'NULL::boolean',
};

/** A statement that selects these columns of the copies of some days. */
export const selectCopies = (wanted: readonly string[], days: readonly Stretch[]): string =>
  `SELECT ${wanted.map((name) => `${shown[name] ?? `"${name}"`} AS "${name}"`).join(', ')} FROM ${copiesTable} WHERE ${within(days)}`;

const within = (days: readonly Stretch[]): string =>
  `(${days.map(([first, last]) => `"at" >= ${first * dayMs} AND "at" < ${(last + 1) * dayMs}`).join(' OR ')})`;

/** Condition: the times before, between and after these days. */
export function outside(days: readonly Stretch[]): string {
  const parts: string[] = [];
  let from: number | null = null;
  for (const [first, last] of days) {
    parts.push(`${from === null ? '' : `"at" >= ${from} AND `}"at" < ${first * dayMs}`);
    from = (last + 1) * dayMs;
  }
  return `(${[...parts, `"at" >= ${from}`].join(' OR ')})`;
}
