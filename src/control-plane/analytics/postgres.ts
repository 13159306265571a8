import type { Analytics, AnalyticsQuestion, AnswerTo } from './question.js';
import { askDatabase } from './statements/ask.js';
import type { AnalyticsDatabase, SelectedFigures } from './statements/dialect.js';

/** What is asked of the ledger in PostgreSQL. */
export interface StatementReader {
  /** Rows of one statement. Throws the coded error `store_unavailable`, within 6 s. */
  readStatement(text: string, values: readonly string[]): Promise<readonly SelectedFigures[]>;
}

const succeeded = 'state = 0 AND error IS NULL AND status BETWEEN 200 AND 399';
/** PostgreSQL makes no text of JSON with a NUL in it. */
const restWithoutNul = `(CASE WHEN strpos(rest::text, '\\u0000') = 0 THEN rest
  ELSE regexp_replace(rest::text, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000', '\\1\\ufffd', 'g')::json END)`;

/** What guardrails record: `guardrail value * weight; …`. */
const feedbackText = `CASE WHEN strpos(rest::text, '"feedback"') > 0 THEN ${restWithoutNul} #>> '{stages,guardrails,feedback}' END`;
const eachFeedback = (text: string): string =>
  `regexp_matches(${text}, '(-?[0-9.]+) \\* (-?[0-9.]+)(?:; |$)', 'g')`;
const weightOf = `CASE WHEN given[2]::double precision BETWEEN 0 AND 1 THEN given[2]::double precision ELSE 1 END`;
const ofFeedback = `(SELECT max(text) AS feedback, count(given) AS feedback_count,
    sum(given[1]::double precision * ${weightOf}) AS feedback_value,
    sum(CASE WHEN given IS NOT NULL THEN ${weightOf} END) AS feedback_weight
  FROM (SELECT ${feedbackText} AS text) AS recorded LEFT JOIN LATERAL ${eachFeedback('text')} AS given ON true)`;

const requests = `(SELECT org, at, workspace, "key" AS key_id, "user" AS user_name, provider, provider_slug,
    coalesce(model, model_asked) AS model, config, prompt, status, cache, cost, cost_saved AS saved_cost,
    input_tokens AS input, output_tokens AS output, total_us,
    CASE WHEN stream = 1 THEN first_byte_us END AS first_byte_us, retries, (${succeeded}) AS ok,
    coalesce(${succeeded} AND attempt_count > 1
      AND target <> (${restWithoutNul} -> 'attempts' -> 0 ->> 'target'), false) AS is_fallback,
    coalesce(trace, id) AS trace, ${restWithoutNul} ->> 'span' AS span, metadata,
    feedback, feedback_count, feedback_value, feedback_weight,
    feedback_value / nullif(feedback_weight, 0) AS feedback_average
  FROM exchanges CROSS JOIN LATERAL ${ofFeedback} AS counted)`;

/** Analytics over the ledger in PostgreSQL: by SQL over its partitions. */
export class PostgresAnalytics implements Analytics, AnalyticsDatabase {
  constructor(readonly ledger: StatementReader) {}

  ask<Q extends AnalyticsQuestion>(question: Q): Promise<AnswerTo<Q>> {
    return askDatabase(question, this);
  }

  source(): string {
    return requests;
  }

  scored(requests: string): string {
    return `(SELECT requests.*, given[1]::double precision AS score FROM ${requests}, ${eachFeedback('requests.feedback')} AS given) AS scores`;
  }

  divided(number: string, by: number): string {
    return `floor(${number} / ${by}::numeric)::bigint`;
  }

  metadataValue(name: string): string {
    return `(metadata ->> ${name})`;
  }

  metadataName(name: string): string {
    return name;
  }

  rows(statement: string, values: readonly string[]): Promise<readonly SelectedFigures[]> {
    return this.ledger.readStatement(statement, values);
  }

  async close(): Promise<void> {}
}
