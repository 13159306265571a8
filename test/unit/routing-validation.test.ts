import { expect } from 'chai';
import fc from 'fast-check';
import { GatewayError } from '../../src/common/core/errors.js';
import { compileConfig } from '../../src/data-plane/routing/compile.js';
import { CompiledConfigs } from '../../src/data-plane/routing/compiled-cache.js';
import { examples } from '../support/long-forms.js';
import { quickest } from '../support/quickest.js';
import { expectWithinMs } from '../support/time-limits.js';

const providers = new Set(['openai', 'anthropic', 'groq', 'together-ai', 'ollama']);
const isProvider = (name: string): boolean => providers.has(name);

const compileText = (text: string, slug: string | null = null) =>
  compileConfig(text, { slug, version: 'v', isProvider });

/** What a text is refused with: `<path>: <message>` each; empty where it compiles. */
function findings(text: string, slug: string | null = null): string[] {
  try {
    compileText(text, slug);
    return [];
  } catch (thrown) {
    expect(thrown).to.be.instanceOf(GatewayError);
    const error = thrown as GatewayError;
    expect(error.code).to.equal('AB01');
    expect(error.status).to.equal(400);
    expect(error.errors).to.have.length.within(1, 20);
    return (error.errors ?? []).map((line) => {
      const parts = /^path: (.+?), message: (.+)$/s.exec(line);
      expect(parts, line).not.to.equal(null);
      return `${parts?.[1]}: ${parts?.[2]}`;
    });
  }
}

const of = (config: unknown, slug: string | null = null): string[] => findings(JSON.stringify(config), slug);
const retry = (value: object) => of({ retry: { attempts: 1, ...value } });
const target = (value: object) =>
  of({ strategy: { mode: 'fallback' }, targets: [{ provider: 'openai' }, value] });
const balance = (...weights: unknown[]) =>
  findings(
    `{"strategy":{"mode":"loadbalance"},"targets":[${weights.map((w) => `{"weight":${w}}`).join(',')}]}`,
  );
const nested = (levels: number): object =>
  levels === 1 ? { provider: 'openai' } : { strategy: { mode: 'fallback' }, targets: [nested(levels - 1)] };
const wide = (count: number) =>
  of({
    strategy: { mode: 'fallback' },
    targets: Array.from({ length: count }, () => ({ provider: 'openai' })),
  });
const list = (length: number, item: unknown) => Array.from({ length }, () => item);
const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) });

