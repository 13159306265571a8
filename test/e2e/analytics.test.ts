import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { uuidv7 } from '../../src/common/text/id.js';
import { openJournal } from '../../src/data-plane/journal/journal.js';
import { settlementOf } from '../fault/journal-records.js';
import { headgateHere } from '../support/cli-bench.js';
import { eventually, pause, type RunningGateway, startGateway } from '../support/gateway.js';
import { expectWithinMs, scaled } from '../support/time-limits.js';

/** Ids of the gateway's processes that answer questions to analytics. */
function analyticsProcesses({ process: { pid } }: RunningGateway): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const [, parent] = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, 'utf8')) ?? [];
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8');
      return Number(parent) === pid && command.includes('analytics-process') ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

describe('analytics of a running gateway', function () {
  this.timeout(scaled(30_000));
  let gateway: RunningGateway;
  const time = 'time_of_generation_min=2026-01-01T00:00:00Z&time_of_generation_max=2026-01-01T03:00:00Z';

  async function get(path: string, key = gateway.adminKey) {
    const response = await fetch(`${gateway.url}/v1${path}${path.includes('?') ? '&' : '?'}${time}`, {
      headers: { 'x-gateway-api-key': key },
    });
    // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes.
    return { status: response.status, json: (await response.json()) as any };
  }

  function write(count: number): void {
    const journal = openJournal({
      dir: join(gateway.dataDir, 'journal'),
      worker: `test-${uuidv7()}`,
      onProblem: () => {},
    });
    for (let i = 0; i < count; i++)
      journal.settle({
        ...settlementOf(uuidv7()),
        org: gateway.organisationId,
        workspace: gateway.workspaceId,
        at: Date.UTC(2026, 0, 1, 1, i % 60),
      });
    journal.close();
  }

  const total = async (): Promise<number> => (await get('/analytics/graphs/requests')).json.summary?.total;

  before(async () => {
    gateway = await startGateway();
    write(300);
  });
  after(() => gateway?.stop());

  it('start with the first question: until then there is neither process nor file', async () => {
    expect(analyticsProcesses(gateway)).to.deep.equal([]);
    expect(readdirSync(gateway.dataDir).filter((name) => name.includes('analytics'))).to.deep.equal([]);
    await eventually('the first rows', async () => (await total()) === 300);
    expect(analyticsProcesses(gateway).length).to.equal(1);
  });

  it('keep their files from other users', () => {
    const files = readdirSync(gateway.dataDir).filter((name) => name.startsWith('analytics.duckdb'));
    expect(files).to.not.deep.equal([]);
    for (const name of files) expect(statSync(join(gateway.dataDir, name)).mode & 0o077, name).to.equal(0);
  });

  it('count a request within two seconds of its end', async () => {
    const before = performance.now();
    write(50);
    await eventually('the new rows', async () => (await total()) === 350);
    expectWithinMs(performance.now() - before, 2000);
  });

  it('are answered 503 where their process is killed, and go on with another one', async () => {
    const [pid] = analyticsProcesses(gateway);
    write(2000);
    const asked = get('/analytics/graphs/latency');
    process.kill(pid!, 'SIGKILL');
    expect((await asked).status).to.be.oneOf([200, 503]);
    await eventually('all rows, once', async () => (await total()) === 2350);
    expect(analyticsProcesses(gateway)).to.not.include(pid);
  });

  it('are rebuilt from the ledger by a command, while the gateway runs', async () => {
    const rebuild = () =>
      headgateHere(['analytics', 'rebuild'], { HEADGATE_DATA_DIR: gateway.dataDir }, gateway.dataDir);
    expect((await rebuild()).stdout).to.contain('before it answers the next question');
    await eventually('all rows again', async () => (await total()) === 2350);
  });

  it('need the scope analytics.view', async () => {
    const { api } = gateway.admin();
    const made = await api.apiKeys.createApiKey({
      ...{ type: 'workspace', sub_type: 'service', name: 'without', scopes: ['completions.write'] },
      workspace_id: gateway.workspaceId,
    });
    expect((await get('/analytics/graphs/requests', made.key)).status).to.equal(403);
    expect((await get('/logs/groups/model', made.key)).status).to.equal(403);
  });
});

describe('anomalies of a running gateway', function () {
  this.timeout(scaled(40_000));
  let gateway: RunningGateway;
  const weekMs = 7 * 24 * 3_600_000;
  const slotMs = 300_000;

  before(async () => {
    gateway = await startGateway({ env: { HEADGATE_SCHEDULES: 'anomalies=1' } });
  });
  after(() => gateway?.stop());

  /** Thirty requests in each five minutes. */
  function write(from: number, to: number, cost: number): void {
    const journal = openJournal({
      dir: join(gateway.dataDir, 'journal'),
      worker: `test-${uuidv7()}`,
      onProblem: () => {},
    });
    for (let at = from; at < to; at += slotMs / 30)
      journal.settle({
        ...settlementOf(uuidv7()),
        ...{ org: gateway.organisationId, workspace: gateway.workspaceId, at, cost },
      });
    journal.close();
  }
  const list = async (path: string) => {
    const response = await fetch(`${gateway.url}/v1${path}`, {
      headers: { 'x-gateway-api-key': gateway.adminKey },
    });
    // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes.
    return (await response.json()) as any;
  };

  it('are not looked for by a process before there are two weeks to compare with', async () => {
    write(Date.now() - slotMs, Date.now(), 1e10);
    await eventually('the rows', async () => (await list('/logs?page_size=1')).total >= 30);
    await pause(1500);
    expect(analyticsProcesses(gateway)).to.deep.equal([]);
  });

  it('are found by the schedule, once, and sent as alerts', async () => {
    const now = Date.now();
    for (const week of [1, 2, 3])
      write(now - week * weekMs - 45 * 60_000, now - week * weekMs + 45 * 60_000, 1e10);
    write(now - slotMs, now, 3e10);
    const found = await eventually('an anomaly of the cost', async () => {
      const { data } = await list('/analytics/anomalies?metric=cost');
      return data.length > 0 ? data : null;
    });
    expect(found.length).to.equal(1);
    expect(found[0]).to.include({ object: 'anomaly', workspace_id: gateway.workspaceId, metric: 'cost' });
    expect(found[0].expected).to.be.closeTo(30, 2);
    const { data } = await eventually('its alert', async () => {
      const answer = await list('/alerts?event=anomaly');
      return answer.data.length > 0 ? answer : null;
    });
    const [alert] = data.filter(({ type }: { type: string }) => type === 'cost');
    expect(alert).to.include({ id: found[0].id, event: 'anomaly', holder_type: 'workspace' });
    expect(alert.anomaly.metric).to.equal('cost');
    await pause(2500);
    expect((await list('/analytics/anomalies?metric=cost')).total).to.equal(1);
  });
});
