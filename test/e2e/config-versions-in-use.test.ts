import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import type { LogMetrics } from '../../proto/messages.js';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { eventually, pause, type RunningGateway, startGateway } from '../support/gateway.js';

/** `WHOLE_LOAD=true`: as long and as hard as it is promised. */
const whole = process.env['WHOLE_LOAD'] === 'true';
const load = whole
  ? { changes: 100, everyMs: 600, perSecond: 500 }
  : { changes: 12, everyMs: 100, perSecond: 100 };

/** A machine that cannot keep up is asked less often: this process is the upstream as well. */
const mostOpen = 200;

interface Asked {
  /** The newest version whose change had answered when the request began. */
  readonly known: number;
  readonly status: number;
  /** Model of the answer. */
  readonly model: string;
}

describe('a config that is changed while requests use it', function () {
  this.timeout(whole ? 180_000 : 60_000);
  let gateway: RunningGateway;
  let upstream: SimulatedProvider;

  before(async () => {
    [gateway, upstream] = await Promise.all([
      startGateway({ env: { HEADGATE_WORKERS: '2', HEADGATE_LOG_LEVEL: 'warn' } }),
      startSimulated(),
    ]);
  });
  after(async () => {
    await gateway?.stop();
    await upstream?.close();
  });

  /** Both tries of a call tell the version: the first fails, the second answers. */
  const version = (i: number) => ({
    strategy: { mode: 'fallback' },
    targets: [`sim-fault:500=${i}`, `m-${i}`].map((model) => ({
      provider: '@target',
      override_params: { model },
    })),
  });

  async function ask(trace: string, known: number): Promise<Asked> {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-config': 'pc-moving',
        'x-gateway-trace-id': trace,
        'content-type': 'application/json',
      },
      body: '{"model":"asked","messages":[{"role":"user","content":"Hello"}]}',
    });
    const { model = '' } = (await response.json()) as { model?: string };
    return { known, status: response.status, model };
  }

  /** Every row of the ledger, by its trace. */
  async function ledger(count: number): Promise<Map<string, LogMetrics>> {
    const { logs } = gateway.admin().api;
    const rows = new Map<string, LogMetrics>();
    let after: string | undefined = '0';
    await eventually(
      `${count} rows in the ledger`,
      async () => {
        const page = await logs.listLogs({ after, limit: 1000 });
        for (const row of page.data) if (row.trace_id) rows.set(row.trace_id, row);
        after = page.cursor;
        return rows.size >= count;
      },
      20_000,
    );
    return rows;
  }

  it('serves every request by one version alone, which the ledger names', async () => {
    const { api } = gateway.admin();
    await api.providers.createProvider({
      slug: 'target',
      provider: 'openai',
      key: 'sk-target',
      custom_host: `${upstream.url}/v1`,
    });
    const made = await api.configs.createConfig({ name: 'Moving', slug: 'pc-moving', config: version(0) });
    const ids = [made.data!.version_id];
    const asked = new Map<string, Promise<Asked>>();
    const began = performance.now();
    let known = 0;
    let open = 0;
    let changing = true;
    const asking = (async () => {
      const begun = performance.now();
      while (changing) {
        const due = ((performance.now() - begun) / 1000) * load.perSecond;
        while (asked.size < due && open < mostOpen) {
          const trace = randomBytes(16).toString('hex');
          open += 1;
          asked.set(
            trace,
            ask(trace, known).finally(() => {
              open -= 1;
            }),
          );
        }
        await pause(5);
      }
    })();
    for (let i = 1; i <= load.changes; i++) {
      const next = pause(load.everyMs);
      const changed = await api.configs.updateConfig({ slug: 'pc-moving', config: version(i) });
      ids.push(changed.data!.version_id);
      known = i;
      await next;
      const count = asked.size;
      await eventually('requests of this version', async () => asked.size > count);
    }
    changing = false;
    await asking;
    const seconds = (performance.now() - began) / 1000;

    const answers = new Map<string, Asked>();
    for (const [trace, answer] of asked) answers.set(trace, await answer);
    const rows = await ledger(answers.size);
    const seen = new Set<number>();
    for (const [trace, { known: atLeast, status, model }] of answers) {
      expect(status).to.equal(200);
      const number = Number(/^m-(\d+)$/.exec(model)?.[1]);
      expect(number, 'no older version than the last that was answered').to.be.at.least(atLeast);
      seen.add(number);
      const row = rows.get(trace);
      expect({
        version: row?.config_version_id,
        models: row?.attempts.map((attempt) => attempt.model),
      }).to.deep.equal({ version: ids[number], models: [`sim-fault:500=${number}`, `m-${number}`] });
    }
    expect(new Set(ids)).to.have.length(load.changes + 1);
    expect(seen.size, 'versions that served').to.be.above(load.changes / 2);
    const perSecond = Math.round(answers.size / seconds);
    console.log(
      `      ${answers.size} sent (${perSecond}/s), ${load.changes} changes in ${seconds.toFixed(0)} s, no error, none stale`,
    );
    if (whole) expect(answers.size).to.be.above(load.changes * load.everyMs * load.perSecond * 0.0009);
  });
});
