import { expect } from 'chai';
import fc from 'fast-check';
import router from '../../plugins/router/index.js';
import type { Principal } from '../../src/common/access/principal.js';
import type { Sink, Source } from '../../src/common/bytes/body.js';
import { type ErrorCode, GatewayError } from '../../src/common/core/errors.js';
import { type ClientRequest, Exchange, type Reply } from '../../src/common/core/exchange.js';
import type { Target } from '../../src/common/core/target.js';
import type { FullHost } from '../../src/common/plugin-host/plugin.js';
import { defaultConfig } from '../../src/common/vocabulary/default-config.js';
import { compileConfig } from '../../src/data-plane/routing/compile.js';
import { examples } from '../support/long-forms.js';
import { seeded } from '../support/seeded.js';
import { SharedHub } from '../support/shared.js';
import { expectWithinMs } from '../support/time-limits.js';

class Body implements Source {
  cancelled = 0;
  start(_sink: Sink): void {}
  resume(): void {}
  cancel(): void {
    this.cancelled++;
  }
}

/** What the script answers one try with: a status, a reply, or the code of a failure. */
type Step = number | Reply | ErrorCode | Error;

const reply = (status: number, headers: string[] = [], body: Reply['body'] = null): Reply => ({
  status,
  headers,
  body,
  events: false,
  errorOrigin: status >= 400 ? 'provider' : null,
});

const compile = (config: unknown) =>
  compileConfig(JSON.stringify(config), { slug: 'pc-1', version: '1', isProvider: () => true });

function exchange(config: unknown, stream: Source | null = null): Exchange {
  const request: ClientRequest = {
    method: 'POST',
    path: '/v1/chat/completions',
    query: '',
    headers: [],
    remoteAddress: '127.0.0.1',
    bytes: stream === null ? Buffer.from('{}') : null,
    stream,
    json: stream === null ? {} : null,
  };
  const x = new Exchange('req-1', { name: 'chat', format: 'openai-chat', body: 'json' }, request);
  x.principal = { organisationId: 'org-1', workspaceId: 'ws-1' } as Principal;
  x.config = config === null ? defaultConfig : compile(config);
  return x;
}

const throwIt = (thrown: unknown): never => {
  throw thrown;
};

/** What the router takes of its host whatever is asked of it. */
const parts = () => ({ shared: new SharedHub().worker(), metrics: { show() {} } });

interface Run {
  readonly x: Exchange;
  /** Paths of the targets, as tried. */
  readonly tried: string[];
  readonly outcome: Promise<Reply | ErrorCode>;
}

type Script = readonly Step[] | ((target: Target, tries: number) => Step);

interface RunOptions {
  readonly random?: () => number;
  readonly backoffMs?: number;
  readonly x?: Exchange;
}

/** Routes one exchange; the script answers its tries in turn. A list that is too short fails the test. */
async function start(config: unknown, script: Script, options: RunOptions = {}): Promise<Run> {
  const x = options.x ?? exchange(config);
  const tried: string[] = [];
  const host = {
    random: options.random ?? (() => 0.5),
    ...parts(),
    attempt: async (_x: Exchange, target: Target): Promise<Reply> => {
      tried.push(target.path);
      const step = typeof script === 'function' ? script(target, tried.length) : script[tried.length - 1];
      if (step === undefined) throw new Error(`unexpected try of ${target.path}`);
      if (typeof step === 'number') return reply(step);
      if (typeof step === 'string') throw new GatewayError(step, `scripted ${step}`);
      if (step instanceof Error) throw step;
      return step;
    },
  } as Partial<FullHost> as FullHost;
  const hooks = await router.setup({ backoffMs: options.backoffMs ?? 0 }, host);
  const outcome = Promise.resolve(hooks.request?.(x)).then(
    (answer) => answer as Reply,
    (error: unknown) => {
      if (error instanceof GatewayError) return error.code;
      throw error;
    },
  );
  return { x, tried, outcome };
}

