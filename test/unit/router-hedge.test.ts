import { expect } from 'chai';
import { Latencies } from '../../plugins/router/balance/latencies.js';
import { metered } from '../../plugins/router/balance/metered.js';
import { Meters } from '../../plugins/router/balance/meters.js';
import router from '../../plugins/router/index.js';
import { type ErrorCode, GatewayError } from '../../src/common/core/errors.js';
import { type Attempt, Exchange, type Reply } from '../../src/common/core/exchange.js';
import type { Target } from '../../src/common/core/target.js';
import type { FullHost, Hooks } from '../../src/common/plugin-host/plugin.js';
import { defaultTarget } from '../../src/common/vocabulary/default-config.js';
import { compileConfig } from '../../src/data-plane/routing/compile.js';
import { seeded } from '../support/seeded.js';
import { SharedHub } from '../support/shared.js';
import { VirtualTime } from '../support/virtual-time.js';

/** What an upstream does with one try: milliseconds to its answer, and that answer's status or the failure's code. */
interface Answer {
  readonly ms: number;
  readonly answer?: number | ErrorCode;
  /** When its head comes, where that is not with the answer. */
  readonly headMs?: number;
}

type Upstream = (target: Target, x: Exchange) => Answer;

const hedged = (hedge: object, ...targets: object[]) => ({
  strategy: { mode: 'fallback', hedge },
  targets,
});
const two = [{ provider: 'openai' }, { provider: 'groq' }];

interface Asked {
  readonly workspace?: string;
  readonly streaming?: boolean;
  readonly change?: (x: Exchange) => void;
}

/** A router over upstreams that take virtual time. */
class Simulation {
  readonly hooks: Hooks;
  readonly config;
  upstream: Upstream = () => ({ ms: 10 });
  #made = 0;

  private constructor(config: object, hooks: Hooks) {
    this.config = compileConfig(JSON.stringify(config), { slug: 'pc', version: '1', isProvider: () => true });
    this.hooks = hooks;
  }

  static async of(config: object, random: () => number = () => 0.5): Promise<Simulation> {
    let self: Simulation | null = null;
    const host = {
      random,
      log: { error: (fields: { err: Error }) => expect.fail(fields.err.message) },
      metrics: { show() {} },
      shared: new SharedHub().worker(),
      attempt: (x: Exchange, target: Target) => self!.attempt(x, target),
    } as unknown as FullHost;
    self = new Simulation(config, (await router.setup({ backoffMs: 100 }, host)) as Hooks);
    return self;
  }

  attempt(x: Exchange, target: Target): Promise<Reply> {
    const { ms, answer = 200, headMs = ms } = this.upstream(target, x);
    const attempt: Attempt = {
      target: target.path,
      slug: null,
      integration: null,
      provider: target.provider ?? '',
      model: 'm',
      startedAt: x.elapsedMs(),
      status: 0,
      error: null,
      durationMs: 0,
      usage: null,
      cost: null,
      modelUsed: null,
      firstByteMs: null,
      endedAt: null,
      prices: null,
      reserved: null,
      received: null,
      answer: null,
      readUs: 0,
    };
    x.attempts.push(attempt);
    return new Promise((resolve, reject) => {
      const head = setTimeout(() => {
        if (typeof answer === 'number') attempt.status = answer;
        attempt.firstByteMs = x.elapsedMs();
      }, headMs);
      const end = setTimeout(() => {
        off();
        attempt.endedAt = x.elapsedMs();
        if (typeof answer === 'string') {
          attempt.error = answer;
          return reject(new GatewayError(answer, 'as asked'));
        }
        x.answeredBy = attempt;
        resolve({ status: answer, headers: [], body: target.path, events: false, errorOrigin: null });
      }, ms);
      const off = x.onAbort((reason) => {
        clearTimeout(head);
        clearTimeout(end);
        attempt.error = reason.code;
        attempt.endedAt = x.elapsedMs();
        reject(reason);
      });
    });
  }

