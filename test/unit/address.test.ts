import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import type { Directory, StoredProvider } from '../../src/common/core/directory.js';
import { GatewayError } from '../../src/common/core/errors.js';
import type { Exchange } from '../../src/common/core/exchange.js';
import type { Target } from '../../src/common/core/target.js';
import { defaultTarget } from '../../src/common/vocabulary/default-config.js';
import { nearestProvider } from '../../src/common/vocabulary/provider-name.js';
import { type Address, resolveAddress } from '../../src/data-plane/pipeline/outgoing/address.js';
import { providers } from '../../src/data-plane/providers/rows.js';

const credential = new Secret('sk');
const plain: StoredProvider = {
  id: 'p',
  slug: 'main',
  workspaceId: 'w',
  provider: 'openai',
  credential,
  baseUrl: null,
  hostTrusted: true,
  headers: [],
  fields: {},
  expiresAt: null,
  integration: null,
  models: null,
};

const target: Target = { ...defaultTarget, provider: '@main' };

interface Asked {
  readonly model?: string | null;
  readonly method?: string;
  readonly target?: Partial<Target>;
}

function resolve(stored: Partial<StoredProvider>, asked: Asked = {}): Address {
  const x = {
    principal: { workspaceId: 'w' },
    request: { method: asked.method ?? 'POST' },
    endpoint: { format: 'openai-chat' },
    streaming: false,
    modelAsked: asked.model === undefined ? 'gpt-4o' : asked.model,
  } as unknown as Exchange;
  const directory = { provider: () => ({ ...plain, ...stored }) } as unknown as Directory;
  return resolveAddress(x, { ...target, ...asked.target }, directory, providers) as Address;
}

