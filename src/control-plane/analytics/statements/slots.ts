import type { SlotFigures, SlotsQuestion } from '../question.js';
import { sums } from './columns.js';
import { conditionsOf } from './conditions.js';
import { type AnalyticsDatabase, number, Placeholders } from './dialect.js';

/** Adds up slots of time, by workspace. Slots without requests are left out. */
export async function askSlots(
  question: SlotsQuestion,
  database: AnalyticsDatabase,
): Promise<readonly SlotFigures[]> {
  const { width, origin, stretches } = question;
  // Numbers of slots are divided as positive ones: databases round others in different ways.
  const before = Math.max(0, ...stretches.map(({ first }) => -first));
  const begin = origin - before * width;
  const values = new Placeholders();
  const where = conditionsOf(question, values, database);
  // DuckDB reads all rows for times that are joined by OR.
  const requests = stretches.map(
    ({
      first,
      last,
    }) => `SELECT * FROM ${database.source()} AS requests WHERE ${where} AND workspace IS NOT NULL
      AND "at" >= ${origin + first * width} AND "at" < ${origin + (last + 1) * width}`,
  );
  const rows = await database.rows(
    `SELECT workspace, ${number(database.divided(`("at" - ${begin})`, width))} AS slot,
        ${number(sums.requests)} AS requests, ${number(sums.cost)} AS cost, ${number(sums.errors)} AS errors,
        ${number('count(CASE WHEN cost > 0 THEN 1 END)')} AS priced,
        avg(CASE WHEN cost > 0 THEN ln(${number('cost')}) END) AS log_cost,
        avg(ln((${number('total_us')} + 1) / 1000)) AS log_latency
      FROM (${requests.join(' UNION ALL ')}) AS requests GROUP BY 1, 2`,
    values.list,
  );
  return rows.map((row) => ({
    workspace: String(row['workspace']),
    slot: Number(row['slot']) - before,
    requests: Number(row['requests']),
    cost: Number(row['cost']),
    errors: Number(row['errors']),
    priced: Number(row['priced']),
    logCost: Number(row['log_cost'] ?? 0),
    logLatency: Number(row['log_latency'] ?? 0),
  }));
}