/** The same, to its end, as `[status or code, tried paths, retries, target]`. */
async function run(config: unknown, script: Script, options?: RunOptions): Promise<unknown[]> {
  const { x, tried, outcome } = await start(config, script, options);
  const end = await outcome;
  return [
    typeof end === 'string' ? end : end.status,
    tried.map(short),
    x.retries,
    short(x.target?.path ?? 'none'),
  ];
}

const short = (path: string): string => path.replace(/^config\.?/, '').replaceAll('targets', '') || 'root';

const fallback = (...targets: unknown[]) => ({ strategy: { mode: 'fallback' }, targets });
const on = (codes: number[], ...targets: unknown[]) => ({
  strategy: { mode: 'fallback', on_status_codes: codes },
  targets,
});
const balance = (...targets: unknown[]) => ({ strategy: { mode: 'loadbalance' }, targets });
const three = fallback({}, {}, {});
const retrying = (attempts: number, more: object = {}) => ({ retry: { attempts, ...more } });

/** Runs `body` with timers that fire at once, and returns how long each was asked to wait. */
async function waits(body: () => Promise<void>): Promise<number[]> {
  const real = globalThis.setTimeout;
  const asked: number[] = [];
  globalThis.setTimeout = ((fire: () => void, ms: number) => {
    asked.push(ms);
    return real(fire, 0);
  }) as typeof setTimeout;
  try {
    await body();
  } finally {
    globalThis.setTimeout = real;
  }
  return asked;
}

describe('a target by itself', () => {
  it('is tried once, be its answer good, bad or none', async () => {
    expect(await run(null, [200])).to.deep.equal([200, ['root'], 0, 'root']);
    expect(await run(null, [500])).to.deep.equal([500, ['root'], 0, 'root']);
    expect(await run(null, ['upstream_connect_failed'])).to.deep.equal([
      'upstream_connect_failed',
      ['root'],
      0,
      'root',
    ]);
  });

  it('is answered by the very promise of its attempt: nothing is put around it', async () => {
    const x = exchange(null);
    const promise = Promise.resolve(reply(200));
    const hooks = await router.setup({}, {
      ...parts(),
      attempt: () => promise,
    } as Partial<FullHost> as FullHost);
    expect(hooks.request?.(x)).to.equal(promise);
  });

  it("adds its metadata to the request's, and replaces none of it", async () => {
    const x = exchange(fallback({ metadata: { a: 'target', t: '1' } }, { metadata: { u: '2' } }));
    x.metadata = { a: 'request' };
    const seen: unknown[] = [];
    const script = (_target: Target, tries: number) => {
      seen.push({ ...x.metadata });
      return tries === 1 ? 500 : 200;
    };
    await (await start(null, script, { x })).outcome;
    expect(seen).to.deep.equal([
      { a: 'request', t: '1' },
      { a: 'request', u: '2' },
    ]);
  });
});

