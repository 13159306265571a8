import { once } from 'node:events';
import { request } from 'node:http';
import { expect } from 'chai';
import { connectAdmin } from '../../src/client/index.js';
import { forgedTokens } from '../support/forged-tokens.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { type IssuerKey, KeyServer, makeIssuerKey, nowS, signToken } from '../support/token-issuer.js';

const settingsPath = '/v1/admin/organisation/auth-settings';
const issuer = 'https://id.example.com';
const audience = 'headgate';

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes.
  readonly json: any;
  readonly text: string;
}

interface Call {
  readonly verb?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Address of the client: what is counted for one does not count for another. */
  readonly from?: string;
}

describe('JSON web tokens in place of gateway keys', function () {
  this.timeout(60_000);
  let gateway: RunningGateway;
  let server: KeyServer;
  let key: IssuerKey;
  let next: IssuerKey;
  let stranger: IssuerKey;
  let elliptic: IssuerKey;
  let edwards: IssuerKey;

  before(async () => {
    const env = { HEADGATE_SIMULATED: 'true', HEADGATE_WORKERS: '2' };
    [gateway, server, key, next, stranger, elliptic, edwards] = await Promise.all([
      startGateway({ env }),
      new KeyServer().start(),
      makeIssuerKey('one'),
      makeIssuerKey('two'),
      makeIssuerKey('stranger'),
      makeIssuerKey('elliptic', 'ES256'),
      makeIssuerKey('edwards', 'EdDSA'),
    ]);
    server.keys = [key.jwk, elliptic.jwk, edwards.jwk];
    await admin('PUT', settingsPath, { jwks_url: server.url, issuer, audience });
  });
  after(async () => {
    await gateway?.stop();
    await server?.close();
  });

  const claims = () => ({
    iss: issuer,
    aud: audience,
    sub: 'alice',
    gateway_oid: gateway.organisationId,
    gateway_workspace: 'default',
    scope: 'openid gateway.completions.write gateway.configs.list gateway.logs.list gateway.logs.view',
  });
  const sign = (more: Readonly<Record<string, unknown>> = {}, by = key) =>
    signToken(by, { ...claims(), ...more });

  function call(
    path: string,
    { verb = 'GET', body, headers = {}, from = '127.0.0.1' }: Call,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const options = {
        method: verb,
        headers: { 'content-type': 'application/json', ...headers },
        localAddress: from,
        agent: false,
      } as const;
      const sent = request(gateway.url + path, options, (response) => {
        let text = '';
        response.on('data', (piece) => {
          text += piece;
        });
        response.on('end', () => {
          const json = text.startsWith('{') ? JSON.parse(text) : null;
          resolve({ status: response.statusCode ?? 0, json, text });
        });
      });
      sent.on('error', reject);
      sent.end(body && JSON.stringify(body));
    });
  }

  async function admin(verb: string, path: string, body?: object): Promise<Answer> {
    const answer = await call(path, {
      verb,
      ...(body && { body }),
      headers: { 'x-gateway-api-key': gateway.adminKey },
    });
    expect(answer.status, `${verb} ${path} ${answer.text}`).to.equal(200);
    return answer;
  }

  const chat = (token: string, more: Call = {}): Promise<Answer> =>
    call('/v1/chat/completions', {
      verb: 'POST',
      body: { model: '@simulated/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] },
      headers: { 'x-gateway-api-key': token },
      ...more,
    });
  const configs = (token: string, more: Call = {}): Promise<Answer> =>
    call('/v1/configs', { headers: { 'x-gateway-api-key': token }, ...more });
  const overGrpc = async (token: string): Promise<string> => {
    const client = connectAdmin({ address: `127.0.0.1:${gateway.grpcPort}`, key: token });
    try {
      await client.api.configs.listConfigs({});
      return 'ok';
    } catch (error) {
      return (error as { status?: string }).status ?? String(error);
    } finally {
      client.close();
    }
  };

  const auditLog = async (): Promise<string> => {
    const times = { start_time: new Date(Date.now() - 3_600_000), end_time: new Date(Date.now() + 60_000) };
    const query = Object.entries(times).map(([name, time]) => `${name}=${time.toISOString()}`);
    return (await admin('GET', `/v1/audit-logs?${query.join('&')}`)).text;
  };

  it('are refused from the moment on that their user is one who may not call', async () => {
    const scim = (verb: string, path: string, body: object): Promise<Answer> =>
      call(`/v1/scim/${gateway.organisationId}/Users${path}`, {
        verb,
        body,
        headers: { 'x-gateway-api-key': gateway.adminKey, 'content-type': 'application/scim+json' },
      });
    const token = await sign({ sub: 'New@Example.com' });
    /** Several times, so that every data worker is asked. */
    const statuses = async (): Promise<number[]> => [
      ...new Set((await Promise.all(Array.from({ length: 20 }, () => chat(token)))).map((one) => one.status)),
    ];
    expect(await statuses()).to.deep.equal([200]);
    const made = await scim('POST', '', { userName: 'new@example.com', active: false });
    expect(made.status, made.text).to.equal(201);
    expect(await statuses()).to.deep.equal([403]);
    const id = JSON.parse(made.text).id;
    await scim('PUT', `/${id}`, { userName: 'other@example.com', active: false });
    expect(await statuses()).to.deep.equal([200]);
    await scim('PUT', `/${id}`, { userName: 'new@example.com', active: false });
    expect(await statuses()).to.deep.equal([403]);
  });

  it('call models and read the administration, in either header, over REST and gRPC', async () => {
    const token = await sign();
    const bearer = { headers: { authorization: `Bearer ${token}` } };
    expect((await chat(token)).json.choices[0].message.content).to.equal('You said: Hello');
    expect((await chat(token, bearer)).status).to.equal(200);
    expect((await configs(token)).status).to.equal(200);
    expect((await configs(token, bearer)).status).to.equal(200);
    expect(await overGrpc(token)).to.equal('ok');
    // By their other names.
    const { gateway_oid: organisation_id, gateway_workspace: workspace_slug, scope, ...rest } = claims();
    const scopes = scope.split(' ').map((one) => one.replace('gateway.', ''));
    const others = await signToken(key, {
      ...rest,
      organisation_id,
      workspace_slug,
      scopes,
      aud: [audience, 'x'],
    });
    expect((await chat(others)).status).to.equal(200);
    expect((await configs(others)).status).to.equal(200);
  });

  it('change nothing in the administration, and hold no scope that they do not name', async () => {
    const scope = 'completions.write configs.create configs.delete configs.list workspaces.update';
    const token = await sign({ scope });
    const made = await configs(token, {
      verb: 'POST',
      body: { name: 'x', config: {} },
      headers: { 'x-gateway-api-key': token },
    });
    expect([made.status, made.json.data.errorCode]).to.deep.equal([403, 'AB03']);
    const none = await sign({ scope: 'openid' });
    expect((await chat(none)).status).to.equal(403);
    expect((await configs(none)).status).to.equal(403);
    const reader = await sign({ scope: 'configs.list' });
    expect((await chat(reader)).status).to.equal(403);
    const settings = await call(settingsPath, {
      headers: { 'x-gateway-api-key': await sign({ scope: 'organisation_users.read' }) },
    });
    expect(settings.status).to.equal(403);
  });

  it('are refused where they are forged or broken, whatever is wrong with them', async () => {
    const evil = await new KeyServer().start();
    evil.keys = [stranger.jwk];
    try {
      const tools = { key, ofOtherAlgorithm: [elliptic, edwards], stranger, claims: claims(), jku: evil.url };
      const forged = await forgedTokens(tools);
      expect(forged.length).to.be.at.least(40);
      expect(new Set(forged.map(([name]) => name)).size).to.equal(forged.length);
      const taken: string[] = [];
      for (const [name, token] of forged) {
        const [asked, bearer, read, overRpc] = await Promise.all([
          chat(token, { from: '127.0.0.2' }),
          chat('', { from: '127.0.0.3', headers: { authorization: `Bearer ${token}` } }),
          configs(token, { from: '127.0.0.4' }),
          overGrpc(token),
        ]);
        const statuses = [asked.status, bearer.status, read.status, overRpc];
        // gRPC takes no metadata of that length.
        const isTooLong = name === 'more than 16 KiB' && overRpc !== 'ok';
        if (statuses.join() !== `401,401,401,${isTooLong ? overRpc : 'UNAUTHENTICATED'}`)
          taken.push(`${name}: ${statuses}`);
      }
      expect(taken).to.deep.equal([]);
      expect(evil.asked).to.equal(0);
      for (const text of [gateway.output(), await auditLog()]) {
        for (const [name, token] of forged)
          for (const part of token.split('.').filter(({ length }) => length > 20))
            expect(text.includes(part), name).to.equal(false);
      }
      // They have not spoilt anything for others.
      expect((await chat(await sign())).status).to.equal(200);
    } finally {
      await evil.close();
    }
  });

  it('are accepted with another algorithm where the settings name it', async () => {
    await admin('PUT', settingsPath, { algorithms: ['ES256', 'EdDSA'] });
    expect((await chat(await sign({}, elliptic))).status).to.equal(200);
    expect((await chat(await sign({}, edwards))).status).to.equal(200);
    expect((await chat(await sign())).status).to.equal(401);
    await admin('PUT', settingsPath, { algorithms: null });
    expect((await chat(await sign())).status).to.equal(200);
    expect((await chat(await sign({}, elliptic))).status).to.equal(401);
  });

  it('are refused with a reason where their signature is right', async () => {
    const expired = await chat(await sign({ exp: nowS() - 5 }));
    expect(expired.json.error).to.include({ code: '01' });
    expect(expired.text).to.include('Expired token');
    const late = await sign({ exp: nowS() + 1 });
    expect((await chat(late)).status).to.equal(200);
    const answer = await eventually('the token expires', async () => {
      const one = await chat(late);
      return one.status === 401 && one;
    });
    expect(answer.json.error.code).to.equal('01');
    expect((await configs(late)).status).to.equal(401);
    expect((await chat(await sign({ iss: 'x' }))).text).to.include('its issuer (iss) is another one');
    const elsewhere = await chat(await sign({ gateway_workspace: 'nowhere' }));
    expect(elsewhere.status).to.equal(403);
    expect(elsewhere.text).to.include('workspace');
    expect((await configs(await sign({ gateway_workspace: 'nowhere' }))).json.data.errorCode).to.equal(
      'AB03',
    );
  });

  it('are refused after a refresh where their key was removed, on every worker, and accepted where one was added', async () => {
    const old = await sign();
    const several = async (token: string): Promise<number[]> =>
      Promise.all(Array.from({ length: 12 }, async () => (await chat(token)).status));
    expect(new Set(await several(old))).to.deep.equal(new Set([200]));
    expect((await configs(old)).status).to.equal(200);
    server.keys = [next.jwk, elliptic.jwk, edwards.jwk];
    const refreshed = await admin('POST', `${settingsPath}/refresh`, {});
    expect(refreshed.json.keys).to.deep.include({ kid: 'two', alg: 'RS256' });
    expect(Date.parse(refreshed.json.fetched_at)).to.be.closeTo(Date.now(), 60_000);
    expect(new Set(await several(old))).to.deep.equal(new Set([401]));
    expect((await configs(old)).status).to.equal(401);
    expect(await overGrpc(old)).to.equal('UNAUTHENTICATED');
    expect((await chat(await sign({}, next))).status).to.equal(200);
    server.keys = [key.jwk, elliptic.jwk, edwards.jwk];
    await admin('POST', `${settingsPath}/refresh`, {});
    expect((await chat(await sign())).status).to.equal(200);
    expect(await auditLog()).to.include('auth-settings/refresh');
  });

  it('are checked with the keys from before while the key server is away, and a refresh reports that', async () => {
    await chat(await sign());
    server.answer = (_, response) => response.writeHead(500).end('no');
    const failed = await call(`${settingsPath}/refresh`, {
      verb: 'POST',
      body: {},
      headers: { 'x-gateway-api-key': gateway.adminKey },
    });
    expect(failed.status).to.equal(503);
    expect(failed.text).to.include('status 500');
    expect((await chat(await sign({ sub: 'another' }))).status).to.equal(200);
    server.answer = null;
  });

  it('fetch the key set once for many unknown keys, and for many tokens at once', async () => {
    const before = server.asked;
    const tokens = await Promise.all(
      Array.from({ length: 30 }, (_, i) => signToken(stranger, claims(), { kid: `unknown-${i}` })),
    );
    const answers = await Promise.all(tokens.map((token) => chat(token, { from: '127.0.0.5' })));
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([401]));
    expect(server.asked - before).to.be.at.most(1);
    const good = await Promise.all(Array.from({ length: 30 }, (_, i) => sign({ sub: `user ${i}` })));
    const accepted = await Promise.all(good.map((token) => chat(token)));
    expect(new Set(accepted.map(({ status }) => status))).to.deep.equal(new Set([200]));
    expect(server.asked - before).to.be.at.most(1);
  });

  it('leave a row that shows their user, under the same id of a key for each token', async () => {
    const sub = `row-${Date.now()}@example.com`;
    for (const more of [{}, { jti: 'second' }])
      expect((await chat(await sign({ sub, ...more }))).status).to.equal(200);
    const rows = await eventually('the rows are there', async () => {
      const query = new URLSearchParams({ metadata: JSON.stringify({ _user: sub }) });
      const { json } = await call(`/v1/logs?${query}`, {
        headers: { 'x-gateway-api-key': gateway.workspaceKey },
      });
      return json?.data?.length === 2 && json.data;
    });
    for (const row of rows) {
      expect(JSON.stringify(row)).to.include(`jwt:${sub}`);
      expect(row.metadata).to.include({ _user: sub });
    }
  });

  it('bring rate limits and budgets that count for their user, not for the token', async () => {
    const limited = (jti: string, sub: string, more: object) => sign({ sub, jti, ...more });
    const rate_limits = [{ type: 'requests', unit: 'rpd', value: 2 }];
    const rates: number[] = [];
    for (const jti of ['a', 'b', 'c'])
      rates.push((await chat(await limited(jti, 'rates', { rate_limits }))).status);
    expect(rates).to.deep.equal([200, 200, 429]);
    expect((await chat(await limited('d', 'other', { rate_limits }))).status).to.equal(200);
    const usage_limits = { type: 'requests', credit_limit: 1, periodic_reset: 'monthly' };
    const used: Answer[] = [];
    for (const jti of ['a', 'b']) used.push(await chat(await limited(jti, 'budget', { usage_limits })));
    expect(used.map(({ status }) => status)).to.deep.equal([200, 412]);
    expect(used[1]?.json.error.code).to.equal('04');
    expect(used[1]?.json.error.message).to.include('The user "budget" may use 1 request,');
  });

  it('bring a default config and metadata', async () => {
    const config = { provider: '@simulated', override_params: { model: 'gpt-4o' } };
    const { json } = await admin('POST', '/v1/configs', {
      name: 'of tokens',
      config,
      workspace_id: gateway.workspaceId,
    });
    const defaults = { config_id: json.data?.slug ?? json.slug, metadata: { team: 'blue' } };
    const answer = await chat(await sign({ sub: 'defaults', defaults }), {
      body: { model: 'x', messages: [{ role: 'user', content: 'Hello' }] },
      headers: { 'x-gateway-api-key': await sign({ sub: 'defaults', defaults }) },
    });
    expect(answer.json.model, answer.text).to.equal('gpt-4o');
  });

  it('are accepted by a gateway that starts while the key server is away', async () => {
    expect((await chat(await sign())).status).to.equal(200);
    server.answer = (_, response) => response.writeHead(500).end('no');
    const exited = once(gateway.process, 'exit');
    gateway.process.kill('SIGKILL');
    await exited;
    gateway = await gateway.restart();
    expect((await chat(await sign({ sub: 'after the start' }))).status).to.equal(200);
    expect((await chat(await sign({}, stranger))).status).to.equal(401);
    server.answer = null;
  });
});
