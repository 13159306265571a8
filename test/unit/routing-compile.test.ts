import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import type { RouteNode, Target } from '../../src/common/core/target.js';
import { stringifyJson } from '../../src/common/json/json.js';
import { defaultConfig } from '../../src/common/vocabulary/default-config.js';
import { type CompileOptions, compileConfig } from '../../src/data-plane/routing/compile.js';

const providers = new Set(['openai', 'anthropic', 'groq', 'ollama']);
const options: CompileOptions = { slug: null, version: 'inline', isProvider: (name) => providers.has(name) };

const compile = (config: unknown, more: Partial<CompileOptions> = {}) =>
  compileConfig(JSON.stringify(config), { ...options, ...more });

/** The targets of a tree, in their order. */
function leaves(node: RouteNode): Target[] {
  return node.kind === 'target' ? [node.target] : node.children.flatMap(leaves);
}

const targetsOf = (config: unknown): Target[] => leaves(compile(config).root);

const fallback = (...targets: unknown[]) => ({ strategy: { mode: 'fallback' }, targets });

describe('compiling a routing config', () => {
  it('makes a config without targets one target from its root', () => {
    const { slug, version, root, metadata } = compile({ provider: 'openai', api_key: 'sk-1' });
    expect({ slug, version, metadata }).to.deep.equal({ slug: null, version: 'inline', metadata: {} });
    expect(root.kind).to.equal('target');
    const [target] = leaves(root);
    expect(target).to.include({
      path: 'config',
      name: null,
      provider: 'openai',
      virtualKey: null,
      customHost: null,
      overrideParams: null,
      requestTimeoutMs: null,
      retry: null,
      strictOpenAiCompliance: true,
    });
    expect(target?.apiKey?.reveal()).to.equal('sk-1');
    expect(target?.forwardHeaders).to.deep.equal([]);
    expect({ ...target?.fields }).to.deep.equal({});
  });

  it('reads every supported key of a target', () => {
    const [target] = targetsOf({
      name: 'first',
      provider: '@team-openai',
      virtual_key: 'team',
      api_key: 'sk-2',
      custom_host: 'https://Proxy.example:8443/openai/v1/',
      weight: 3,
      override_params: { model: 'gpt-4o', stop: ['a'] },
      forward_headers: ['X-Team', 'x-team', 'Accept-Language'],
      request_timeout: 2500,
      retry: { attempts: 2, on_status_codes: [429], use_retry_after_header: true },
      strict_open_ai_compliance: false,
      metadata: { team: 'a' },
      openai_organization: 'org-1',
      openai_project: 'proj-1',
      anthropic_version: '2023-06-01',
      anthropic_beta: 'x',
    });
    expect(target).to.deep.include({
      name: 'first',
      provider: '@team-openai',
      virtualKey: 'team',
      customHost: 'https://proxy.example:8443/openai/v1',
      overrideParams: { model: 'gpt-4o', stop: ['a'] },
      forwardHeaders: ['x-team', 'accept-language'],
      requestTimeoutMs: 2500,
      retry: { attempts: 2, onStatusCodes: [429], useRetryAfterHeader: true, resend: true },
      strictOpenAiCompliance: false,
    });
    expect({ ...target?.fields }).to.deep.equal({
      openai_organization: 'org-1',
      openai_project: 'proj-1',
      anthropic_version: '2023-06-01',
      anthropic_beta: 'x',
    });
  });

  it('takes the target of the strategy single', () => {
    const { root } = compile({ strategy: { mode: 'single' }, targets: [{ provider: 'groq' }] });
    expect(root).to.have.nested.property('target.path', 'config.targets[0]');
    expect(root).to.have.nested.property('target.provider', 'groq');
  });

  it('keeps the status codes of a fallback, and null where any failure moves on', () => {
    const plain = compile(fallback({ provider: 'groq' })).root;
    expect(plain).to.include({ kind: 'fallback', path: 'config', onStatusCodes: null });
    const listed = compile({
      strategy: { mode: 'fallback', on_status_codes: [429, 246] },
      targets: [{}, {}],
    }).root;
    expect(listed).to.have.deep.property('onStatusCodes', [429, 246]);
  });

  it('sums weights up in order, 1 where none is given', () => {
    const { root } = compile({
      strategy: { mode: 'loadbalance' },
      targets: [{ weight: 0.5 }, {}, { weight: 0 }],
    });
    expect(root).to.have.deep.property('cumulativeWeights', [0.5, 1.5, 1.5]);
  });

  it('nests strategies and numbers their paths', () => {
    const { root } = compile(
      fallback(
        {
          strategy: { mode: 'loadbalance' },
          targets: [{ name: 'a' }, fallback({ name: 'b' }, { name: 'c' })],
        },
        { name: 'd' },
      ),
    );
    expect(leaves(root).map((target) => [target.path, target.name])).to.deep.equal([
      ['config.targets[0].targets[0]', 'a'],
      ['config.targets[0].targets[1].targets[0]', 'b'],
      ['config.targets[0].targets[1].targets[1]', 'c'],
      ['config.targets[1]', 'd'],
    ]);
  });

  it('gives the default retry statuses without leave to resend what may have been billed', () => {
    const [target] = targetsOf({ retry: { attempts: 5 } });
    expect(target?.retry).to.deep.equal({
      attempts: 5,
      onStatusCodes: [429, 500, 502, 503, 504],
      useRetryAfterHeader: false,
      resend: false,
    });
  });

  it('reads camel case as snake case, but not inside override_params and metadata', () => {
    const config = compile({
      strategy: { mode: 'fallback', onStatusCodes: [500] },
      requestTimeout: 10,
      retry: { attempts: 1, onStatusCodes: [503], useRetryAfterHeaders: true },
      metadata: { myTeam: 'x' },
      targets: [
        {
          virtualKey: 'vk',
          overrideParams: { maxTokens: 1 },
          strictOpenAiCompliance: false,
          openaiOrganization: 'o',
        },
      ],
    });
    const [target] = leaves(config.root);
    expect(config.metadata).to.deep.equal({ myTeam: 'x' });
    expect(config.root).to.have.deep.property('onStatusCodes', [500]);
    expect(target).to.deep.include({
      virtualKey: 'vk',
      overrideParams: { maxTokens: 1 },
      requestTimeoutMs: 10,
      strictOpenAiCompliance: false,
      retry: { attempts: 1, onStatusCodes: [503], useRetryAfterHeader: true, resend: true },
    });
    expect(target?.fields['openai_organization']).to.equal('o');
  });

  it('keeps every digit of the numbers that it sends on', () => {
    const text = '{"request_timeout":1,"override_params":{"seed":9007199254740993,"bias":[1e400,0.1]}}';
    const { root } = compileConfig(text, options);
    expect(stringifyJson(leaves(root)[0]?.overrideParams)).to.equal(
      '{"seed":9007199254740993,"bias":[1e400,0.1]}',
    );
  });

  it('gives calls without a config one target that sets nothing', () => {
    expect(defaultConfig).to.include({ slug: null, version: 'none' });
    expect(leaves(defaultConfig.root)[0]).to.include({
      path: 'config',
      provider: null,
      apiKey: null,
      retry: null,
    });
  });

  it('never shows a key', () => {
    const config = compile(fallback({ provider: 'openai', api_key: 'sk-canary' }));
    expect(JSON.stringify(config)).not.to.contain('canary');
    expect(leaves(config.root)[0]?.apiKey).to.be.instanceOf(Secret);
  });

  it('cannot be written to', () => {
    const config = compile(
      fallback({ provider: 'openai', override_params: { a: { b: [1] } }, metadata: { a: 'b' } }),
    );
    const frozen = (value: unknown): boolean =>
      value === null ||
      typeof value !== 'object' ||
      value instanceof Secret ||
      (Object.isFrozen(value) && Object.values(value).every(frozen));
    expect(frozen(config)).to.equal(true);
    expect(frozen(defaultConfig)).to.equal(true);
  });
});

