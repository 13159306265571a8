import { expect } from 'chai';
import type { LogFollowing } from '../../src/common/ledger/logs/log-query.js';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { exportColumns, exportForm } from '../../src/control-plane/administration/usage/export-form.js';
import type { ExportForm } from '../../src/control-plane/exports/exporter.js';
import type { BudgetLedger } from '../../src/control-plane/ledger/ledger.js';
import { openPostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import type { LogExport } from '../../src/control-plane/store/store.js';
import { org, randomRows } from '../support/analytics-rows.js';
import { folder, forEachStore } from '../support/stores.js';

const node = '0190a1b2-0000-7000-8000-0000000000a1';

describe('lines of exports', () => {
  forEachStore(({ dialect, options }) => {
    let ledger: BudgetLedger;
    before(async () => {
      const dataDir = folder();
      const { databaseUrl = null } = dialect === 'sqlite' ? {} : await options(dataDir);
      ledger =
        databaseUrl === null
          ? await openLedger({ dataDir })
          : await openPostgresLedger({ url: databaseUrl, node });
      const rows = randomRows(3, 300, Date.parse('2026-09-01T05:00:00Z'), 3_600_000);
      await ledger.addRows(rows.map((row): LedgerRow => ({ ...row, workspace: 'w-1' })));
    });
    after(() => ledger.close());

    const linesOf = async (form: ExportForm, fields: Pick<LogFollowing, 'columns'>): Promise<string[]> => {
      const { rows } = await ledger.follow({
        ...{ sight: form.sight, filters: form.filters, after: '0', limit: 1000, scan: 1000, isOnce: true },
        ...fields,
      });
      return rows.map((row) => form.line(row, null));
    };

    for (const name of exportColumns) {
      it(`are the same of the fields that \`${name}\` is made of as of whole rows`, async () => {
        const form = exportForm({
          ...{ organisationId: org, workspaceId: 'w-1', filters: {}, requestedData: [name], format: 'jsonl' },
          ...{ sight: { keys: null, metadata: true }, startedAt: Date.parse('2026-10-01T00:00:00Z') },
        } as unknown as LogExport);
        const whole = await linesOf(form, {});
        expect(whole.length).to.be.greaterThan(200);
        const lines = await linesOf(form, form.fields === null ? {} : { columns: form.fields });
        expect(lines).to.deep.equal(whole);
      });
    }
  });
});
