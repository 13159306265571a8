import type { LedgerUsage } from '../../common/ledger/record.js';

/** One group of rows as a database adds them up. Costs in two parts, since their sum may exceed what a number holds. */
export interface SummedRow {
  readonly provider: string | null;
  readonly slug: string | null;
  readonly integration: string | null;
  readonly model: string | null;
  readonly calls: number | string;
  readonly input: number | string | null;
  readonly output: number | string | null;
  /** Whole micro-dollars of each row, and the picodollars beside them. */
  readonly micros: number | string | null;
  readonly picos: number | string | null;
  readonly unpriced: number | string;
  readonly lost: number | string;
}

export const usageOf = (row: SummedRow, from: number): LedgerUsage => ({
  day: new Date(from).toISOString().slice(0, 10),
  provider: row.provider ?? '',
  slug: row.slug,
  integration: row.integration,
  model: row.model,
  calls: Number(row.calls),
  input: Number(row.input ?? 0),
  output: Number(row.output ?? 0),
  cost: BigInt(row.micros ?? 0) * 1_000_000n + BigInt(row.picos ?? 0),
  unpriced: Number(row.unpriced),
  lost: Number(row.lost),
});

const sums = `count(*) AS calls, sum(input) AS input, sum(output) AS output,
  sum(cost / 1000000) AS micros, sum(cost % 1000000) AS picos,
  sum(CASE WHEN cost IS NULL THEN 1 ELSE 0 END) AS unpriced`;

/** Rows whose usage was a provider's: hits of the cache are no calls. */
export const isCall = "state = 0 AND cache NOT IN ('HIT', 'SEMANTIC HIT')";

/**
 * The statement that adds calls to providers up. Of rows with several attempts each attempt is a call of its own; the one
 * at the target that answered has the model that answered. Hits of the cache are no calls. `where`: conditions on
 * `exchanges`; `attempts`: rows with several attempts, an `attempt` each, as columns of the same names.
 */
export const usageStatement = (where: string, attempts: string, onProvider: string): string => `
  SELECT provider, slug, integration, model, ${sums}, 0 AS lost FROM (
    SELECT provider, provider_slug AS slug, integration, model, input_tokens AS input, output_tokens AS output, cost
      FROM exchanges WHERE ${where} AND ${isCall} AND attempt_count <= 1 AND (usage_source <> 'none' OR cost IS NOT NULL)
    UNION ALL ${attempts}
  ) AS calls WHERE ${onProvider} GROUP BY provider, slug, integration, model
  UNION ALL
  SELECT provider, provider_slug AS slug, integration, model, 0, 0, 0, 0, 0, 0, count(*) AS lost
    FROM exchanges WHERE ${where} AND state = 1 AND ${onProvider}
    GROUP BY provider, provider_slug, integration, model`;
