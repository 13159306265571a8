import { expect } from 'chai';
import config from '../../plugins/config/index.js';
import { makeGatewayKey } from '../../src/common/access/gateway-key.js';
import type { Awaitable } from '../../src/common/core/directory.js';
import { errorBody } from '../../src/common/core/error-body.js';
import { GatewayError } from '../../src/common/core/errors.js';
import { Exchange, type JsonObject } from '../../src/common/core/exchange.js';
import { type ResolvedConfig, type RouteNode, type Target, targetOf } from '../../src/common/core/target.js';
import type { FullHost, Hooks } from '../../src/common/plugin-host/plugin.js';
import { directCredential } from '../../src/common/plugin-host/slots.js';
import { compileConfig } from '../../src/data-plane/routing/compile.js';
import { CompiledConfigs } from '../../src/data-plane/routing/compiled-cache.js';

const isProvider = (name: string): boolean => ['openai', 'anthropic', 'mistral'].includes(name);
const compile = (text: string, slug: string | null): ResolvedConfig =>
  compileConfig(text, { slug, version: slug === null ? 'inline' : 'v1', isProvider });

const stored = new Map([
  [
    'pc-one',
    compile('{"provider":"@main","retry":{"attempts":2},"metadata":{"team":"config","c":"c"}}', 'pc-one'),
  ],
  [
    'pc-open',
    compile(
      '{"strategy":{"mode":"fallback"},"targets":[{"override_params":{"model":"a"}},{"provider":"openai","request_timeout":5,"forward_headers":["x-a"]},{"provider":"mistral","api_key":"sk-config"}]}',
      'pc-open',
    ),
  ],
]);
let asked: [string, string][] = [];

function setUp(later = false): Hooks {
  asked = [];
  const host = {
    headerPrefixes: ['x-gateway-', 'x-portkey-'],
    isProvider,
    configs: new CompiledConfigs(isProvider),
    directory: {
      config(workspace: string, slug: string): Awaitable<ResolvedConfig | null> {
        asked.push([workspace, slug]);
        const found = workspace === 'w' ? (stored.get(slug) ?? null) : null;
        return later ? Promise.resolve(found) : found;
      },
    },
  } as unknown as FullHost;
  return config.setup({}, host) as Hooks;
}

interface Given {
  readonly headers?: Record<string, string>;
  readonly json?: JsonObject | null;
  readonly model?: string;
  readonly configId?: string;
  readonly mayOverride?: boolean;
  readonly metadata?: Record<string, string>;
  readonly workspaceId?: string;
  readonly blockInline?: boolean;
  readonly endpoint?: Exchange['endpoint'];
}

function exchange({
  headers = {},
  json = null,
  model,
  configId,
  mayOverride = true,
  metadata = {},
  workspaceId = 'w',
  blockInline = false,
  endpoint = { name: 'chat', format: 'openai-chat', body: 'json' },
}: Given): Exchange {
  const x = new Exchange('request-id', endpoint, {
    method: 'POST',
    path: '/v1/chat/completions',
    query: '',
    headers: Object.entries(headers).flat(),
    remoteAddress: '',
    bytes: null,
    stream: null,
    json,
  });
  x.modelAsked = model ?? null;
  x.principal = {
    organisationId: 'o',
    workspaceId,
    keyId: 'k',
    keyName: 'n',
    keyType: 'workspace-service',
    blockInline,
    userId: null,
    scopes: [],
    expiresAt: null,
    defaults: { configId: configId ?? null, allowConfigOverride: mayOverride, metadata },
  };
  return x;
}

let stage = setUp();

function run(given: Given): Exchange {
  const x = exchange(given);
  expect(stage.request?.(x)).to.equal(undefined);
  return x;
}

function refusal(given: Given): GatewayError {
  try {
    run(given);
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown;
    throw thrown;
  }
  throw new Error('was taken');
}

function targets({ config: resolved }: Exchange, node: RouteNode = resolved.root): Target[] {
  return node.kind === 'target'
    ? [targetOf(resolved, node)]
    : node.children.flatMap((child) => targets({ config: resolved } as Exchange, child));
}
const only = (x: Exchange): Target => targets(x)[0]!;
const provider = { 'x-gateway-provider': 'openai' };

