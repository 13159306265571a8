import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { Secret } from '../src/common/access/secret.js';
import type { LedgerRow } from '../src/common/ledger/record.js';
import { uuidv7 } from '../src/common/text/id.js';
import { exportForm } from '../src/control-plane/administration/usage/export-form.js';
import { exportFileName, LogExporter } from '../src/control-plane/exports/exporter.js';
import { fileDestination } from '../src/control-plane/exports/file-destination.js';
import type { BudgetLedger } from '../src/control-plane/ledger/ledger.js';
import { openPostgresLedger } from '../src/control-plane/ledger/postgres/ledger.js';
import { openLedger } from '../src/control-plane/ledger/sql.js';
import type { LogExport, LogExportStore } from '../src/control-plane/store/store.js';
import { org, settlementOf, workspace } from '../test/fault/journal-records.js';

/**
 * An export of a large ledger: how long it takes, and how much memory. `node dist/bench/log-exports.js [rows] [sqlite|postgres] [days]`:
 * a million rows over 30 days, in SQLite; all of them, then the few of one model among them. PostgreSQL: in a database of its own on
 * TEST_DATABASE_URL.
 */
const [rows = '1000000', kind = 'sqlite', days = '30'] = process.argv.slice(2);
const count = Number(rows);
const server = process.env['TEST_DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';
const name = 'headgate_bench_exports';
const url = new URL(server);
url.pathname = `/${name}`;
const dayMs = 86_400_000;
/** Of so many rows one has the rare model. */
const rarity = 200_000;

const open = (dataDir: string): Promise<BudgetLedger> =>
  kind === 'postgres'
    ? openPostgresLedger({ url: new Secret(url.href), node: '0190a1b2-0000-7000-8000-0000000000a1' })
    : openLedger({ dataDir });

async function fill(ledger: BudgetLedger): Promise<void> {
  const start = Date.now() - Number(days) * dayMs;
  const batch = 5000;
  for (let from = 0; from < count; from += batch) {
    const settled: LedgerRow[] = Array.from({ length: Math.min(batch, count - from) }, (_, i) => {
      const at = start + Math.floor(((from + i) / count) * Number(days) * dayMs);
      const modelUsed = (from + i) % rarity === rarity / 2 ? 'rare' : 'gpt-4o-mini-2024-07-18';
      return { ...settlementOf(uuidv7(at), { at, modelUsed, workspace }), state: 'settled', node: null };
    });
    await ledger.addRows(settled);
  }
}

async function analyze(): Promise<void> {
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  await client.query('VACUUM ANALYZE exchanges');
  await client.end();
}

const startedExport = (filters: LogExport['filters']): LogExport => ({
  ...{ id: 'bench', organisationId: org, workspaceId: workspace, description: null, filters },
  requestedData: [
    'id',
    'created_at',
    'ai_org',
    'ai_model',
    'total_units',
    'cost',
    'response_time',
    'metadata',
    'trace_id',
  ],
  ...{ format: 'jsonl', status: 'in_progress', sight: { keys: null, metadata: true }, startedAt: Date.now() },
  ...{
    records: 0,
    error: null,
    runs: 1,
    createdBy: 'bench',
    createdAt: 0,
    updatedAt: 0,
    fileRemovedAt: null,
  },
});

/** In a process of its own, whose memory is that of the export. */
async function exportAll(dataDir: string): Promise<void> {
  const ledger = await open(dataDir);
  await ledger.recent({ org, limit: 100 });
  for (const filters of [{}, { ai_model: 'rare' }]) {
    const waiting = [startedExport(filters)];
    let written: LogExport | null = null;
    const exports = {
      claim: async () => waiting.shift() ?? null,
      progress: async () => true,
      finish: async (run: LogExport, records: number, error: string | null) => {
        written = { ...run, records, error };
        return true;
      },
      release: async () => {},
    } as unknown as LogExportStore;
    const exporter = new LogExporter({
      ...{
        exports,
        ledger,
        nodeId: 'bench',
        keepMs: null,
        isShared: false,
        formOf: exportForm,
        destination: fileDestination(dataDir),
      },
      log: { info() {}, warn: console.error, error: console.error },
    });
    global.gc?.();
    const before = process.memoryUsage.rss();
    let most = before;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage.rss());
    }, 20);
    const [started, cpu] = [performance.now(), process.cpuUsage()];
    await exporter.look();
    clearInterval(watch);
    const { user, system } = process.cpuUsage(cpu);
    const { records, error } = written as unknown as LogExport;
    const { size } = statSync(join(dataDir, exportFileName(startedExport({}))));
    console.log(
      `${kind}, ${JSON.stringify(filters)}: ${records} of ${count} rows, ${(size / 1e6).toFixed(0)} MB, in ${((performance.now() - started) / 1000).toFixed(1)} s (CPU ${((user + system) / 1e6).toFixed(1)} s), memory + ${((most - before) / 1048576).toFixed(0)} MB${error === null ? '' : `: ${error}`}`,
    );
  }
  await ledger.close();
}

async function main(): Promise<void> {
  const admin = new pg.Client({ connectionString: server });
  if (kind === 'postgres') {
    await admin.connect();
    await admin.query(`DROP DATABASE IF EXISTS ${name}`);
    await admin.query(`CREATE DATABASE ${name}`);
  }
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-exports-bench-'));
  try {
    const ledger = await open(dataDir);
    await fill(ledger);
    await ledger.close();
    // What the server's own maintenance does within a minute.
    if (kind === 'postgres') await analyze();
    const child = fork(fileURLToPath(import.meta.url), process.argv.slice(2), {
      env: { ...process.env, EXPORTS_OF: dataDir, MALLOC_ARENA_MAX: '2' },
      // As `npm start` starts the gateway.
      execArgv: ['--expose-gc', '--max-semi-space-size=4', '--heap-growing-percent=25'],
    });
    await once(child, 'exit');
  } finally {
    rmSync(dataDir, { recursive: true });
    if (kind === 'postgres') await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    if (kind === 'postgres') await admin.end();
  }
}

const given = process.env['EXPORTS_OF'];
await (given === undefined ? main() : exportAll(given));
