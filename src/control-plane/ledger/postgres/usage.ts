import { GatewayError } from '../../../common/core/errors.js';
import type { LedgerUsage, UsageFilter } from '../../../common/ledger/record.js';
import { isCall, type SummedRow, usageOf, usageStatement } from '../usage-by-day.js';
import type { LedgerConnections } from './connections.js';
import { LedgerFailure } from './failure.js';
import { restWithoutNul } from './search.js';

const isAnswer = "one ->> 'target' = target";

const attempts = (where: string): string => `
  SELECT one ->> 'provider',
    coalesce(one ->> 'slug', CASE WHEN ${isAnswer} THEN provider_slug END),
    coalesce(one ->> 'integration', CASE WHEN ${isAnswer} THEN exchanges.integration END),
    CASE WHEN ${isAnswer} THEN exchanges.model ELSE one ->> 'model' END,
    (one -> 'usage' ->> 'input')::bigint, (one -> 'usage' ->> 'output')::bigint, (one ->> 'cost')::bigint
  FROM exchanges, json_array_elements(${restWithoutNul} -> 'attempts') AS one
  WHERE ${where} AND ${isCall} AND attempt_count > 1 AND (one -> 'usage' ->> 'source' <> 'none' OR one ->> 'cost' IS NOT NULL)`;

/** SQLSTATE of a statement that took too long, and the word for one whose connection was given up. */
const tooLong = ['57014', 'timeout'];
/** Shorter stretches are not divided further. Milliseconds. */
const shortest = 15 * 60_000;

/**
 * Usage of the stretch by provider, stored provider, integration and model, added up by PostgreSQL over the partition of its day.
 * A stretch with too many rows for one statement is asked for in halves, so that a group may come several times.
 */
export async function postgresUsage(
  connections: Pick<LedgerConnections, 'read'>,
  filter: UsageFilter,
): Promise<LedgerUsage[]> {
  const { org, workspace, providers, from, to } = filter;
  const where = `org = $1 AND at >= ${Math.trunc(from)} AND at < ${Math.trunc(to)}${workspace === undefined ? '' : ' AND workspace = $3'}`;
  const onProvider = '(cardinality($2::text[]) = 0 OR provider = ANY ($2::text[]))';
  try {
    const rows = await connections.read<SummedRow>(usageStatement(where, attempts(where), onProvider), [
      org,
      providers,
      ...(workspace === undefined ? [] : [workspace]),
    ]);
    return rows.map((row) => usageOf(row, from));
  } catch (error) {
    const cause = error instanceof GatewayError ? error.cause : null;
    const isLong = cause instanceof LedgerFailure && tooLong.includes(cause.code);
    if (!isLong || to - from <= shortest) throw error;
    const middle = Math.floor((from + to) / 2);
    return [
      ...(await postgresUsage(connections, { ...filter, to: middle })),
      ...(await postgresUsage(connections, { ...filter, from: middle })),
    ];
  }
}