describe('a routing config is accepted at the edge of each rule and refused past it', () => {
  const table: [rule: string, ok: () => string[], bad: () => string[], finding: string][] = [
    [
      'retry.attempts up to 5',
      () => retry({ attempts: 5 }),
      () => retry({ attempts: 6 }),
      'config.retry.attempts: must be a whole number from 0 to 5',
    ],
    [
      'retry.attempts from 0',
      () => retry({ attempts: 0 }),
      () => retry({ attempts: -1 }),
      'config.retry.attempts: must be a whole number from 0 to 5',
    ],
    [
      'retry.attempts whole',
      () => retry({ attempts: 1 }),
      () => retry({ attempts: 1.5 }),
      'config.retry.attempts: must be a whole number from 0 to 5',
    ],
    [
      'retry.attempts not 100',
      () => retry({}),
      () => retry({ attempts: 100 }),
      'config.retry.attempts: must be a whole number from 0 to 5',
    ],
    [
      'retry.attempts a number',
      () => retry({}),
      () => retry({ attempts: '2' }),
      'config.retry.attempts: must be a whole number from 0 to 5',
    ],
    ['retry.attempts given', () => retry({}), () => of({ retry: {} }), 'config.retry.attempts: is required'],
    [
      'status codes up to 599',
      () => retry({ on_status_codes: [100, 599] }),
      () => retry({ on_status_codes: [500, 600] }),
      'config.retry.on_status_codes[1]: must be an HTTP status, 100 to 599',
    ],
    [
      'status codes from 100',
      () => retry({ on_status_codes: [] }),
      () => retry({ on_status_codes: [99] }),
      'config.retry.on_status_codes[0]: must be an HTTP status, 100 to 599',
    ],
    [
      'at most 100 status codes',
      () => retry({ on_status_codes: list(100, 500) }),
      () => retry({ on_status_codes: list(101, 500) }),
      'config.retry.on_status_codes: is too long: at most 100 entries',
    ],
    [
      'a boolean for use_retry_after_header',
      () => retry({ use_retry_after_header: false }),
      () => retry({ use_retry_after_header: 'true' }),
      'config.retry.use_retry_after_header: must be true or false',
    ],
    [
      'its plural once, not both',
      () => retry({ use_retry_after_headers: true }),
      () => retry({ use_retry_after_headers: true, useRetryAfterHeader: true }),
      'config.retry.useRetryAfterHeader: gives use_retry_after_header a second time',
    ],
    [
      'request_timeout from 1',
      () => of({ request_timeout: 1 }),
      () => of({ request_timeout: 0 }),
      'config.request_timeout: must be a whole number of milliseconds, 1 to 86400000',
    ],
    [
      'request_timeout within a timer',
      () => of({ request_timeout: 86_400_000 }),
      () => of({ request_timeout: 86_400_001 }),
      'config.request_timeout: must be a whole number of milliseconds, 1 to 86400000',
    ],
    [
      'weights with one above 0',
      () => balance(0, 0.1),
      () => balance(0, 0),
      'config.targets: have weights that add up to 0: give one of them a weight above 0',
    ],
    [
      'weights from 0',
      () => balance(0, 1),
      () => balance(1, -0.1),
      'config.targets[1].weight: must be a number from 0 to 1000000000',
    ],
    [
      'weights that are numbers',
      () => balance(1),
      () => balance('"NaN"'),
      'config.targets[0].weight: must be a number from 0 to 1000000000',
    ],
    [
      'finite weights',
      () => balance(1e9),
      () => balance('1e999'),
      'config.targets[0].weight: must be a number from 0 to 1000000000',
    ],
    [
      'no null for a weight',
      () => balance(1),
      () => balance('null'),
      'config.targets[0].weight: must be a number from 0 to 1000000000',
    ],
    ['JSON without NaN', () => balance(1), () => balance('NaN'), 'config: is not valid JSON'],
    [
      '64 targets in all',
      () => wide(64),
      () => wide(65),
      'config.targets: makes too many targets: at most 64 in all',
    ],
    [
      'not 1000 targets',
      () => wide(1),
      () => wide(1000),
      'config.targets: makes too many targets: at most 64 in all',
    ],
    [
      '8 levels',
      () => of(nested(8)),
      () => of(nested(9)),
      `config${'.targets[0]'.repeat(7)}.targets: is nested too deep: at most 8 levels`,
    ],
    [
      'not 50 levels',
      () => of(nested(2)),
      () => of(nested(50)),
      `config${'.targets[0]'.repeat(7)}.targets: is nested too deep: at most 8 levels`,
    ],
    [
      '256 KiB',
      () => findings(`${JSON.stringify({ retry: { attempts: 1 } })}`.padEnd(262_144)),
      () => findings('{}'.padEnd(262_145)),
      'config: is too long: at most 262144 bytes',
    ],
    [
      '256 KiB in bytes, not characters',
      () => of({ retry: { attempts: 1 }, override_params: { a: 'a'.repeat(200_000) } }),
      () => of({ override_params: { a: 'é'.repeat(200_000) } }),
      'config: is too long: at most 262144 bytes',
    ],
    [
      'at least one target',
      () => wide(1),
      () => wide(0),
      'config.targets: must be a list of at least one target',
    ],
    [
      'targets as a list',
      () => wide(1),
      () => of({ strategy: { mode: 'single' }, targets: {} }),
      'config.targets: must be a list of at least one target',
    ],
    [
      'targets that are objects',
      () => target({}),
      () => of({ strategy: { mode: 'single' }, targets: [null] }),
      'config.targets[0]: must be an object',
    ],
    [
      'a strategy beside targets',
      () => wide(1),
      () => of({ targets: [{}] }),
      'config.strategy: is required where there are targets',
    ],
    [
      'targets beside a strategy',
      () => wide(1),
      () => of({ strategy: { mode: 'single' } }),
      'config.targets: is required where there is a strategy',
    ],
    ['a mode', () => wide(1), () => of({ strategy: {}, targets: [{}] }), 'config.strategy.mode: is required'],
    [
      'a known mode',
      () => wide(1),
      () => of({ strategy: { mode: 'random' }, targets: [{}] }),
      'config.strategy.mode: must be one of single, fallback, loadbalance, conditional, least_latency, least_cost, least_busy, priority',
    ],
    [
      'on_status_codes with what falls back',
      () => of({ strategy: { mode: 'fallback', on_status_codes: [429] }, targets: [{}] }),
      () => of({ strategy: { mode: 'single', on_status_codes: [429] }, targets: [{}] }),
      'config.strategy.on_status_codes: only goes with the mode fallback, priority, least_latency, least_cost or least_busy',
    ],
    [
      'a known provider',
      () => target({ provider: 'groq' }),
      () => target({ provider: 'nowhere-at-all' }),
      'config.targets[1].provider: is an unknown provider "nowhere-at-all": name one of the built-in providers, or @slug of a stored one',
    ],
    [
      'a stored provider',
      () => target({ provider: '@my-team.1' }),
      () => target({ provider: '@' }),
      'config.targets[1].provider: must be @ and the slug of a stored provider: letters, digits, dot, dash and underscore',
    ],
    [
      'a slug that is one',
      () => target({ virtual_key: 'vk_1' }),
      () => target({ virtual_key: 'a/b' }),
      'config.targets[1].virtual_key: must be the slug of a stored provider',
    ],
    [
      'a key that fits in a header',
      () => target({ api_key: 'sk-1' }),
      () => target({ api_key: 'sk-1\r\nx: y' }),
      'config.targets[1].api_key: must be a provider key: visible ASCII characters, no blanks',
    ],
    [
      'a provider field that fits in a header',
      () => target({ openai_project: 'a b' }),
      () => target({ openai_project: 'a\nb' }),
      'config.targets[1].openai_project: must be text that fits in a header: 1 to 1024 visible ASCII characters',
    ],
    [
      'an http URL',
      () => target({ custom_host: 'http://10.0.0.1:8080/v1' }),
      () => target({ custom_host: 'ftp://a.example' }),
      'config.targets[1].custom_host: must be a whole http or https URL without user, password, query and fragment',
    ],
    [
      'a URL without a user',
      () => target({ custom_host: 'https://a.example' }),
      () => target({ custom_host: 'https://u:p@a.example' }),
      'config.targets[1].custom_host: must be a whole http or https URL without user, password, query and fragment',
    ],
    [
      'a whole URL',
      () => target({ custom_host: 'https://a.example/' }),
      () => target({ custom_host: 'http:/127.0.0.1' }),
      'config.targets[1].custom_host: must be a whole http or https URL without user, password, query and fragment',
    ],
    [
      'a URL with a possible port',
      () => target({ custom_host: 'https://a.example:65535' }),
      () => target({ custom_host: 'https://a.example:65536' }),
      'config.targets[1].custom_host: must be a whole http or https URL without user, password, query and fragment',
    ],
    [
      'header names',
      () => target({ forward_headers: ['x-a', 'authorization'] }),
      () => target({ forward_headers: ['x-a', 'x b'] }),
      'config.targets[1].forward_headers[1]: must be a header name',
    ],
    [
      'no reserved header',
      () => target({ forward_headers: [] }),
      () => target({ forward_headers: ['Host'] }),
      'config.targets[1].forward_headers[0]: is reserved: host is written by the gateway itself',
    ],
    [
      'no framing header',
      () => target({ forward_headers: ['x-length'] }),
      () => target({ forward_headers: ['Content-Length'] }),
      'config.targets[1].forward_headers[0]: is reserved: content-length is written by the gateway itself',
    ],
    [
      'no header of the gateway, itself least of all',
      () => target({ forward_headers: ['x-gate'] }),
      () => target({ forward_headers: ['X-Gateway-Forward-Headers'] }),
      "config.targets[1].forward_headers[0]: is one of the gateway's own headers, which are never sent on",
    ],
    [
      'at most 100 headers',
      () => target({ forward_headers: list(100, 'x-a') }),
      () => target({ forward_headers: list(101, 'x-a') }),
      'config.targets[1].forward_headers: is too long: at most 100 entries',
    ],
    [
      'metadata of 128 characters',
      () => target({ metadata: { a: 'x'.repeat(128) } }),
      () => target({ metadata: { a: 'x'.repeat(129) } }),
      'config.targets[1].metadata.a: must be text of at most 128 characters',
    ],
    [
      'metadata of texts',
      () => target({ metadata: { a: '1' } }),
      () => target({ metadata: { a: 1 } }),
      'config.targets[1].metadata.a: must be text of at most 128 characters',
    ],
    [
      'override_params as an object',
      () => target({ override_params: {} }),
      () => target({ override_params: [] }),
      'config.targets[1].override_params: must be an object of body parameters',
    ],
    [
      'parameters, not a number too large to be one',
      () => findings('{"request_timeout":1,"override_params":{"seed":1e400}}'),
      () => findings('{"request_timeout":1,"override_params":1e400}'),
      'config.override_params: must be an object of body parameters',
    ],
    [
      '60 levels of parameters',
      () => target({ override_params: deep(60) as object }),
      () => target({ override_params: deep(61) as object }),
      `config.targets[1].override_params${'.a'.repeat(60)}: is nested too deep: at most 60 levels`,
    ],
    [
      'a boolean for strictness',
      () => target({ strict_open_ai_compliance: false }),
      () => target({ strict_open_ai_compliance: 'false' }),
      'config.targets[1].strict_open_ai_compliance: must be true or false',
    ],
    ['an object', () => of({ virtual_key: 'v' }), () => of([]), 'config: must be an object'],
  ];
  for (const [rule, ok, bad, finding] of table) {
    it(rule, () => {
      expect(ok()).to.deep.equal([]);
      expect(bad()).to.deep.equal([finding]);
    });
  }
});

