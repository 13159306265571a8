import { expect } from 'chai';
import { GatewayError } from '../../src/common/core/errors.js';
import { everyElement, type RouteNode, type Target } from '../../src/common/core/target.js';
import { compileConfig } from '../../src/data-plane/routing/compile.js';

const compile = (config: unknown) =>
  compileConfig(JSON.stringify(config), {
    slug: 'pc-1',
    version: '1',
    isProvider: (name) => ['openai', 'groq'].includes(name),
    headerPrefixes: ['x-portkey-'],
  });

/** What a config is refused with, `<path>: <message>` each; empty where it compiles. */
function findings(config: unknown): string[] {
  try {
    compile(config);
    return [];
  } catch (thrown) {
    expect(thrown).to.be.instanceOf(GatewayError).with.property('code', 'AB01');
    return ((thrown as GatewayError).errors ?? []).map((line) =>
      line.replace(/^path: (.+?), message: /, '$1: '),
    );
  }
}

const leaves = (node: RouteNode): Target[] =>
  node.kind === 'target' ? [node.target] : node.children.flatMap(leaves);
const targetsOf = (config: unknown): Target[] => leaves(compile(config).root);

const strategy = (more: object, targets: object[] = [{}, {}]) => ({ strategy: more, targets });
const fallback = (...targets: object[]) => strategy({ mode: 'fallback' }, targets);
/** One condition; written so that nothing takes it for a promise. */
const when = (query: object, name: string): object =>
  Object.fromEntries([
    ['query', query],
    ['then', name],
  ]);
const conditional = (more: object = {}, targets: object[] = [{ name: 'a' }, { name: 'b' }]) =>
  strategy(
    {
      mode: 'conditional',
      conditions: [when({ 'metadata.plan': 'paid' }, 'a')],
      default: 'b',
      ...more,
    },
    targets,
  );
const breaker = (more: object) => ({ provider: 'openai', cb_config: { failure_threshold: 3, ...more } });
const list = (length: number, item: unknown) => Array.from({ length }, () => item);

