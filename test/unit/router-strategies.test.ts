import { expect } from 'chai';
import fc from 'fast-check';
import type { Balance } from '../../plugins/router/balance/balance.js';
import { Chooser } from '../../plugins/router/balance/choose.js';
import { metered } from '../../plugins/router/balance/metered.js';
import { Meters } from '../../plugins/router/balance/meters.js';
import { Sessions } from '../../plugins/router/balance/sessions.js';
import { requireOneTarget } from '../../plugins/router/one-target.js';
import type { Principal } from '../../src/common/access/principal.js';
import type { Sink } from '../../src/common/bytes/body.js';
import type { Endpoint } from '../../src/common/core/endpoint.js';
import { GatewayError } from '../../src/common/core/errors.js';
import { type ClientRequest, Exchange, type Reply } from '../../src/common/core/exchange.js';
import type { RouteNode, Target } from '../../src/common/core/target.js';
import { compileConfig } from '../../src/data-plane/routing/compile.js';
import { seeded } from '../support/seeded.js';
import { expectWithinMs } from '../support/time-limits.js';

interface Asked {
  readonly key?: string;
  readonly workspace?: string;
  readonly metadata?: Record<string, string>;
  readonly json?: Record<string, unknown>;
  readonly headers?: string[];
  /** One that is passed through. */
  readonly path?: string;
}

function exchange(config: unknown, asked: Asked = {}): Exchange {
  const json = asked.json ?? { model: 'gpt-4o-mini' };
  const request: ClientRequest = {
    method: 'POST',
    path: asked.path ?? '/v1/chat/completions',
    query: '',
    headers: asked.headers ?? [],
    remoteAddress: '127.0.0.1',
    bytes: Buffer.from(JSON.stringify(json)),
    stream: null,
    json,
  };
  const endpoint: Endpoint =
    asked.path === undefined
      ? { name: 'chat', format: 'openai-chat', body: 'json' }
      : { name: 'passthrough', format: 'none', body: 'stream' };
  const x = new Exchange('req-1', endpoint, request);
  x.principal = { workspaceId: asked.workspace ?? 'ws-1', keyId: asked.key ?? 'key-1' } as Principal;
  x.config = compile(config);
  x.modelAsked = 'gpt-4o-mini';
  x.metadata = asked.metadata ?? {};
  return x;
}

const compile = (config: unknown) =>
  compileConfig(JSON.stringify(config), { slug: 'pc-1', version: '1', isProvider: () => true });

interface Given {
  readonly random?: () => number;
  readonly closed?: ReadonlySet<string>;
  readonly costs?: Readonly<Record<string, number | null>>;
  readonly meters?: Meters;
  readonly now?: () => number;
}

function chooser({ random, closed, costs, meters, now }: Given = {}): Chooser {
  const isOpen = (node: RouteNode): boolean => !(closed?.has(nameOf(node)) ?? false);
  return new Chooser(
    {
      random: random ?? seeded(1),
      expectedCost: (_x, target) => costs?.[target.name ?? ''] ?? null,
    },
    {
      get open() {
        return closed?.size ?? 0;
      },
      available: (_x, node) => isOpen(node),
    },
    meters ?? new Meters(),
    new Sessions(now),
  );
}

const nameOf = (node: RouteNode): string => (node.kind === 'target' ? (node.target.name ?? '') : node.path);
const rootOf = (x: Exchange): Balance => x.config.root as Balance;

const named = (name: string, weight?: number) => ({
  name,
  provider: 'openai',
  ...(weight === undefined ? {} : { weight }),
});
const balance = (strategy: object, ...targets: unknown[]) => ({ strategy, targets });
const byWeight = { mode: 'loadbalance' };
const bySession = { mode: 'loadbalance', sticky: { enabled: true, hash_fields: ['metadata.user'] } };

/** How often each target is picked. */
function counts(times: number, pick: (i: number) => RouteNode): Record<string, number> {
  const seen: Record<string, number> = {};
  for (let i = 0; i < times; i++) {
    const name = nameOf(pick(i));
    seen[name] = (seen[name] ?? 0) + 1;
  }
  return seen;
}