describe('a routing config must not be empty', () => {
  const nothing = [
    'config: must have a provider with its api_key, a virtual_key, a strategy with targets, cache, retry, deadline, request_timeout, plugins or guardrails',
  ];
  for (const config of [
    { provider: 'openai', api_key: 'k' },
    { provider: '@stored' },
    { virtual_key: 'v' },
    { provider: 'ollama' },
    { retry: { attempts: 1 } },
    { request_timeout: 5 },
    { deadline: 5 },
    { cache: { mode: 'simple' } },
  ]) {
    it(`as ${JSON.stringify(config)} does`, () => {
      expect(of(config)).to.deep.equal([]);
    });
  }
  for (const config of [
    {},
    { provider: 'openai' },
    { api_key: 'k' },
    { metadata: { a: 'b' } },
    { name: 'n' },
  ]) {
    it(`as ${JSON.stringify(config)} does not`, () => {
      expect(of(config)).to.deep.equal(nothing);
    });
  }
  it('but a stored one may name just a provider', () => {
    expect(of({ provider: 'openai' }, 'pc-1')).to.deep.equal([]);
    expect(of({}, 'pc-1')).to.deep.equal(nothing);
  });
});

describe('the errors of a refused config', () => {
  it('is everything that is wrong, each with its path', () => {
    expect(
      of({
        strategy: { mode: 'loadbalance' },
        retry: { attempts: 9 },
        targets: [
          { provider: 'nosuch-provider-here', weight: -1 },
          { retry: { attempts: 'x' }, forward_headers: ['host'] },
        ],
      }),
    ).to.have.members([
      'config.retry.attempts: must be a whole number from 0 to 5',
      'config.targets[0].weight: must be a number from 0 to 1000000000',
      'config.targets[1].retry.attempts: must be a whole number from 0 to 5',
    ]);
    expect(
      of({
        strategy: { mode: 'fallback' },
        request_timeout: 0,
        targets: [{ provider: 'x1y2z3' }, { custom_host: '?' }],
      }),
    ).to.have.length(3);
  });

  for (const [key, meant] of [
    ['provder', 'provider'],
    ['targetss', 'targets'],
    ['virtaul_key', 'virtual_key'],
    ['customHots', 'custom_host'],
    ['cach', 'cache'],
  ] as const) {
    it(`guesses that ${key} was meant to be ${meant}`, () => {
      expect(of({ [key]: 1, request_timeout: 1 })).to.deep.equal([
        `config.${key}: is not a known key: did you mean ${meant}?`,
      ]);
    });
  }

  for (const [name, meant] of [
    ['opnai', 'openai'],
    ['opneai', 'openai'],
    ['OpenAI', 'openai'],
    ['groqq', 'groq'],
    ['together_ai', 'together-ai'],
    ['anthropix', 'anthropic'],
  ] as const) {
    it(`guesses that the provider ${name} was meant to be ${meant}`, () => {
      expect(target({ provider: name })).to.deep.equal([
        `config.targets[1].provider: is an unknown provider ${JSON.stringify(name)}: did you mean ${meant}?`,
      ]);
    });
  }

  for (const key of ['prompt_id', 'aws_s3_bucket', 'snowflakeAccount']) {
    it(`refuses ${key} by name, since passing over it in silence would be worse`, () => {
      expect(target({ [key]: [] })).to.deep.equal([
        `config.targets[1].${key}: is not supported yet by this version`,
      ]);
    });
  }

  it('names what is wrong with a guardrail', () => {
    for (const [guardrail, at, message] of [
      [7, '', 'must be the id or slug of a guardrail, or an object'],
      [{}, '', 'must have checks, or the id of a stored guardrail'],
      [{ checks: [] }, '.checks', 'must be a list of 1 to 50 checks'],
      [{ id: 'pg-a', on_fail: {} }, '.on_fail', 'belongs to the guardrail that is stored'],
      [{ 'default.notNull': {}, deny: 1 }, '.deny', 'must be true or false'],
      [{ 'default.notNull': {}, denny: true }, '.denny', 'is not a known key'],
      [
        { checks: [{ id: 'default.notnull' }] },
        '.checks[0].id',
        'names no check "default.notnull": did you mean default.notNull?',
      ],
      [
        { checks: [{ id: 'default.wordCount', parameters: { maxWords: -1 } }] },
        '.checks[0].parameters.maxWords',
        'must be a whole number from 0 to 2147483647',
      ],
    ] as const) {
      expect(target({ input_guardrails: [guardrail] })).to.deep.equal([
        `config.targets[1].input_guardrails[0]${at}: ${message}`,
      ]);
    }
    expect(target({ beforeRequestHooks: [{ isEnabled: true }] })[0]).to.include('is_enabled');
  });

  it('never repeats a secret, be the JSON broken or the key malformed', () => {
    for (const text of [
      '{"api_key":"sk-canary",}',
      '{"api_key":sk-canary}',
      '{"api_key":"sk canary","provider":"openai"}',
      'sk-canary',
      '{"api_key":["sk-canary"]}',
    ]) {
      try {
        compileText(text);
        expect.fail('compiled');
      } catch (thrown) {
        const error = thrown as GatewayError;
        expect(error.code).to.equal('AB01');
        expect(JSON.stringify([error.message, error.errors, error.stack, error.cause])).not.to.contain(
          'canary',
        );
      }
    }
  });

  it('cuts and escapes names that the author chose', () => {
    const [finding] = of({ [`\u0000\n${'k'.repeat(5000)}`]: 1, request_timeout: 1 });
    expect(finding).to.have.length.below(200);
    expect(finding).to.match(/^[ -~…]+$/);
  });

  it('names the first finding in its message and counts the others', () => {
    expect(() => compileText('{"request_timeout":0,"name":1}')).to.throw(
      GatewayError,
      /^Invalid config: config\.(name|request_timeout): .* \(1 further in errors\)\.$/,
    );
  });

  it('ends its message with one mark', () => {
    expect(() => compileText('{"provder":"openai"}')).to.throw(/did you mean provider\?$/);
  });

  it('stops at twenty lines and soon, however much is wrong', async () => {
    const keys = Object.fromEntries(Array.from({ length: 12_000 }, (_, i) => [`provide${i}`, 1]));
    const providersWrong = Array.from({ length: 64 }, () => ({
      provider: 'abcdefghijklmnopqrstuvwxyzabcdef',
      retry: { attempts: -1 },
    }));
    of({ retry: { attempts: 1 } });
    for (const config of [
      keys,
      { retry: keys },
      { metadata: keys, retry: { attempts: 1 } },
      { strategy: { mode: 'fallback' }, targets: providersWrong },
      { forward_headers: list(60_000, '') },
      { override_params: { a: list(30_000, 1e300) } },
    ]) {
      const found = of(config);
      expect(found).to.have.length.within(1, 20);
      expect(found[0]).not.to.contain('bytes');
      // The aim is 50; a machine that does other things too may take its time.
      expectWithinMs(await quickest(3, () => of(config)), 200);
    }
  });
});

