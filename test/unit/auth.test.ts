import { expect } from 'chai';
import auth from '../../plugins/auth/index.js';
import type { Awaitable } from '../../src/core/directory.js';
import type { EndpointName } from '../../src/core/endpoint.js';
import { errorBody } from '../../src/core/error-body.js';
import { GatewayError } from '../../src/core/errors.js';
import { Exchange } from '../../src/core/exchange.js';
import { hashGatewayKey, KeyHasher, makeGatewayKey } from '../../src/core/gateway-key.js';
import type { Hooks, Host } from '../../src/core/plugin.js';
import type { Principal } from '../../src/core/principal.js';
import { gatewayKeyHeader } from '../../src/core/slots.js';

const pepper = Buffer.alloc(32, 7);
const hasher = new KeyHasher(pepper);
const key = makeGatewayKey('workspace-service');
const admin = makeGatewayKey('organisation-service');

const principal = (more: Partial<Principal> = {}): Principal => ({
  organisationId: 'o',
  workspaceId: 'w',
  keyId: 'k',
  keyName: 'n',
  keyType: 'workspace-service',
  blockInline: false,
  userId: null,
  scopes: ['completions.write'],
  expiresAt: null,
  defaults: { configId: null, allowConfigOverride: true, metadata: {} },
  ...more,
});

let asked: string[] = [];

async function hooks(keys: Record<string, Principal>, later = false): Promise<Hooks> {
  asked = [];
  const known = new Map(Object.entries(keys).map(([text, one]) => [hashGatewayKey(pepper, text), one]));
  const host = {
    headerPrefixes: ['x-gateway-', 'x-portkey-'],
    hashKey: (text: string) => hasher.hash(text),
    directory: {
      key(hash: string): Awaitable<Principal | null> {
        asked.push(hash);
        const found = known.get(hash) ?? null;
        return later ? Promise.resolve(found) : found;
      },
    },
  } as unknown as Host;
  return auth.setup({}, host);
}

function exchange(headers: string[], endpoint: EndpointName = 'chat'): Exchange {
  return new Exchange(
    'id',
    { name: endpoint, format: 'none', body: 'stream' },
    {
      method: 'POST',
      path: '/v1/x',
      query: '',
      headers,
      remoteAddress: '',
      bytes: null,
      stream: null,
      json: null,
    },
  );
}

async function refusal(
  headers: string[],
  keys: Record<string, Principal> = { [key]: principal() },
  endpoint?: EndpointName,
): Promise<GatewayError> {
  const stage = await hooks(keys);
  try {
    await stage.request?.(exchange(headers, endpoint));
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown;
    throw thrown;
  }
  throw new Error('was let in');
}

