// lane: slow
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { allLogs } from '../../src/common/ledger/log-filters.js';
import { Follower } from '../../src/control-plane/analytics/duckdb/follower.js';
import { ProcessAnalytics } from '../../src/control-plane/analytics/process/process-analytics.js';
import type { GraphQuestion } from '../../src/control-plane/analytics/question.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import { org, randomRows } from '../support/analytics-rows.js';
import { builtFile, builtProgram, eventually, pause } from '../support/gateway.js';
import { matches } from '../support/plain-analytics.js';
import { seeded } from '../support/seeded.js';
import { folder } from '../support/stores.js';
import { scaled } from '../support/time-limits.js';

// 50 in the long form.
const kills = Number(process.env['ANALYTICS_KILLS'] ?? 2);
const program = builtFile('src/control-plane/analytics/process/analytics-process');
const start = Date.parse('2026-09-01T00:00:00Z');

describe('the process of analytics', function () {
  this.timeout(scaled(120_000));

  it('killed while it reads the ledger, goes on where it was: every request counts once', async () => {
    const dataDir = folder();
    const ledger = await openLedger({ dataDir });
    const analytics = new ProcessAnalytics({ dataDir, program, log: { warn: () => {} } });
    const rows = randomRows(5, kills * 2500, start, 86_400_000);
    const range = { min: start, max: start + 86_400_000 };
    const sight = { org, workspaces: null, except: [], keys: null };
    const about = { sight, filters: { ...allLogs, at: range } };
    const question: GraphQuestion = { kind: 'graph', graph: 'cost', groupBy: 'model', range, ...about };
    const random = seeded(9);
    for (let from = 0; from < rows.length; from += 2500) {
      const part = rows.slice(from, from + 2500);
      await ledger.apply({
        settled: { packed: null, rows: part.filter(({ state }) => state === 'settled') },
        unknown: part.filter(({ state }) => state === 'unknown'),
        positions: new Map(),
        opened: [],
        closed: [],
      });
      const asked = analytics.ask(question).catch(() => null);
      await pause(200 + random() * 250);
      if (analytics.pid !== null) process.kill(analytics.pid, 'SIGKILL');
      await asked;
    }
    const { summary } = await eventually('an answer', () => analytics.ask(question).catch(() => null));
    const wanted = rows.filter((row) => matches(row, about));
    const cents = wanted.reduce((sum, { cost }) => sum + (cost ?? 0), 0) / 1e10;
    expect(Number(summary['total'])).to.be.closeTo(cents, cents * 1e-9);
    expect(Number(summary['avg'])).to.be.closeTo(cents / wanted.length, 1e-6);
    await analytics.close();
    await ledger.close();
  });

  it('killed while it rolls days up, leaves none that differs from its requests', async () => {
    const dataDir = folder();
    const ledger = await openLedger({ dataDir });
    const days = 30;
    const rows = randomRows(6, 3000, start, days * 86_400_000);
    await ledger.apply({
      settled: { packed: null, rows: rows.filter(({ state }) => state === 'settled') },
      unknown: rows.filter(({ state }) => state === 'unknown'),
      positions: new Map(),
      opened: [],
      closed: [],
    });
    const random = seeded(10);
    let isDone = false;
    for (let kill = 0; kill < kills && !isDone; kill++) {
      const child = fork(builtProgram('fault/roll-up-process'), [dataDir], { execArgv: [] });
      const ended = once(child, 'exit');
      await Promise.race([once(child, 'message'), ended]);
      child.on('message', () => {
        isDone = true;
      });
      await Promise.race([pause(random() * 150), ended]);
      child.kill('SIGKILL');
      await ended;
    }
    const follower = await Follower.open(dataDir);
    await follower.catchUp(60_000);
    const range = { min: start - 86_400_000, max: start + days * 86_400_000 };
    const sight = { org, workspaces: null, except: [], keys: null };
    const about = { sight, filters: { ...allLogs, at: range } };
    const wanted = rows.filter((row) => matches(row, about));
    const check = async (): Promise<void> => {
      const graph = { kind: 'graph', groupBy: 'model', range, ...about } as const;
      const { summary, points } = await follower.file.ask({ ...graph, graph: 'cost' });
      const cents = wanted.reduce((sum, { cost }) => sum + (cost ?? 0), 0) / 1e10;
      expect(Number(summary['total'])).to.be.closeTo(cents, cents * 1e-9);
      expect(points.reduce((sum, { total }) => sum + Number(total), 0)).to.be.closeTo(cents, cents * 1e-9);
      const users = await follower.file.ask({ ...graph, graph: 'users', groupBy: null });
      expect(users.summary['total']).to.equal(new Set(wanted.flatMap(({ user }) => user ?? [])).size);
    };
    await check();
    await follower.rollUp(Number.POSITIVE_INFINITY, 0);
    expect((await follower.file.rolledDays(0, 1e6)).length).to.be.at.least(days);
    await check();
    await follower.close();
    await ledger.close();
  });

  it('ends when it is asked nothing, and another one answers the next question', async () => {
    const dataDir = folder();
    const ledger = await openLedger({ dataDir });
    const analytics = new ProcessAnalytics({ dataDir, program, idleMs: 50, log: { warn: () => {} } });
    const sight = { org, workspaces: null, except: [], keys: null };
    const ask = () => analytics.ask({ kind: 'cache', sight, filters: allLogs });
    expect((await ask())['total_requests']).to.equal(0);
    await eventually('its end', async () => analytics.pid === null);
    const again = await eventually('an answer', () => ask().catch(() => null));
    expect(again['total_requests']).to.equal(0);
    await analytics.close();
    await ledger.close();
  });
});