describe('a key of a routing config is taken at the edge of its rule and refused past it', () => {
  const table: [rule: string, ok: object, bad: object, finding: string][] = [
    [
      'default_params as an object',
      { deadline: 1, default_params: {} },
      { deadline: 1, default_params: [] },
      'config.default_params: must be an object of body parameters',
    ],
    [
      'default_params without stream',
      { deadline: 1, default_params: { streams: true } },
      { deadline: 1, default_params: { stream: true } },
      "config.default_params.stream: is the caller's to choose: an answer comes in the form that was asked for",
    ],
    [
      'override_params without stream',
      { deadline: 1, override_params: { stream_options: {} } },
      { deadline: 1, override_params: { stream: false } },
      "config.override_params.stream: is the caller's to choose: an answer comes in the form that was asked for",
    ],
    [
      'paths of drop_params',
      { deadline: 1, drop_params: ['user', 'a.b[0].c', 'tools[*].function.strict', '__proto__'] },
      { deadline: 1, drop_params: ['user', 'a..b'] },
      'config.drop_params[1]: is no path of a parameter: write it as user, metadata.team or tools[*].strict',
    ],
    [
      'drop_params without stream',
      { deadline: 1, drop_params: ['stream.x'] },
      { deadline: 1, drop_params: ['stream'] },
      "config.drop_params[0]: is the caller's to choose: an answer comes in the form that was asked for",
    ],
    [
      'at most 100 drop_params',
      { deadline: 1, drop_params: list(100, 'a') },
      { deadline: 1, drop_params: list(101, 'a') },
      'config.drop_params: is too long: at most 100 entries',
    ],
    [
      'drop_params of 256 characters',
      { deadline: 1, drop_params: ['a'.repeat(256)] },
      { deadline: 1, drop_params: ['a'.repeat(257)] },
      'config.drop_params[0]: must be the path of a body parameter',
    ],
    [
      'a boolean for passthrough',
      { deadline: 1, passthrough: true },
      { deadline: 1, passthrough: 1 },
      'config.passthrough: must be true or false',
    ],
    [
      'passthrough without rules for the body',
      { deadline: 1, passthrough: false, override_params: {} },
      { deadline: 1, passthrough: true, override_params: {} },
      'config.override_params: does not go with passthrough, which sends the body as it came',
    ],
    [
      'deadline from 1',
      { deadline: 1 },
      { deadline: 0 },
      'config.deadline: must be a whole number of milliseconds from 1 to 86400000',
    ],
    [
      'deadline of a day',
      { deadline: 86_400_000 },
      { deadline: 86_400_001 },
      'config.deadline: must be a whole number of milliseconds from 1 to 86400000',
    ],
    [
      'on_status_codes inside a fallback',
      fallback({ on_status_codes: [429] }, {}),
      strategy({ mode: 'loadbalance' }, [{ on_status_codes: [429] }, {}]),
      'config.targets[0].on_status_codes: does nothing here: no fallback is around it',
    ],
    [
      'on_status_codes inside a fallback, at any depth',
      fallback(strategy({ mode: 'loadbalance' }, [{ on_status_codes: [429] }, {}]), {}),
      { deadline: 1, on_status_codes: [429] },
      'config.on_status_codes: does nothing here: no fallback is around it',
    ],
    [
      'on_status_codes of a fallback in its strategy',
      strategy({ mode: 'fallback', on_status_codes: [429] }),
      { ...fallback({}, {}), on_status_codes: [429] },
      'config.on_status_codes: belongs into strategy',
    ],
    [
      'a breaker with a threshold',
      breaker({ cooldown_interval: 1000 }),
      { provider: 'openai', cb_config: { cooldown_interval: 1000 } },
      'config.cb_config: must have failure_threshold or failure_threshold_percentage',
    ],
    [
      'a breaker of a strategy with a threshold',
      strategy({
        mode: 'fallback',
        cb_config: { failure_threshold_percentage: 100, cooldown_interval: 86_400_000 },
      }),
      strategy({ mode: 'fallback', cb_config: { cooldown_interval: 5000 } }),
      'config.strategy.cb_config: must have failure_threshold or failure_threshold_percentage',
    ],
    [
      'cooldown_interval up to a day',
      breaker({ cooldown_interval: 0 }),
      breaker({ cooldown_interval: 86_400_001 }),
      'config.cb_config.cooldown_interval: must be a whole number of milliseconds from 0 to 86400000',
    ],
    [
      'cooldown_interval given',
      breaker({ cooldown_interval: 30_000 }),
      breaker({}),
      'config.cb_config.cooldown_interval: is required',
    ],
    [
      'failure_threshold from 1',
      breaker({ cooldown_interval: 1000, failure_threshold: 1 }),
      breaker({ cooldown_interval: 1000, failure_threshold: 0 }),
      'config.cb_config.failure_threshold: must be a whole number from 1 to 1000000',
    ],
    [
      'a percentage above 0',
      breaker({ cooldown_interval: 1000, failure_threshold_percentage: 0.1 }),
      breaker({ cooldown_interval: 1000, failure_threshold_percentage: 0 }),
      'config.cb_config.failure_threshold_percentage: must be a number above 0 and up to 100',
    ],
    [
      'a percentage up to 100',
      breaker({ cooldown_interval: 1000, failure_threshold_percentage: 100 }),
      breaker({ cooldown_interval: 1000, failure_threshold_percentage: 100.1 }),
      'config.cb_config.failure_threshold_percentage: must be a number above 0 and up to 100',
    ],
    [
      'minimum_requests from 1',
      breaker({ cooldown_interval: 1000, minimum_requests: 1 }),
      breaker({ cooldown_interval: 1000, minimum_requests: 0.5 }),
      'config.cb_config.minimum_requests: must be a whole number from 1 to 1000000',
    ],
    [
      'failure_status_codes that are statuses',
      breaker({ cooldown_interval: 1000, failure_status_codes: [429] }),
      breaker({ cooldown_interval: 1000, failure_status_codes: [42] }),
      'config.cb_config.failure_status_codes[0]: must be an HTTP status, 100 to 599',
    ],
    [
      'a mode for a cache',
      { cache: { mode: 'semantic' } },
      { cache: { mode: 'none' } },
      'config.cache.mode: must be simple or semantic',
    ],
    [
      'a mode for a cache, always',
      { cache: { mode: 'simple' } },
      { cache: {} },
      'config.cache.mode: is required',
    ],
    [
      'max_age from a minute',
      { cache: { mode: 'simple', max_age: 60 } },
      { cache: { mode: 'simple', max_age: 59 } },
      'config.cache.max_age: must be a whole number of seconds from 60 to 7776000',
    ],
    [
      'max_age of 90 days',
      { cache: { mode: 'simple', max_age: 7_776_000 } },
      { cache: { mode: 'simple', max_age: 7_776_001 } },
      'config.cache.max_age: must be a whole number of seconds from 60 to 7776000',
    ],
    [
      'similarity from a half',
      { cache: { mode: 'semantic', similarity: 0.5 } },
      { cache: { mode: 'semantic', similarity: 0.49 } },
      'config.cache.similarity: must be a number from 0.5 to 1',
    ],
    [
      'similarity with the mode semantic',
      { cache: { mode: 'semantic', similarity: 1 } },
      { cache: { mode: 'simple', similarity: 1 } },
      'config.cache.similarity: only goes with the mode semantic',
    ],
    [
      'a known provider that embeds',
      { cache: { mode: 'semantic', embedding: { provider: '@emb', model: 'm' } } },
      { cache: { mode: 'semantic', embedding: { provider: 'opnai', model: 'm' } } },
      'config.cache.embedding.provider: is an unknown provider "opnai": did you mean openai?',
    ],
    [
      'a model that embeds',
      { cache: { mode: 'semantic', embedding: { provider: 'openai', model: 'm' } } },
      { cache: { mode: 'semantic', embedding: { provider: 'openai' } } },
      'config.cache.embedding.model: is required',
    ],
    [
      'concurrency from 1',
      { deadline: 1, concurrency: { min: 1 } },
      { deadline: 1, concurrency: { min: 0 } },
      'config.concurrency.min: must be a whole number from 1 to 100000',
    ],
    [
      'concurrency whose least is below its most',
      { deadline: 1, concurrency: { min: 8, max: 8 } },
      { deadline: 1, concurrency: { min: 9, max: 8 } },
      'config.concurrency.min: is above max, which is 8',
    ],
    [
      'concurrency.max_wait up to ten minutes',
      { deadline: 1, concurrency: { max_wait: 600_000, queue: 0 } },
      { deadline: 1, concurrency: { max_wait: 600_001, queue: 0 } },
      'config.concurrency.max_wait: must be a whole number of milliseconds from 0 to 600000',
    ],
    [
      'a class of concurrency',
      { deadline: 1, concurrency: { priority: 'high' } },
      { deadline: 1, concurrency: { priority: 1 } },
      'config.concurrency.priority: must be high, normal or low',
    ],
    [
      'a share of a mirror up to 1',
      { deadline: 1, mirror: { share: 1, target: {} } },
      { deadline: 1, mirror: { share: 1.1, target: {} } },
      'config.mirror.share: must be a number from 0 to 1',
    ],
    [
      'a target of a mirror',
      { deadline: 1, mirror: { share: 0, target: { provider: 'groq' } } },
      { deadline: 1, mirror: { share: 0 } },
      'config.mirror.target: is required',
    ],
    [
      'a target of a mirror with a known provider',
      { deadline: 1, mirror: { share: 0, target: { provider: 'groq' } } },
      { deadline: 1, mirror: { share: 0, target: { provider: 'goq' } } },
      'config.mirror.target.provider: is an unknown provider "goq": did you mean groq?',
    ],
    [
      'one target of a mirror',
      { deadline: 1, mirror: { share: 0, target: { name: 'm' } } },
      { deadline: 1, mirror: { share: 0, target: { mirror: { share: 0, target: {} } } } },
      'config.mirror.target: must be one target, without targets and mirror of its own',
    ],
    [
      'sticky with fields that can be read',
      strategy({ mode: 'loadbalance', sticky: { enabled: true, hash_fields: ['params.user', 'headers.x'] } }),
      strategy({ mode: 'loadbalance', sticky: { enabled: true, hash_fields: ['params.user', 'body.x'] } }),
      'config.strategy.sticky.hash_fields[1]: must begin with metadata., params. or headers.',
    ],
    [
      'sticky without keys',
      strategy({ mode: 'loadbalance', sticky: { enabled: true, hash_fields: ['headers.x-key'] } }),
      strategy({ mode: 'loadbalance', sticky: { enabled: true, hash_fields: ['headers.Authorization'] } }),
      'config.strategy.sticky.hash_fields[0]: is a header that carries keys: configs may not look at it',
    ],
    [
      'sticky by one value of a field',
      strategy({ mode: 'loadbalance', sticky: { enabled: true, hash_fields: ['params.a[0].b'] } }),
      strategy({ mode: 'loadbalance', sticky: { enabled: true, hash_fields: ['params.a[*].b'] } }),
      'config.strategy.sticky.hash_fields[0]: is no path of a parameter: write it as params.user or params.tools[0].name',
    ],
    [
      'at most 16 fields',
      strategy({ mode: 'loadbalance', sticky: { enabled: true, hash_fields: list(16, 'params.a') } }),
      strategy({ mode: 'loadbalance', sticky: { enabled: true, hash_fields: list(17, 'params.a') } }),
      'config.strategy.sticky.hash_fields: must be a list of at most 16 fields',
    ],
    [
      'ttl of sticky above 0',
      strategy({ mode: 'loadbalance', sticky: { enabled: false, ttl: 1 } }),
      strategy({ mode: 'loadbalance', sticky: { enabled: false, ttl: 0 } }),
      'config.strategy.sticky.ttl: must be a number of seconds above 0 and up to 31536000',
    ],
    [
      'sticky with what balances',
      strategy({ mode: 'least_busy', sticky: { enabled: false } }),
      strategy({ mode: 'fallback', sticky: { enabled: false } }),
      'config.strategy.sticky: only goes with the mode loadbalance, least_latency, least_cost or least_busy',
    ],
    [
      'affinity or sticky',
      strategy({ mode: 'loadbalance', affinity: { enabled: true }, sticky: { enabled: false } }),
      strategy({
        mode: 'loadbalance',
        affinity: { enabled: true },
        sticky: { enabled: true, hash_fields: ['params.user'] },
      }),
      'config.strategy.affinity: does not go with sticky: enable one of them',
    ],
    [
      'a percentile of hedging',
      strategy({ mode: 'fallback', hedge: { percentile: 99.9 } }),
      strategy({ mode: 'fallback', hedge: { percentile: 100 } }),
      'config.strategy.hedge.percentile: must be a number from 50 to 99.9',
    ],
    [
      'a share of hedging',
      strategy({ mode: 'loadbalance', hedge: { max_extra: 1, min_delay: 0 } }),
      strategy({ mode: 'loadbalance', hedge: { max_extra: 2, min_delay: 0 } }),
      'config.strategy.hedge.max_extra: must be a number from 0 to 1',
    ],
    [
      'hedging between two',
      strategy({ mode: 'fallback', hedge: {} }),
      strategy({ mode: 'fallback', hedge: {} }, [{}]),
      'config.strategy.hedge: needs a second target to start',
    ],
    [
      'priority inside the mode priority',
      strategy({ mode: 'priority' }, [{ priority: 0 }, { priority: 1000 }]),
      strategy({ mode: 'loadbalance' }, [{ priority: 0 }, {}]),
      'config.targets[0].priority: only goes with the mode priority of the strategy around it',
    ],
    [
      'priority whole',
      strategy({ mode: 'priority' }, [{ priority: 1 }, {}]),
      strategy({ mode: 'priority' }, [{ priority: 1.5 }, {}]),
      'config.targets[0].priority: must be a whole number from 0 to 1000',
    ],
    [
      'weights above 0 within each priority',
      strategy({ mode: 'priority' }, [{ weight: 0 }, {}, { priority: 1 }]),
      strategy({ mode: 'priority' }, [{ weight: 0 }, { priority: 1 }]),
      'config.targets: of priority 0 have weights that add up to 0: give one of them a weight above 0',
    ],
    [
      'a weight above 0 in a mode that compares targets',
      strategy({ mode: 'least_busy' }, [{ weight: 0 }, {}]),
      strategy({ mode: 'least_busy' }, [{ weight: 0 }, { weight: 0 }]),
      'config.targets: have weights that add up to 0: give one of them a weight above 0',
    ],
    [
      'one target of the mode single',
      strategy({ mode: 'single' }, [{}]),
      strategy({ mode: 'single' }, [{}, {}]),
      'config.targets[1]: is never reached: the mode single takes the first target',
    ],
  ];
  for (const [rule, ok, bad, finding] of table) {
    it(rule, () => {
      expect(findings(ok)).to.deep.equal([]);
      expect(findings(bad)).to.deep.equal([finding]);
    });
  }
});

