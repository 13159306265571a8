import { dayMs } from './buckets.js';
import type { Analytics, AnalyticsQuestion, AnswerTo } from './question.js';
import { outside, selectCopies } from './rollups/copied-requests.js';
import { countsTable } from './rollups/postgres-counts.js';
import {
  filteredCells,
  type RolledRange,
  rolledRange,
  type Stretch,
  stretchesOf,
  wholeDays,
} from './rollups/rolled-range.js';
import { countedDays, feedbackIndex, feedbackMoves, validDays } from './rollups/valid-days.js';
import { validWeeks } from './rollups/weeks.js';
import { askDatabase } from './statements/ask.js';
import { requestColumns } from './statements/columns.js';
import { conditionsOf, sightOf } from './statements/conditions.js';
import {
  type AnalyticsDatabase,
  number,
  Placeholders,
  type RolledKind,
  type SelectedFigures,
} from './statements/dialect.js';

/** Analytics queries of a ledger in PostgreSQL. */
export interface StatementReader {
  /** Rows of one statement. Throws the coded error `store_unavailable`, within 6 s. */
  read<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]>;
}

/** Also answers several statements as of the same moment. */
export interface SnapshotReader extends StatementReader {
  snapshot<T>(work: (reader: StatementReader) => Promise<T>): Promise<T>;
}

const succeeded = 'state = 0 AND error IS NULL AND status BETWEEN 200 AND 399';
const used = "state = 0 AND usage_source <> 'none' AND cache NOT IN ('HIT', 'SEMANTIC HIT')";
/** PostgreSQL makes no text of JSON with a NUL in it. */
const restWithoutNul = `(CASE WHEN strpos(rest::text, '\\u0000') = 0 THEN rest
  ELSE regexp_replace(rest::text, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000', '\\1\\ufffd', 'g')::json END)`;

/** A single row with a NUL would make the query fail. */
const metadataWithoutNul = "(CASE WHEN strpos(metadata::text, '\\u0000') = 0 THEN metadata END)";

/** Sums over the feedback of a request; joined only if a statement names them. */
const ofFeedback = (sum: string): string =>
  `(SELECT ${sum} FROM feedbacks WHERE feedbacks.org = exchanges.org AND feedbacks.row_id = exchanges.id)`;
const weight = 'feedbacks.weight / 1000000000.0::double precision';
const weighted = `sum(feedbacks.value * ${weight})`;

/** Expressions for the feedback on a request: their number, weighted sum and weights, and the weighted mean. */
interface FeedbackOfRequest {
  readonly count: string;
  readonly value: string;
  readonly weight: string;
  readonly average: string;
}

/** `more`: after the table. */
const requestsWith = (feedback: FeedbackOfRequest, more: string): string =>
  `(SELECT exchanges.org, at, workspace, "key" AS key_id, "user" AS user_name, provider, provider_slug,
    coalesce(model, model_asked) AS model, config, prompt, status, cache, cost, cost_saved AS saved_cost,
    input_tokens AS input, output_tokens AS output, total_us,
    CASE WHEN stream = 1 THEN first_byte_us END AS first_byte_us, retries, (${succeeded}) AS ok,
    coalesce(${succeeded} AND attempt_count > 1
      AND target <> (${restWithoutNul} -> 'attempts' -> 0 ->> 'target'), false) AS is_fallback,
    coalesce(trace, id) AS trace, ${restWithoutNul} ->> 'span' AS span, metadata, integration,
    cached_tokens AS cached, cache_write_tokens AS cache_write, reasoning_tokens AS reasoning,
    ${restWithoutNul} -> 'usage_kinds' AS usage_kinds, (${used}) AS is_used,
    id AS request_id, ${feedback.count} AS feedback_count, ${feedback.value} AS feedback_value,
    ${feedback.weight} AS feedback_weight,
    ${feedback.average} AS feedback_average
  FROM exchanges ${more})`;

/** `where`: after the table. */
const requestsOf = (where = ''): string =>
  requestsWith(
    {
      count: ofFeedback('count(*)'),
      value: ofFeedback(weighted),
      weight: ofFeedback(`sum(${weight})`),
      average: ofFeedback(`${weighted} / nullif(sum(${weight}), 0)`),
    },
    where,
  );

const requests = requestsOf();
const allColumns = [...requestColumns, 'request_id'];