describe('keys that name a prototype', () => {
  for (const key of ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']) {
    it(`${key} is an unknown key of a config, a strategy, a retry and a target`, () => {
      const polluting = `{"${key}":{"polluted":true,"attempts":1,"mode":"single"}`;
      expect(findings(`${polluting},"request_timeout":1}`)).to.deep.equal([
        `config.${key}: is not a known key`,
      ]);
      expect(findings(`{"retry":${polluting},"attempts":1}}`)).to.deep.equal([
        `config.retry.${key}: is not a known key`,
      ]);
      expect(findings(`{"strategy":${polluting},"mode":"single"},"targets":[{}]}`)).to.deep.equal([
        `config.strategy.${key}: is not a known key`,
      ]);
      expect(findings(`{"strategy":{"mode":"single"},"targets":[${polluting}}]}`)).to.deep.equal([
        `config.targets[0].${key}: is not a known key`,
      ]);
      expect(findings(`{"provider":"${key}","api_key":"k"}`)[0]).to.contain('is an unknown provider');
    });

    it(`${key} is plain data in metadata and override_params`, () => {
      const config = compileText(
        `{"request_timeout":1,"metadata":{"${key}":"m"},"override_params":{"${key}":{"polluted":1}}}`,
      );
      expect(Object.entries(config.metadata)).to.deep.equal([[key, 'm']]);
      expect(
        config.root.kind === 'target' && Object.keys(config.root.target.overrideParams ?? {}),
      ).to.deep.equal([key]);
      expect(({} as Record<string, unknown>)['polluted']).to.equal(undefined);
      expect(Object.getPrototypeOf(config.metadata)).to.be.oneOf([null, Object.prototype]);
    });
  }
});

