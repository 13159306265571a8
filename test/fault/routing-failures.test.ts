// lane: slow
import { setMaxListeners } from 'node:events';
import { expect } from 'chai';
import { newDataDirectory } from '../support/data-directory.js';
import { eventually, pause, type RunningGateway, startGateway } from '../support/gateway.js';
import { RedisServer } from '../support/redis.js';
import { ScriptedProvider } from '../support/scripted-provider.js';
import { expectWithinMs, scaled, timeScale } from '../support/time-limits.js';

/** How long targets fail under load. `ROUTING_SECONDS=30` for a thorough run. */
const seconds = Number(process.env['ROUTING_SECONDS'] ?? 2);
const perSecond = 40;
const cooldownMs = 1000;

const fails = (): number => 503;
const isWell = (): number => 200;

async function setUp(gateway: RunningGateway, ...providers: readonly ScriptedProvider[]): Promise<void> {
  for (const [i, { baseUrl }] of providers.entries()) {
    await gateway
      .admin()
      .providers.create({ slug: `p${i + 1}`, provider: 'openai', key: 'sk-sim', base_url: baseUrl });
  }
}

interface Told {
  status: number;
  ms: number;
}

async function ask(
  gateway: RunningGateway,
  config: string | object,
  signal: AbortSignal | null = null,
): Promise<Told> {
  const began = performance.now();
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    signal,
    headers: {
      'content-type': 'application/json',
      'x-gateway-api-key': gateway.workspaceKey,
      'x-gateway-config': typeof config === 'string' ? config : JSON.stringify(config),
    },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  await response.text();
  return { status: response.status, ms: performance.now() - began };
}

/** Requests at an even pace, whatever becomes of those before. */
async function load(gateways: readonly RunningGateway[], config: object, ms: number): Promise<Told[]> {
  const asked: Promise<Told>[] = [];
  const began = performance.now();
  while (performance.now() - began < ms) {
    asked.push(ask(gateways[asked.length % gateways.length]!, config));
    await pause(began + (asked.length * 1000) / perSecond - performance.now());
  }
  return Promise.all(asked);
}

const share = (told: readonly Told[]): number =>
  told.filter(({ status }) => status === 200).length / told.length;

/** A config by itself each time: breakers are a config's own. */
let configs = 0;
const fallback = (more: object = {}): object => ({
  strategy: {
    mode: 'fallback',
    cb_config: { failure_threshold: 5, cooldown_interval: cooldownMs, ...more },
  },
  targets: [{ provider: '@p1' }, { provider: '@p2' }],
  metadata: { config: String(configs++) },
});

describe('a target that fails, or does not answer', function () {
  this.timeout(30_000 + seconds * 2000);
  const one = new ScriptedProvider(fails);
  const two = new ScriptedProvider(isWell);
  let gateway: RunningGateway;

  before(async () => {
    await Promise.all([one.listen(), two.listen()]);
    gateway = await startGateway({
      env: { HEADGATE_LOG_LEVEL: 'warn', HEADGATE_HEADERS_TIMEOUT_MS: '300' },
    });
    await setUp(gateway, one, two);
  });
  after(async () => {
    await gateway?.stop();
    await Promise.all([one.close(), two.close()]);
  });

  it(`is retried, for ${seconds} s, a fifth as often as it is asked`, async () => {
    const config = { provider: '@p1', retry: { attempts: 5 } };
    const asked: Promise<Told>[] = [];
    const over = new AbortController();
    setMaxListeners(0, over.signal);
    const began = performance.now();
    while (performance.now() - began < seconds * 1000) {
      // Faster than the floor of ten retries a second, unless the machine is behind; nobody waits for the backoff.
      if (asked.length - one.calls.length < 100)
        for (let i = 0; i < 3; i++) asked.push(ask(gateway, config, over.signal));
      await pause(20);
    }
    await eventually(
      'those sent last have come to the provider, and retries too',
      async () => one.calls.length >= 1.05 * asked.length,
    );
    const floor = (12 * (performance.now() - began)) / 1000;
    expect(one.calls.length).to.be.at.most(1.05 * asked.length + Math.max(0.2 * asked.length, floor));
    over.abort();
    await Promise.allSettled(asked);
  });

  it('a fallback begins within 20 ms of a headers timeout', async () => {
    one.forget();
    one.script = () => 'hang';
    const waits: number[] = [];
    // A busy machine sees the one late, or the other: one undisturbed pair of several shows what the gateway does.
    for (let i = 0; i < 8 && !waits.some((ms) => ms >= 295 && ms <= scaled(320)); i++) {
      expect((await ask(gateway, fallback())).status).to.equal(200);
      waits.push(two.calls.at(-1)! - one.calls.at(-1)!);
    }
    expectWithinMs(waits.at(-1)!, 320, { atLeast: 295, what: `the last of ${waits}` });
  });
});