describe('auth stage', () => {
  it('finds the key wherever a client may put it, and remembers where', async () => {
    const stage = await hooks({ [key]: principal() });
    const places: [string[], string][] = [
      [['x-gateway-api-key', key], 'x-gateway-api-key'],
      [['x-portkey-api-key', key, 'authorization', 'Bearer sk-provider'], 'x-portkey-api-key'],
      [['authorization', `Bearer ${key}`], 'authorization'],
      [['authorization', `bearer ${key}`], 'authorization'],
      [['x-api-key', key], 'x-api-key'],
      [['api-key', key], 'api-key'],
      [['x-goog-api-key', key], 'x-goog-api-key'],
      [['authorization', 'Bearer sk-provider', 'x-api-key', key], 'x-api-key'],
      [['x-api-key', key, 'authorization', `Bearer ${key}`], 'authorization'],
      [['authorization', `Bearer ${admin}`, 'x-gateway-api-key', key], 'x-gateway-api-key'],
    ];
    for (const [headers, name] of places) {
      const x = exchange(headers);
      expect(stage.request?.(x)).to.equal(undefined);
      expect(x.principal.keyId).to.equal('k');
      expect(x.get(gatewayKeyHeader), headers.join()).to.equal(name);
    }
  });

  it('waits only where the directory has to ask', async () => {
    const stage = await hooks({ [key]: principal() }, true);
    const x = exchange(['x-gateway-api-key', key]);
    const answer = stage.request?.(x);
    expect(answer).to.be.instanceOf(Promise);
    await answer;
    expect(x.principal.keyId).to.equal('k');
  });

  it('asks for a key where there is none', async () => {
    for (const headers of [
      [],
      ['authorization', 'Bearer sk-provider'],
      ['authorization', 'Basic eDp5'],
      ['authorization', 'Bearer'],
      ['authorization', ''],
      ['x-api-key', 'sk-ant'],
    ]) {
      const error = await refusal(headers);
      expect(error).to.include({ code: '03', status: 401, type: 'authentication_error' });
      expect(error.message).to.contain('x-gateway-api-key');
    }
    expect(asked).to.deep.equal([]);
  });

  it('answers a malformed key and an unknown one alike, and looks only the latter up', async () => {
    const unknown = await refusal(['x-gateway-api-key', makeGatewayKey('workspace-service')]);
    expect(asked).to.have.length(1);
    const last = key.endsWith('A') ? 'B' : 'A';
    for (const text of [
      '',
      'x',
      key.slice(0, -1) + last,
      `${key} `,
      `${key}\u00a0`,
      `\t${key}`,
      key.toUpperCase(),
      `Bearer ${key}`,
      'a'.repeat(70_000),
      key.replace('gw_', 'ｇw_'),
    ]) {
      const malformed = await refusal(['x-gateway-api-key', text]);
      expect(errorBody(malformed, 'r')).to.equal(errorBody(unknown, 'r'));
      expect(asked).to.deep.equal([]);
    }
    expect(JSON.parse(errorBody(unknown, 'r'))).to.include({
      status: 'failure',
      message: 'Gateway Error: Invalid API key: send a valid gateway key. Error Code: 03',
    });
  });

  it('does not fall back to another header when its own holds a bad key', async () => {
    expect((await refusal(['authorization', `Bearer ${key}`, 'x-gateway-api-key', 'bad'])).code).to.equal(
      '03',
    );
  });

  it('takes no key from the query', async () => {
    const stage = await hooks({ [key]: principal() });
    const x = new Exchange(
      'id',
      { name: 'chat', format: 'none', body: 'stream' },
      { ...exchange([]).request, query: `api_key=${key}&x-gateway-api-key=${key}` },
    );
    expect(() => stage.request?.(x)).to.throw(GatewayError, 'Missing API key');
  });

  it('refuses a key from the millisecond of its expiry', async () => {
    expect(
      (await refusal(['x-gateway-api-key', key], { [key]: principal({ expiresAt: Date.now() }) })).code,
    ).to.equal('01');
    const stage = await hooks({ [key]: principal({ expiresAt: Date.now() + 60_000 }) });
    expect(stage.request?.(exchange(['x-gateway-api-key', key]))).to.equal(undefined);
  });

  it('tells an admin key to stay with administration', async () => {
    const error = await refusal(['x-gateway-api-key', admin], {
      [admin]: principal({
        workspaceId: null,
        keyType: 'organisation-service',
        scopes: ['completions.write'],
      }),
    });
    expect(error).to.include({ code: 'permission_denied', status: 403 });
    expect(error.message).to.contain('workspace key');
  });

  it('wants completions.write, or virtual_keys.list for the model list', async () => {
    const lister = { [key]: principal({ scopes: ['virtual_keys.list', 'completions.read'] }) };
    expect((await refusal(['x-gateway-api-key', key], lister)).code).to.equal('permission_denied');
    expect((await refusal(['x-gateway-api-key', key], lister, 'passthrough')).code).to.equal(
      'permission_denied',
    );
    expect(
      (await refusal(['x-gateway-api-key', key], { [key]: principal({ scopes: [] }) }, 'models')).code,
    ).to.equal('permission_denied');
    const stage = await hooks(lister);
    expect(stage.request?.(exchange(['x-gateway-api-key', key], 'models'))).to.equal(undefined);
  });

  it('never puts the key into an error', async () => {
    for (const keys of [{}, { [key]: principal({ scopes: [] }) }, { [key]: principal({ expiresAt: 1 }) }]) {
      const error = await refusal(['x-gateway-api-key', key], keys);
      expect(`${error.stack} ${errorBody(error, 'r')}`).not.to.contain(key.slice(6, 20));
    }
  });
});