/** The same, of which the requests of some days are read from their copies. */
function requestsAndCopies(days: readonly Stretch[]): string {
  const columns = allColumns.map((name) => `"${name}"`).join(', ');
  return `(SELECT ${columns} FROM ${requestsOf(`WHERE ${outside(days)}`)} AS others UNION ALL ${selectCopies(allColumns, days)})`;
}

/** A number of a day that the column takes. Days before 1970 have nothing, as -1 has. */
const clamped = (day: number): number => Math.min(Math.max(day, -1), 2_000_000_000);

type AboutRequests = Pick<AnalyticsQuestion, 'sight' | 'filters'>;

/** Copies have no traces. */
const hasNoTraces = ({ filters: { traces, spans } }: AboutRequests): boolean =>
  traces.length === 0 && spans.length === 0;

/** May the requests of a question be read from their copies, which have nothing that prices depend on, and no ids? */
const canUseCopies = (question: AnalyticsQuestion): boolean =>
  question.kind !== 'usage' &&
  question.kind !== 'slots' &&
  !(question.kind === 'graph' && question.graph === 'feedbacks/scores') &&
  hasNoTraces(question);

/** Analytics over the ledger in PostgreSQL: by SQL over its partitions. */
export class PostgresAnalytics implements Analytics {
  /** The tables of rollups that there are. A node makes them when it starts. */
  readonly #found = new Set<string>();

  constructor(readonly reader: SnapshotReader) {}