describe('a fallback', () => {
  const table: [what: string, config: unknown, script: Step[], expected: unknown[]][] = [
    ['stays with a first target that answers', three, [200], [200, ['[0]'], 0, '[0]']],
    ['moves on after any answer but 2xx', three, [500, 404, 201], [201, ['[0]', '[1]', '[2]'], 0, '[2]']],
    [
      'gives the last answer where none is good',
      three,
      [500, 429, 404],
      [404, ['[0]', '[1]', '[2]'], 0, '[2]'],
    ],
    [
      'gives the last error where none answers',
      three,
      [500, 'upstream_tls', 'upstream_reset'],
      ['upstream_reset', ['[0]', '[1]', '[2]'], 0, '[2]'],
    ],
    ['moves on after listed statuses alone', on([429], {}, {}), [500], [500, ['[0]'], 0, '[0]']],
    ['moves on after a listed status', on([429], {}, {}), [429, 200], [200, ['[0]', '[1]'], 0, '[1]']],
    ['moves on after a listed 2xx status', on([246], {}, {}), [246, 200], [200, ['[0]', '[1]'], 0, '[1]']],
    [
      'moves on after a failure that another target may not share, listed or not',
      on([429], {}, {}, {}, {}, {}),
      ['upstream_connect_failed', 'unknown_provider', 'unsupported_by_provider', 'request_timeout', 200],
      [200, ['[0]', '[1]', '[2]', '[3]', '[4]'], 0, '[4]'],
    ],
    [
      'moves on after something unforeseen',
      on([429], {}, {}),
      [new TypeError('oops'), 200],
      [200, ['[0]', '[1]'], 0, '[1]'],
    ],
    [
      'does not move on after the fault of the client',
      three,
      ['invalid_request'],
      ['invalid_request', ['[0]'], 0, '[0]'],
    ],
    [
      'moves on after the fault of the client where its status is listed',
      on([400], {}, {}),
      ['invalid_request', 200],
      [200, ['[0]', '[1]'], 0, '[1]'],
    ],
    [
      'goes by the statuses of the target that answered, where it has some',
      fallback({ on_status_codes: [503] }, { on_status_codes: [429] }, {}),
      [503, 500],
      [500, ['[0]', '[1]'], 0, '[1]'],
    ],
    [
      'goes by the statuses of the target that failed, where it has some',
      fallback({ on_status_codes: [400] }, {}),
      ['invalid_request', 200],
      [200, ['[0]', '[1]'], 0, '[1]'],
    ],
    [
      'goes by the statuses of the balancer between it and the target',
      fallback({ on_status_codes: [429], strategy: { mode: 'loadbalance' }, targets: [{}] }, {}),
      [500],
      [500, ['[0].[0]'], 0, '[0].[0]'],
    ],
    ['does not move on while shutting down', three, ['draining'], ['draining', ['[0]'], 0, '[0]']],
    [
      'passes through an inner one first',
      fallback(fallback({}, {}), {}),
      [500, 500, 200],
      [200, ['[0].[0]', '[0].[1]', '[1]'], 0, '[1]'],
    ],
    [
      'judges the last answer of an inner one by its own statuses',
      on([429], fallback({}, {}), {}),
      [429, 500],
      [500, ['[0].[0]', '[0].[1]'], 0, '[0].[1]'],
    ],
    [
      'tries ten targets and no more',
      fallback(...Array.from({ length: 20 }, () => ({}))),
      Array.from({ length: 11 }, () => 500),
      [500, Array.from({ length: 10 }, (_, i) => `[${i}]`), 0, '[9]'],
    ],
    [
      'tries ten targets and no more, however they fail and nest',
      fallback(...Array.from({ length: 6 }, () => fallback({}, {}))),
      Array.from({ length: 11 }, () => 'upstream_connect_failed' as const),
      [
        'upstream_connect_failed',
        Array.from({ length: 10 }, (_, i) => `[${i >> 1}].[${i & 1}]`),
        0,
        '[4].[1]',
      ],
    ],
  ];
  for (const [what, config, script, expected] of table) {
    it(what, async () => {
      expect(await run(config, script)).to.deep.equal(expected);
    });
  }

  it('lets go of every answer but the one it gives', async () => {
    const bodies = [new Body(), new Body(), new Body()];
    const { outcome } = await start(
      three,
      bodies.map((body) => reply(503, [], body)),
    );
    expect(await outcome).to.have.property('body', bodies[2]);
    expect(bodies.map((body) => body.cancelled)).to.deep.equal([1, 1, 0]);
  });

  it('begins at once after a refused connection: no timer lies between', async () => {
    const slept = await waits(async () => {
      expect(
        await run(fallback(fallback({}, {}), {}), [
          'upstream_connect_failed',
          'upstream_connect_failed',
          200,
        ]),
      ).to.have.property('0', 200);
    });
    expect(slept).to.deep.equal([]);
  });

  it('ends with the exchange: no wait for the next target', async () => {
    for (const step of [503, 'upstream_reset'] as const) {
      const x = exchange(three);
      const body = new Body();
      const script = () => {
        x.abort(new GatewayError('client_gone', 'gone'), throwIt);
        return step === 503 ? reply(503, [], body) : step;
      };
      const { tried, outcome } = await start(null, script, { x });
      expect(await outcome).to.equal('client_gone');
      expect(body.cancelled).to.equal(step === 503 ? 1 : 0);
      expect(tried).to.have.length(1);
    }
  });

  it('sends a body that streams in only once, but to the first target that can be reached', async () => {
    const streamed = (config: unknown) => ({ x: exchange(config, new Body()) });
    const listed = retrying(3, { on_status_codes: [502, 503] });
    for (const step of [503, 'upstream_reset', 'upstream_headers_timeout'] as const) {
      expect(await run(null, [step], streamed(three))).to.deep.equal([step, ['[0]'], 0, '[0]']);
      expect(await run(null, [step], streamed(listed))).to.deep.equal([step, ['root'], 0, 'root']);
    }
    for (const step of [
      'unknown_provider',
      'upstream_connect_failed',
      'upstream_connect_timeout',
      'upstream_tls',
    ] as const) {
      expect(await run(null, [step, 200], streamed(three))).to.deep.equal([200, ['[0]', '[1]'], 0, '[1]']);
    }
    expect(await run(null, ['upstream_connect_failed', 200], streamed(listed))).to.have.property('0', 200);
    expect(await run(null, ['upstream_tls'], streamed(listed))).to.have.property('0', 'upstream_tls');
  });
});