describe('a config that leaves much to the gateway', () => {
  it('may be sticky without fields, and for less than a second', () => {
    for (const sticky of [
      { enabled: true },
      { enabled: true, hash_fields: [] },
      { enabled: true, ttl: 0.5 },
    ]) {
      expect(findings(strategy({ mode: 'loadbalance', sticky }))).to.deep.equal([]);
    }
    const finding = 'config.strategy.sticky.ttl: must be a number of seconds above 0 and up to 31536000';
    const none = { enabled: true, ttl: 0 };
    expect(findings(strategy({ mode: 'loadbalance', sticky: none }))).to.deep.equal([finding]);
  });

  it('may have a cooldown that is too short, which is then a second', () => {
    const cb_config = { failure_threshold: 1, cooldown_interval: 10 };
    const config = strategy({ mode: 'fallback', cb_config });
    expect(findings(config)).to.deep.equal([]);
    const { root } = compile(config);
    const child = root.kind === 'fallback' ? root.children[0]! : root;
    expect(child.kind === 'target' && child.target.breaker?.cooldownMs).to.equal(1000);
  });
});

describe('the targets of a conditional strategy', () => {
  it('are those that its conditions and its default name', () => {
    const { root } = compile(conditional());
    expect(root).to.deep.include({ kind: 'conditional', path: 'config', otherwise: 1 });
    expect(
      root.kind === 'conditional' && root.branches.map(({ query, then: led }) => [query, led]),
    ).to.deep.equal([['{"metadata.plan":"paid"}', 0]]);
  });

  for (const [what, config, finding] of [
    [
      'need conditions',
      conditional({ conditions: undefined }, [{ name: 'b' }]),
      'strategy.conditions: is required by the mode conditional',
    ],
    [
      'need a default',
      conditional({ default: undefined }, [{ name: 'a' }]),
      'strategy.default: is required by the mode conditional',
    ],
    [
      'must be there',
      conditional({ default: 'c' }, [{ name: 'a' }]),
      'strategy.default: names no target of this strategy: "c"',
    ],
    [
      'must be reached',
      conditional({}, [{ name: 'a' }, { name: 'b' }, { name: 'c' }]),
      'targets[2]: is never reached: no condition leads to it',
    ],
    [
      'have names',
      conditional({}, [{ name: 'a' }, { name: 'b' }, {}]),
      'targets[2].name: is required: conditions name their target',
    ],
    [
      'have names of their own',
      conditional({}, [{ name: 'a' }, { name: 'b' }, { name: 'a' }]),
      'targets[2].name: is another target\'s too: "a"',
    ],
    [
      'are not looked for in other strategies, so that no two can lead to each other',
      conditional({ default: 'outer' }, [{ name: 'a' }, { name: 'b', ...conditional({ default: 'b' }) }]),
      'strategy.default: names no target of this strategy: "outer"',
    ],
    [
      'are not reached by a query that an earlier condition has, however it is written',
      conditional({
        conditions: [
          when({ 'metadata.plan': 'paid', 'params.n': { $gt: 1, $lt: 5 } }, 'a'),
          when({ 'params.n': { $lt: 5, $gt: 1 }, 'metadata.plan': 'paid' }, 'b'),
        ],
      }),
      'strategy.conditions[1].query: never decides: an earlier condition has the same query',
    ],
  ] as const) {
    it(what, () => {
      expect(findings(config)[0]).to.equal(`config.${finding}`);
    });
  }

  it('are reported once where they cannot be read', () => {
    expect(findings(conditional({}, [{ name: 'a', weight: -1 }, { name: 'b' }]))).to.deep.equal([
      'config.targets[0].weight: must be a number from 0 to 1000000000',
    ]);
  });
});

