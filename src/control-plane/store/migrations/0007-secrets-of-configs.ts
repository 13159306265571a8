import { shownConfig } from '../secrets/config-secrets.js';
import type { Transaction } from '../sql/connection/driver.js';
import type { MigrationContext } from './migration.js';

interface Version {
  readonly id: string;
  readonly organisation_id: string;
  readonly text: string;
}

/** Rows that are read at a time. */
const pieceOf = 500;

/** Configs that hold credentials are sealed; their open text has masks in place of them. */
export async function up(sql: Transaction, { dataKeys }: MigrationContext): Promise<void> {
  await sql.schema.alterTable('config_versions', (t) => {
    t.binary('sealed');
  });
  for (let last = ''; ; ) {
    const rows: Version[] = await sql('config_versions')
      .join('configs', 'configs.id', 'config_versions.config_id')
      .where('config_versions.id', '>', last)
      .orderBy('config_versions.id')
      .limit(pieceOf)
      .select('config_versions.id', 'configs.organisation_id', 'config_versions.text');
    for (const { id, organisation_id: organisation, text } of rows) {
      const shown = shownConfig(text);
      if (shown === null) continue;
      const place = { table: 'config_versions', row: id, organisation, field: 'sealed' };
      const sealed = await dataKeys.seal(sql, place, text);
      await sql('config_versions').where({ id }).update({ text: shown, sealed });
    }
    const end = rows.at(-1);
    if (end === undefined) return;
    last = end.id;
  }
}
