import type { Transaction } from '../sql/connection/driver.js';

/** Rows that are read at once. */
const piece = 500;

interface Row {
  readonly usage: string | null;
  readonly usage_limits: string;
}

/**
 * The last reset of a budget becomes part of it: what was used is the ledger's. `usage` of providers and integrations, four columns
 * of keys and the table `usage_limits_entities` are for earlier versions alone.
 */
export async function up(sql: Transaction): Promise<void> {
  await moved(sql, 'providers', ['id']);
  await moved(sql, 'integration_workspaces', ['organisation_id', 'integration_id', 'workspace_id']);
}

async function moved(sql: Transaction, table: string, key: readonly string[]): Promise<void> {
  for (let offset = 0; ; offset += piece) {
    const rows: (Row & Record<string, string>)[] = await sql(table)
      .whereNotNull('usage_limits')
      .orderBy([...key])
      .offset(offset)
      .limit(piece)
      .select(...key, 'usage', 'usage_limits');
    for (const row of rows) {
      const lastResetAt = JSON.parse(row.usage ?? '{}').lastResetAt ?? null;
      if (lastResetAt === null) continue;
      await sql(table)
        .where(Object.fromEntries(key.map((name) => [name, row[name]])))
        .update({ usage_limits: JSON.stringify({ ...JSON.parse(row.usage_limits), lastResetAt }) });
    }
    if (rows.length < piece) return;
  }
}
