import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { expect } from 'chai';
import { allLogs } from '../../src/common/ledger/log-filters.js';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { dayMs } from '../../src/control-plane/analytics/buckets.js';
import { Follower } from '../../src/control-plane/analytics/duckdb/follower.js';
import { PostgresAnalytics } from '../../src/control-plane/analytics/postgres.js';
import { PostgresRollups } from '../../src/control-plane/analytics/rollups/postgres-rollups.js';
import { openPostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import { org, randomRows } from '../support/analytics-rows.js';
import { batchOf } from '../support/asked-ledgers.js';
import { folder, forEachStore } from '../support/stores.js';

/** A file in the format before values of metadata had columns. */
async function dropValueColumns(connection: DuckDBConnection): Promise<void> {
  const found = await connection.runAndReadAll('SELECT DISTINCT number FROM metadata_columns');
  for (const [number] of found.getRows())
    await connection.run(`ALTER TABLE requests DROP COLUMN metadata_${number}`);
  await connection.run('DROP TABLE metadata_columns; ALTER TABLE progress DROP COLUMN has_values');
}

/** Rollups that were made before there were cells of values of metadata. */
describe('rollups of an earlier version', () => {
  const start = Date.parse('2026-09-01T00:00:00Z');
  const rows = randomRows(5, 300, start, 4 * dayMs).map(
    (row, i): LedgerRow => ({ ...row, org, state: 'settled', metadata: { team: `v${i % 3}` } }),
  );
  const sight = { org, workspaces: null, except: [], keys: null };
  const range = { min: start - dayMs, max: start + 40 * dayMs };
  const about = { sight, filters: { ...allLogs, at: range } };
  const values = { kind: 'values', name: 'team', limit: 10, ...about } as const;
  const requests = { kind: 'graph', graph: 'requests', groupBy: null, range, ...about } as const;

  forEachStore(({ dialect, options }) => {
    it('are made again with values of metadata, and lose nothing', async () => {
      const dataDir = folder();
      const { databaseUrl = null } = dialect === 'sqlite' ? {} : await options(dataDir);
      if (databaseUrl === null) {
        const ledger = await openLedger({ dataDir });
        await ledger.apply(batchOf(rows));
        const before = await Follower.open(dataDir);
        await before.catchUp(60_000);
        await before.rollUp(60_000, 0);
        const cursor = await before.file.cursor();
        await before.close();
        const file = await DuckDBInstance.create(join(dataDir, 'analytics.duckdb'));
        const connection = await file.connect();
        await connection.run('DROP TABLE day_names; DROP TABLE day_values');
        await dropValueColumns(connection);
        await connection.run('UPDATE progress SET version = 3');
        connection.closeSync();
        file.closeSync();
        const after = await Follower.open(dataDir);
        expect(await after.file.cursor()).to.equal(cursor);
        const ask = () => after.file.ask(values);
        expect((await ask()).total).to.equal(3);
        await after.rollUp(60_000, 0);
        expect((await after.file.rows('SELECT * FROM day_values', [])).length).to.be.greaterThan(9);
        expect((await ask()).total).to.equal(3);
        await after.close();
        await ledger.close();
        return;
      }
      const ledger = await openPostgresLedger({ url: databaseUrl, node: 'n' });
      await ledger.apply(batchOf(rows));
      const rollUp = () =>
        new PostgresRollups((work) => ledger.statements.apart(work)).rollUp(start + 30 * dayMs);
      await rollUp();
      await ledger.statements.apart((client) =>
        client.query(`DROP TABLE day_names; DROP TABLE day_values; ALTER TABLE rolled_days DROP COLUMN values_snapshot;
          DROP TABLE exchanges_20260901`),
      );
      const left = rows.filter(({ at }) => at >= start + dayMs);
      expect(await rollUp()).to.equal(3);
      const analytics = new PostgresAnalytics(ledger.statements);
      expect((await analytics.ask(requests)).summary['total']).to.equal(rows.length);
      expect((await analytics.ask(values)).total).to.equal(3);
      const grouped = await analytics.ask({
        ...{ kind: 'groups', by: { metadata: 'team' }, figures: [], orderBy: 'requests', isDescending: true },
        ...{ offset: 0, limit: 10, hasTotal: true, ...about },
      });
      const counted = grouped.rows.reduce((sum, { figures }) => sum + Number(figures['requests']), 0);
      expect(counted).to.equal(left.length);
      // A program of before makes a day again: its values are not used any more.
      await ledger.statements.apart((client) =>
        client.query(`UPDATE rolled_days SET snapshot = pg_current_snapshot(); DELETE FROM day_values`),
      );
      expect((await analytics.ask(values)).total).to.equal(3);
      expect(await rollUp()).to.equal(3);
      await ledger.close();
    });
  });
});

describe('requests in a file from before values of metadata had columns', () => {
  const start = Date.parse('2026-09-01T00:00:00Z');
  const rows = randomRows(1, 70, start, dayMs).map(
    (row, i): LedgerRow => ({
      ...{ ...row, org, state: 'settled' },
      metadata: { team: i < 40 ? 'early' : 'late', at: 'home' },
    }),
  );
  const sight = { org, workspaces: null, except: [], keys: null };
  const range = { min: start, max: start + 40 * dayMs };
  const countOf = async (follower: Follower, metadata: Record<string, string>): Promise<unknown> => {
    await follower.catchUp(60_000);
    const filters = { ...allLogs, at: range, metadata };
    const graph = { kind: 'graph', graph: 'requests', groupBy: null, range, sight, filters } as const;
    return (await follower.file.ask(graph)).summary['total'];
  };

  it('are found by their metadata as later ones are, also after the file is made again', async () => {
    const dataDir = folder();
    const ledger = await openLedger({ dataDir });
    await ledger.apply(batchOf(rows.slice(0, 40)));
    const before = await Follower.open(dataDir);
    await before.catchUp(60_000);
    await dropValueColumns(before.file.connection);
    await before.file.connection.run('UPDATE progress SET version = 4');
    await before.close();
    const after = await Follower.open(dataDir);
    await ledger.apply(batchOf(rows.slice(40)));
    const counts = async (): Promise<unknown[]> => [
      await countOf(after, { team: 'early' }),
      await countOf(after, { team: 'late' }),
      await countOf(after, { at: 'home' }),
    ];
    expect(await counts()).to.deep.equal([40, 30, 70]);
    await after.file.clear();
    expect(await counts()).to.deep.equal([40, 30, 70]);
    const columns = await after.file.rows('SELECT name FROM metadata_columns ORDER BY name', []);
    expect(columns.map(({ name }) => name)).to.deep.equal(['at', 'team']);
    await after.close();
    await ledger.close();
  });
});