describe('a load balancer', () => {
  it('gives each target its share', async () => {
    const weights = [0.5, 3, 0, 1.5, 5];
    const config = balance(...weights.map((weight) => ({ weight })));
    const x = exchange(config);
    const random = seeded(42);
    const count = new Map<string, number>();
    const host = { ...parts(), random, attempt: async () => reply(200) } as Partial<FullHost> as FullHost;
    const hooks = await router.setup({}, host);
    const calls = 100_000;
    for (let i = 0; i < calls; i++) {
      await hooks.request?.(x);
      const path = short(x.target?.path ?? '');
      count.set(path, (count.get(path) ?? 0) + 1);
    }
    let chiSquare = 0;
    weights.forEach((weight, i) => {
      const expected = (weight / 10) * calls;
      const seen = count.get(`[${i}]`) ?? 0;
      if (weight === 0) expect(seen).to.equal(0);
      else chiSquare += (seen - expected) ** 2 / expected;
    });
    // Three degrees of freedom: above 16.3 once in a thousand draws, and the seed is fixed.
    expect(chiSquare).to.be.below(16.3);
  });

  it('never draws a target of weight 0, at either end of the range and through rounding', async () => {
    const edges = [0, 1 - 2 ** -53, 0.1, 0.7];
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(fc.constantFrom(0, 5e-324), fc.double({ min: 1e-9, max: 1e9, noNaN: true })), {
          minLength: 1,
          maxLength: 6,
        }),
        fc.oneof(fc.constantFrom(...edges), fc.double({ min: 0, max: 1 - 2 ** -53, noNaN: true })),
        async (weights, random) => {
          fc.pre(weights.some((weight) => weight > 0));
          const { x, outcome } = await start(balance(...weights.map((weight) => ({ weight }))), [200], {
            random: () => random,
          });
          await outcome;
          const drawn = Number(/\d+/.exec(x.target?.path ?? '')?.[0]);
          expect(weights[drawn]).to.be.above(0);
        },
      ),
      { numRuns: examples(500) },
    );
  });

  it('never draws one of weight 0, even if its share is lost in rounding', async () => {
    const config = balance({ weight: 5e-324 }, { weight: 0 });
    expect(await run(config, [200], { random: () => 0.9 })).to.deep.equal([200, ['[0]'], 0, '[0]']);
  });

  it('draws once a call and does not move on by itself', async () => {
    expect(await run(balance({}, {}), [500], { random: () => 0.9 })).to.deep.equal([500, ['[1]'], 0, '[1]']);
  });

  it('draws at each of its levels, also inside a fallback', async () => {
    const config = fallback(balance({}, balance({}, fallback({}, {}))), {});
    expect(await run(config, [500, 500, 200], { random: () => 0.6 })).to.deep.equal([
      200,
      ['[0].[1].[1].[0]', '[0].[1].[1].[1]', '[1]'],
      0,
      '[1]',
    ]);
  });
});