describe('config stage', () => {
  beforeEach(() => {
    stage = setUp();
  });

  it('takes strict_standard_compliance for strict_open_ai_compliance, in headers and in configs', () => {
    const strictOf = (headers: Record<string, string>): boolean =>
      only(run({ headers })).strictOpenAiCompliance;
    const header = 'x-gateway-strict-standard-compliance';
    expect(strictOf({ ...provider, [header]: 'false' })).to.equal(false);
    expect(strictOf({ ...provider, [header]: 'True' })).to.equal(true);
    const both = { ...provider, [header]: 'false', 'x-gateway-strict-open-ai-compliance': 'true' };
    expect(strictOf(both)).to.equal(true);
    expect(refusal({ headers: { ...provider, [header]: 'no' } }).message).to.include(header);
    const config = (more: object): Record<string, string> => ({
      'x-gateway-config': JSON.stringify({ provider: '@main', ...more }),
    });
    expect(strictOf(config({ strict_standard_compliance: false }))).to.equal(false);
    expect(strictOf(config({ strict_standard_compliance: false, strict_open_ai_compliance: true }))).to.equal(
      true,
    );
    expect(strictOf(config({}))).to.equal(true);
  });

  describe('which config', () => {
    it('takes a stored one by its slug, of the workspace of the key alone', () => {
      const x = run({ headers: { 'x-gateway-config': 'pc-one' } });
      expect(x.config).to.equal(stored.get('pc-one'));
      expect(asked).to.deep.equal([['w', 'pc-one']]);
      expect(refusal({ headers: { 'x-gateway-config': 'pc-one' }, workspaceId: 'other' }).code).to.equal(
        'config_not_found',
      );
    });

    it('takes an inline one, and hands its mistakes out', () => {
      expect(run({ headers: { 'x-portkey-config': ' {"provider":"@main"}' } }).config.version).to.equal(
        'inline',
      );
      expect(refusal({ headers: { 'x-gateway-config': '{"provider":"nobody"}' } }).code).to.equal('AB01');
      expect(refusal({ headers: { 'x-gateway-config': '{' } }).code).to.equal('AB01');
    });

    it("takes the key's default where none is named, and the header's where both are", () => {
      expect(run({ configId: 'pc-one' }).config).to.equal(stored.get('pc-one'));
      expect(run({ configId: 'pc-one', headers: { 'x-gateway-config': '' } }).config).to.equal(
        stored.get('pc-one'),
      );
      expect(run({ configId: 'pc-one', headers: { 'x-gateway-config': 'pc-open' } }).config).to.equal(
        stored.get('pc-open'),
      );
    });

    it('lets a key forbid to override its default', () => {
      for (const asked of ['pc-open', '{"provider":"@main"}']) {
        const error = refusal({
          configId: 'pc-one',
          mayOverride: false,
          headers: { 'x-gateway-config': asked },
        });
        expect(error).to.include({ code: 'config_override_blocked', status: 400, param: 'x-gateway-config' });
      }
      run({ configId: 'pc-one', mayOverride: false, headers: { 'x-gateway-config': 'pc-one' } });
      run({ mayOverride: false, headers: { 'x-gateway-config': 'pc-one' } });
    });

    it('names the missing config, and looks up none that cannot exist', () => {
      expect(refusal({ headers: { 'x-gateway-config': 'pc-two' } })).to.include({
        code: 'config_not_found',
        status: 400,
      });
      expect(refusal({ configId: 'pc-gone' }).message).to.contain('default config');
      asked = [];
      for (const slug of ["' OR 1=1--", '../x', 'a'.repeat(200), '[]', 'a b', '@x']) {
        expect(refusal({ headers: { 'x-gateway-config': slug } }).code, slug).to.equal('config_not_found');
      }
      expect(asked).to.deep.equal([]);
    });

    it('waits only where the directory has to ask', async () => {
      stage = setUp(true);
      const x = exchange({ configId: 'pc-one' });
      await stage.request?.(x);
      expect(x.config).to.equal(stored.get('pc-one'));
      const unknown = exchange({ configId: 'pc-two' });
      expect(
        await Promise.resolve(stage.request?.(unknown)).catch((error: GatewayError) => error.code),
      ).to.equal('config_not_found');
    });
  });

  describe('without a config', () => {
    it('makes a target of the headers', () => {
      const x = run({
        headers: {
          'x-gateway-provider': 'openai',
          'x-gateway-custom-host': 'https://models.example.com:8443/v1/',
          'x-gateway-request-timeout': '3000',
          'x-gateway-retry-count': '5',
          'x-gateway-forward-headers': 'X-One, x-two,,x-one',
          'x-gateway-strict-open-ai-compliance': 'False',
          'x-gateway-openai-organization': 'org-1',
          'x-gateway-anthropic-beta': 'b',
        },
      });
      expect(x.config).to.deep.include({ slug: null, version: 'none' });
      expect(only(x)).to.deep.include({
        path: 'config',
        name: null,
        provider: 'openai',
        virtualKey: null,
        apiKey: null,
        customHost: 'https://models.example.com:8443/v1',
        requestTimeoutMs: 3000,
        forwardHeaders: ['x-one', 'x-two'],
        strictOpenAiCompliance: false,
        retry: { attempts: 5, onStatusCodes: [429, 500, 502, 503, 504], useRetryAfterHeader: false },
      });
      expect({ ...only(x).fields }).to.deep.equal({ openai_organization: 'org-1', anthropic_beta: 'b' });
    });

    it('takes virtual key, @slug and @slug/model for a provider', () => {
      expect(only(run({ headers: { 'x-gateway-virtual-key': 'vk-1' } })).virtualKey).to.equal('vk-1');
      expect(only(run({ headers: { 'x-gateway-provider': '@main' } })).provider).to.equal('@main');
      expect(only(run({ model: '@main/gpt-4o' }))).to.include({ provider: null, virtualKey: null });
      expect(only(run({ model: '@main/org/gpt-4o' })).provider).to.equal(null);
    });

    it('builds the same combination once', () => {
      const headers = { ...provider, 'x-gateway-retry-count': '1', 'x-gateway-trace-id': 'a' };
      const first = run({ headers });
      expect(
        run({ headers: { ...headers, 'x-gateway-trace-id': 'b', authorization: 'Bearer sk' } }).config,
      ).to.equal(first.config);
      expect(run({ headers: { ...headers, 'x-gateway-retry-count': '2' } }).config).not.to.equal(
        first.config,
      );
      // The same text under another name is another combination.
      expect(
        run({ headers: { 'x-gateway-virtual-key': 'openai', 'x-gateway-retry-count': '1' } }).config,
      ).not.to.equal(first.config);
      expect(run({ model: '@a/b' }).config).to.equal(run({ model: '@c/d' }).config);
    });

    it('explains what to send where no provider is named', () => {
      for (const given of [
        {},
        { model: 'gpt-4o' },
        { model: '@main' },
        { model: '@main/' },
        { model: '@/x' },
        { headers: { 'x-gateway-retry-count': '1' } },
      ]) {
        const error = refusal(given);
        expect(error).to.include({ code: 'missing_provider', status: 400 });
        for (const name of ['config', 'virtual-key', 'provider'])
          expect(error.message).to.contain(`x-gateway-${name}`);
      }
      expect(
        refusal({ headers: { 'x-gateway-custom-host': 'https://a.example' }, model: '@a/b' }).code,
      ).to.equal('missing_provider');
    });

    it('does not ask for a model in the body of a path that is passed through', () => {
      const { message } = refusal({ endpoint: { name: 'passthrough', format: 'none', body: 'stream' } });
      expect(message).to.contain('send one of the headers x-gateway-config, ');
      expect(message).to.contain('a model in the body names none');
      expect(message).not.to.contain('@slug/model');
    });

    it('suggests the provider that an unknown name is nearest to', () => {
      const message = (name: string): string => refusal({ headers: { 'x-gateway-provider': name } }).message;
      expect(message('opnai')).to.include('There is no provider "opnai" here: did you mean openai?');
      expect(message('OpenAI')).to.include('did you mean openai?');
      expect(message('something else')).to.not.include('did you mean');
    });

    const bad: [Record<string, string>, string][] = [
      [{ 'x-gateway-provider': 'nobody' }, 'unknown_provider'],
      [{ 'x-gateway-provider': 'оpenai' }, 'unknown_provider'],
      [{ 'x-gateway-provider': '@' }, 'unknown_provider'],
      [{ 'x-gateway-provider': '@../x' }, 'unknown_provider'],
      [{ 'x-gateway-provider': 'toString' }, 'unknown_provider'],
      [{ 'x-gateway-virtual-key': "' OR 1=1--" }, 'unknown_provider'],
      [{ ...provider, 'x-gateway-request-timeout': '0' }, 'invalid_request'],
      [{ ...provider, 'x-gateway-request-timeout': '1.5' }, 'invalid_request'],
      [{ ...provider, 'x-gateway-request-timeout': '1e3' }, 'invalid_request'],
      [{ ...provider, 'x-gateway-request-timeout': '86400001' }, 'invalid_request'],
      [{ ...provider, 'x-gateway-retry-count': '6' }, 'invalid_request'],
      [{ ...provider, 'x-gateway-retry-count': '-1' }, 'invalid_request'],
      [{ ...provider, 'x-gateway-strict-open-ai-compliance': 'no' }, 'invalid_request'],
      [{ ...provider, 'x-gateway-forward-headers': 'a b' }, 'invalid_request'],
      [{ ...provider, 'x-gateway-forward-headers': 'x-gateway-forward-headers' }, 'invalid_request'],
      [{ ...provider, 'x-gateway-forward-headers': 'X-Portkey-Api-Key' }, 'invalid_request'],
      [{ ...provider, 'x-gateway-forward-headers': 'x-a,Host' }, 'invalid_request'],
      ...[
        'ftp://a.example',
        'a.example',
        'https://u:p@a.example',
        'http:/a.example',
        'https://a.example/?x',
        'https://a.example/#x',
        'https://',
        'http://[::1',
        'https://a.example\\@b',
      ].map((url): [Record<string, string>, string] => [
        { ...provider, 'x-gateway-custom-host': url },
        'invalid_custom_host',
      ]),
    ];
    for (const [headers, code] of bad) {
      it(`refuses ${JSON.stringify(headers)}`, () => {
        const error = refusal({ headers });
        expect(error.code).to.equal(code);
        expect(error.status).to.equal(400);
        // A refusal is not remembered as a config.
        expect(refusal({ headers }).code).to.equal(code);
      });
    }
  });

  describe('a config together with headers', () => {
    it('shares the tree of the config, and makes each target once', () => {
      const headers = { 'x-gateway-config': 'pc-open', 'x-gateway-request-timeout': '7' };
      const [one, other] = [run({ headers }), run({ headers })];
      expect(one.config.root).to.equal(stored.get('pc-open')!.root);
      expect(one.config).to.equal(other.config);
      expect(targets(one)[0]).to.equal(targets(other)[0]).and.to.include({ requestTimeoutMs: 7 });
    });

    it('fills what its targets leave open, and nothing else', () => {
      const x = run({
        headers: {
          'x-gateway-config': 'pc-open',
          'x-gateway-provider': '@header',
          'x-gateway-custom-host': 'https://a.example',
          'x-gateway-request-timeout': '77',
          'x-gateway-retry-count': '1',
          'x-gateway-forward-headers': 'x-b',
          'x-gateway-openai-project': 'p',
        },
      });
      expect(x.config.slug).to.equal('pc-open');
      const [open, named, keyed] = targets(x);
      expect(open).to.include({
        provider: '@header',
        path: 'config.targets[0]',
        requestTimeoutMs: 77,
        customHost: 'https://a.example',
      });
      expect(open?.overrideParams).to.deep.equal({ model: 'a' });
      expect(open?.fields['openai_project']).to.equal('p');
      expect(named).to.include({
        provider: 'openai',
        virtualKey: null,
        requestTimeoutMs: 5,
        customHost: 'https://a.example',
      });
      expect(named?.forwardHeaders).to.deep.equal(['x-a']);
      expect(named?.retry?.attempts).to.equal(1);
      expect(keyed).to.include({ provider: 'mistral', requestTimeoutMs: 77 });
    });

    it("never sends a config's credential to a host out of a header", () => {
      const custom = { 'x-gateway-custom-host': 'https://thief.example' };
      const x = run({ headers: { 'x-gateway-config': 'pc-open', ...custom } });
      expect(targets(x)[2]).to.include({ customHost: null });
      expect(only(run({ headers: { 'x-gateway-config': 'pc-one', ...custom } })).customHost).to.equal(null);
      const inline = '{"api_key":"sk-config","retry":{"attempts":1}}';
      const keyOnly = only(
        run({ headers: { 'x-gateway-config': inline, 'x-gateway-provider': 'openai', ...custom } }),
      );
      expect(keyOnly).to.include({ customHost: null, provider: null });
    });

    it('leaves the stored config as it is, and builds a combination once', () => {
      const headers = { 'x-gateway-config': 'pc-open', ...provider };
      const before = JSON.stringify(stored.get('pc-open'));
      const first = run({ headers }).config;
      expect(run({ headers }).config).to.equal(first);
      expect(first).not.to.equal(stored.get('pc-open'));
      expect(JSON.stringify(stored.get('pc-open'))).to.equal(before);
    });
  });

  describe('where inline configs are blocked', () => {
    const blockInline = true;
    const blocked: Readonly<Record<string, Record<string, string>>> = {
      inline_config_blocked: { 'x-gateway-config': ' {"provider":"openai"}' },
      inline_provider_blocked: provider,
      inline_custom_host_blocked: { 'x-gateway-custom-host': 'https://a.example' },
      inline_forward_headers_blocked: { 'x-gateway-forward-headers': 'x-a' },
    };
    for (const [code, headers] of Object.entries(blocked)) {
      const [header] = Object.keys(headers);
      it(`${header} is refused, whatever else is named`, () => {
        const others: Record<string, string>[] = [{}, { 'x-gateway-virtual-key': 'main' }];
        for (const more of others) {
          const error = refusal({ headers: { ...more, ...headers }, blockInline });
          expect(error).to.include({ code, status: 400, param: header });
          const body = JSON.parse(errorBody(error, 'id'));
          expect(body).to.deep.include({ status: 'failure', message: error.message });
          expect(body.error).to.deep.include({ code, message: error.message, field: header });
        }
      });
    }

    it('saved configs and stored providers are taken', () => {
      const taken: Record<string, string>[] = [
        { 'x-gateway-config': 'pc-one' },
        { 'x-gateway-provider': '@main' },
        { 'x-gateway-virtual-key': 'main', 'x-gateway-request-timeout': '5000' },
      ];
      for (const headers of taken) run({ headers, blockInline });
      run({ model: '@main/gpt', blockInline });
    });
  });

  describe("the client's own credential", () => {
    const gatewayKey = makeGatewayKey('workspace-service');
    const credential = (
      headers: Record<string, string>,
      keyHeader: string | null = 'x-gateway-api-key',
    ): string | null => {
      const x = exchange({ headers: { ...provider, ...headers } });
      x.keyHeader = keyHeader;
      stage.request?.(x);
      return x.get(directCredential)?.reveal() ?? null;
    };

    it('is what Authorization or a client header holds', () => {
      expect(credential({ authorization: 'Bearer sk-1' })).to.equal('sk-1');
      expect(credential({ authorization: 'bearer sk-1' })).to.equal('sk-1');
      expect(credential({ 'x-api-key': 'sk-ant' })).to.equal('sk-ant');
      expect(credential({ 'x-api-key': 'sk-ant', authorization: 'Bearer sk-1' })).to.equal('sk-1');
      for (const authorization of ['Basic eDp5', 'Bearer ', 'Bearer', 'sk-1'])
        expect(credential({ authorization })).to.equal(null);
      expect(credential({})).to.equal(null);
    });

    it('is never a gateway key, nor the header in which that stood', () => {
      expect(credential({ authorization: `Bearer ${gatewayKey}` })).to.equal(null);
      expect(credential({ authorization: `Bearer ${gatewayKey}`, 'x-api-key': 'sk-ant' })).to.equal('sk-ant');
      expect(credential({ authorization: 'Bearer whatever' }, 'authorization')).to.equal(null);
    });
  });

  describe('trace', () => {
    const trace = (headers: Record<string, string>) => run({ headers: { ...provider, ...headers } }).trace;
    const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

    it("is the request's own id where the client gives none", () => {
      expect(trace({})).to.deep.equal({
        traceId: 'request-id',
        spanId: null,
        parentSpanId: null,
        spanName: null,
      });
    });

    it('is taken from the headers', () => {
      expect(
        trace({
          'x-gateway-trace-id': 't',
          'x-portkey-span-id': 's',
          'x-gateway-parent-span-id': 'p',
          'x-gateway-span-name': 'my span',
        }),
      ).to.deep.equal({
        traceId: 't',
        spanId: 's',
        parentSpanId: 'p',
        spanName: 'my span',
      });
    });

    it('continues a traceparent with a span of its own', () => {
      const got = trace({ traceparent: parent });
      expect(got).to.include({
        traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
        parentSpanId: '00f067aa0ba902b7',
      });
      expect(got.spanId)
        .to.match(/^[0-9a-f]{16}$/)
        .and.not.to.equal('00f067aa0ba902b7');
      expect(trace({ traceparent: parent, 'x-gateway-trace-id': 'mine' }).traceId).to.equal('mine');
    });

    it('puts its own in place of what it cannot take', () => {
      for (const value of ['a'.repeat(129), 'a\u0001', 'ä', ' a', 'a '])
        expect(trace({ 'x-gateway-trace-id': value }).traceId, value).to.equal('request-id');
      expect(trace({ 'x-gateway-trace-id': 'a'.repeat(128) }).traceId).to.have.length(128);
      for (const value of [
        parent.replace('00-', 'ff-'),
        parent.replace(/4bf9[^-]*/, '0'.repeat(32)),
        parent.replace(/00f0[^-]*/, '0'.repeat(16)),
        parent.toUpperCase(),
        `${parent}-x`,
        parent.slice(1),
        'x'.repeat(80_000),
      ]) {
        expect(trace({ traceparent: value }), value.slice(0, 60)).to.include({
          traceId: 'request-id',
          spanId: null,
        });
      }
      expect(trace({ traceparent: `${parent.replace('00-', '01-')}-more` }).traceId).to.have.length(32);
    });
  });

  describe('metadata', () => {
    it('that is not text is listed as dropped, by its path, and the rest is kept', () => {
      const dropped = (value: string): readonly string[] =>
        run({ headers: { ...provider, 'x-gateway-metadata': value } }).allDropped;
      expect(dropped('{"a":"b"}')).to.deep.equal([]);
      expect(dropped(`{"a":"b","n":1,"o":{},"nothing":null,"long":"${'x'.repeat(129)}"}`)).to.deep.equal([
        'metadata.n',
        'metadata.o',
        'metadata.nothing',
        'metadata.long',
      ]);
      for (const text of ['team=a', '["a"]', '{"a":', '"a"', 'null'])
        expect(dropped(text), text).to.deep.equal(['metadata']);
      const many = JSON.stringify(Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`n${i}`, i])));
      expect(dropped(many)).to.have.length(16);
      expect(dropped(`{"${'n'.repeat(1000)}":1}`)[0]).to.have.length('metadata.'.length + 64);
    });

    const metadata = (given: Given): Record<string, string> => ({
      ...run({ ...given, headers: { ...provider, ...given.headers } }).metadata,
    });
    const header = (value: unknown): Record<string, string> => ({
      'x-gateway-metadata': typeof value === 'string' ? value : JSON.stringify(value),
    });

    it('takes pairs of strings and leaves out the rest', () => {
      expect(
        metadata({
          headers: header({ a: 'b', n: 5, o: {}, x: null, long: 'y'.repeat(129), edge: 'y'.repeat(128) }),
        }),
      ).to.deep.equal({ a: 'b', edge: 'y'.repeat(128) });
      for (const value of [
        'not json',
        '["a"]',
        '"a"',
        'null',
        '{',
        '5',
        '{"a":"b"',
        `{"a":${'['.repeat(33_000)}`,
      ])
        expect(metadata({ headers: header(value) }), value.slice(0, 20)).to.deep.equal({});
    });

    it('lets key win over config and config over request', () => {
      const got = run({
        headers: {
          'x-gateway-config': 'pc-one',
          ...header({ team: 'request', c: 'request', k: 'request', r: 'r' }),
        },
        metadata: { team: 'key', k: 'k' },
      }).metadata;
      expect({ ...got }).to.deep.equal({ team: 'key', c: 'c', k: 'k', r: 'r' });
      expect({ ...run({ configId: 'pc-one' }).metadata }).to.deep.equal({ team: 'config', c: 'c' });
      expect(metadata({ metadata: { k: 'k' } })).to.deep.equal({ k: 'k' });
    });

    it('uses user of the body as _user where no other source sets it', () => {
      expect(metadata({ json: { user: 'u' } })).to.deep.equal({ _user: 'u' });
      expect(metadata({ json: { user: 'u' }, headers: header({ _user: 'h' }) })).to.deep.equal({
        _user: 'h',
      });
      expect(metadata({ json: { user: 'u' }, metadata: { _user: 'k' } })).to.deep.equal({ _user: 'k' });
      expect(metadata({ json: { user: 'u'.repeat(129) } })).to.deep.equal({});
    });

    it('keeps __proto__ a key', () => {
      const x = run({
        headers: { ...provider, ...header('{"__proto__":"x","constructor":"y"}') },
        metadata: { a: 'b' },
      });
      expect(Object.keys(x.metadata).sort()).to.deep.equal(['__proto__', 'a', 'constructor']);
      expect(({} as Record<string, unknown>)['a']).to.equal(undefined);
    });
  });
});