/** A reply whose body ends when told to. */
function slowReply(): { reply: Reply; end: () => void } {
  let sink: Sink | null = null;
  const body = {
    start(given: Sink) {
      sink = given;
    },
    resume() {},
    cancel() {},
  };
  const reply: Reply = { status: 200, headers: [], body, events: true, errorOrigin: null };
  return { reply, end: () => sink?.end() };
}

const quiet: Sink = { data: () => true, end() {}, error() {} };
const whole: Reply = { status: 200, headers: [], body: '{}', events: false, errorOrigin: null };

const targetOf = (x: Exchange, index: number): Target => {
  const child = rootOf(x).children[index]!;
  if (child.kind !== 'target') throw new Error('not a target');
  return child.target;
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('a load balancer by weight', () => {
  it('gives each target its share of 100,000 requests within 1 %', () => {
    const x = exchange(balance(byWeight, named('a', 5), named('b', 3), named('c', 2), named('never', 0)));
    const choose = chooser();
    const seen = counts(100_000, () => choose.pick(x, rootOf(x)));
    expect(seen['a']).to.be.closeTo(50_000, 1000);
    expect(seen['b']).to.be.closeTo(30_000, 1000);
    expect(seen['c']).to.be.closeTo(20_000, 1000);
    expect(seen['never']).to.equal(undefined);
  });

  it('shares a closed target’s requests among the others, and asks it again where all are closed', () => {
    const x = exchange(balance(byWeight, named('a', 6), named('b', 3), named('c', 1)));
    const one = chooser({ closed: new Set(['a']) });
    const seen = counts(20_000, () => one.pick(x, rootOf(x)));
    expect(seen['a']).to.equal(undefined);
    expect(seen['b']).to.be.closeTo(15_000, 400);
    const all = chooser({ closed: new Set(['a', 'b', 'c']) });
    expect(counts(10_000, () => all.pick(x, rootOf(x)))['a']).to.be.closeTo(6000, 300);
  });
});

describe('files, batches and fine-tuning jobs', () => {
  const two = [named('a'), named('b')];
  const refusal = (config: unknown, path: string): string | null => {
    try {
      requireOneTarget(exchange(config, { path, metadata: { plan: 'paid' } }));
      return null;
    } catch (thrown) {
      return thrown instanceof GatewayError ? thrown.code : String(thrown);
    }
  };
  const paths = [
    '/v1/files',
    '/v1/files/f-1/content',
    '/v1/batches',
    '/v1/batches/b-1',
    '/v1/fine_tuning/jobs',
  ];

  it('are refused where a fallback or a balancer has several targets', () => {
    for (const path of paths) {
      for (const mode of ['fallback', 'loadbalance', 'least_cost', 'priority'])
        expect(refusal(balance({ mode }, ...two), path)).to.equal('invalid_request');
      const nested = balance({ mode: 'fallback' }, balance(byWeight, ...two));
      expect(refusal(nested, path)).to.equal('invalid_request');
    }
  });

  it('go to the one target that can be called', () => {
    for (const path of paths) {
      expect(refusal(balance({ mode: 'fallback' }, named('a')), path)).to.equal(null);
      expect(refusal(balance({ mode: 'single' }, named('a')), path)).to.equal(null);
      expect(refusal(balance(byWeight, named('a', 0), named('b', 1)), path)).to.equal(null);
    }
  });

  it('go where conditions lead, unless that is a choice', () => {
    const conditional = (plan: string) => {
      // biome-ignore lint/suspicious/noThenProperty: a key of conditions, never awaited.
      const conditions = [{ query: { 'metadata.plan': plan }, then: 'a' }];
      const choice = { name: 'c', ...balance(byWeight, ...two) };
      return balance({ mode: 'conditional', conditions, default: 'c' }, named('a'), choice);
    };
    expect(refusal(conditional('paid'), '/v1/files')).to.equal(null);
    expect(refusal(conditional('free'), '/v1/files')).to.equal('invalid_request');
  });

  it('are recognised by their path', () => {
    const config = balance({ mode: 'fallback' }, ...two);
    for (const path of ['/v1/filesystem', '/v1/assistants', '/v1/vector_stores/v/files'])
      expect(refusal(config, path)).to.equal(null);
    expect(() => requireOneTarget(exchange(config))).to.not.throw();
  });
});

describe('sticky sessions', () => {
  const users = Array.from({ length: 10_000 }, (_, i) => `user-${i}`);

  it('stay at their target, whichever worker they come to', () => {
    const config = balance(bySession, named('a'), named('b'), named('c'));
    const [one, other] = [chooser({ random: seeded(1) }), chooser({ random: seeded(2) })];
    for (const user of users.slice(0, 500)) {
      const x = exchange(config, { metadata: { user } });
      const first = one.pick(x, rootOf(x));
      for (let i = 0; i < 5; i++) expect(one.pick(x, rootOf(x))).to.equal(first);
      expect(other.pick(x, rootOf(x))).to.equal(first);
    }
  });

  it('are shared out by weight', () => {
    const x = exchange(balance(bySession, named('a', 5), named('b', 3), named('c', 2)));
    const choose = chooser();
    const seen = counts(users.length, (i) => {
      x.metadata = { user: users[i]! };
      return choose.pick(x, rootOf(x));
    });
    expect(seen['a']).to.be.closeTo(5000, 200);
    expect(seen['b']).to.be.closeTo(3000, 200);
    expect(seen['c']).to.be.closeTo(2000, 200);
  });

  it('move to a target that is added for its share alone, wherever it is put', () => {
    const before = exchange(balance(bySession, named('a'), named('b'), named('c')));
    const after = exchange(balance(bySession, named('new'), named('a'), named('b'), named('c')));
    const [old, fresh] = [chooser(), chooser()];
    let moved = 0;
    for (const user of users) {
      before.metadata = { user };
      after.metadata = { user };
      const was = nameOf(old.pick(before, rootOf(before)));
      const is = nameOf(fresh.pick(after, rootOf(after)));
      if (is === was) continue;
      moved++;
      expect(is).to.equal('new');
    }
    expect(moved).to.be.closeTo(2500, 200);
  });

  it('do not move within their ttl when the config changes, and may after it', () => {
    let now = 1_000_000;
    const choose = chooser({ now: () => now });
    const before = exchange(balance(bySession, named('a'), named('b')));
    const after = exchange(balance(bySession, named('a'), named('b'), named('new', 100)));
    const at = (x: Exchange, user: string): string => {
      x.metadata = { user };
      return nameOf(choose.pick(x, rootOf(x)));
    };
    const begun = users.slice(0, 300).map((user) => at(before, user));
    for (let i = 0; i < 5; i++) {
      now += 299_000;
      expect(users.slice(0, 300).map((user) => at(after, user))).to.deep.equal(begun);
    }
    now += 301_000;
    expect(users.slice(0, 300).filter((user) => at(after, user) === 'new').length).to.be.above(280);
  });

  it('leave a closed target, and stay where they went', () => {
    const closed = new Set<string>();
    const choose = chooser({ closed });
    const x = exchange(balance(bySession, named('a'), named('b')), { metadata: { user: 'u' } });
    const first = nameOf(choose.pick(x, rootOf(x)));
    closed.add(first);
    const second = nameOf(choose.pick(x, rootOf(x)));
    expect(second).not.to.equal(first);
    closed.clear();
    expect(nameOf(choose.pick(x, rootOf(x)))).to.equal(second);
  });

  it('are the key’s own: the same value under another key or workspace is another session', () => {
    const config = balance(bySession, named('a'), named('b'));
    const choose = chooser();
    const places = new Set<string>();
    for (let i = 0; i < 40; i++) {
      const x = exchange(config, { key: `key-${i}`, metadata: { user: 'u' } });
      places.add(nameOf(choose.pick(x, rootOf(x))));
    }
    expect([...places].sort()).to.deep.equal(['a', 'b']);
  });

  it('are one for each key where no fields are named', () => {
    const sticky = { mode: 'loadbalance', sticky: { enabled: true } };
    const config = balance(sticky, named('a'), named('b'));
    const choose = chooser();
    const places = new Set<string>();
    for (let i = 0; i < 40; i++) {
      const x = exchange(config, { key: `key-${i}`, metadata: { user: `u-${i}` } });
      const first = choose.pick(x, rootOf(x));
      places.add(nameOf(first));
      x.metadata = { user: 'another' };
      expect(choose.pick(x, rootOf(x))).to.equal(first);
    }
    expect([...places].sort()).to.deep.equal(['a', 'b']);
  });

  it('read parameters and headers too; a request with none of the fields goes by weight', () => {
    const sticky = { enabled: true, hash_fields: ['params.user.id', 'headers.X-Session'] };
    const config = balance({ mode: 'loadbalance', sticky_session: sticky }, named('a'), named('b'));
    const x = exchange(config);
    const session = rootOf(x).sticky!.session;
    expect(session(x)).to.equal(null);
    expect(session(exchange(config, { json: { user: { id: 7 } } }))).to.equal('[7,null]');
    expect(session(exchange(config, { headers: ['x-session', 's'] }))).to.equal('[null,"s"]');
    const choose = chooser();
    const seen = counts(1000, () => choose.pick(x, rootOf(x)));
    expect(seen['a']).to.be.closeTo(500, 80);
  });

  it('are identified by the beginning of a value, however large: no whole body is copied', () => {
    const sticky = { enabled: true, hash_fields: ['params.messages'] };
    const config = balance({ mode: 'loadbalance', sticky }, named('a'), named('b'));
    const session = rootOf(exchange(config)).sticky!.session;
    const of = (messages: unknown) => session(exchange(config, { json: { messages } }));
    for (const long of ['x'.repeat(5e6), Array(1e6).fill(''), Array(1e5).fill({ content: 'Hello' })]) {
      expect(of(long)!.length).to.be.below(10_000);
      expect(of(long)).to.equal(of(long));
    }
    expect(of('x'.repeat(5e6))).to.not.equal(of('x'.repeat(5e6 + 1)));
    expect(of([{ content: 'a' }])).to.not.equal(of([{ content: 'b' }]));
  });
});

describe('session affinity', () => {
  const config = balance(
    { mode: 'least_busy', affinity: { enabled: true } },
    named('a'),
    named('b'),
    named('c'),
  );
  const ask = (first: string, more: unknown[] = [], extra: object = {}) => ({
    model: 'gpt-4o-mini',
    messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: first }, ...more],
    ...extra,
  });

  it('keeps a conversation, however long it grows, at the provider that has its beginning', () => {
    const choose = chooser();
    for (let i = 0; i < 100; i++) {
      const turns: unknown[] = [];
      const x = exchange(config, { json: ask(`question ${i}`) });
      const first = choose.pick(x, rootOf(x));
      for (let turn = 0; turn < 5; turn++) {
        turns.push(
          { role: 'assistant', content: `answer ${turn}` },
          { role: 'user', content: `and ${turn}?` },
        );
        const next = exchange(config, { json: ask(`question ${i}`, turns) });
        expect(nameOf(choose.pick(next, rootOf(next)))).to.equal(nameOf(first));
      }
    }
  });

  it('identifies conversations by system text, tools, first question and model, in each client format', () => {
    const session = rootOf(exchange(config)).sticky!.session;
    const of = (json: Record<string, unknown>) => session(exchange(config, { json }));
    const bodies = [
      ask('one'),
      ask('two'),
      ask('one', [], { tools: [{ type: 'function', function: { name: 'f' } }] }),
      { system: 'Be brief.', messages: [{ role: 'user', content: 'one' }] },
      { system: 'Be long.', messages: [{ role: 'user', content: [{ type: 'text', text: 'one' }] }] },
      { system: 'Be long. '.repeat(500), messages: [{ role: 'user', content: 'one' }] },
      { system: 'Be long. '.repeat(500), messages: [{ role: 'user', content: 'two' }] },
      { contents: [{ parts: [{ text: 'one' }] }] },
      { contents: [{ role: 'user', parts: [{ text: 'two' }] }] },
      { instructions: 'Be brief.', input: 'one' },
      { input: [{ role: 'user', content: 'three' }] },
    ];
    const seen = bodies.map(of);
    expect(new Set(seen).size).to.equal(bodies.length);
    expect(seen).not.to.include(null);
    expect(of({ model: 'm' })).to.equal(null);
    const opened = { messages: Array(1e5).fill({ role: 'system', content: 'Be brief.' }) };
    expect(of(opened)!.length, 'a conversation that never comes to a question').to.be.below(10_000);
  });
});

