import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { allLogs } from '../src/common/ledger/log-filters.js';
import { uuidv7 } from '../src/common/text/id.js';
import { ProcessAnalytics } from '../src/control-plane/analytics/process/process-analytics.js';
import type { GroupsQuestion } from '../src/control-plane/analytics/question.js';
import { startIngestion } from '../src/control-plane/ingestion/ingest.js';
import { openLedger } from '../src/control-plane/ledger/sql.js';
import { openJournal } from '../src/data-plane/journal/journal.js';
import { intentOf, org, settlementOf, workspace } from '../test/fault/journal-records.js';

/**
 * How long after its end a request is counted by analytics, at many requests a second. `node dist/bench/analytics-lag.js [per second] [seconds]`:
 * 3,000 a second for 60 s. They are written to a journal as a data worker writes them, without HTTP and providers, which would need more
 * than the processors of a small machine. This process ingests the journal into a ledger in SQLite as the control process does, and asks
 * the analytics process twice a second when the last request was that it counts.
 */
const [perSecond = 3000, seconds = 60] = process.argv.slice(2).map(Number);
const minuteMs = 60_000;

/** Of a process of its own. */
async function write(dir: string): Promise<void> {
  const journal = openJournal({ dir, worker: '1', node: 'bench', onProblem: console.error });
  const startedAt = performance.now();
  for (let written = 0; written < perSecond * seconds; ) {
    const due = Math.min(perSecond * seconds, ((performance.now() - startedAt) / 1000) * perSecond);
    for (; written < due; written++) {
      const id = uuidv7();
      journal.intend(intentOf(id), { intended() {} });
      journal.settle(settlementOf(id, { at: Date.now() }));
    }
    await pause(2);
  }
  journal.close();
}

const percentile = (list: readonly number[], share: number): number =>
  [...list].sort((a, b) => a - b)[Math.ceil(share * list.length) - 1] ?? 0;

async function measure(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-analytics-lag-'));
  const dir = join(dataDir, 'journal');
  const onProblem = (error: Error): void => console.error(error.message);
  try {
    const ledger = await openLedger({ dataDir });
    const ingestion = startIngestion({ dir, ledger, onProblem });
    const program = fileURLToPath(
      new URL('../src/control-plane/analytics/process/analytics-process.js', import.meta.url),
    );
    const analytics = new ProcessAnalytics({ dataDir, program, log: { warn: console.error } });
    const child = fork(fileURLToPath(import.meta.url), process.argv.slice(2), {
      env: { ...process.env, BENCH_JOURNAL: dir },
    });
    let hasEnded = false;
    child.on('exit', () => {
      hasEnded = true;
    });
    const [cpu, startedAt] = [process.cpuUsage(), performance.now()];
    const [ledgerLags, lags, answers]: [number[], number[], number[]] = [[], [], []];
    while (!hasEnded) {
      await pause(500);
      const now = Date.now();
      const range = { min: now - 5 * minuteMs, max: now };
      const asked: GroupsQuestion = {
        ...{ kind: 'groups', by: { column: 'workspace' }, figures: ['last_seen'], orderBy: 'requests' },
        ...{ isDescending: true, offset: 0, limit: 1, hasTotal: false },
        sight: { org, workspaces: [workspace], except: [], keys: null },
        filters: { ...allLogs, at: range },
      };
      const before = performance.now();
      const { rows } = await analytics.ask(asked);
      const tookMs = performance.now() - before;
      const last = rows[0]?.figures['last_seen'];
      // While the processes start.
      if (hasEnded || last === undefined || performance.now() - startedAt < 3000) continue;
      answers.push(tookMs);
      // The answer is of when it was asked for.
      lags.push(now - Number(last));
      ledgerLags.push(ingestion.behindMs);
    }
    const { user, system } = process.cpuUsage(cpu);
    const line = (what: string, list: readonly number[]): string =>
      `${what} ${percentile(list, 0.5).toFixed(0)} ms, p99 ${percentile(list, 0.99).toFixed(0)} ms, at most ${Math.max(...list).toFixed(0)} ms`;
    console.log(
      `${perSecond} requests a second for ${seconds} s: ${line('the last that is counted is', lags)} old when analytics is asked; ${line('the ledger is', ledgerLags)} behind; ${line('an answer takes', answers)}; this process used ${(((user + system) / 1e6 / seconds) * 100).toFixed(0)} % of a core`,
    );
    await analytics.close();
    await ingestion.stop();
    await ledger.close();
  } finally {
    rmSync(dataDir, { recursive: true });
  }
}

const given = process.env['BENCH_JOURNAL'];
await (given === undefined ? measure() : write(given));