function refusal(work: () => unknown): GatewayError {
  try {
    work();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  return expect.fail('must be refused');
}

describe('an unknown provider', () => {
  const message = (name: string, slugs: readonly string[] | null = null): string =>
    refusal(() => {
      const directory = { provider: () => null, slugs: () => slugs } as unknown as Directory;
      const x = { principal: { workspaceId: 'w' }, modelAsked: 'm' } as unknown as Exchange;
      return resolveAddress(x, { ...target, provider: name }, directory, providers);
    }).message;

  it('is answered with the nearest built-in one, and how that is named', () => {
    expect(message('antropic')).to.include('did you mean anthropic? If not, name one of the built-in');
    expect(message('mistral')).to.include('did you mean mistral-ai?');
    expect(message('@openai')).to.include('openai without @ is the built-in provider');
    expect(message('@production-key')).to.match(/here: name one of .*headgate providers list/);
  });

  it('is answered with the nearest slug of the workspace, where an @ shows that one is meant', () => {
    const slugs = ['claude', 'openai-prod', 'x'];
    expect(message('@openai-prd', slugs)).to.include('here: did you mean @openai-prod? If not, name one');
    expect(message('@openai', slugs)).to.include('did you mean @openai-prod?');
    expect(message('@something', slugs)).to.not.include('did you mean');
    expect(message(`@${'x'.repeat(100)}`, slugs)).to.not.include('did you mean');
    expect(message('openai-prd', slugs)).to.not.include('@openai-prod');
  });
});

describe('the provider that a config or header may have meant', () => {
  it('is one whose name was cut short', () => {
    const meant = (name: string) => nearestProvider(name, (row) => providers.has(row));
    expect(['mistral', 'azure', 'vertex', 'workersai', 'gemini'].map(meant)).to.deep.equal([
      'mistral-ai',
      'azure-openai',
      'vertex-ai',
      'workers-ai',
      null,
    ]);
  });
});

describe('a provider without an address of its own', () => {
  const named = (customHost: string | null): Address => {
    const x = { principal: { workspaceId: 'w' }, modelAsked: 'm', get: () => null } as unknown as Exchange;
    const asked = { ...target, provider: 'ollama', customHost };
    return resolveAddress(x, asked, {} as Directory, providers) as Address;
  };

  it('is refused with the header that names its address, and the next target is tried', () => {
    const error = refusal(() => named(null));
    expect([error.code, error.status, error.fallback]).to.deep.equal(['invalid_custom_host', 400, true]);
    expect(error.message).to.match(/^ollama has no address of its own: .*x-gateway-custom-host/);
    expect(error.message).not.to.include('.invalid');
  });

  it('is called at the address that the caller names', () => {
    expect(named('https://models.example/v1').base).to.equal('https://models.example/v1');
  });
});

describe('the credential of a stored provider', () => {
  const missing = (stored: Partial<StoredProvider>, asked: Asked = {}): GatewayError =>
    refusal(() => resolve(stored, asked));

  it('is not left out of a call to a provider that needs one', () => {
    for (const provider of ['openai', 'anthropic', 'google', 'azure-openai']) {
      const fields = { azure_resource_name: 'r' };
      const error = missing({ provider, fields, credential: null }, { model: 'm' });
      expect([error.code, error.status, error.fallback], provider).to.deep.equal([
        'provider_credential_missing',
        412,
        true,
      ]);
      expect(error.message).to.match(
        new RegExp(`^@main has no credential, and ${provider} needs one: .*key`),
      );
    }
  });

  it('may come from the config, from stored headers, or from a header that the target forwards', () => {
    const credentialOf = (stored: Partial<StoredProvider>, given: Partial<Target> = {}) =>
      resolve({ credential: null, ...stored }, { target: given }).credential;
    const apiKey = new Secret('own');
    expect(credentialOf({}, { apiKey })).to.equal(apiKey);
    expect(credentialOf({ headers: ['authorization', 'x'] })).to.equal(null);
    expect(credentialOf({}, { forwardHeaders: ['authorization'] })).to.equal(null);
  });

  it('is not needed where the provider is a server at a stored address', () => {
    for (const provider of ['ollama', 'vllm', 'openai'])
      expect(resolve({ provider, credential: null, baseUrl: 'http://10.0.0.1/v1' }).credential).to.equal(
        null,
      );
  });

  it('that is mapped to a secret is not replaced by none', () => {
    const code = 'secret_unavailable';
    const unresolved = (field: string) => [
      { field, code, message: 'is mapped to vault-key: wait.' } as const,
    ];
    const error = missing({
      credential: null,
      baseUrl: 'http://10.0.0.1/v1',
      unresolved: unresolved('key'),
    });
    expect([error.code, error.status]).to.deep.equal([code, 503]);
    expect(error.message).to.equal('key of @main is mapped to vault-key: wait.');
    expect(missing({ unresolved: unresolved('custom_host') }).message).to.include('custom_host of @main');
    const apiKey = new Secret('own');
    const own = resolve({ credential: null, unresolved: unresolved('key') }, { target: { apiKey } });
    expect(own.credential).to.equal(apiKey);
  });
});

describe('the address of a stored provider', () => {
  it('is refused once it has expired, and another target may be tried', () => {
    const cases: [Partial<StoredProvider>, number, string][] = [
      [{ expiresAt: Date.now() - 1 }, 401, 'virtual_key_expired_error'],
    ];
    for (const [stored, status, type] of cases) {
      const error = refusal(() => resolve(stored));
      expect([error.status, error.type, error.fallback]).to.deep.equal([status, type, true]);
    }
    expect(resolve({ expiresAt: Date.now() + 60_000 }).credential).to.equal(credential);
  });

  it('lets through the models that are enabled, at addresses of their own', () => {
    const models = {
      others: false,
      named: new Map([
        ['gpt-4o', { enabled: true, baseUrl: null }],
        ['mine', { enabled: true, baseUrl: 'https://mine.example/v1' }],
        ['off', { enabled: false, baseUrl: null }],
      ]),
    };
    const ask = (model: string | null, others = false, method = 'POST'): Address =>
      resolve({ models: { ...models, others } }, { model, method });
    expect(ask('gpt-4o').base).to.equal('https://api.openai.com/v1');
    expect(ask('mine').base).to.equal('https://mine.example/v1');
    expect(ask('another', true).model).to.equal('another');
    for (const work of [
      () => ask('another'),
      () => ask('off', true),
      () => ask(null),
      () => ask('__proto__'),
    ]) {
      const error = refusal(work);
      expect([error.status, error.type]).to.deep.equal([412, 'model_not_allowed_error']);
    }
    expect(ask(null, false, 'GET').model).to.equal(null);
  });

  it('is suggested where the name of another one is near, and only if it is enabled', () => {
    const named = new Map(
      [...Array.from({ length: 5000 }, (_, i) => `model-${i}`), 'gpt-4o-mini', 'claude-sonnet-4-5'].map(
        (name) => [name, { enabled: name !== 'gpt-4o-mini', baseUrl: null }],
      ),
    );
    const message = (model: string): string =>
      refusal(() => resolve({ models: { others: false, named } }, { model })).message;
    expect(message('claude-sonet-4-5')).to.include('did you mean claude-sonnet-4-5? If not, choose another');
    expect(message('gpt-4o-minni')).to.not.include('did you mean');
    expect(message('x'.repeat(100_000))).to.not.include('did you mean');
  });

  it('is judged by the model that a config forces', () => {
    const models = { others: false, named: new Map([['a', { enabled: true, baseUrl: null }]]) };
    expect(resolve({ models }, { model: 'b', target: { overrideParams: { model: 'a' } } }).model).to.equal(
      'a',
    );
    const error = refusal(() =>
      resolve({ models }, { model: 'a', target: { overrideParams: { model: 'b' } } }),
    );
    expect(error.code).to.equal('model_not_allowed');
  });

  it('passes the rules for hosts of callers where a workspace gave it', () => {
    const baseUrl = 'https://own.example/v1';
    expect(resolve({ baseUrl }).callerChosen).to.equal(false);
    expect(resolve({ baseUrl, hostTrusted: false }).callerChosen).to.equal(true);
    expect(resolve({ hostTrusted: false }).callerChosen).to.equal(false);
  });

  it('shares connections by credential, whose length is the caller’s, or by stored provider', () => {
    const account = (credential: string | null): string =>
      resolve({
        baseUrl: 'http://llm.example.org/v1',
        credential: credential === null ? null : new Secret(credential),
      }).account;
    expect(account('sk-1')).to.equal('sk-1');
    expect(account(null)).to.equal('p');
    const long = 'x'.repeat(70_000);
    expect(account(long).length).to.be.below(64);
    expect(account(long))
      .to.equal(account(long))
      .and.not.equal(account(`${long}y`));
  });

  it('keeps what is stored from a host that the caller chose', () => {
    const customHost = 'https://thief.example/v1';
    const headers = ['x-team', 'secret'];
    expect(refusal(() => resolve({}, { target: { customHost } })).code).to.equal('invalid_custom_host');
    expect(refusal(() => resolve({ credential: null, headers }, { target: { customHost } })).code).to.equal(
      'invalid_custom_host',
    );
    const apiKey = new Secret('own');
    const address = resolve({ headers, fields: { a: 'b' } }, { target: { customHost, apiKey } });
    expect(address).to.deep.include({ headers: [], fields: null, credential: apiKey, callerChosen: true });
  });
});
