import { createRollups, createValues, rollupTables } from '../rollups/cells.js';

const createNames = 'CREATE TABLE metadata_columns (org VARCHAR, name VARCHAR, number INTEGER);';

const createProgress =
  'CREATE TABLE progress (version INTEGER, "cursor" BIGINT, feedback_cursor BIGINT, has_values BOOLEAN);';

/** Version of these tables. */
export const tablesVersion = 6;
/** Feedback was read up to a time: all of it is read again. DuckDB does not alter a table twice in a transaction. */
const newProgress = (hasValues: string): string => `
  CREATE TABLE progress_before AS SELECT * FROM progress;
  DROP TABLE progress;
  ${createProgress}
  INSERT INTO progress SELECT ${tablesVersion}, "cursor", 0, ${hasValues} FROM progress_before;
  DROP TABLE progress_before;`;
/** Requests that a file already has may have any name: their JSON is read, and that of later ones. */
const addNames = `${createNames} ${newProgress('false')}`;
/** Upgrades of files of earlier versions. A file of any other version is built again from the ledger. */
export const upgrades: Readonly<Record<number, string>> = {
  3: `${createValues('VARCHAR')} UPDATE days SET is_rolled = false; ${addNames}`,
  4: addNames,
  5: newProgress('has_values'),
};

export type DuckdbType = 'BIGINT' | 'INTEGER' | 'DOUBLE' | 'BOOLEAN' | 'VARCHAR';

/** A column of `requests`, with its type and what the ledger in SQLite has for it. */
interface RequestColumn {
  readonly name: string;
  readonly type: DuckdbType;
  readonly ledger: string;
}

const column = (name: string, type: RequestColumn['type'], ledger = `"${name}"`): RequestColumn => ({
  name,
  type,
  ledger,
});

/** Bytes of metadata that are kept: what is longer would fill the memory of DuckDB. */
const longestMetadata = 65_536;

const succeeded = 'state = 0 AND error IS NULL AND status BETWEEN 200 AND 399';
const used = "state = 0 AND usage_source <> 'none' AND cache NOT IN ('HIT', 'SEMANTIC HIT')";
const firstTarget = "rest ->> '$.attempts[0].target'";

/** In the order of the table. */
export const columns: readonly RequestColumn[] = [
  column('seq', 'BIGINT'),
  column('at', 'BIGINT'),
  column('org', 'VARCHAR'),
  column('workspace', 'VARCHAR'),
  column('key_id', 'VARCHAR', '"key"'),
  column('user_name', 'VARCHAR', '"user"'),
  column('provider', 'VARCHAR'),
  column('provider_slug', 'VARCHAR'),
  column('model', 'VARCHAR', 'coalesce(model, model_asked)'),
  column('config', 'VARCHAR'),
  column('prompt', 'VARCHAR'),
  column('status', 'INTEGER'),
  column('cache', 'VARCHAR'),
  column('cost', 'BIGINT'),
  column('saved_cost', 'BIGINT', 'cost_saved'),
  column('input', 'BIGINT', 'input_tokens'),
  column('output', 'BIGINT', 'output_tokens'),
  column('total_us', 'BIGINT'),
  column('first_byte_us', 'BIGINT', 'iif(stream, first_byte_us, NULL)'),
  column('retries', 'INTEGER'),
  column('ok', 'BOOLEAN', `(${succeeded})`),
  column(
    'is_fallback',
    'BOOLEAN',
    `(${succeeded} AND attempt_count > 1 AND target IS NOT NULL AND target <> ${firstTarget})`,
  ),
  column('trace', 'VARCHAR', 'coalesce(trace, id)'),
  column('span', 'VARCHAR', "rest ->> '$.span'"),
  column(
    'metadata',
    'VARCHAR',
    `iif(metadata = '{}' OR octet_length(metadata) > ${longestMetadata}, NULL, metadata)`,
  ),
  column('integration', 'VARCHAR'),
  column('cached', 'BIGINT', 'cached_tokens'),
  column('cache_write', 'BIGINT', 'cache_write_tokens'),
  column('reasoning', 'BIGINT', 'reasoning_tokens'),
  column('usage_kinds', 'VARCHAR', "rest -> '$.usage_kinds'"),
  column('is_used', 'BOOLEAN', `(${used})`),
  // Sums of the table `feedback`.
  column('feedback_count', 'INTEGER', 'NULL'),
  column('feedback_value', 'DOUBLE', 'NULL'),
  column('feedback_weight', 'DOUBLE', 'NULL'),
];

export const createTables = `
  CREATE TABLE requests (${columns.map(({ name, type }) => `"${name}" ${type}`).join(', ')});
  ${createNames}
  CREATE TABLE feedback (id VARCHAR, seq BIGINT, value DOUBLE, weight DOUBLE);
  CREATE TABLE unknown_requests (seq BIGINT, id VARCHAR);
  CREATE TABLE days (day INTEGER, is_rolled BOOLEAN);
  ${createRollups('VARCHAR')}
  ${createProgress}
  INSERT INTO progress VALUES (${tablesVersion}, 0, 0, true);`;

export const dropTables = [
  ...['requests', 'feedback', 'unknown_requests', 'metadata_columns', 'progress'],
  ...['days', ...rollupTables],
]
  .map((table) => `DROP TABLE IF EXISTS ${table};`)
  .join(' ');

/** How many bytes of metadata are read of the rows after a cursor: all the other columns are short. */
export const selectBytes = `SELECT coalesce(sum(iif(bytes > ${longestMetadata}, 0, bytes)), 0) AS bytes
  FROM (SELECT octet_length(metadata) AS bytes FROM exchanges WHERE seq > ? ORDER BY seq LIMIT ?)`;

/** What is read of the ledger besides: the id, and 0 for settled. */
const besides = ['id', 'state'] as const;

const changes = `SELECT ${columns.map(({ name, ledger }) => `${ledger} AS "${name}"`).join(', ')},
    id, state
  FROM exchanges WHERE seq > ? ORDER BY seq LIMIT ?`;

/**
 * Rows of the ledger after a cursor, in one row: a JSON list for each column. To make an object of each row takes five times as long.
 */
export const selectChanges = `SELECT ${[...columns.map(({ name }) => name), ...besides]
  .map((name) => `json_group_array("${name}") AS "${name}"`)
  .join(', ')} FROM (${changes})`;

/** Changes of feedback after a cursor, in their order, with the number of the row that it counts at. */
export const selectFeedback = `SELECT changes.n, feedbacks.id, feedbacks.value, feedbacks.weight / 1000000000.0 AS weight, exchanges.seq
  FROM feedback_changes AS changes JOIN feedbacks ON feedbacks.id = changes.id
    JOIN exchanges ON exchanges.id = feedbacks.row_id
  WHERE changes.n > ?1 ORDER BY changes.n LIMIT ?2`;

/** The number of the last change that there was. */
export const selectLastChange = `SELECT seq AS n FROM sqlite_sequence WHERE name = 'feedback_changes'`;
