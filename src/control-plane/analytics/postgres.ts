import type { Analytics, AnalyticsQuestion, AnswerTo } from './question.js';
import { validDays } from './rollups/valid-days.js';
import { validWeeks } from './rollups/weeks.js';
import { askDatabase } from './statements/ask.js';
import type { AnalyticsDatabase, Placeholders, RolledKind, SelectedFigures } from './statements/dialect.js';

/** Analytics queries of a ledger in PostgreSQL. */
export interface StatementReader {
  /** Rows of one statement. Throws the coded error `store_unavailable`, within 6 s. */
  read<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]>;
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

const requests = requestsWith(
  {
    count: ofFeedback('count(*)'),
    value: ofFeedback(weighted),
    weight: ofFeedback(`sum(${weight})`),
    average: ofFeedback(`${weighted} / nullif(sum(${weight}), 0)`),
  },
  '',
);

/** A number of a day that the column takes. */
const clamped = (day: number): number => Math.min(Math.max(day, 0), 2_000_000_000);

/** Analytics over the ledger in PostgreSQL: by SQL over its partitions. */
export class PostgresAnalytics implements Analytics, AnalyticsDatabase {
  /** The tables of rollups that there are. A node makes them when it starts. */
  readonly #found = new Set<string>();

  constructor(readonly reader: StatementReader) {}

  ask<Q extends AnalyticsQuestion>(question: Q): Promise<AnswerTo<Q>> {
    return askDatabase(question, this);
  }

  /** Feedback is looked up for each request: joined, it may be added up again for each, where PostgreSQL expects few requests. */
  source(): string {
    return requests;
  }

  /** The same of one stretch of time, up to the moment before `to`: feedback is added up once. */
  static sourceOf(from: number, to: number): string {
    const given = `LEFT JOIN (SELECT org, row_id, count(*) AS count, ${weighted} AS value, sum(${weight}) AS weight
      FROM feedbacks WHERE row_at >= ${from} AND row_at < ${to} GROUP BY 1, 2) AS given
      ON given.org = exchanges.org AND given.row_id = exchanges.id`;
    const average = 'given.value / nullif(given.weight, 0)';
    const feedback = { count: 'given.count', value: 'given.value', weight: 'given.weight', average };
    return requestsWith(feedback, given);
  }

  scored(requests: string): string {
    return PostgresAnalytics.scored(requests);
  }

  static scored(requests: string): string {
    return `(SELECT requests.*, given.value AS score FROM ${requests} JOIN feedbacks AS given
      ON given.org = requests.org AND given.row_id = requests.request_id) AS scores`;
  }

  /** Of whole numbers that are not negative, as times are. */
  divided(number: string, by: number): string {
    return `${number} / ${by}::bigint`;
  }

  metadataPairs(requests: string): string {
    return PostgresAnalytics.metadataPairs(requests);
  }

  static metadataPairs(requests: string): string {
    return `(SELECT requests.*, pair.key COLLATE "C" AS metadata_name, pair.value COLLATE "C" AS metadata_value
      FROM ${requests} CROSS JOIN LATERAL json_each_text(${metadataWithoutNul}) AS pair) AS requests`;
  }

  metadataValue(name: string, values: Placeholders): string {
    return `(${metadataWithoutNul} ->> ${values.add(name)}) COLLATE "C"`;
  }

  metadataHas(name: string, value: string, values: Placeholders): string {
    return `${this.metadataValue(name, values)} = ${values.add(value)}`;
  }

  usageKind(name: string): string {
    return `coalesce((usage_kinds ->> '${name}')::bigint, 0)`;
  }

  usageTier(): string {
    return "usage_kinds ->> 'tier'";
  }

  async rolledDays(first: number, last: number, kind: RolledKind): Promise<readonly number[]> {
    return this.#days('day_names', validDays(clamped(first), clamped(last), kind));
  }

  async rolledWeeks(first: number, last: number): Promise<readonly number[]> {
    return this.#days('rolled_weeks', validWeeks(clamped(first), clamped(last)));
  }

  /** `table`: without it there are none. */
  async #days(table: string, statement: string): Promise<readonly number[]> {
    if (!this.#found.has(table)) {
      const [row] = await this.reader.read<{ found: boolean }>(
        `SELECT to_regclass('${table}') IS NOT NULL AS found`,
        [],
      );
      if (row?.found !== true) return [];
      this.#found.add(table);
    }
    const rows = await this.reader.read<{ day: number }>(statement, []);
    return rows.map(({ day }) => Number(day));
  }

  rows(statement: string, values: readonly string[]): Promise<readonly SelectedFigures[]> {
    return this.reader.read<SelectedFigures>(statement, values);
  }

  async close(): Promise<void> {}
}
