// lane: slow
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { eventually, pause, type RunningGateway, startGateway } from '../support/gateway.js';
import { scaled } from '../support/time-limits.js';

/** 50 in the long form. Three are one of each kind of process. */
const rounds = Number(process.env['LOG_KILLS'] ?? 3);
const requestsARound = 40;
const dayMs = 86_400_000;

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes.
type Json = any;

describe(`kill -9 of any process of the gateway, ${rounds} times while logs are ingested, deleted, exported and counted`, function () {
  this.timeout(scaled(60_000 + rounds * 12_000));
  let provider: SimulatedProvider;
  let gateway: RunningGateway;

  before(async () => {
    provider = await startSimulated();
    gateway = await startGateway({
      env: {
        ...{ HEADGATE_WORKERS: rounds > 3 ? '2' : '1', HEADGATE_LOG_RETENTION_DAYS: '1' },
        HEADGATE_SCHEDULES: 'retention=1,log-exports=1',
      },
    });
    const own = { slug: 'main', provider: 'openai', key: 'sk-sim', base_url: `${provider.url}/v1` };
    await gateway.admin().providers.create(own);
  });
  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  async function call(
    method: string,
    path: string,
    body?: unknown,
    key = gateway.workspaceKey,
  ): Promise<Json> {
    const answer = await fetch(`${gateway.url}/v1${path}`, {
      method,
      headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const json = await answer.json();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(json)}`);
    return json;
  }
  /** Of the requests that are not over a day old. */
  const recent = () => `time_of_generation_min=${new Date(Date.now() - dayMs / 2).toISOString()}`;
  const totalOf = async (filter: string): Promise<number> =>
    (await call('GET', `/logs?page_size=1&${filter}`)).total;
  const graph = async (): Promise<number> => {
    const to = new Date(Date.now() + 60_000).toISOString();
    return (await call('GET', `/analytics/graphs/requests?${recent()}&time_of_generation_max=${to}`)).summary
      .total;
  };

  const answered: string[] = [];
  async function ask(trace: string): Promise<void> {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        ...{ 'content-type': 'application/json', 'x-gateway-api-key': gateway.workspaceKey },
        ...{ 'x-gateway-provider': '@main', 'x-gateway-trace-id': trace },
      },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: trace }] }),
    }).catch(() => null);
    const text = await response?.text().catch(() => null);
    if (response?.status === 200 && text) answered.push(trace);
  }

  /** Rows of three days ago, which retention deletes. */
  const oldRows = (round: number): string =>
    Array.from({ length: 300 }, (_, i) =>
      JSON.stringify({
        ...{ id: `old-${round}-${i}`, created_at: new Date(Date.now() - 3 * dayMs + i).toISOString() },
        ...{ workspace_id: gateway.workspaceId, ai_model: 'old', req_units: 1 },
      }),
    ).join('\n');
  async function startExport(): Promise<string> {
    const made = await call('POST', '/logs/exports', { filters: {}, requested_data: ['id', 'trace_id'] });
    await call('POST', `/logs/exports/${made.id}/start`, {});
    return made.id;
  }
  function processes(): number[] {
    const pid = gateway.process.pid!;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
    return [pid, ...children.filter((child) => child > 0)];
  }
  async function killOne(choice: number): Promise<void> {
    const all = processes();
    const pid = all[choice % all.length]!;
    const gone = new Promise((done) => gateway.process.once('exit', done));
    process.kill(pid, 'SIGKILL');
    if (pid !== gateway.process.pid) return;
    await gone;
    gateway = await gateway.restart();
  }

  it('loses no request and counts none twice, in lists, graphs and exports', async () => {
    const exports: string[] = [];
    for (let round = 0; round < rounds; round++) {
      const lines = Buffer.from(oldRows(round)).toString('base64');
      // Each of them may be cut off by the kill.
      const work = [
        call('POST', '/logs/import', { lines }, gateway.adminKey).catch(() => {}),
        startExport().then(
          (id) => void exports.push(id),
          () => {},
        ),
        graph().catch(() => {}),
        ...Array.from({ length: requestsARound }, (_, i) => pause(i * 10).then(() => ask(`t-${round}-${i}`))),
      ];
      await pause(100 + Math.random() * 300);
      await killOne(round);
      await Promise.all(work);
    }
    await eventually('the gateway serves', async () => {
      const before = answered.length;
      await ask('last');
      return answered.length > before;
    });
    const settled = async (): Promise<number | null> => {
      const total = await totalOf(recent());
      await pause(700);
      return total >= answered.length && total === (await totalOf(recent())) ? total : null;
    };
    await eventually('all requests are in the ledger', settled);
    for (const trace of answered) expect(await totalOf(`trace_id=${trace}`), trace).to.equal(1);
    let counted = '';
    // Requests whose outcome was lost with a worker come late, as do the figures of an analytics process that was killed.
    const total = await eventually('graphs count as many', async () => {
      const rows = await settled();
      const shown = await graph().catch((error: Error) => error.message);
      counted = `${shown} in the graph, ${rows} rows`;
      return rows !== null && shown === rows && rows;
    }).catch((error: Error) => {
      throw new Error(`${error.message}: ${counted}`);
    });
    const over = new Date(Date.now() - 2 * dayMs).toISOString();
    await eventually(
      'old rows are deleted',
      async () => (await totalOf(`time_of_generation_max=${over}`)) === 0,
    );
    exports.push(await startExport());
    for (const id of exports) {
      const done = await eventually('the export has ended', async () => {
        const one = await call('GET', `/logs/exports/${id}`).catch(() => null);
        return one?.status === 'success' && one;
      });
      const { signed_url } = await call('GET', `/logs/exports/${id}/download`);
      const text = await (await fetch(signed_url)).text();
      const ids =
        text === ''
          ? []
          : text
              .trimEnd()
              .split('\n')
              .map((line) => JSON.parse(line).id);
      expect(new Set(ids).size, id).to.equal(ids.length);
      expect(ids.length, id).to.equal(done.total_records);
      if (id === exports.at(-1)) expect(ids.length).to.equal(total);
    }
  });
});