describe('a retry', () => {
  const own = { on_status_codes: [429, 504] };
  const table: [what: string, config: unknown, script: Step[], expected: unknown[]][] = [
    ['is not made where the first answer is good', retrying(2), [200], [200, ['root'], 0, 'root']],
    [
      'is made after 429, 500, 502, 503 and 504',
      retrying(5),
      [429, 500, 502, 503, 504, 200],
      [200, Array(6).fill('root'), 5, 'root'],
    ],
    ['is not made after another status', retrying(2), [400], [400, ['root'], 0, 'root']],
    [
      'counts as used up where all of them failed',
      retrying(2),
      [500, 502, 503],
      [503, Array(3).fill('root'), -1, 'root'],
    ],
    [
      'counts as made where the last answer is bad for another reason',
      retrying(2),
      [500, 401],
      [401, Array(2).fill('root'), 1, 'root'],
    ],
    ['is never made with 0 attempts', retrying(0), [500], [500, ['root'], 0, 'root']],
    ['is made after the statuses of the config alone', retrying(2, own), [500], [500, ['root'], 0, 'root']],
    [
      'is made where no connection came about',
      retrying(2, { on_status_codes: [] }),
      ['upstream_connect_failed', 'upstream_connect_timeout', 200],
      [200, Array(3).fill('root'), 2, 'root'],
    ],
    [
      'that never connects gives the error of the last',
      retrying(1),
      ['upstream_connect_failed', 'upstream_connect_timeout'],
      ['upstream_connect_timeout', Array(2).fill('root'), -1, 'root'],
    ],
    [
      'is not made after a headers timeout: it may have been billed',
      retrying(2),
      ['upstream_headers_timeout'],
      ['upstream_headers_timeout', ['root'], 0, 'root'],
    ],
    [
      'is made after a headers timeout where the config lists 504',
      retrying(2, own),
      ['upstream_headers_timeout', 200],
      [200, Array(2).fill('root'), 1, 'root'],
    ],
    [
      'is not made after a reset once the body was sent',
      retrying(2),
      ['upstream_reset'],
      ['upstream_reset', ['root'], 0, 'root'],
    ],
    [
      'is made after a reset where the config lists 502',
      retrying(2, { on_status_codes: [502] }),
      ['upstream_reset', 200],
      [200, Array(2).fill('root'), 1, 'root'],
    ],
    [
      'is not made for what only the client can mend, listed or not',
      retrying(2, { on_status_codes: [400] }),
      ['invalid_request'],
      ['invalid_request', ['root'], 0, 'root'],
    ],
    [
      'is not made for a fault of the gateway',
      retrying(2, { on_status_codes: [500] }),
      [new Error('oops')],
      ['internal', ['root'], 0, 'root'],
    ],
    [
      'comes before a fallback, and is counted anew for each target',
      fallback(retrying(1), retrying(2)),
      [500, 500, 503, 200],
      [200, ['[0]', '[0]', '[1]', '[1]'], 1, '[1]'],
    ],
    [
      'leaves later targets a try each, within ten',
      fallback(retrying(5), retrying(5), {}, {}),
      [...Array<Step>(9).fill(500), 200],
      [200, [...Array(6).fill('[0]'), '[1]', '[1]', '[2]', '[3]'], 0, '[3]'],
    ],
    [
      'leaves later targets of outer fallbacks a try each, within ten',
      fallback(fallback(retrying(5), retrying(5), {}), {}, {}),
      [...Array<Step>(9).fill(500), 200],
      [200, [...Array(6).fill('[0].[0]'), '[0].[1]', '[0].[2]', '[1]', '[2]'], 0, '[2]'],
    ],
  ];
  for (const [what, config, script, expected] of table) {
    it(what, async () => {
      expect(await run(config, script)).to.deep.equal(expected);
    });
  }

  it('never makes more than ten tries, whatever the config', async () => {
    const { node } = fc.letrec<{ node: object }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 3 },
        fc.record({ retry: fc.record({ attempts: fc.integer({ min: 0, max: 5 }) }) }),
        fc.record({
          strategy: fc.record({ mode: fc.constantFrom('fallback', 'loadbalance') }),
          targets: fc.array(tie('node'), { minLength: 1, maxLength: 3 }),
        }),
      ),
    }));
    const step = fc.constantFrom<Step>(200, 500, 503, 'upstream_connect_failed', 'upstream_reset');
    // Timers that fire at once: the schedule is another test's matter.
    await waits(() =>
      fc.assert(
        fc.asyncProperty(node, fc.array(step, { minLength: 10, maxLength: 10 }), async (config, script) => {
          const { x, tried, outcome } = await start(config, script);
          const end = await outcome;
          expect(tried).to.have.length.within(1, 10);
          expect(x.retries).to.be.within(-1, 5);
          expect(x.target?.path).to.equal(tried.at(-1));
          const last = script[tried.length - 1];
          expect(typeof end === 'string' ? end : end.status).to.equal(last);
        }),
        { numRuns: examples(500) },
      ),
    );
  });

  it('waits 1, 2, 4, 8 and 16 s at most, and by full jitter any share of that', async () => {
    const all = (random: number) =>
      waits(async () => {
        await run(retrying(5), Array(6).fill(500), { random: () => random, backoffMs: 1000 });
      });
    expect(await all(1)).to.deep.equal([1000, 2000, 4000, 8000, 16_000]);
    expect(await all(0.25)).to.deep.equal([250, 500, 1000, 2000, 4000]);
    expect(await all(0)).to.deep.equal([0, 0, 0, 0, 0]);
  });

  it('lets go of every answer but the one it gives', async () => {
    const bodies = [new Body(), new Body(), new Body()];
    const { outcome } = await start(
      retrying(2),
      bodies.map((body) => reply(503, [], body)),
    );
    expect(await outcome).to.have.property('body', bodies[2]);
    expect(bodies.map((body) => body.cancelled)).to.deep.equal([1, 1, 0]);
  });

  it('stops waiting the moment the exchange is aborted', async () => {
    const { x, tried, outcome } = await start(retrying(5), [500], { random: () => 1, backoffMs: 60_000 });
    const began = performance.now();
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const pending = timers();
    setTimeout(() => x.abort(new GatewayError('client_gone', 'gone'), throwIt), 20);
    expect(await outcome).to.equal('client_gone');
    expectWithinMs(performance.now() - began, 20_000);
    // Its own timer is gone: what is left was there before it, or is less.
    expect(timers()).to.be.below(pending);
    expect(tried).to.have.length(1);
  });

  it('is not made for an exchange that was aborted during the try', async () => {
    for (const step of [500, 'upstream_connect_failed'] as const) {
      const x = exchange(retrying(5));
      const script = () => {
        x.abort(new GatewayError('client_gone', 'gone'), throwIt);
        return step;
      };
      const { tried, outcome } = await start(null, script, { x });
      expect(await outcome).to.equal('client_gone');
      expect(tried).to.have.length(1);
    }
  });
});