describe('routing while targets fail', function () {
  this.timeout(30_000 + seconds * 4000);
  const one = new ScriptedProvider(isWell);
  const two = new ScriptedProvider(isWell);
  let gateway: RunningGateway;

  before(async () => {
    await Promise.all([one.listen(), two.listen()]);
    gateway = await startGateway({
      env: { HEADGATE_WORKERS: '2', HEADGATE_LOG_LEVEL: 'warn' },
    });
    await setUp(gateway, one, two);
  });
  beforeEach(async () => {
    for (const provider of [one, two]) {
      provider.script = isWell;
      await provider.close();
      await provider.listen();
      provider.forget();
    }
  });
  after(async () => {
    await gateway?.stop();
    await Promise.all([one.close(), two.close()]);
  });

  const attempts = (): number => one.calls.length + two.calls.length;

  it('a fallback begins within 50 ms of a refusal', async () => {
    await one.close();
    const times: number[] = [];
    for (let i = 0; i < 8; i++) {
      const began = Date.now();
      expect((await ask(gateway, fallback())).status).to.equal(200);
      times.push(two.calls.at(-1)! - began);
    }
    expectWithinMs(Math.min(...times), 50);
  });

  it(`of two targets one fails for ${seconds} s: 99.5 % succeed, with 1.25 attempts a request`, async () => {
    one.script = fails;
    const told = await load([gateway], fallback(), seconds * 1000);
    expect(share(told)).to.be.at.least(0.995);
    expect(attempts() / told.length).to.be.at.most(1.25);
  });

  it(`of two targets one fails every other call for ${seconds} s: the same`, async () => {
    one.script = (call) => (call % 2 === 0 ? 200 : 503);
    const config = fallback({ failure_threshold: undefined, failure_threshold_percentage: 30 });
    const told = await load([gateway], config, seconds * 1000);
    expect(share(told)).to.be.at.least(0.995);
    expect(attempts() / told.length).to.be.at.most(1.25);
  });

  it('of two balanced targets one fails: the other has what it had', async () => {
    one.script = fails;
    const { strategy, targets } = fallback() as { strategy: object; targets: object[] };
    const balanced = { strategy: { ...strategy, mode: 'loadbalance' }, targets };
    const config = { strategy: { mode: 'fallback' }, targets: [balanced, { provider: '@p2' }] };
    const told = await load([gateway], config, seconds * 1000);
    expect(share(told)).to.be.at.least(0.995);
    expect(attempts() / told.length).to.be.at.most(1.25);
  });

  it('a breaker that opens is known to every worker within 50 ms', async () => {
    one.script = fails;
    const times: number[] = [];
    // One undisturbed round of several shows what the gateway does.
    for (let i = 0; i < 4 && !times.some((ms) => ms <= 50); i++) {
      const config = fallback();
      one.forget();
      for (let n = 0; n < 5; n++) await ask(gateway, config);
      const opened = Date.now();
      // Connections of both workers, all the time.
      while (Date.now() - opened < 200)
        await Promise.all(Array.from({ length: 8 }, () => ask(gateway, config)));
      times.push(one.calls.at(-1)! - opened);
    }
    expectWithinMs(Math.min(...times), 50);
  });

  it('a dead target is probed once a cooldown, never twice at a time, and is back soon after it is', async () => {
    one.script = fails;
    const config = fallback();
    for (let i = 0; i < 8; i++) await ask(gateway, config);
    await eventually('it opens', async () => {
      const before = one.calls.length;
      await ask(gateway, config);
      return one.calls.length === before;
    });
    one.forget();
    // The probe takes its time: a second one would overlap.
    one.script = async () => {
      await pause(50);
      return 503;
    };
    const spanMs = Math.max(3000, seconds * 1000);
    await load([gateway], config, spanMs);
    expect(one.calls.length).to.be.within(1, Math.ceil(spanMs / cooldownMs));
    expect(one.mostOpen).to.equal(1);
    for (const [i, at] of one.calls.entries())
      if (i > 0) expect(at - one.calls[i - 1]!).to.be.at.least(cooldownMs);

    one.script = isWell;
    const recovered = performance.now();
    one.forget();
    await eventually(
      'it is asked again by everybody',
      async () => {
        await ask(gateway, config);
        return one.calls.length >= 5;
      },
      5000,
    );
    expectWithinMs(performance.now() - recovered, 5000);
  });

  it('where all targets fail the client gets the error at once, and the first request after a recovery succeeds', async () => {
    await Promise.all([one.close(), two.close()]);
    const config = { ...fallback(), retry: { attempts: 5 } };
    // Until its breaker opens, a target that cannot be connected to is retried, as the config asks.
    const quick = await eventually('quick answers', async () => {
      const told = await Promise.all([ask(gateway, config), ask(gateway, config), ask(gateway, config)]);
      return told.every(({ status, ms }) => status === 502 && ms < scaled(100)) ? told : null;
    });
    expect(quick).to.have.length(3);
    // A busy machine holds any of them up: one undisturbed answer of many shows what the gateway does.
    let least = Infinity;
    for (let i = 0; i < 500 && least > scaled(5); i++) {
      const { status, ms } = await ask(gateway, config);
      expect(status).to.equal(502);
      least = Math.min(least, ms);
    }
    expectWithinMs(least, 5, { what: 'the quickest answer' });
    await two.listen();
    expect((await ask(gateway, config)).status).to.equal(200);
  });

  it('a deadline is what all attempts have together', async () => {
    one.script = async () => {
      await pause(150);
      return 503;
    };
    two.script = () => 'hang';
    const config = { strategy: { mode: 'fallback' }, targets: [{ provider: '@p1' }, { provider: '@p2' }] };
    const told = await ask(gateway, { ...config, deadline: 250 });
    expect(told.status).to.equal(408);
    expectWithinMs(told.ms, 400, { atLeast: 245 });
    expect([one.calls.length, two.calls.length]).to.deep.equal([1, 1]);
    // Nothing is begun that could not end in time.
    const retried = { provider: '@p1', deadline: 200, retry: { attempts: 5 } };
    expectWithinMs((await ask(gateway, retried)).ms, 400);
  });

  it('the administration lists what is open and why, to those who may see it; metrics count it', async () => {
    one.script = () => 502;
    const admin = gateway.admin();
    const { data } = await admin.configs.create({ name: 'broken', config: fallback() });
    const slug = data?.slug ?? '';
    for (let i = 0; i < 5; i++) await ask(gateway, slug);
    const list = async (key: string) => {
      const response = await fetch(`${gateway.url}/v1/circuit-breakers`, {
        headers: { 'x-gateway-api-key': key },
      });
      const answer = (await response.json()) as { data: Record<string, unknown>[] };
      return answer.data.find(({ config }) => config === slug);
    };
    const listed = await eventually('it is listed', () => list(gateway.adminKey));
    expect(listed).to.deep.include({
      workspace_id: gateway.workspaceId,
      path: 'config.targets[0]',
      provider: 'openai',
      state: 'open',
      reason: '502',
      failures: 5,
      requests: 5,
    });
    expect(
      Date.parse(String(listed['next_probe_at'])) - Date.parse(String(listed['opened_at'])),
      // Each of the two is rounded.
    ).to.be.within(cooldownMs - 1, cooldownMs + 5);
    // Workers report theirs once a second.
    for (const line of [
      /^gateway_circuit_breakers\{state="open"\} [1-9]/m,
      /^gateway_circuit_breaker_changes_total\{state="open"\} [1-9]/m,
      /^gateway_retries_refused_total\{worker="0",reason="budget"\} \d/m,
    ])
      await eventually(`${line} in the metrics`, async () =>
        line.test(await (await fetch(`${gateway.opsUrl}/metrics`)).text()),
      );
  });
});