  async ask<Q extends AnalyticsQuestion>(question: Q): Promise<AnswerTo<Q>> {
    const days = new FoundDays(this.reader, this.#found);
    const copied = canUseCopies(question) ? await copiedDaysOf(question, days) : [];
    return askDatabase(question, new PostgresDatabase(this.reader, days, copied));
  }

  /**
   * How many requests there are, with none that only rollups still have. null: too few of these days have been counted or copied.
   */
  async count(about: AboutRequests): Promise<number | null> {
    if (!hasNoTraces(about)) return null;
    return this.reader.snapshot((reader) => this.#count(about, reader));
  }

  async #count(about: AboutRequests, reader: StatementReader): Promise<number | null> {
    const days = new FoundDays(reader, this.#found);
    const counted = await countedDaysOf(about, days);
    const copied = await copiedDaysOf(about, days);
    if (counted === null && copied.length === 0) return null;
    const database = new PostgresDatabase(reader, days, copied);
    const values = new Placeholders();
    const [row] = await database.rows(
      `SELECT ${number(`count(*)${counted === null ? '' : ` + (${sumOfCounts(about, counted, values)})`}`)} AS total
        FROM ${database.source()} AS requests
        WHERE ${conditionsOf(about, values, database)}${counted === null ? '' : ` AND ${within(counted.times)}`}`,
      values.list,
    );
    return Number(row?.['total'] ?? 0);
  }

  async close(): Promise<void> {}

  /** A subquery of the requests of one stretch of time, up to the moment before `to`, for copies: their feedback is added up once. */
  static sourceOf(from: number, to: number): string {
    const given = `LEFT JOIN (SELECT org, row_id, count(*) AS count, ${weighted} AS value, sum(${weight}) AS weight
      FROM feedbacks WHERE row_at >= ${from} AND row_at < ${to} GROUP BY 1, 2) AS given
      ON given.org = exchanges.org AND given.row_id = exchanges.id`;
    const average = 'given.value / nullif(given.weight, 0)';
    const feedback = { count: 'given.count', value: 'given.value', weight: 'given.weight', average };
    return requestsWith(feedback, given);
  }

  static scored(requests: string): string {
    return `(SELECT requests.*, given.value AS score FROM ${requests} JOIN feedbacks AS given
      ON given.org = requests.org AND given.row_id = requests.request_id) AS scores`;
  }

  static metadataPairs(requests: string): string {
    return `(SELECT requests.*, pair.key COLLATE "C" AS metadata_name, pair.value COLLATE "C" AS metadata_value
      FROM ${requests} CROSS JOIN LATERAL json_each_text(${metadataWithoutNul}) AS pair) AS requests`;
  }
}

/** The days, of those that requests may be of, whose requests are copied. */
async function copiedDaysOf(
  { filters: { at } }: AboutRequests,
  days: FoundDays,
): Promise<readonly Stretch[]> {
  const { min = 0, max = 8.64e15 } = at;
  const [first, last] = [Math.floor(min / dayMs), Math.floor(max / dayMs)];
  return stretchesOf(await days.find('copied_days', validDays(clamped(first), clamped(last), 'requests')));
}

const within = (times: readonly Stretch[]): string =>
  times.length === 0
    ? 'false'
    : `(${times.map(([from, to]) => `"at" BETWEEN ${from} AND ${to}`).join(' OR ')})`;

/** The whole days of a question about times and workspaces alone whose requests are counted, and the other times; null: there are none. */
async function countedDaysOf(about: AboutRequests, days: FoundDays): Promise<RolledRange | null> {
  if (filteredCells(about)?.filter !== null) return null;
  const { min = 0, max = 8.64e15 } = about.filters.at;
  const { first, last } = wholeDays({ min, max });
  const values = new Placeholders();
  const kept = `SELECT coalesce(max(day), 0) FROM kept_from WHERE org = '' OR (${sightOf(about.sight, values)})`;
  const counted = `SELECT day FROM (${validDays(clamped(first), clamped(last), 'counts')}) AS counted WHERE day >= (${kept}) ORDER BY day`;
  return rolledRange({ min, max }, await days.find(countedDays, counted, values.list));
}

const sumOfCounts = ({ sight }: AboutRequests, { days }: RolledRange, values: Placeholders): string =>
  `SELECT coalesce(sum(requests), 0) FROM ${countsTable} WHERE ${sightOf(sight, values)}
    AND (${days.map(([first, last]) => `day BETWEEN ${first} AND ${last}`).join(' OR ')})`;

/** Looks up days of which there are rollups, copies or counts. */
class FoundDays {
  constructor(
    readonly reader: StatementReader,
    /** Tables that there are. */
    readonly tables: Set<string>,
  ) {}

  /** `table`: without it there are none. */
  async find(table: string, statement: string, values: readonly string[] = []): Promise<readonly number[]> {
    const needs = table === countedDays ? [table] : [table, feedbackMoves, feedbackIndex];
    for (const needed of needs) if (!(await this.#has(needed))) return [];
    const rows = await this.reader.read<{ day: number }>(statement, values);
    return rows.map(({ day }) => Number(day));
  }

  async #has(table: string): Promise<boolean> {
    if (this.tables.has(table)) return true;
    const [row] = await this.reader.read<{ found: boolean }>(
      `SELECT to_regclass('${table}') IS NOT NULL AS found`,
      [],
    );
    if (row?.found === true) this.tables.add(table);
    return row?.found === true;
  }
}

/** The database as one question reads it. */
class PostgresDatabase implements AnalyticsDatabase {
  readonly #source: string;

  constructor(
    readonly reader: StatementReader,
    readonly days: FoundDays,
    /** Days whose requests are read from their copies. */
    copied: readonly Stretch[],
  ) {
    this.#source = copied.length === 0 ? requests : requestsAndCopies(copied);
  }

  /** Feedback is looked up for each request: joined, it may be added up again for each, where PostgreSQL expects few requests. */
  source(): string {
    return this.#source;
  }

  scored(requests: string): string {
    return PostgresAnalytics.scored(requests);
  }

  /** Of whole numbers that are not negative, as times are. */
  divided(number: string, by: number): string {
    return `${number} / ${by}::bigint`;
  }

  metadataPairs(requests: string): string {
    return PostgresAnalytics.metadataPairs(requests);
  }

  metadataValue(name: string, values: Placeholders): string {
    return `(${metadataWithoutNul} ->> ${values.add(name)}) COLLATE "C"`;
  }

  metadataHas(name: string, value: string, values: Placeholders): string {
    const hasValue = `${this.metadataValue(name, values)} = ${values.add(value)}`;
    // Other characters may be escaped in the JSON.
    if (!/^[\w .:/@+-]+$/.test(value)) return hasValue;
    // Only where the text is found is the JSON read: to read that of each row takes ten times as long as all else.
    return `strpos(metadata::text, ${values.add(`"${value}"`)}) > 0 AND ${hasValue}`;
  }

  usageKind(name: string): string {
    return `coalesce((usage_kinds ->> '${name}')::bigint, 0)`;
  }

  usageTier(): string {
    return "usage_kinds ->> 'tier'";
  }

  async rolledDays(first: number, last: number, kind: RolledKind): Promise<readonly number[]> {
    return this.days.find('day_names', validDays(clamped(first), clamped(last), kind));
  }

  async rolledWeeks(first: number, last: number): Promise<readonly number[]> {
    return this.days.find('rolled_weeks', validWeeks(clamped(first), clamped(last)));
  }

  rows(statement: string, values: readonly string[]): Promise<readonly SelectedFigures[]> {
    return this.reader.read<SelectedFigures>(statement, values);
  }
}
