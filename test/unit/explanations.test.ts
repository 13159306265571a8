import { expect } from 'chai';
import type { Balance } from '../../plugins/router/balance/balance.js';
import { Chooser } from '../../plugins/router/balance/choose.js';
import { Meters } from '../../plugins/router/balance/meters.js';
import { Sessions } from '../../plugins/router/balance/sessions.js';
import router from '../../plugins/router/index.js';
import { Admission } from '../../plugins/router/limits/admission.js';
import type { Principal } from '../../src/common/access/principal.js';
import { type Decision, describeDecision, maxDecisions } from '../../src/common/core/decision.js';
import { type ErrorCode, GatewayError } from '../../src/common/core/errors.js';
import { type ClientRequest, Exchange, type Reply } from '../../src/common/core/exchange.js';
import type { Target } from '../../src/common/core/target.js';
import type { Plan, PlannedNode } from '../../src/common/ipc/explained.js';
import type { FullHost, Hooks } from '../../src/common/plugin-host/plugin.js';
import { defaultTarget } from '../../src/common/vocabulary/default-config.js';
import { SharedBreakers } from '../../src/control-plane/shared-state/breakers.js';
import { explanation } from '../../src/data-plane/pipeline/answer/explanation.js';
import { compileConfig } from '../../src/data-plane/routing/compile.js';
import { SharedHub, silent } from '../support/shared.js';
import { VirtualTime } from '../support/virtual-time.js';

type Step = number | ErrorCode | { readonly status: number; readonly ms: number };

interface Asked {
  readonly metadata?: Record<string, string>;
  readonly random?: () => number;
  readonly hub?: SharedHub;
  readonly backoffMs?: number;
  readonly hooks?: Hooks;
}

const reply = (status: number): Reply => ({
  status,
  headers: [],
  body: null,
  events: false,
  errorOrigin: null,
});

const exchange = (config: object, metadata: Record<string, string> = {}): Exchange => {
  const request: ClientRequest = {
    method: 'POST',
    path: '/v1/chat/completions',
    query: '',
    headers: [],
    remoteAddress: '127.0.0.1',
    bytes: Buffer.from('{}'),
    stream: null,
    json: {},
  };
  const x = new Exchange('req-1', { name: 'chat', format: 'openai-chat', body: 'json' }, request);
  x.principal = { organisationId: 'org-1', workspaceId: 'ws-1', keyId: 'key-1' } as Principal;
  x.config = compileConfig(JSON.stringify(config), { slug: 'pc-1', version: '1', isProvider: () => true });
  x.metadata = metadata;
  x.trace = { traceId: 'trace-1', spanId: null, parentSpanId: null, spanName: null };
  return x;
};

async function routerOf(script: (target: Target) => Step, asked: Asked = {}): Promise<Hooks> {
  const host = {
    random: asked.random ?? (() => 0.5),
    shared: (asked.hub ?? new SharedHub()).worker(),
    metrics: { show() {} },
    log: silent,
    aside: async () => null,
    attempt: async (x: Exchange, target: Target) => {
      const step = script(target);
      x.attempts.push({ target: target.path, status: 0, endedAt: null } as Exchange['attempts'][number]);
      if (typeof step === 'string') throw new GatewayError(step, 'scripted');
      if (typeof step === 'number') return reply(step);
      await new Promise((done, failed) => {
        setTimeout(() => done(null), step.ms);
        x.onAbort(failed);
      });
      return reply(step.status);
    },
  } as Partial<FullHost> as FullHost;
  return router.setup({ backoffMs: asked.backoffMs ?? 0 }, host);
}

/** Routes one request; what was decided for it. */
async function decisions(
  config: object,
  script: (target: Target) => Step = () => 200,
  asked: Asked = {},
): Promise<Decision[] | null> {
  const x = exchange(config, asked.metadata);
  const hooks = asked.hooks ?? (await routerOf(script, asked));
  await Promise.resolve(hooks.request!(x)).catch((thrown: unknown) => GatewayError.from(thrown));
  return x.route;
}