describe('what targets inherit', () => {
  const parent = {
    retry: { attempts: 2, on_status_codes: [500] },
    request_timeout: 1000,
    override_params: { model: 'parent', temperature: 0 },
    custom_host: 'https://parent.example',
    forward_headers: ['x-parent'],
    strict_open_ai_compliance: false,
    openai_organization: 'parent-org',
    openai_project: 'parent-project',
  };

  it('is everything that they do not set themselves', () => {
    const [target] = targetsOf({ ...parent, ...fallback({ provider: 'openai' }) });
    expect(target).to.deep.include({
      requestTimeoutMs: 1000,
      overrideParams: { model: 'parent', temperature: 0 },
      customHost: 'https://parent.example',
      forwardHeaders: ['x-parent'],
      strictOpenAiCompliance: false,
    });
    expect(target?.retry).to.deep.include({ attempts: 2, onStatusCodes: [500] });
  });

  it('is replaced whole by what they set, over several levels', () => {
    const [target] = targetsOf({
      ...parent,
      ...fallback({
        ...fallback({
          retry: { attempts: 0 },
          override_params: { model: 'child' },
          custom_host: 'https://child.example/v1',
          forward_headers: [],
          strict_open_ai_compliance: true,
          openai_project: 'child-project',
        }),
        request_timeout: 50,
        openai_organization: 'middle-org',
      }),
    });
    expect(target).to.deep.include({
      requestTimeoutMs: 50,
      overrideParams: { model: 'child' },
      customHost: 'https://child.example/v1',
      forwardHeaders: [],
      strictOpenAiCompliance: true,
    });
    expect(target?.retry).to.deep.include({ attempts: 0, onStatusCodes: [429, 500, 502, 503, 504] });
    expect({ ...target?.fields }).to.deep.equal({
      openai_organization: 'middle-org',
      openai_project: 'child-project',
    });
  });

  const credentials = (top: object, child: object): unknown[] => {
    const [target] = targetsOf({ ...top, ...fallback(child) });
    return [target?.provider, target?.virtualKey, target?.apiKey?.reveal() ?? null];
  };

  for (const [what, top, child, expected] of [
    ['a provider and its key', { provider: 'openai', api_key: 'k' }, {}, ['openai', null, 'k']],
    ['a virtual key', { virtual_key: 'vk' }, { weight: 1 }, [null, 'vk', null]],
    [
      'a key that was meant for no provider in particular',
      { api_key: 'k' },
      { provider: 'groq' },
      ['groq', null, 'k'],
    ],
    [
      'the key of the same provider',
      { provider: 'openai', api_key: 'k' },
      { provider: 'openai' },
      ['openai', null, 'k'],
    ],
    [
      "never another provider's key",
      { provider: 'openai', api_key: 'k' },
      { provider: 'groq' },
      ['groq', null, null],
    ],
    [
      "never another provider's virtual key",
      { virtual_key: 'vk' },
      { provider: 'groq' },
      ['groq', null, null],
    ],
    [
      'not the provider beside a virtual key',
      { provider: 'openai', api_key: 'k' },
      { virtual_key: 'v' },
      [null, 'v', null],
    ],
    [
      'a provider, with a key of their own',
      { provider: 'openai', api_key: 'k' },
      { api_key: 'own' },
      ['openai', null, 'own'],
    ],
  ] as const) {
    it(`is, of credentials: ${what}`, () => {
      expect(credentials(top, child)).to.deep.equal(expected);
    });
  }

  it('is, of metadata, what lies between the root and the target; the root has its own place', () => {
    const config = compile({
      metadata: { root: '1' },
      ...fallback({ metadata: { a: '1', b: '1' }, ...fallback({ metadata: { b: '2' } }, {}) }, {}),
    });
    expect(config.metadata).to.deep.equal({ root: '1' });
    expect(leaves(config.root).map((target) => target.metadata)).to.deep.equal([
      { a: '1', b: '2' },
      { a: '1', b: '1' },
      undefined,
    ]);
  });
});