  exchange({ workspace = 'ws', streaming = true, change }: Asked = {}): Exchange {
    const x = new Exchange(
      `req-${this.#made++}`,
      { name: 'chat', format: 'openai-chat', body: 'json' },
      {
        method: 'POST',
        path: '/v1/chat/completions',
        query: '',
        headers: [],
        remoteAddress: '',
        bytes: Buffer.from('{}'),
        stream: null,
        json: {},
      },
    );
    x.principal = { organisationId: 'org', workspaceId: workspace } as Exchange['principal'];
    x.config = this.config;
    x.streaming = streaming;
    change?.(x);
    return x;
  }

  /** Routes one; its answer's body (the path of its target) or code, and when it came. */
  async route(x: Exchange): Promise<{ end: unknown; ms: number; status: number }> {
    try {
      const reply = (await this.hooks.request?.(x)) as Reply;
      return { end: reply.body, ms: x.elapsedMs(), status: reply.status };
    } catch (thrown) {
      return { end: GatewayError.from(thrown).code, ms: x.elapsedMs(), status: 0 };
    }
  }

  /** So many one after the other, all answered after `ms`. */
  async learn(count: number, ms: number, asked: Asked = {}): Promise<void> {
    const { upstream } = this;
    this.upstream = () => ({ ms });
    for (let i = 0; i < count; i++) await this.route(this.exchange(asked));
    this.upstream = upstream;
  }
}

const throwIt = (thrown: unknown): never => {
  throw thrown;
};

const short = (path: string): string => path.replace('config.targets', '');
const outcomes = (x: Exchange): string[] =>
  x.attempts.map(({ target, status, error }) => `${short(target)} ${error ?? status}`);

describe('times to first token', () => {
  it('are known to within a twentieth, at every percentile', () => {
    const times = new Latencies();
    for (let ms = 1; ms <= 1000; ms++) times.add(ms);
    for (const percentile of [1, 50, 90, 95, 97, 99, 99.9]) {
      const exact = percentile * 10;
      expect(times.percentile(percentile)).to.be.within(exact, exact * 1.05 + 1);
    }
  });

  it('are recent: times from a thousand answers ago are forgotten', () => {
    const times = new Latencies();
    for (let i = 0; i < 5000; i++) times.add(5000);
    for (let i = 0; i < 5000; i++) times.add(100);
    expect(times.percentile(95)).to.be.within(100, 105);
    expect(times.count).to.be.at.most(1024);
  });

  it('may be nothing, endless or none', () => {
    const times = new Latencies();
    expect(times.percentile(95)).to.equal(0);
    times.add(0);
    expect(times.percentile(95)).to.be.within(0, 1);
    for (let i = 0; i < 100; i++) times.add(1e12);
    expect(times.percentile(95)).to.be.within(600_000, 660_000);
  });
});

