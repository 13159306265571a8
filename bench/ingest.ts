import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { uuidv7 } from '../src/common/text/id.js';
import { startIngestion } from '../src/control-plane/ingestion/ingest.js';
import { openLedger } from '../src/control-plane/ledger/sql.js';
import { RequestMetrics } from '../src/control-plane/telemetry/request-metrics.js';
import { openJournal } from '../src/data-plane/journal/journal.js';
import { intentOf, settlementOf } from '../test/fault/journal-records.js';
import { chargesOf } from './charges.js';

/**
 * What a request's records cost: their lines in the journal, and their row in the ledger.
 * `node dist/bench/ingest.js [rows] [keys] [budgets] [plain]`; `keys`: gateway keys that the requests have by turns, 1 by
 * default; `budgets`: charged by each request, 0 to 5; the last of them has a thousand values, unless `plain` follows.
 */
const rows = Number(process.argv[2] ?? 100_000);
const keys = Array.from({ length: Number(process.argv[3] ?? 1) }, () => uuidv7());
const budgets = Number(process.argv[4] ?? 0);
const plain = process.argv[5] === 'plain';

const dataDir = mkdtempSync(join(tmpdir(), 'headgate-ingest-'));
const dir = join(dataDir, 'journal');
const onProblem = (error: Error): void => console.error(error);

async function measured(name: string, work: () => Promise<void>): Promise<void> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  const each = (micros: number): string => (micros / rows).toFixed(2);
  console.log(`${name}: ${each(user + system)} µs a request (${each(user)} user, ${each(system)} system)`);
}

await measured('journal', async () => {
  const journal = openJournal({ dir, worker: '0', onProblem });
  const waiter = { intended() {} };
  for (let i = 0; i < rows; i++) {
    const id = uuidv7();
    const key = keys[i % keys.length]!;
    const charges = chargesOf(i, budgets, plain);
    journal.intend(intentOf(id, { key, charges }), waiter);
    journal.settle(settlementOf(id, { key, charges, steps: [20, 0, 0, 16] }));
    if (i % 64 === 63) await new Promise((turn) => setImmediate(turn));
  }
  journal.close();
});
const ledger = await openLedger({ dataDir });
const metrics = new RequestMetrics();
const ingestion = startIngestion({
  ...{ dir, ledger, onProblem, intervalMs: 3_600_000 },
  onSettled: (settled) => metrics.count(settled),
});
await measured('ledger', () => ingestion.workerGone('0', process.pid));
await ingestion.stop();
await ledger.close();
console.log(`${Math.round(statSync(join(dataDir, 'ledger.db')).size / rows)} bytes a row`);
rmSync(dataDir, { recursive: true });