/** A condition, whose `then` must not make it look like a promise. */
const when = (query: object, name: string): object =>
  Object.fromEntries([
    ['query', query],
    ['then', name],
  ]);

const openai = { provider: 'openai' };
const groq = { provider: 'groq' };
const failFirst =
  (step: Step) =>
  ({ path }: Target): Step =>
    path.endsWith('[0]') || path === 'config' ? step : 200;

describe('explanations', () => {
  it('are not kept where a config leaves nothing to decide', async () => {
    expect(await decisions(openai)).to.equal(null);
    expect(await decisions({ strategy: { mode: 'single' }, targets: [openai] })).to.equal(null);
    expect(await decisions({ strategy: { mode: 'fallback' }, targets: [openai, groq] })).to.equal(null);
  });

  it('show which condition held, and that none did', async () => {
    const config = {
      strategy: {
        mode: 'conditional',
        conditions: [when({ 'metadata.plan': { $eq: 'paid' } }, 'good')],
        default: 'cheap',
      },
      targets: [
        { name: 'good', ...openai },
        { name: 'cheap', ...groq },
      ],
    };
    expect(await decisions(config, undefined, { metadata: { plan: 'paid' } })).to.deep.equal([
      { kind: 'branch', target: 'config.targets[0]', query: '{"metadata.plan":{"$eq":"paid"}}' },
    ]);
    expect(await decisions(config)).to.deep.equal([
      { kind: 'branch', target: 'config.targets[1]', query: null },
    ]);
  });

  it('keep the beginning of a long condition alone', async () => {
    const plans = Array.from({ length: 200 }, (_, i) => `plan-${i}`);
    const config = {
      strategy: {
        mode: 'conditional',
        conditions: [when({ 'metadata.plan': { $in: plans } }, 'good')],
        default: 'good',
      },
      targets: [{ name: 'good', ...openai }],
    };
    const [branch] = (await decisions(config, undefined, { metadata: { plan: 'plan-7' } }))!;
    expect(branch).to.have.property('query').with.length(201);
  });

  it('show what a load balancer drew, and for which session', async () => {
    const targets = [openai, groq];
    const byWeight = { strategy: { mode: 'loadbalance' }, targets };
    expect(await decisions(byWeight, undefined, { random: () => 0.9 })).to.deep.equal([
      { kind: 'pick', target: 'config.targets[1]', by: 'weight' },
    ]);
    const sticky = { enabled: true, hash_fields: ['metadata.user'] };
    const bySession = { strategy: { mode: 'loadbalance', sticky }, targets };
    const [pick] = (await decisions(bySession, undefined, { metadata: { user: 'ann' } }))!;
    expect(pick).to.include({ kind: 'pick', by: 'session' });
  });

  it('show the figures by which the others were passed over', () => {
    const meters = new Meters();
    const costs: Record<string, number | null> = { a: 900e6, b: 400e6, c: null };
    const chooser = new Chooser(
      { random: () => 0, expectedCost: (_x, { name }) => costs[name ?? ''] ?? null },
      { open: 0, available: () => true },
      meters,
    );
    const pick = (mode: string): Decision => {
      const x = exchange({
        strategy: { mode },
        targets: ['a', 'b', 'c'].map((name) => ({ name, ...openai })),
      });
      const { root } = x.config;
      if (root.kind !== 'loadbalance') throw new Error('no balancer');
      const [a, b] = root.children.map((child) => child.kind === 'target' && meters.of(x, child.target));
      if (mode === 'least_latency' && a && b) {
        a.observe(300, performance.now());
        b.observe(200, performance.now());
      }
      if (mode === 'least_busy' && a) a.inFlight = 3;
      chooser.pick(x, root);
      return x.route![0]!;
    };
    const cheapest = pick('least_cost');
    expect(cheapest).to.deep.equal({
      kind: 'pick',
      target: 'config.targets[1]',
      by: 'cost',
      score: 400e6,
      next: 'config.targets[0]',
      nextScore: 900e6,
    });
    expect(describeDecision(JSON.parse(JSON.stringify(cheapest))).reason).to.equal(
      'the cheapest, $0.000400; config.targets[0] $0.000900',
    );
    const quickest = pick('least_latency');
    expect(quickest).to.include({ by: 'latency', target: 'config.targets[1]' });
    expect(describeDecision(quickest).reason).to.match(
      /^the quicker of two that were drawn, [\d.]+ ms; config\.targets\[0\] [\d.]+ ms$/,
    );
    expect(describeDecision(pick('least_busy')).reason).to.equal(
      'the least busy, 0 under way; config.targets[2] 0 under way',
    );
  });

  it('show which target a fallback moved on from, and why; not for the last one', async () => {
    const config = { strategy: { mode: 'fallback' }, targets: [openai, groq] };
    expect(await decisions(config, failFirst(429))).to.deep.equal([
      { kind: 'moved_on', target: 'config.targets[0]', because: 429 },
    ]);
    expect(await decisions(config, failFirst('upstream_connect_failed'))).to.deep.equal([
      { kind: 'moved_on', target: 'config.targets[0]', because: 'upstream_connect_failed' },
    ]);
    expect(await decisions(config, () => 500)).to.have.length(1);
  });

  it('show after what a target was asked again, when, and what prevented it', async () => {
    const config = { ...openai, retry: { attempts: 2 } };
    expect(await decisions(config, () => 503, { backoffMs: 2 })).to.deep.equal([
      { kind: 'retry', target: 'config', because: 503, ms: 1 },
      { kind: 'retry', target: 'config', because: 503, ms: 2 },
      { kind: 'no_retry', target: 'config', why: 'tries' },
    ]);
    expect(await decisions({ ...config, deadline: 100 }, () => 503, { backoffMs: 60_000 })).to.deep.equal([
      { kind: 'no_retry', target: 'config', why: 'time' },
    ]);
  });

  it('show when the budget of retries was used up', async () => {
    const config = { ...openai, retry: { attempts: 5 } };
    const hooks = await routerOf(() => 503);
    const { now } = performance;
    performance.now = () => 1_800_000;
    try {
      for (let i = 0; i < 2; i++) await decisions(config, undefined, { hooks });
      expect(await decisions(config, undefined, { hooks })).to.deep.equal([
        { kind: 'no_retry', target: 'config', why: 'budget' },
      ]);
    } finally {
      performance.now = now;
    }
  });

  it('show which breakers are open, which request probes, and that all are open', async () => {
    const hub = new SharedHub();
    const board = new SharedBreakers(hub.server, silent);
    const config = {
      strategy: { mode: 'fallback', cb_config: { failure_threshold: 1, cooldown_interval: 5000 } },
      targets: [openai, groq],
    };
    const { now } = performance;
    let ahead = 0;
    performance.now = () => now.call(performance) + ahead;
    try {
      let isSecondWell = true;
      const hooks = await routerOf(({ path }) => (path.endsWith('[1]') && isSecondWell ? 200 : 503), { hub });
      const news = async (): Promise<void> => {
        await new Promise((wait) => setTimeout(wait, 11));
        await hub.quiet();
      };
      await decisions(config, undefined, { hooks });
      await news();
      const [open, ...more] = (await decisions(config, undefined, { hooks }))!;
      expect(open).to.include({ kind: 'open', target: 'config.targets[0]' });
      expect(more).to.deep.equal([]);
      expect(describeDecision(open!).reason).to.match(
        /circuit breaker is open since 20\d\d-\S+Z, the last failure was 503$/,
      );
      ahead += 5001;
      const probing = decisions(config, undefined, { hooks });
      await hub.quiet();
      expect((await probing)!.slice(1)).to.deep.equal([
        { kind: 'probe', target: 'config.targets[0]' },
        { kind: 'moved_on', target: 'config.targets[0]', because: 503 },
      ]);
      isSecondWell = false;
      await decisions(config, undefined, { hooks });
      await news();
      const all = (await decisions(config, undefined, { hooks }))!;
      expect(all.map(({ kind }) => kind)).to.deep.equal(['open', 'open', 'all_open', 'moved_on']);
    } finally {
      performance.now = now;
      board.close();
    }
  });

  it('show when a second target was asked beside a late one, and which was first', async () => {
    const time = new VirtualTime().install();
    try {
      const config = {
        strategy: { mode: 'fallback', hedge: { min_delay: 100, max_extra: 0.5 } },
        targets: [openai, groq],
      };
      const hooks = await routerOf(({ path }) => ({ status: 200, ms: path.endsWith('[0]') ? 900 : 50 }));
      const first = decisions(config, undefined, { hooks });
      await time.run();
      expect(await first).to.deep.equal([{ kind: 'no_hedge', target: 'config.targets[1]' }]);
      const second = decisions(config, undefined, { hooks });
      await time.run();
      expect(await second).to.deep.equal([
        { kind: 'hedge', target: 'config.targets[1]', ms: 100 },
        { kind: 'first', target: 'config.targets[1]' },
      ]);
    } finally {
      time.restore();
    }
  });

  it('show the target that a request was copied to', async () => {
    const config = { ...openai, mirror: { share: 1, target: groq } };
    expect(await decisions(config)).to.deep.equal([{ kind: 'mirror', target: 'config.mirror.target' }]);
  });

  it('show how long a request waited for a turn', async () => {
    const admission = new Admission({ workers: 1, weightOf: () => 1, upstreamKey: () => 'up' });
    const rule = { min: 1, max: 1, queue: 10, maxWaitMs: 1000, priority: 'normal' } as const;
    const target = { ...defaultTarget, path: 'config.targets[0]' };
    let end: (answer: Reply) => void = () => {};
    const [first, second] = [exchange(openai), exchange(openai)];
    const busy = admission.through(first, target, rule, () => new Promise((done) => (end = done)));
    const waiting = admission.through(second, target, rule, async () => reply(200));
    await new Promise((turn) => setImmediate(turn));
    end(reply(200));
    await Promise.all([busy, waiting]);
    expect(first.route).to.equal(null);
    expect(second.route).to.have.length(1);
    expect(second.route![0]).to.include({ kind: 'waited', target: 'config.targets[0]' });
  });

  it('have an end, however much is decided', () => {
    const x = exchange(openai);
    for (let i = 0; i < 1000; i++) x.decided({ kind: 'probe', target: 'config' });
    expect(x.route).to.have.length(maxDecisions);
  });

  it('fit a header: the last decisions are left out, and cut is true', () => {
    const x = exchange(openai);
    const query = `{"metadata.plan":{"$eq":"${'ü'.repeat(150)}"}}`;
    for (let i = 0; i < 50; i++) x.decided({ kind: 'branch', target: `config.targets[${i}]`, query });
    const text = explanation(x, JSON.stringify);
    expect(Buffer.byteLength(text, 'latin1')).to.be.at.most(4200);
    const { decisions, cut } = JSON.parse(text);
    expect(cut).to.equal(true);
    expect(decisions.length).to.be.within(10, 30);
    expect(decisions[0].target).to.equal('config.targets[0]');
  });

  it('are words for each kind of decision', () => {
    const target = 'config';
    const each: Decision[] = [
      { kind: 'branch', target, query: '{"a":1}' },
      { kind: 'pick', target, by: 'weight' },
      { kind: 'open', target, since: 0, because: '503' },
      { kind: 'probe', target },
      { kind: 'all_open', target },
      { kind: 'moved_on', target, because: 500 },
      { kind: 'retry', target, because: 500, ms: 12.345 },
      { kind: 'no_retry', target, why: 'budget' },
      { kind: 'hedge', target, ms: 100 },
      { kind: 'no_hedge', target },
      { kind: 'first', target },
      { kind: 'waited', target, ms: 3 },
      { kind: 'mirror', target },
    ];
    for (const decision of each) {
      const told = describeDecision(decision);
      expect(told).to.include({ decision: decision.kind, target });
      expect(told.reason)
        .to.match(/^\S.{8,}$/)
        .and.not.match(/undefined|NaN|null/);
    }
  });
});