describe('any text whatever', () => {
  const compilesOrRefuses = (text: string): void => {
    try {
      compileText(text);
    } catch (thrown) {
      if (!(thrown instanceof GatewayError) || thrown.code !== 'AB01') throw thrown;
      expect(thrown.errors).to.have.length.within(1, 20);
    }
  };
  const scalar = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.double(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
  );
  const word = fc.constantFrom(
    'openai',
    'groq',
    '@a',
    'single',
    'fallback',
    'loadbalance',
    'conditional',
    'priority',
    'https://a.example',
    'x-a',
    'host',
    'a[0].b',
    '(a|b)+$',
  );
  const key = fc.constantFrom(
    ...[
      'strategy',
      'mode',
      'on_status_codes',
      'onStatusCodes',
      'targets',
      'provider',
      'virtual_key',
      'api_key',
      'weight',
      'retry',
    ],
    ...[
      'attempts',
      'override_params',
      'custom_host',
      'forward_headers',
      'request_timeout',
      'metadata',
      'cache',
      '__proto__',
    ],
    ...[
      'name',
      'priority',
      'conditions',
      'query',
      'then',
      'default',
      'metadata.plan',
      'params.a[0].b',
      'headers.x-a',
      '$regex',
      '$and',
      '$in',
      '$gt',
    ],
    ...[
      'sticky',
      'hash_fields',
      'enabled',
      'hedge',
      'cb_config',
      'failure_threshold',
      'cooldown_interval',
      'default_params',
      'drop_params',
      'concurrency',
      'mirror',
      'share',
      'target',
      'passthrough',
      'deadline',
    ],
  );
  const { config } = fc.letrec<{ config: unknown; value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 7 },
      word,
      fc.integer({ min: -1, max: 600 }),
      scalar,
      fc.array(tie('config'), { maxLength: 4 }),
      tie('config'),
    ),
    config: fc.dictionary(key, tie('value'), { maxKeys: 5 }),
  }));

  it('that is JSON compiles or is refused with AB01', () => {
    fc.assert(fc.property(fc.json(), compilesOrRefuses), { numRuns: examples(1000) });
  });
  it('that is not JSON is refused with AB01', () => {
    fc.assert(fc.property(fc.string({ maxLength: 60 }), compilesOrRefuses), { numRuns: examples(1000) });
  });
  it('that looks like a config compiles or is refused with AB01', () => {
    fc.assert(
      fc.property(config, (value) => compilesOrRefuses(JSON.stringify(value))),
      { numRuns: examples(3000) },
    );
  });
  it('of a well-formed tree compiles', () => {
    const { tree } = fc.letrec<{ tree: object; leaf: object }>((tie) => ({
      leaf: fc.record({ provider: fc.constantFrom('openai', '@a'), weight: fc.integer({ min: 1, max: 9 }) }),
      tree: fc
        .record({
          mode: fc.constantFrom('single', 'fallback', 'loadbalance', 'least_latency', 'priority'),
          targets: fc.array(fc.oneof({ maxDepth: 2 }, tie('leaf'), tie('tree')), {
            minLength: 1,
            maxLength: 3,
          }),
        })
        .map(({ mode, targets }) => ({
          strategy: { mode },
          targets: mode === 'single' ? targets.slice(0, 1) : targets,
        })),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        expect(of(value)).to.deep.equal([]);
      }),
      { numRuns: 500 },
    );
  });
  it('of a hundred thousand brackets is refused', () => {
    expect(findings('['.repeat(100_000))).to.deep.equal(['config: is not valid JSON']);
    expect(findings('['.repeat(100_000) + ']'.repeat(100_000))).to.deep.equal(['config: must be an object']);
    expect(findings(`${'{"override_params":'.repeat(10_000)}1${'}'.repeat(10_000)}`)[0]).to.contain(
      'nested too deep',
    );
  });
});