describe('least_latency', () => {
  const config = balance({ mode: 'least_latency' }, named('slow'), named('fast'), named('mid'));

  it('tries who is not known yet, then prefers who answers first', async () => {
    const meters = new Meters();
    const choose = chooser({ meters });
    const x = exchange(config);
    const ms: Record<string, number> = { slow: 400, mid: 150, fast: 20 };
    for (const index of [0, 1, 2]) {
      const target = targetOf(x, index);
      meters.of(x, target).observe(ms[target.name!]!, performance.now());
    }
    const seen = counts(3000, () => choose.pick(x, rootOf(x)));
    // Of two that are drawn the better is taken: the slowest never wins, the fastest wins two pairs of three.
    expect(seen['slow']).to.equal(undefined);
    expect(seen['fast']).to.be.closeTo(2000, 150);
  });

  it('counts what is under way: a quick target with a queue is no longer the quickest', () => {
    const meters = new Meters();
    const choose = chooser({ meters });
    const x = exchange(balance({ mode: 'least_latency' }, named('slow'), named('fast')));
    meters.of(x, targetOf(x, 0)).observe(100, performance.now());
    const fast = meters.of(x, targetOf(x, 1));
    fast.observe(30, performance.now());
    expect(nameOf(choose.pick(x, rootOf(x)))).to.equal('fast');
    fast.inFlight = 4;
    expect(nameOf(choose.pick(x, rootOf(x)))).to.equal('slow');
  });

  it('takes a peak at once, forgets it with time, and takes no refusal for speed', () => {
    const meter = new Meters().of(exchange(config), targetOf(exchange(config), 0));
    meter.observe(50, 0);
    meter.observe(500, 10);
    expect(meter.latencyMs).to.equal(500);
    meter.observe(50, 10_010);
    expect(meter.latencyMs).to.be.within(200, 230);
    meter.observe(50, 60_000);
    expect(meter.latencyMs).to.be.within(50, 55);
    meter.failed(1, 60_001);
    expect(meter.latencyMs).to.equal(1000);
  });

  it('tries one that was slow again, after it was not asked for a while', () => {
    const meters = new Meters();
    const choose = chooser({ meters });
    const x = exchange(balance({ mode: 'least_latency' }, named('was-slow'), named('steady')));
    const now = performance.now();
    meters.of(x, targetOf(x, 0)).observe(2000, now - 60_000);
    meters.of(x, targetOf(x, 1)).observe(100, now);
    expect(nameOf(choose.pick(x, rootOf(x)))).to.equal('was-slow');
  });

  it('meters a try until its answer has ended, however it ends', async () => {
    const meters = new Meters();
    const x = exchange(config);
    const target = targetOf(x, 0);
    const meter = meters.of(x, target);
    const slow = slowReply();
    const reply = await metered(meters, x, target, async () => {
      await pause(20);
      return slow.reply;
    });
    expect(meter.inFlight).to.equal(1);
    expectWithinMs(meter.latencyMs!, 200, { atLeast: 15 });
    if (reply.body === null || typeof reply.body === 'string' || Buffer.isBuffer(reply.body))
      throw new Error('no source');
    reply.body.start(quiet);
    slow.end();
    reply.body.cancel();
    expect(meter.inFlight).to.equal(0);
    await metered(meters, x, target, async () => whole);
    expect(meter.inFlight).to.equal(0);
    const failure = await metered(meters, x, target, () => Promise.reject(new Error('no'))).catch(
      (error: Error) => error.message,
    );
    expect([failure, meter.inFlight]).to.deep.equal(['no', 0]);
    expect(meter.latencyMs).to.be.at.least(1000);
  });

  it('keeps tenants apart', () => {
    const meters = new Meters();
    const [one, other] = [exchange(config), exchange(config, { workspace: 'ws-2' })];
    meters.of(one, targetOf(one, 0)).observe(5, 0);
    expect(meters.of(other, targetOf(other, 0)).latencyMs).to.equal(null);
  });
});