describe('hedging', () => {
  let time: VirtualTime;
  beforeEach(() => {
    time = new VirtualTime().install();
  });
  afterEach(() => time.restore());

  /** Runs `body` in virtual time, to its end. */
  async function simulate<T>(body: () => Promise<T>): Promise<T> {
    const done = body();
    done.catch(() => {});
    await time.run();
    return done;
  }

  /** Routes one after `answers` of 100 ms each were learned, with `upstream` by target. */
  const onceLearned = (config: object, upstream: Record<string, Answer>, asked: Asked = {}, learned = 400) =>
    simulate(async () => {
      const simulation = await Simulation.of(config);
      simulation.upstream = ({ path }) => upstream[short(path)] ?? { ms: 1 };
      await simulation.learn(learned, 100, asked);
      const x = simulation.exchange(asked);
      const { end, ms, status } = await simulation.route(x);
      return { x, end: typeof end === 'string' ? short(end) : end, ms, status };
    });

  for (const [what, draw] of [
    // A replica in forty is slow to take a request up: twenty times as slow.
    [
      'stragglers',
      (random: () => number) => 200 * Math.exp(0.3 * normal(random)) * (random() < 0.025 ? 20 : 1),
    ],
    // Pareto's: each tenfold time is a tenth as frequent.
    ['a power law', (random: () => number) => 100 / (1 - random())],
  ] as const) {
    it(`halves the 99th percentile of the time to first token under ${what}, for at most 3 % more`, async () => {
      const requests = 4000;
      const measure = (config: object) =>
        simulate(async () => {
          const simulation = await Simulation.of(config);
          const random = seeded(7);
          let asked = 0;
          simulation.upstream = () => {
            asked++;
            return { ms: draw(random) };
          };
          const all: Promise<number>[] = [];
          for (let i = 0; i < requests; i++) {
            all.push(simulation.route(simulation.exchange()).then(({ ms }) => ms));
            await new Promise((next) => setTimeout(next, 20));
          }
          const times = (await Promise.all(all)).slice(500).sort((a, b) => a - b);
          return { p99: times[Math.floor(times.length * 0.99)]!, extra: asked / requests - 1 };
        });
      const plain = await measure({ strategy: { mode: 'fallback' }, targets: two });
      const better = await measure(hedged({}, ...two));
      expect(plain.extra).to.equal(0);
      expect(better.extra).to.be.within(0.01, 0.03);
      expect(better.p99).to.be.below(plain.p99 / 2);
    }).timeout(30_000);
  }

  it('asks the next target when the first is late, and gives the answer that comes first', async () => {
    const { x, end, ms } = await onceLearned(hedged({}, ...two), { '[0]': { ms: 5000 }, '[1]': { ms: 50 } });
    expect(end).to.equal('[1]');
    expect(ms).to.be.within(150, 160);
    expect(outcomes(x)).to.deep.equal(['[0] hedge_lost', '[1] 200']);
    expect(short(x.target?.path ?? '')).to.equal('[1]');
    expect(x.answeredBy).to.equal(x.attempts[1]);
  });

  it('gives up the second where the first answers after all', async () => {
    const { x, end, ms } = await onceLearned(hedged({}, ...two), { '[0]': { ms: 120 }, '[1]': { ms: 5000 } });
    expect([end, ms]).to.deep.equal(['[0]', 120]);
    expect(outcomes(x)).to.deep.equal(['[0] 200', '[1] hedge_lost']);
    expect(x.answeredBy).to.equal(x.attempts[0]);
  });

  it('asks one target as long as nothing is late', async () => {
    const { x } = await onceLearned(hedged({}, ...two), { '[0]': { ms: 90 } });
    expect(outcomes(x)).to.deep.equal(['[0] 200']);
  });

  it('has no limit for late before it has seen twenty answers, unless min_delay sets one', async () => {
    const slow = { '[0]': { ms: 5000 } };
    const { x } = await onceLearned(hedged({ max_extra: 1 }, ...two), slow, {}, 19);
    expect(outcomes(x)).to.deep.equal(['[0] 200']);
    const known = await onceLearned(hedged({ max_extra: 1 }, ...two), slow, {}, 20);
    expect(outcomes(known.x)).to.deep.equal(['[0] hedge_lost', '[1] 200']);
    const told = await onceLearned(hedged({ max_extra: 1, min_delay: 300 }, ...two), slow, {}, 0);
    expect([told.end, told.ms]).to.deep.equal(['[1]', 301]);
  });

  it('waits for min_delay, however quick a target is by custom', async () => {
    const { ms } = await onceLearned(hedged({ min_delay: 700 }, ...two), { '[0]': { ms: 5000 } });
    expect(ms).to.equal(701);
  });

  it('goes by the answers of the same tenant, and of the same kind', async () => {
    for (const other of [{ workspace: 'other' }, { streaming: false }]) {
      await simulate(async () => {
        const simulation = await Simulation.of(hedged({ max_extra: 1 }, ...two));
        await simulation.learn(100, 100, other);
        simulation.upstream = ({ path }) => ({ ms: short(path) === '[0]' ? 5000 : 1 });
        const x = simulation.exchange();
        expect((await simulation.route(x)).ms).to.equal(5000);
      });
    }
  });

  it('waits for the other where one fails, and where both do goes on to the target after them', async () => {
    const three = [...two, { provider: 'mistral-ai' }];
    const late = { ms: 300 };
    const table: [Record<string, Answer>, string, string[]][] = [
      [{ '[0]': late, '[1]': { ms: 50, answer: 503 } }, '[0]', ['[0] 200', '[1] 503']],
      [
        { '[0]': late, '[1]': { ms: 50, answer: 'upstream_reset' } },
        '[0]',
        ['[0] 200', '[1] upstream_reset'],
      ],
      [{ '[0]': { ms: 120, answer: 500 }, '[1]': late }, '[1]', ['[0] 500', '[1] 200']],
      [
        { '[0]': { ms: 120, answer: 'upstream_reset' }, '[1]': { ms: 50, answer: 429 } },
        '[2]',
        ['[0] upstream_reset', '[1] 429', '[2] 200'],
      ],
      // It failed before it was late.
      [{ '[0]': { ms: 20, answer: 500 }, '[1]': { ms: 50 } }, '[1]', ['[0] 500', '[1] 200']],
    ];
    for (const [upstream, end, attempts] of table) {
      const outcome = await onceLearned(hedged({}, ...three), upstream);
      expect([outcome.end, outcomes(outcome.x)]).to.deep.equal([end, attempts]);
    }
  });

  it('takes an answer that the config stays with, whatever its status', async () => {
    const config = { strategy: { mode: 'fallback', on_status_codes: [503], hedge: {} }, targets: two };
    const { x, status } = await onceLearned(config, { '[0]': { ms: 300 }, '[1]': { ms: 50, answer: 400 } });
    expect(status).to.equal(400);
    expect(outcomes(x)).to.deep.equal(['[0] hedge_lost', '[1] 400']);
  });

  it('never asks a target of weight 0 beside another', async () => {
    const config = {
      strategy: { mode: 'loadbalance', hedge: { max_extra: 1 } },
      targets: [{ provider: 'openai' }, { provider: 'groq', weight: 0 }],
    };
    const { x } = await onceLearned(config, { '[0]': { ms: 5000 }, '[1]': { ms: 10 } });
    expect(outcomes(x)).to.deep.equal(['[0] 200']);
  });

  it('is for load balancers too, which without it give one target its chance alone', async () => {
    const config = (hedge: object) => ({ strategy: { mode: 'loadbalance', ...hedge }, targets: two });
    const upstream = { '[0]': { ms: 5000 }, '[1]': { ms: 5000 } };
    for (const hedge of [{}, { hedge: {} }]) {
      const { x } = await onceLearned(config(hedge), upstream);
      expect(x.attempts).to.have.length('hedge' in hedge ? 2 : 1);
    }
    const failed = await onceLearned(config({ hedge: {} }), {
      '[0]': { ms: 20, answer: 500 },
      '[1]': { ms: 20, answer: 500 },
    });
    expect([failed.status, failed.x.attempts.length]).to.deep.equal([500, 1]);
  });

  it('never asks for more than its share, even where every answer is late', async () => {
    await simulate(async () => {
      const simulation = await Simulation.of(hedged({ max_extra: 0.1 }, ...two));
      await simulation.learn(1000, 10);
      let first = 0;
      let second = 0;
      simulation.upstream = ({ path }) => {
        if (short(path) === '[1]') second++;
        // Later than ever before, each time.
        else return { ms: 100 * 1.2 ** first++ };
        return { ms: 1e9 };
      };
      for (let i = 0; i < 300; i++) await simulation.route(simulation.exchange());
      expect(first).to.equal(300);
      // What was saved up before, and a tenth of these.
      expect(second).to.be.within(39, 40);
    });
  });

  it('learns what a target would have taken that was given up, so that late does not become usual', async () => {
    await simulate(async () => {
      const simulation = await Simulation.of(hedged({ percentile: 90, max_extra: 1 }, ...two));
      const random = seeded(3);
      let second = 0;
      simulation.upstream = ({ path }) => {
        if (short(path) === '[1]') {
          second++;
          return { ms: 1 };
        }
        return { ms: 100 * Math.exp(normal(random)) };
      };
      for (let i = 0; i < 3000; i++) await simulation.route(simulation.exchange());
      expect(second / 3000).to.be.within(0.07, 0.11);
    });
  });

  it('leaves alone a whole answer that has begun to come, and not a stream that has a head and no event', async () => {
    const upstream = { '[0]': { ms: 5000, headMs: 90 }, '[1]': { ms: 1 } };
    const whole = await onceLearned(hedged({}, ...two), upstream, { streaming: false });
    expect(outcomes(whole.x)).to.deep.equal(['[0] 200']);
    const stream = await onceLearned(hedged({}, ...two), upstream);
    expect(outcomes(stream.x)).to.deep.equal(['[0] hedge_lost', '[1] 200']);
  });

  it('is not for a body that can be sent once, or for a call that the gateway does not understand', async () => {
    const config = hedged({ min_delay: 1, max_extra: 1 }, ...two);
    const raw = (x: Exchange) =>
      Object.assign(x, { endpoint: { name: 'passthrough', format: 'none', body: 'stream' } });
    const streamed = (x: Exchange) =>
      Object.assign(x, { request: { ...x.request, bytes: null, stream: {} } });
    for (const change of [raw, streamed]) {
      const { x } = await onceLearned(config, { '[0]': { ms: 5000 } }, { change });
      expect(outcomes(x)).to.deep.equal(['[0] 200']);
    }
  });

  it('ends both when the client leaves', async () => {
    await simulate(async () => {
      const simulation = await Simulation.of(hedged({ min_delay: 10, max_extra: 1 }, ...two));
      simulation.upstream = () => ({ ms: 5000 });
      const x = simulation.exchange();
      setTimeout(() => x.abort(new GatewayError('client_gone', 'gone'), throwIt), 50);
      const { end, ms } = await simulation.route(x);
      expect([end, ms]).to.deep.equal(['client_gone', 50]);
      expect(outcomes(x)).to.deep.equal(['[0] client_gone', '[1] client_gone']);
    });
  });

  it('ends the winner when the client leaves while it streams', async () => {
    await simulate(async () => {
      const simulation = await Simulation.of(hedged({ min_delay: 10, max_extra: 1 }, ...two));
      simulation.upstream = ({ path }) => ({ ms: short(path) === '[0]' ? 5000 : 20 });
      const told: string[] = [];
      const { attempt } = simulation;
      simulation.attempt = (side, target) => {
        side.onAbort(({ code }) => told.push(`${short(target.path)} ${code}`));
        return attempt.call(simulation, side, target);
      };
      const x = simulation.exchange();
      await simulation.route(x);
      expect(told).to.deep.equal(['[0] hedge_lost']);
      x.abort(new GatewayError('client_gone', 'gone'), throwIt);
      expect(told).to.deep.equal(['[0] hedge_lost', '[1] client_gone']);
    });
  });

  it('reports to a balancer by latency how long the loser was waited for at least', async () => {
    await simulate(async () => {
      const simulation = await Simulation.of(hedged({}, ...two));
      const meters = new Meters();
      const target: Target = { ...defaultTarget, provider: 'openai' };
      const side = simulation.exchange().fork();
      const meter = meters.of(side, target);
      const lose = (ms: number) => {
        const x = side.fork();
        simulation.upstream = () => ({ ms: 5000 });
        setTimeout(() => x.abort(new GatewayError('hedge_lost', 'lost'), throwIt), ms);
        return metered(meters, x, target, () => simulation.attempt(x, target)).catch(() => {});
      };
      await lose(300);
      expect(meter.latencyMs).to.equal(300);
      // A second target that lost soon was not quick.
      await lose(10);
      expect(meter.latencyMs).to.equal(300);
    });
  });

  it('keeps what a target adds to the metadata with the one that answered', async () => {
    const config = hedged({}, { ...two[0], metadata: { at: 'a' } }, { ...two[1], metadata: { at: 'b' } });
    const { x } = await onceLearned(config, { '[0]': { ms: 5000 } });
    expect(x.metadata).to.deep.equal({ at: 'b' });
  });

  it('makes no more than ten tries, both targets and all retries together', async () => {
    const retrying = { retry: { attempts: 5 } };
    const config = hedged(
      { min_delay: 1, max_extra: 1 },
      ...two.map((target) => ({ ...target, ...retrying })),
    );
    const failing = { ms: 20, answer: 503 };
    const { x } = await onceLearned(config, { '[0]': failing, '[1]': failing }, {}, 0);
    expect(x.attempts.length).to.be.within(9, 10);
  });
});

/** Of mean 0 and deviation 1 (Box–Muller). */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