describe('two nodes with one Redis, while a target fails', function () {
  this.timeout(60_000);
  const one = new ScriptedProvider(fails);
  const two = new ScriptedProvider(isWell);
  const nodes: RunningGateway[] = [];
  let redis: RedisServer;

  before(async () => {
    [redis] = await Promise.all([RedisServer.start(), one.listen(), two.listen()]);
    const env = { REDIS_URL: redis.url };
    // Copies of one first start, with the same keys and ids: all that they share goes through Redis.
    const start = async () => startGateway({ env, dataDir: await newDataDirectory({}) });
    nodes.push(...(await Promise.all([start(), start()])));
    for (const node of nodes) await setUp(node, one, two);
  });
  after(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await Promise.all([one.close(), two.close(), redis?.remove()]);
  });

  const opens = async (config: object): Promise<void> => {
    for (let i = 0; i < 5; i++) await ask(nodes[0]!, config);
    await eventually('it is open at both', async () => {
      const before = one.calls.length;
      for (const node of nodes) expect((await ask(node, config)).status).to.equal(200);
      return one.calls.length === before;
    });
  };

  it('a target that one node opened is skipped by the other; one request of both probes; both learn that it recovered', async () => {
    const config = fallback();
    await opens(config);
    // A busy machine is late with a probe, or Redis answers late: one undisturbed stretch of several shows what they do.
    let gaps: number[] = [];
    const isJust = (): boolean => gaps.length > 0 && gaps.every((ms) => ms >= cooldownMs - 20);
    for (let i = 0; i < 5 * timeScale() && !isJust(); i++) {
      one.forget();
      await load(nodes, config, 3500);
      gaps = one.calls.slice(1).map((at, probe) => at - one.calls[probe]!);
    }
    expect(isJust(), `${gaps.map(Math.round)} ms between probes`).to.equal(true);
    one.script = isWell;
    await eventually('both ask it again', async () => {
      const before = one.calls.length;
      for (const node of nodes) await ask(node, config);
      return one.calls.length === before + 2;
    });
  });

  it('a node that starts reads what is open', async () => {
    one.script = fails;
    const config = fallback({ cooldown_interval: 60_000 });
    await opens(config);
    await nodes[1]!.stop({ keep: true });
    nodes[1] = await nodes[1]!.restart();
    await eventually('it knows', async () => {
      const before = one.calls.length;
      await ask(nodes[1]!, config);
      return one.calls.length === before;
    });
  });

  it('each goes by itself once Redis is gone', async () => {
    one.script = fails;
    const config = fallback({ cooldown_interval: 60_000 });
    await redis.kill();
    for (const node of nodes) {
      for (let i = 0; i < 5; i++) expect((await ask(node, config)).status).to.equal(200);
      await eventually('it opens', async () => {
        const before = one.calls.length;
        expect((await ask(node, config)).status).to.equal(200);
        return one.calls.length === before;
      });
    }
  });
});
