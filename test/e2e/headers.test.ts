// lane: shared gateway, quick
import { expect } from 'chai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

describe('headers in and out', () => {
  let gateway: SharedGateway;
  let provider: SimulatedProvider;

  before(async function () {
    this.timeout(20_000);
    [gateway, provider] = await Promise.all([shareGateway(), startSimulated({ record: true })]);
    await gateway.admin().providers.create({
      slug: 'main',
      provider: 'openai',
      key: 'sk-stored',
      base_url: `${provider.url}/v1`,
    });
    await gateway.admin().configs.create({
      slug: 'pc-two',
      name: 'two targets',
      config: JSON.stringify({
        strategy: { mode: 'fallback' },
        targets: [
          { provider: '@main', override_params: { model: 'sim-fault:500' } },
          { provider: '@main', override_params: { model: 'gpt-4o' } },
        ],
      }),
    });
  });

  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  const call = (headers: Record<string, string>, body: object = {}): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }], ...body }),
    });
  const last = () => {
    const request = provider.requests.at(-1);
    if (request === undefined) throw new Error('the provider saw nothing');
    return request;
  };

  it('/health answers without a key, to GET and HEAD alone, with an id and the trace of the caller', async () => {
    for (const path of ['/health', '/v1/health']) {
      const asked = await fetch(gateway.url + path, { headers: { 'x-gateway-trace-id': 'probe-1' } });
      expect([asked.status, await asked.json()]).to.deep.equal([200, { status: 'ok' }]);
      expect(asked.headers.get('x-gateway-trace-id')).to.equal('probe-1');
      expect(asked.headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/);
      const head = await fetch(gateway.url + path, { method: 'HEAD' });
      expect([head.status, await head.text()]).to.deep.equal([200, '']);
      const posted = await fetch(gateway.url + path, { method: 'POST', body: '{}' });
      expect([posted.status, posted.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD']);
    }
  });

  it('gateway key + virtual key', async () => {
    const answer = await call({ 'x-gateway-api-key': gateway.workspaceKey, 'x-gateway-virtual-key': 'main' });
    expect(answer.status).to.equal(200);
    expect(last().headers['authorization']).to.equal('Bearer sk-stored');
  });

  it('gateway key + the provider’s own key + custom host', async () => {
    const answer = await call({
      'x-gateway-api-key': gateway.workspaceKey,
      authorization: 'Bearer sk-mine',
      'x-gateway-provider': 'openai',
      'x-gateway-custom-host': `${provider.url}/v1`,
    });
    expect(answer.status).to.equal(200);
    expect(last().headers['authorization']).to.equal('Bearer sk-mine');
    expect(last().path).to.equal('/v1/chat/completions');
  });

  it('gateway key and config by slug, with the fallback shown in the headers', async () => {
    const answer = await call({
      'x-gateway-api-key': gateway.workspaceKey,
      'x-gateway-config': 'pc-two',
      'x-gateway-trace-id': 'my-trace',
    });
    expect(answer.status).to.equal(200);
    expect(answer.headers.get('x-gateway-trace-id')).to.equal('my-trace');
    expect(answer.headers.get('x-gateway-last-used-option-index')).to.equal('config.targets[1]');
    expect(answer.headers.get('x-gateway-last-used-option-params')).to.equal('{"model":"gpt-4o"}');
    expect(answer.headers.get('x-gateway-retry-attempt-count')).to.equal('0');
    expect(answer.headers.get('x-gateway-provider')).to.equal('openai');
    expect(answer.headers.get('x-gateway-cache-status')).to.equal('DISABLED');
  });

  it('names the provider of a call that got no answer', async () => {
    const answer = await call(
      {
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-provider': '@main',
        'x-gateway-request-timeout': '50',
      },
      { model: 'sim-fault:slow-head=5000' },
    );
    expect(answer.status).to.equal(408);
    expect(answer.headers.get('x-gateway-provider')).to.equal('openai');
  });

  it('has the parameters of the target in a header up to 8 KiB, and leaves out longer ones', async () => {
    const told = async (user: string): Promise<string | null> => {
      const config = { provider: '@main', override_params: { user } };
      const answer = await call({
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-config': JSON.stringify(config).replaceAll('é', '\\u00e9'),
      });
      expect(answer.status).to.equal(200);
      expect(JSON.parse(last().body.toString())).to.have.property('user', user);
      expect(answer.headers.get('x-gateway-last-used-option-index')).to.equal('config');
      return answer.headers.get('x-gateway-last-used-option-params');
    };
    const most = 'u'.repeat(8 * 1024 - '{"user":""}'.length);
    expect(await told(most)).to.equal(`{"user":"${most}"}`);
    expect(await told(`${most}u`)).to.equal(null);
    // Counted as written: one character of these is six bytes of header.
    expect(await told('é'.repeat(1300))).to.equal(`{"user":"${'\\u00e9'.repeat(1300)}"}`);
    expect(await told('é'.repeat(1400))).to.equal(null);
  });

  it('gateway key as a bearer token, config inline', async () => {
    const answer = await call({
      authorization: `Bearer ${gateway.workspaceKey}`,
      'x-gateway-config': JSON.stringify({ provider: '@main', retry: { attempts: 1 } }),
    });
    expect(answer.status).to.equal(200);
    expect(answer.headers.get('x-gateway-trace-id')).to.match(/^[0-9a-f-]{36}$/);
  });

  it('never sends the gateway key or gateway headers upstream, on unified routes or passthrough', async () => {
    await call({
      'x-gateway-api-key': gateway.workspaceKey,
      'x-gateway-provider': '@main',
      'x-gateway-metadata': '{"a":"b"}',
    });
    await fetch(`${gateway.url}/v1/some/path?x=1`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${gateway.workspaceKey}`,
        'x-api-key': gateway.workspaceKey,
        'x-gateway-provider': '@main',
        'x-own': 'kept',
      },
      body: 'anything',
    });
    for (const request of provider.requests) {
      const text = JSON.stringify(request.headers);
      expect(text).to.not.include(gateway.workspaceKey);
      expect(text).to.not.include('x-gateway-');
    }
    expect(last().headers['x-own']).to.equal('kept');
    expect(last().path).to.equal('/v1/some/path?x=1');
    expect(last().body.toString()).to.equal('anything');
  });

  it('keeps the gateway key out of whatever else the client put it in', async () => {
    const seen = provider.requests.length;
    const headers = {
      'x-gateway-api-key': gateway.workspaceKey,
      'x-gateway-provider': '@main',
      'x-gateway-forward-headers': 'x-one',
      'x-one': `Token ${gateway.workspaceKey}`,
      'x-two': gateway.workspaceKey,
    };
    await call(headers);
    await fetch(`${gateway.url}/v1/other`, { headers });
    for (const request of provider.requests.slice(seen)) {
      expect(JSON.stringify(request.rawHeaders)).to.not.include(gateway.workspaceKey);
    }
    const refused = await fetch(`${gateway.url}/v1/other?key=${gateway.workspaceKey}`, { headers });
    expect(refused.status).to.equal(400);
    expect(provider.requests.length - seen).to.equal(2);
  });

  it('a stored credential is never sent to a host of the caller’s', async () => {
    const seen = provider.requests.length;
    const answer = await call({
      'x-gateway-api-key': gateway.workspaceKey,
      'x-gateway-provider': '@main',
      'x-gateway-custom-host': `${provider.url}/v1`,
    });
    expect(answer.status).to.equal(400);
    expect(((await answer.json()) as { error: { code: string } }).error.code).to.equal('invalid_custom_host');
    expect(provider.requests).to.have.length(seen);
  });

  it('no key, an admin key, no provider: each refused with what to do', async () => {
    const none = await call({ 'x-gateway-provider': '@main' });
    expect(none.status).to.equal(401);
    expect(await none.json()).to.have.nested.property('error.code', '03');
    const admin = await call({ 'x-gateway-api-key': gateway.adminKey, 'x-gateway-provider': '@main' });
    expect(admin.status).to.equal(403);
    const nowhere = await call({ 'x-gateway-api-key': gateway.workspaceKey });
    expect(nowhere.status).to.equal(400);
    expect(((await nowhere.json()) as { error: { message: string } }).error.message).to.include(
      'x-gateway-provider',
    );
  });

  it('a bad inline config is refused as AB01 with the paths of what is wrong', async () => {
    const answer = await call({
      'x-gateway-api-key': gateway.workspaceKey,
      'x-gateway-config': JSON.stringify({
        strategy: { mode: 'fallback' },
        targets: [{ provider: '@main', retry: { attempts: 9 } }],
        colour: 1,
      }),
    });
    expect(answer.status).to.equal(400);
    const body = (await answer.json()) as { error: { code: string }; errors: string[] };
    expect(body.error.code).to.equal('AB01');
    expect(body.errors.join('\n')).to.include('config.targets[0].retry.attempts').and.include('colour');
  });

  it('unknown fields and the digits of large integers reach the provider as they were sent', async () => {
    const text =
      '{"model":"@main/gpt-4o-mini",  "messages":[{"role":"user","content":"Hello"}],"seed":9007199254740993,"x_new":{"a":[1.0,1e400]}}';
    await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-gateway-api-key': gateway.workspaceKey },
      body: text,
    });
    expect(last().body.toString()).to.equal(text.replace('@main/gpt-4o-mini', 'gpt-4o-mini'));
  });
});
