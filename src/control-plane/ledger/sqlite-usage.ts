import type { LedgerUsage, UsageFilter } from '../../common/ledger/record.js';
import type { SqliteConnection } from '../database/sqlite.js';
import { isCall, type SummedRow, usageOf, usageStatement } from './usage-by-day.js';

const attempts = (where: string): string => `
  SELECT one.value ->> 'provider', coalesce(one.value ->> 'slug', iif(one.value ->> 'target' = target, provider_slug, NULL)),
    coalesce(one.value ->> 'integration', iif(one.value ->> 'target' = target, exchanges.integration, NULL)),
    iif(one.value ->> 'target' = target, exchanges.model, one.value ->> 'model'),
    one.value ->> '$.usage.input', one.value ->> '$.usage.output', one.value ->> 'cost'
  FROM exchanges, json_each(rest, '$.attempts') AS one
  WHERE ${where} AND ${isCall} AND attempt_count > 1 AND (one.value ->> '$.usage.source' <> 'none' OR one.value ->> 'cost' IS NOT NULL)`;

/** Usage of the stretch by provider, stored provider, integration and model, added up by the database. */
export async function sqliteUsage(
  reader: SqliteConnection,
  { org, workspace, providers, from, to }: UsageFilter,
): Promise<LedgerUsage[]> {
  const where = `org = ?1 AND at >= ?2 AND at < ?3${workspace === undefined ? '' : ' AND workspace = ?5'}`;
  const onProvider = providers.length === 0 ? '?4 = ?4' : 'provider IN (SELECT value FROM json_each(?4))';
  const rows = await reader.all<SummedRow>(usageStatement(where, attempts(where), onProvider), [
    org,
    from,
    to,
    JSON.stringify(providers),
    ...(workspace === undefined ? [] : [workspace]),
  ]);
  return rows.map((row) => usageOf(row, from));
}