describe('a wait that the provider asks for', () => {
  const honouring = (attempts: number) => retrying(attempts, { use_retry_after_header: true });
  const asked = async (config: unknown, ...headers: string[][]): Promise<number[]> =>
    waits(async () => {
      await run(config, [...headers.map((list) => reply(429, list)), 200], {
        random: () => 1,
        backoffMs: 1000,
      });
    });
  const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1000).toUTCString();

  for (const [what, headers, expected] of [
    ['in seconds', ['retry-after', '2'], 2000],
    ['in fractions of a second', ['retry-after', ' 0.5 '], 500],
    ['in milliseconds', ['retry-after', '9', 'retry-after-ms', '250'], 250],
    ["in milliseconds, Azure's way", ['retry-after', '9', 'x-ms-retry-after-ms', '125'], 125],
    ['as nothing at all', ['retry-after', '0'], 0],
    ['as long as a client can be kept', ['retry-after', '60'], 60_000],
  ] as const) {
    it(`is honoured: ${what}`, async () => {
      expect(await asked(honouring(1), [...headers])).to.deep.equal([expected]);
    });
  }

  it('is honoured as a date, in each form of HTTP', async () => {
    const date = new Date(Date.now() + 5000);
    const imf = date.toUTCString();
    const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) ([\d:]+)/.exec(imf) ?? [];
    const weekday = date.toLocaleDateString('en-US', { weekday: 'long', timeZone: 'UTC' });
    for (const text of [
      imf,
      `${weekday}, ${day}-${month}-${year?.slice(2)} ${time} GMT`,
      `${weekday.slice(0, 3)} ${month} ${day?.replace(/^0/, ' ')} ${time} ${year}`,
    ]) {
      const [wait] = await asked(honouring(1), ['retry-after', text]);
      expect(wait, text).to.be.within(3000, 5000);
    }
  });

  for (const [what, value] of [
    ['negative', '-1'],
    ['not a number', 'abc'],
    ['a word that a date parser would take', 'soon 2999'],
    ['a power', '1e9'],
    ['empty', ''],
    ['a date gone by', 'Sun, 06 Nov 1994 08:49:37 GMT'],
    ['a date that is none', 'Sun, 99 Nov 1994 99:99:99 GMT'],
    ['infinite', 'Infinity'],
  ] as const) {
    it(`is passed over for the backoff where it is ${what}`, async () => {
      expect(await asked(honouring(1), ['retry-after', value])).to.deep.equal([1000]);
    });
  }

  it('is passed over where the config does not want it, or there is none', async () => {
    expect(await asked(retrying(1), ['retry-after', '7'])).to.deep.equal([1000]);
    expect(await asked(honouring(1), [])).to.deep.equal([1000]);
  });

  for (const value of ['61', '1000000000', '9'.repeat(400)]) {
    it(`ends retrying where it is too long (${value.slice(0, 10)} s), and the fallback begins at once`, async () => {
      const config = fallback(honouring(5), {});
      const slept = await waits(async () => {
        expect(await run(config, [reply(429, ['retry-after', value]), 200])).to.deep.equal([
          200,
          ['[0]', '[1]'],
          0,
          '[1]',
        ]);
      });
      expect(slept).to.deep.equal([]);
    });
  }

  it('ends retrying on a date too far away', async () => {
    const slept = await waits(async () => {
      const { outcome } = await start(honouring(5), [reply(429, ['retry-after', inSeconds(3600)], 'wait!')]);
      expect(await outcome).to.deep.include({ status: 429, body: 'wait!' });
    });
    expect(slept).to.deep.equal([]);
  });

  it('ends retrying where all waits of the call would pass 60 s, over all its targets', async () => {
    const long = reply(429, ['retry-after', '25']);
    const config = fallback(honouring(2), honouring(2), {});
    const slept = await waits(async () => {
      expect(await run(config, [long, long, long, long, 200])).to.deep.equal([
        200,
        ['[0]', '[0]', '[0]', '[1]', '[2]'],
        0,
        '[2]',
      ]);
    });
    expect(slept).to.deep.equal([25_000, 25_000]);
  });

  it('counts the retries made, not all used up, where it ended them', async () => {
    await waits(async () => {
      expect(await run(honouring(3), [500, reply(503, ['retry-after', '99'])])).to.deep.equal([
        503,
        ['root', 'root'],
        1,
        'root',
      ]);
    });
  });
});
