import { shownChecks } from '../secrets/guardrail-secrets.js';
import type { Transaction } from '../sql/connection/driver.js';
import type { MigrationContext } from './migration.js';

interface Version {
  readonly id: string;
  readonly organisation_id: string;
  readonly checks: string;
}

/** Rows that are read at a time. */
const pieceOf = 500;

/** Checks that hold credentials are sealed; their open text has masks in place of them. */
export async function up(sql: Transaction, { dataKeys }: MigrationContext): Promise<void> {
  await sql.schema.alterTable('guardrail_versions', (t) => {
    t.binary('sealed');
  });
  for (let last = ''; ; ) {
    const rows: Version[] = await sql('guardrail_versions')
      .where('id', '>', last)
      .orderBy('id')
      .limit(pieceOf)
      .select('id', 'organisation_id', 'checks');
    for (const { id, organisation_id: organisation, checks } of rows) {
      const shown = shownChecks(checks);
      if (shown === null) continue;
      const place = { table: 'guardrail_versions', row: id, organisation, field: 'sealed' };
      const sealed = await dataKeys.seal(sql, place, checks);
      await sql('guardrail_versions').where({ id }).update({ checks: shown, sealed });
    }
    const end = rows.at(-1);
    if (end === undefined) return;
    last = end.id;
  }
}