describe('least_cost', () => {
  const config = balance(
    { mode: 'least_cost' },
    named('dear'),
    named('cheap'),
    named('unknown'),
    named('off', 0),
  );

  it('asks the cheapest, then the next, and those without a known price last', () => {
    const choose = chooser({ costs: { dear: 90, cheap: 10, off: 1 } });
    const x = exchange(config);
    const order = choose.inOrder(x, rootOf(x));
    expect([0, 1, 2].map((i) => nameOf(order.at(i)!))).to.deep.equal(['cheap', 'dear', 'unknown']);
    expect(order.at(3)).to.equal(undefined);
  });

  it('draws by weight among equals', () => {
    const choose = chooser({ costs: { dear: 10, cheap: 10, unknown: 10 } });
    const x = exchange(config);
    const seen = counts(3000, () => choose.inOrder(x, rootOf(x)).at(0)!);
    expect(seen['off']).to.equal(undefined);
    for (const name of ['dear', 'cheap', 'unknown']) expect(seen[name]).to.be.closeTo(1000, 150);
  });
});

describe('least_busy', () => {
  it('asks who has least under way', () => {
    const meters = new Meters();
    const choose = chooser({ meters });
    const x = exchange(balance({ mode: 'least_busy' }, named('a'), named('b'), named('c')));
    [3, 1, 2].forEach((inFlight, i) => {
      meters.of(x, targetOf(x, i)).inFlight = inFlight;
    });
    const order = choose.inOrder(x, rootOf(x));
    expect([0, 1, 2].map((i) => nameOf(order.at(i)!))).to.deep.equal(['b', 'c', 'a']);
  });

  it('spreads requests that come together evenly', () => {
    const meters = new Meters();
    const choose = chooser({ meters });
    const x = exchange(balance({ mode: 'least_busy' }, named('a'), named('b'), named('c')));
    for (let i = 0; i < 30; i++) {
      const chosen = choose.inOrder(x, rootOf(x)).at(0)!;
      if (chosen.kind === 'target') meters.of(x, chosen.target).inFlight++;
    }
    expect([0, 1, 2].map((i) => meters.of(x, targetOf(x, i)).inFlight)).to.deep.equal([10, 10, 10]);
  });
});