describe('compiled inline configs', () => {
  const text = (n: number) => JSON.stringify({ provider: 'openai', api_key: `k${n}` });

  it('are compiled once for the same text', () => {
    const configs = new CompiledConfigs(isProvider);
    const first = configs.compile(text(1));
    expect(first).to.include({ slug: null, version: 'inline' });
    expect(configs.compile(text(1))).to.equal(first);
    expect(configs.compile(text(2))).not.to.equal(first);
    configs.clear();
    expect(configs.compile(text(1))).not.to.equal(first);
  });

  it('are bounded in bytes, the longest unused going first', () => {
    const one = new CompiledConfigs(isProvider);
    one.compile(text(1));
    const few = new CompiledConfigs(isProvider, [], one.bytes * 2);
    const first = few.compile(text(1));
    few.compile(text(2));
    few.compile(text(1));
    few.compile(text(3));
    expect(few.size).to.equal(2);
    expect(few.compile(text(1))).to.equal(first);
    const big = JSON.stringify({ request_timeout: 1, override_params: { a: 'x'.repeat(50_000) } });
    expect(few.compile(big)).to.have.nested.property('root.target.requestTimeoutMs', 1);
    expect(few.bytes).to.be.at.most(one.bytes * 2);
  });

  it('are not kept where they are refused, and know the headers of the gateway', () => {
    const configs = new CompiledConfigs(isProvider, ['x-portkey-']);
    expect(() => configs.compile('{}')).to.throw(GatewayError);
    expect(() => configs.compile('{"request_timeout":1,"forward_headers":["x-portkey-config"]}')).to.throw(
      GatewayError,
    );
    expect(configs.size).to.equal(0);
  });
});