describe('a plan', () => {
  /** What would be asked, by its turn and path: `1 [0]`; what would not, by `- [1]`; each with its reason. */
  async function planned(config: object, asked: Asked = {}): Promise<[string, string][]> {
    const x = exchange(config, asked.metadata);
    const plan: Plan = { cache: null, route: null, limits: [], limitsOf: null };
    const hooks = asked.hooks ?? (await routerOf(() => expect.fail('nobody is asked'), asked));
    await hooks.explain!(x, plan);
    return flat(plan.route!);
  }

  const flat = ({ kind, path, turn, reason, children }: PlannedNode): [string, string][] => [
    ...(kind === 'target'
      ? [
          [`${turn || '-'} ${path.replace(/^config\.?/, '').replaceAll('targets', '')}`, reason] as [
            string,
            string,
          ],
        ]
      : []),
    ...children.flatMap(flat),
  ];
  const turns = async (config: object, asked?: Asked): Promise<string[]> =>
    (await planned(config, asked)).map(([turn]) => turn);

  it('asks a single target, and the children of a fallback in turn', async () => {
    expect(await turns(openai)).to.deep.equal(['1 ']);
    expect(await planned({ strategy: { mode: 'fallback' }, targets: [openai, groq] })).to.deep.equal([
      ['1 [0]', 'the first'],
      ['2 [1]', 'where the one before it fails'],
    ]);
  });

  it('shows for every condition whether it holds', async () => {
    const plan = (name: string): object => when({ 'metadata.plan': { $eq: name } }, name);
    const config = {
      strategy: {
        mode: 'conditional',
        conditions: [plan('a'), plan('b'), when({ 'metadata.plan': { $in: ['b', 'c'] } }, 'c')],
        default: 'd',
      },
      targets: ['a', 'b', 'c', 'd'].map((name) => ({ name, ...openai })),
    };
    expect(await planned(config, { metadata: { plan: 'b' } })).to.deep.equal([
      ['- [0]', '{"metadata.plan":{"$eq":"a"}} does not hold'],
      ['1 [1]', '{"metadata.plan":{"$eq":"b"}} holds'],
      ['- [2]', '{"metadata.plan":{"$in":["b","c"]}} holds too, behind one that does'],
      ['- [3]', 'a condition holds: the default is not taken'],
    ]);
    expect((await planned(config)).at(-1)).to.deep.equal(['1 [3]', 'no condition holds: the default']);
  });

  it('draws as a request would, and shows the shares', async () => {
    const config = {
      strategy: { mode: 'loadbalance' },
      targets: [
        { ...openai, weight: 1 },
        { ...groq, weight: 3 },
      ],
    };
    expect(await planned(config, { random: () => 0.5 })).to.deep.equal([
      ['- [0]', 'not drawn this time, its share is 25 %'],
      ['1 [1]', 'drawn by weight, its share is 75 %'],
    ]);
    expect(await turns(config, { random: () => 0.1 })).to.deep.equal(['1 [0]', '- [1]']);
  });

  it('asks those that are better first, and the others after them', async () => {
    const priority = { strategy: { mode: 'priority' }, targets: [{ ...openai, priority: 2 }, groq] };
    expect(await turns(priority)).to.deep.equal(['1 [1]', '2 [0]']);
    const busy = { strategy: { mode: 'least_busy' }, targets: [openai, groq] };
    const [first, second] = await planned(busy, { random: () => 0.9 });
    expect([first![0], second![0]]).to.deep.equal(['2 [0]', '1 [1]']);
    expect(second![1]).to.equal('the least busy, 0 under way; config.targets[0] 0 under way');
    expect(first![1]).to.match(/^number 2, where the one before it fails/);
  });

  it('shows the target of a session, and does not change it', async () => {
    let now = 0;
    const sessions = new Sessions(() => now);
    const sticky = { enabled: true, hash_fields: ['metadata.user'], ttl: 60 };
    const x = exchange(
      { strategy: { mode: 'loadbalance', sticky }, targets: [openai, groq] },
      { user: 'ann' },
    );
    const node = x.config.root as Balance;
    const natural = sessions.peek(x, node, [0, 1])!;
    const other = 1 - natural;
    // Its own target was closed when it began: it stays where it went.
    expect(sessions.find(x, node, [other])).to.equal(other);
    now += 50_000;
    expect(sessions.peek(x, node, [0, 1])).to.equal(other);
    now += 20_000;
    expect(sessions.peek(x, node, [0, 1])).to.equal(natural);
    expect(sessions.peek(x, node, [other])).to.equal(other);
    expect(sessions.find(x, node, [0, 1])).to.equal(natural);
  });

  it('takes the target of the session that the request belongs to', async () => {
    const sticky = { enabled: true, hash_fields: ['metadata.user'] };
    const config = { strategy: { mode: 'loadbalance', sticky }, targets: [openai, groq] };
    const hooks = await routerOf(() => 200);
    const metadata = { user: 'ann' };
    const [pick] = (await decisions(config, undefined, { hooks, metadata }))!;
    const taken = (await planned(config, { hooks, metadata })).find(([turn]) => turn.startsWith('1'))!;
    expect(`config.targets${taken[0].slice(2)}`).to.equal(pick!.target);
    expect(taken[1]).to.equal('its session is kept there');
  });

  it('asks two where the second is asked beside the first', async () => {
    const config = {
      strategy: { mode: 'loadbalance', hedge: { min_delay: 100, max_extra: 0.1 } },
      targets: [openai, groq, openai],
    };
    const plan = await planned(config, { random: () => 0 });
    expect(plan.map(([turn]) => turn)).to.deep.equal(['1 [0]', '2 [1]', '- [2]']);
    expect(plan[1]![1]).to.match(/^asked beside it where it is late/);
  });

  it('leaves alone whose breaker is open, unless all are', async () => {
    const hub = new SharedHub();
    const board = new SharedBreakers(hub.server, silent);
    const { now } = performance;
    let ahead = 0;
    performance.now = () => now.call(performance) + ahead;
    try {
      const config = {
        strategy: { mode: 'fallback', cb_config: { failure_threshold: 1, cooldown_interval: 5000 } },
        targets: [openai, groq],
      };
      let step: (target: Target) => Step = failFirst(503);
      const hooks = await routerOf((target) => step(target), { hub });
      const news = async (): Promise<void> => {
        await new Promise((wait) => setTimeout(wait, 11));
        await hub.quiet();
      };
      await decisions(config, undefined, { hooks });
      await news();
      const [first] = await planned(config, { hooks });
      expect(first![0]).to.equal('- [0]');
      expect(first![1]).to.match(/^left alone: its circuit breaker is open since 20/);
      expect(await turns(config, { hooks })).to.deep.equal(['- [0]', '1 [1]']);
      step = () => 503;
      await decisions(config, undefined, { hooks });
      await news();
      const all = await planned(config, { hooks });
      expect(all.map(([turn]) => turn)).to.deep.equal(['1 [0]', '2 [1]']);
      expect(all[0]![1]).to.match(/^the first; its circuit breaker is open since .* and so is every other$/);
      step = failFirst(503);
      await decisions(config, undefined, { hooks });
      await news();
      ahead += 5001;
      const [due] = await planned(config, { hooks });
      expect(due![0]).to.equal('1 [0]');
      expect(due![1]).to.match(/, one request may probe$/);
    } finally {
      performance.now = now;
      board.close();
    }
  });
});
