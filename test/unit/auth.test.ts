import { expect } from 'chai';
import auth from '../../plugins/auth/index.js';
import { hashGatewayKey, KeyHasher, makeGatewayKey } from '../../src/common/access/gateway-key.js';
import type { Principal } from '../../src/common/access/principal.js';
import type { Awaitable, DeploymentRules } from '../../src/common/core/directory.js';
import type { EndpointName } from '../../src/common/core/endpoint.js';
import { errorBody } from '../../src/common/core/error-body.js';
import { GatewayError } from '../../src/common/core/errors.js';
import { Exchange } from '../../src/common/core/exchange.js';
import type { FullHost, Hooks } from '../../src/common/plugin-host/plugin.js';

const pepper = Buffer.alloc(32, 7);
const hasher = new KeyHasher(pepper);
const key = makeGatewayKey('workspace-service');
const admin = makeGatewayKey('organisation-service');
/** By its form. */
const token = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ1In0.c2lnbmVk';

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

async function hooks(
  keys: Record<string, Principal>,
  later = false,
  rules: Awaitable<DeploymentRules> | null = null,
): Promise<Hooks> {
  asked = [];
  const known = new Map(Object.entries(keys).map(([text, one]) => [hashGatewayKey(pepper, text), one]));
  const host = {
    headerPrefixes: ['x-gateway-', 'x-portkey-'],
    hashKey: (text: string) => hasher.hash(text),
    directory: {
      deployment: rules === null ? null : () => rules,
      key(hash: string): Awaitable<Principal | null> {
        asked.push(hash);
        const found = known.get(hash) ?? null;
        return later ? Promise.resolve(found) : found;
      },
    },
  } as unknown as FullHost;
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
      [['authorization', `BEARER  ${key}`], 'authorization'],
      [['authorization', 'sk-provider', 'x-gateway-api-key', key], 'x-gateway-api-key'],
      [['x-api-key', key], 'x-api-key'],
      [['api-key', key], 'api-key'],
      [['x-goog-api-key', key], 'x-goog-api-key'],
      [['authorization', 'Bearer sk-provider', 'x-api-key', key], 'x-api-key'],
      [['x-api-key', key, 'authorization', `Bearer ${key}`], 'authorization'],
      [['authorization', `Bearer ${admin}`, 'x-gateway-api-key', key], 'x-gateway-api-key'],
      [['authorization', `Bearer ${token}`, 'x-api-key', key], 'x-api-key'],
      [['x-goog-api-key', key, 'authorization', `Bearer ${token}`], 'x-goog-api-key'],
    ];
    for (const [headers, name] of places) {
      const x = exchange(headers);
      expect(stage.request?.(x)).to.equal(undefined);
      expect(x.principal.keyId).to.equal('k');
      expect(x.keyHeader, headers.join()).to.equal(name);
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

  it('serves at the gateway of a deployment whom that lets in', async () => {
    const rules = { organisationId: 'o', disabled: false, workspaces: new Set(['w']) };
    const known = { [key]: principal({ organisationId: 'o', workspaceId: 'w' }) };
    const answer = async (found: Awaitable<DeploymentRules>): Promise<string> => {
      const stage = await hooks(known, false, found);
      try {
        await stage.request?.(exchange(['x-gateway-api-key', key]));
        return 'served';
      } catch (error) {
        return `${(error as GatewayError).code}: ${(error as Error).message}`;
      }
    };
    for (const served of [rules, Promise.resolve(rules), { ...rules, workspaces: null }])
      expect(await answer(served)).to.equal('served');
    expect(await answer({ ...rules, disabled: true })).to.match(/^permission_denied: .+ turned off/);
    expect(await answer({ ...rules, organisationId: 'p' })).to.match(/^permission_denied: .+ organisation/);
    const others = { ...rules, workspaces: new Set(['v']) };
    for (const refused of [others, Promise.resolve(others)])
      expect(await answer(refused)).to.match(/^permission_denied: .+ workspace/);
  });

  it('asks for a key where there is none', async () => {
    for (const headers of [[], ['authorization', 'Bearer'], ['authorization', ''], ['x-api-key', '']]) {
      const error = await refusal(headers);
      expect(error).to.include({ code: '03', status: 401, type: 'authentication_error' });
      expect(error.message).to.equal(
        'Missing API key: send a gateway key in x-gateway-api-key, or as Authorization: Bearer <gateway key>.',
      );
    }
    expect(asked).to.deep.equal([]);
  });

  it('reports a key that is not a gateway key by the header that holds it, and not as missing', async () => {
    const cut = key.slice(0, -1);
    for (const headers of [
      ['authorization', 'Bearer sk-provider'],
      ['authorization', `Bearer ${cut}`],
      ['x-api-key', 'sk-ant'],
      ['api-key', 'azure'],
      ['x-goog-api-key', cut],
    ]) {
      const error = await refusal(headers);
      expect(error).to.include({ code: '03', status: 401, param: headers[0] });
      expect(error.message).to.equal(
        `Invalid API key: the value of ${headers[0]} is not a gateway key. Send a gateway key there, or in x-gateway-api-key.`,
      );
    }
    const unknown = await refusal(['authorization', `Bearer ${makeGatewayKey('workspace-service')}`]);
    expect(unknown.param).to.equal('authorization');
    expect(unknown.message).to.match(
      /^Invalid API key: the value of authorization is not a gateway key of this/,
    );
  });

  it('reports a key in the query that is not a gateway key', async () => {
    const stage = await hooks({});
    const gemini = { name: 'gemini-generate', format: 'none', body: 'stream', modelInPath: true } as const;
    for (const other of ['AIza-other', token]) {
      const x = new Exchange('id', gemini, { ...exchange([]).request, query: `alt=sse&key=${other}` });
      expect(() => stage.request?.(x), other).to.throw(
        GatewayError,
        'the key in the query is not a gateway key',
      );
    }
    expect(asked).to.deep.equal([]);
  });

  it('refuses a key in Authorization without the scheme Bearer, and explains how to send it', async () => {
    for (const value of [key, ` ${key} `]) {
      const error = await refusal(['authorization', value]);
      expect(error).to.include({ code: '03', status: 401, param: 'authorization' });
      expect(error.message).to.equal(
        'Missing scheme: send "Authorization: Bearer <gateway key>", or the key alone in x-gateway-api-key.',
      );
    }
    for (const value of [`Bearer${key}`, `Token ${key}`, `Basic ${key}`, 'Basic eDp5'])
      expect((await refusal(['authorization', value])).message).to.equal(
        'Invalid API key: the value of authorization does not begin with "Bearer ". Send "Authorization: Bearer <gateway key>", or the key alone in x-gateway-api-key.',
      );
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
      message:
        'Gateway Error: Invalid API key: the value of x-gateway-api-key is not a gateway key of this gateway. It may be incomplete, deleted or from another gateway: send a valid gateway key. Error Code: 03',
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

  it('refuses an admin key for model requests, and explains its use', async () => {
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

  it('refuses a key of no workspace, and one of the organisation that has a workspace', async () => {
    const { keyType, workspaceId } = principal();
    for (const more of [
      { keyType, workspaceId: null },
      { keyType: 'organisation-service' as const, workspaceId },
    ])
      expect(await refusal(['x-gateway-api-key', key], { [key]: principal(more) })).to.include({
        code: 'permission_denied',
      });
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
