import { type GroupName, groupColumns } from '../question.js';
import { type SumName, sums } from '../statements/columns.js';

/**
 * Rollups: what a day's requests add up to, a row for each workspace and each value of what requests can be grouped by. Sums and
 * histograms of days can be added up; they are made of whole days, so that a day that changes is made again.
 */

/** What of a day is added up: `none` is of all requests of a workspace. */
export type RolledBy = Exclude<GroupName, 'workspace'> | 'none' | 'user' | 'retries' | 'score';

interface Rolled {
  /** The value, as text. */
  readonly key: string;
  /** Which requests; null: all. */
  readonly where: string | null;
  /** Are durations rolled up too? */
  readonly hasDurations: boolean;
}

export const isRescued = 'ok AND (retries > 0 OR is_fallback)';
const text = (column: string): string => `CAST(${column} AS VARCHAR)`;
const group = (name: Exclude<GroupName, 'workspace'>): Rolled => ({
  key: text(groupColumns[name]),
  where: null,
  hasDurations: true,
});

export const rolledBy: Readonly<Record<RolledBy, Rolled>> = {
  none: { key: text('NULL'), where: null, hasDurations: true },
  ai_service: group('ai_service'),
  model: group('model'),
  status_code: group('status_code'),
  api_key: group('api_key'),
  config: group('config'),
  provider: group('provider'),
  prompt: group('prompt'),
  user: { key: 'user_name', where: 'user_name IS NOT NULL', hasDurations: false },
  retries: { key: text('retries'), where: isRescued, hasDurations: false },
  /** Of feedback, not of requests. */
  score: { key: text('score'), where: null, hasDurations: false },
};

/** Sums that a cell keeps, with their type; `users` is counted over the cells of users. */
const kept = {
  requests: 'BIGINT',
  cost: 'NUMERIC(38, 0)',
  tokens: 'NUMERIC(38, 0)',
  input: 'NUMERIC(38, 0)',
  output: 'NUMERIC(38, 0)',
  duration: 'NUMERIC(38, 0)',
  errors: 'BIGINT',
  of_users: 'BIGINT',
  cacheable: 'BIGINT',
  simple_hits: 'BIGINT',
  semantic_hits: 'BIGINT',
  simple_saved: 'NUMERIC(38, 0)',
  semantic_saved: 'NUMERIC(38, 0)',
  hit_duration: 'NUMERIC(38, 0)',
  misses: 'BIGINT',
  miss_duration: 'NUMERIC(38, 0)',
  feedback_count: 'BIGINT',
  feedback_value: 'DOUBLE PRECISION',
  feedback_weight: 'DOUBLE PRECISION',
  with_feedback: 'BIGINT',
  first_seen: 'BIGINT',
  last_seen: 'BIGINT',
} as const satisfies Partial<Record<SumName, string>>;

const names = Object.keys(kept) as (keyof typeof kept)[];
/** How many of the requests were answered by a later target. */
const fallbacks = 'sum(CASE WHEN is_fallback THEN 1 ELSE 0 END)';

/** What a statement needs of cells. */
export type CellSum = SumName | 'fallbacks';
const cellNames: readonly CellSum[] = [...names, 'fallbacks'];

/** Those of the sums that cells have, in their order. */
const keptOf = (wanted: readonly CellSum[]): readonly CellSum[] =>
  cellNames.filter((name) => wanted.includes(name));
const expressionOf = (name: CellSum): string => (name === 'fallbacks' ? fallbacks : sums[name]);

/** The sums of requests as columns of a cell. A comma precedes each, since there may be none. */
export const cellSumsOf = (wanted: readonly CellSum[]): string =>
  keptOf(wanted)
    .map((name) => `, ${expressionOf(name)} AS "${name}"`)
    .join('');
export const cellColumnsOf = (wanted: readonly CellSum[]): string =>
  keptOf(wanted)
    .map((name) => `, "${name}"`)
    .join('');
export const cellSums = cellSumsOf(cellNames).slice(2);
export const cellColumns = cellColumnsOf(cellNames).slice(2);

/** Sums over cells, in place of those over requests. */
export const sumsOfCells: Readonly<Record<SumName, string>> = {
  ...(Object.fromEntries(names.map((name) => [name, `coalesce(sum(${name}), 0)`])) as Record<
    keyof typeof kept,
    string
  >),
  users: 'count(DISTINCT "key")',
  first_seen: 'min(first_seen)',
  last_seen: 'max(last_seen)',
};

/** Cells of one cell for several days. */
export const mergedCells = {
  columns: cellColumns,
  sums: cellNames.map((name) => (name === 'fallbacks' ? 'sum(fallbacks)' : sumsOfCells[name])).join(', '),
} as const;

export const durationsTable = 'day_durations';
export const durationColumns = 'measure, bin, n, us';

/** Cells of users are many, so that others are not looked for among them. */
export const sumsTable = (by: RolledBy): 'day_users' | 'day_sums' =>
  by === 'user' ? 'day_users' : 'day_sums';
/** Contains values of metadata (`metadata.ts`); `rolled_by` is the name. */
export const valuesTable = 'day_values';
export const rollupTables = ['day_sums', 'day_users', durationsTable, valuesTable, 'day_names'] as const;

export const createSums = (table: string, text: string): string => `
  CREATE TABLE ${table} (day INTEGER NOT NULL, org ${text}, workspace ${text}, rolled_by ${text}, "key" ${text},
    ${names.map((name) => `${name} ${kept[name]}`).join(', ')}, fallbacks BIGINT);`;

/** Tables that were added later than the others. `text`: the SQL type of texts. */
export const createValues = (text: string): string => `${createSums(valuesTable, text)}
  CREATE TABLE day_names (day INTEGER NOT NULL, org ${text}, workspace ${text}, name ${text}, is_whole BOOLEAN NOT NULL);`;

export const createRollups = (
  text: string,
): string => `${createSums('day_sums', text)} ${createSums('day_users', text)}
  CREATE TABLE ${durationsTable} (day INTEGER NOT NULL, org ${text}, workspace ${text}, rolled_by ${text}, "key" ${text},
    measure ${text}, bin INTEGER, n BIGINT, us NUMERIC(38, 0));
  ${createValues(text)}`;
