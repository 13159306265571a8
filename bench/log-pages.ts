import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { LedgerRow } from '../src/common/ledger/record.js';
import { uuidv7 } from '../src/common/text/id.js';
import { openLedger } from '../src/control-plane/ledger/sql.js';
import { settlementOf } from '../test/fault/journal-records.js';
import { end } from './analytics-questions.js';
import { measurePages } from './log-questions.js';

/**
 * How long pages of logs take with a ledger in SQLite, in milliseconds. `node dist/bench/log-pages.js [rows] [days] [folder]`: requests
 * like those of `bench/analytics.ts`; the ledger is made in the folder, and kept where one is given. With PostgreSQL
 * `bench/analytics-postgres.ts` measures the same pages.
 */
const rows = Number(process.argv[2] ?? 10_000_000);
const days = Number(process.argv[3] ?? 90);
const [, , , , kept] = process.argv;
const dayMs = 86_400_000;

/** The same in each run, and another one for each number and use. */
const mixed = (number: number, use: number): number => {
  const product = Math.imul(number ^ (use * 0x9e3779b1), 0x85ebca6b);
  return (Math.imul(product ^ (product >>> 13), 0xc2b2ae35) >>> 8) & 0xffffff;
};

function rowOf(i: number): LedgerRow {
  const at = Math.floor(end - days * dayMs + (i * days * dayMs) / rows);
  const share = mixed(i, 0) % 10;
  return {
    ...settlementOf(uuidv7(at), {
      ...{ at, org: 'org', workspace: share < 7 ? 'w-0' : share < 9 ? 'w-1' : 'w-2', trace: `trace-${i}` },
      key: `key-${mixed(i, 1) % 100}`,
      modelUsed: `model-${mixed(i, 5) % 20}`,
      status: [429, 500][mixed(i, 10) % 50] ?? 200,
      cost: mixed(i, 12) * 3000,
      metadata: { team: `t${mixed(i, 19) % 30}`, _user: `user-${mixed(i, 2) % 5000}` },
    }),
    ...{ state: 'settled', node: null },
  };
}

const dataDir = kept ?? mkdtempSync(join('/tmp', 'headgate-log-pages-'));
mkdirSync(dataDir, { recursive: true });
const ledger = await openLedger({ dataDir });
try {
  const { rows: some } = await ledger.recent({ org: 'org', limit: 1 });
  if (some.length === 0) {
    const began = performance.now();
    const batch = 5000;
    for (let from = 0; from < rows; from += batch)
      await ledger.addRows(Array.from({ length: Math.min(batch, rows - from) }, (_, i) => rowOf(from + i)));
    console.log(`${rows} rows made in ${((performance.now() - began) / 1000).toFixed(0)} s`);
  }
  console.log(`the ledger has ${Math.round(statSync(join(dataDir, 'ledger.db')).size / 1048576)} MB`);
  await measurePages(ledger, days);
  console.log(`memory of this process ${Math.round(process.memoryUsage().rss / 1048576)} MB`);
} finally {
  await ledger.close();
  if (kept === undefined) rmSync(dataDir, { recursive: true });
}
