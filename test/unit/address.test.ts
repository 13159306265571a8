import { expect } from 'chai';
import { defaultTarget } from '../../src/core/default-config.js';
import type { Directory, StoredProvider } from '../../src/core/directory.js';
import { GatewayError } from '../../src/core/errors.js';
import type { Exchange } from '../../src/core/exchange.js';
import { Secret } from '../../src/core/secret.js';
import type { Target } from '../../src/core/target.js';
import { type Address, resolveAddress } from '../../src/pipeline/address.js';
import { providers } from '../../src/providers/rows.js';

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
  exhausted: null,
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

describe('the address of a stored provider', () => {
  it('is refused once it has expired or its budget is used up, and another target may be tried', () => {
    const cases: [Partial<StoredProvider>, number, string][] = [
      [{ expiresAt: Date.now() - 1 }, 401, 'virtual_key_expired_error'],
      [{ exhausted: 'virtual_key' }, 412, 'virtual_key_exhaust_error'],
      [{ exhausted: 'integration' }, 412, 'integration_exhaust_error'],
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