describe('the spelling of keys', () => {
  it('may be camel case, also of keys inside others', () => {
    const [target] = targetsOf({
      defaultParams: { maxTokens: 1 },
      dropParams: ['logitBias'],
      cbConfig: {
        failureThreshold: 2,
        cooldownInterval: 1000,
        minimumRequests: 3,
        failureStatusCodes: [500],
      },
      cache: { mode: 'simple', maxAge: 60 },
      concurrency: { maxWait: 5 },
      strategy: { mode: 'loadbalance', stickySession: { enabled: true, hashFields: ['metadata.a'] } },
      targets: [{}],
    });
    expect(target).to.deep.include({
      defaultParams: { maxTokens: 1 },
      dropParams: [['logitBias']],
      breaker: {
        failureThreshold: 2,
        failureThresholdPercentage: null,
        minimumRequests: 3,
        cooldownMs: 1000,
        failureStatusCodes: [500],
      },
      concurrency: { min: 1, max: 1000, queue: 1000, maxWaitMs: 5, priority: 'normal' },
    });
    expect(target?.cache).to.include({ mode: 'simple', maxAge: 60 });
  });

  it('takes sticky_session for sticky, but not both', () => {
    const sticky = { enabled: true, hash_fields: ['metadata.a'] };
    expect(compile(strategy({ mode: 'loadbalance', sticky_session: sticky })).root).to.have.nested.property(
      'sticky.ttlMs',
      300_000,
    );
    expect(findings(strategy({ mode: 'loadbalance', sticky, sticky_session: sticky }))).to.deep.equal([
      'config.strategy.sticky_session: gives sticky a second time',
    ]);
  });

  it('is put right by a guess', () => {
    expect(findings({ deadline: 1, cache: { mode: 'simple', max_ages: 60 } })).to.deep.equal([
      'config.cache.max_ages: is not a known key: did you mean max_age?',
    ]);
    expect(findings(strategy({ mode: 'fallback', hegde: {} }))).to.deep.equal([
      'config.strategy.hegde: is not a known key: did you mean hedge?',
    ]);
  });
});