describe('every order in which a strategy asks', () => {
  it('has each target of a weight above 0 once and no other, whatever the sessions and closed ones', () => {
    const strategies = ['least_latency', 'least_cost', 'least_busy'].flatMap((mode) => [
      { mode },
      { mode, affinity: { enabled: true } },
    ]);
    fc.assert(
      fc.property(
        fc.constantFrom(...strategies),
        fc.array(fc.nat(3), { minLength: 1, maxLength: 8 }),
        fc.integer(),
        fc.nat(255),
        (strategy, weights, seed, closedBits) => {
          fc.pre(weights.some((weight) => weight > 0));
          const names = weights.map((_, i) => `t${i}`);
          const weighted = names.filter((_, i) => weights[i]! > 0);
          const config = balance(strategy, ...weights.map((weight, i) => named(names[i]!, weight)));
          const closed = new Set(names.filter((_, i) => (closedBits >> i) & 1));
          const x = exchange(config, { json: { messages: [{ role: 'user', content: String(seed) }] } });
          const order = chooser({ random: seeded(seed), closed }).inOrder(x, rootOf(x));
          expect(order.length).to.equal(weighted.length);
          expect(order.at(weighted.length)).to.equal(undefined);
          const asked = weighted.map((_, i) => nameOf(order.at(i)!));
          expect([...asked].sort()).to.deep.equal([...weighted].sort());
          const open = weighted.filter((name) => !closed.has(name));
          expect(asked.slice(0, open.length).sort()).to.deep.equal(open.sort());
        },
      ),
    );
  });
});