describe('what targets inherit of the newer keys', () => {
  const parent = {
    default_params: { a: 1 },
    drop_params: ['b[*].c'],
    deadline: 5000,
    cb_config: { failure_threshold: 3, cooldown_interval: 1000 },
    cache: { mode: 'semantic', similarity: 0.9 },
    concurrency: { max: 5 },
    mirror: { share: 0.5, target: { provider: 'groq' } },
  };

  it('is everything that they do not set themselves', () => {
    const [target] = targetsOf({ ...parent, ...fallback({ provider: 'openai' }) });
    expect(target).to.deep.include({
      defaultParams: { a: 1 },
      dropParams: [['b', everyElement, 'c']],
      deadlineMs: 5000,
      passthrough: false,
    });
    expect(target?.breaker).to.include({ failureThreshold: 3, minimumRequests: 5, failureStatusCodes: null });
    expect(target?.cache).to.deep.include({ mode: 'semantic', maxAge: 604_800, similarity: 0.9 });
    expect(target?.concurrency).to.deep.equal({
      min: 1,
      max: 5,
      queue: 1000,
      maxWaitMs: 10_000,
      priority: 'normal',
    });
    expect(target?.mirror?.target).to.include({
      path: 'config.mirror.target',
      provider: 'groq',
      mirror: null,
    });
  });

  it('a mirror’s target takes as long as what it copies, and is neither retried, nor waited for, nor spared', () => {
    const [target] = targetsOf({
      retry: { attempts: 3 },
      ...fallback({ ...parent, request_timeout: 400 }),
      cb_config: { failure_threshold: 3, cooldown_interval: 1000 },
      concurrency: { max: 5 },
    });
    expect(target?.mirror?.target).to.include({
      requestTimeoutMs: 400,
      deadlineMs: 5000,
      retry: null,
      breaker: null,
      cache: null,
      concurrency: null,
    });
  });

  it('is replaced whole by what they set', () => {
    const [target] = targetsOf({
      ...parent,
      ...fallback({
        default_params: {},
        drop_params: [],
        deadline: 1,
        cb_config: { failure_threshold_percentage: 50, cooldown_interval: 2000 },
        cache: { mode: 'simple' },
        concurrency: { min: 2 },
        mirror: { share: 0, target: {} },
      }),
    });
    expect(target).to.deep.include({ defaultParams: {}, dropParams: [], deadlineMs: 1 });
    expect(target?.breaker).to.include({ failureThreshold: null, failureThresholdPercentage: 50 });
    expect(target?.cache).to.include({ mode: 'simple', similarity: 0.95 });
    expect(target?.concurrency).to.include({ min: 2, max: 1000 });
    expect(target?.mirror).to.include({ share: 0 });
  });

  it("is the breaker of the strategy around them, before that of a parent's, but not under conditions", () => {
    const cb_config = { failure_threshold: 9, cooldown_interval: 1000 };
    const [around] = targetsOf({ ...parent, ...strategy({ mode: 'fallback', cb_config }) });
    expect(around?.breaker?.failureThreshold).to.equal(9);
    expect(targetsOf({ ...parent, ...conditional({ cb_config }) }).map(({ breaker: b }) => b)).to.deep.equal([
      null,
      null,
    ]);
  });

  it('is on_status_codes of the balancer between them and a fallback, never those of a fallback', () => {
    const balancer = {
      on_status_codes: [429],
      ...strategy({ mode: 'loadbalance' }, [{}, { on_status_codes: [500] }]),
    };
    expect(targetsOf(fallback(balancer, {})).map(({ onStatusCodes }) => onStatusCodes)).to.deep.equal([
      [429],
      [500],
      null,
    ]);
  });

  it('is no rule for the body where a target passes it through', () => {
    const [target] = targetsOf({ ...parent, override_params: { x: 1 }, ...fallback({ passthrough: true }) });
    expect(target).to.include({
      passthrough: true,
      defaultParams: null,
      overrideParams: null,
      dropParams: null,
    });
  });

  it('is no retry for what is mirrored', () => {
    const [target] = targetsOf({ ...parent, retry: { attempts: 3 } });
    expect(target?.retry?.attempts).to.equal(3);
    expect(target?.mirror?.target.retry).to.equal(null);
  });
});
