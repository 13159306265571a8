// lane: slow
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect } from 'chai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { eventually, freePorts, pause, type RunningGateway, startGateway } from '../support/gateway.js';
import { expectWithinMs } from '../support/time-limits.js';

interface ErrorAnswer {
  error: { message: string; code: string; type: string };
}

describe('a provider that fails', () => {
  let gateway: RunningGateway;
  let provider: SimulatedProvider;

  before(async function () {
    this.timeout(20_000);
    const [deadPort] = await freePorts(1);
    [gateway, provider] = await Promise.all([
      startGateway({
        env: {
          HEADGATE_HEADERS_TIMEOUT_MS: '700',
          HEADGATE_FIRST_TOKEN_TIMEOUT_MS: '700',
          HEADGATE_IDLE_TIMEOUT_MS: '700',
          HEADGATE_CONNECT_TIMEOUT_MS: '700',
        },
      }),
      startSimulated({ record: true }),
    ]);
    const admin = gateway.admin();
    await admin.providers.create({
      slug: 'main',
      provider: 'openai',
      key: 'sk-sim',
      base_url: `${provider.url}/v1`,
    });
    await admin.providers.create({
      slug: 'claude',
      provider: 'anthropic',
      key: 'sk-ant-sim',
      base_url: `${provider.url}/v1`,
    });
    await admin.providers.create({
      slug: 'dead',
      provider: 'openai',
      key: 'sk-sim',
      base_url: `http://127.0.0.1:${deadPort}/v1`,
    });
  });

  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  const ask = (
    model: string,
    more: { stream?: boolean; config?: object; provider?: string; trace?: string; signal?: AbortSignal } = {},
  ): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      signal: more.signal ?? null,
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': gateway.workspaceKey,
        ...(more.config === undefined
          ? { 'x-gateway-provider': more.provider ?? '@main' }
          : { 'x-gateway-config': JSON.stringify(more.config) }),
        ...(more.trace === undefined ? {} : { 'x-gateway-trace-id': more.trace }),
      },
      body: JSON.stringify({
        model,
        stream: more.stream ?? false,
        messages: [{ role: 'user', content: 'Hello out there' }],
      }),
    });
  const code = async (answer: Response): Promise<string> => ((await answer.json()) as ErrorAnswer).error.code;
  const row = (trace: string) =>
    eventually(`a ledger row for ${trace}`, async () => {
      const { data } = await gateway.admin().logs.list({ trace_id: trace });
      return data[0];
    });

  it('closed port: 502 upstream_connect_failed at no cost, and a fallback begins within 50 ms', async function () {
    this.retries(3);
    const alone = await ask('gpt-4o-mini', { provider: '@dead', trace: 'closed-port' });
    expect(alone.status).to.equal(502);
    expect(await code(alone)).to.equal('upstream_connect_failed');
    const config = {
      strategy: { mode: 'fallback' },
      targets: [{ provider: '@dead' }, { provider: '@main' }],
    };
    await (await ask('gpt-4o-mini', { config })).text();
    const seen = provider.requests.length;
    const began = Date.now();
    const answer = await ask('gpt-4o-mini', { config, trace: 'closed-port-fallback' });
    expect(answer.status).to.equal(200);
    expectWithinMs((provider.requests[seen]?.receivedAt ?? 0) - began, 50);
    const entry = await row('closed-port-fallback');
    expect(entry.attempts.map((attempt) => attempt.error ?? 'ok')).to.deep.equal([
      'upstream_connect_failed',
      'ok',
    ]);
  });

  it('accepts and never answers: 504 at the headers timeout, sent once', async () => {
    const seen = provider.requests.length;
    const began = performance.now();
    const answer = await ask('sim-fault:hang');
    expect(answer.status).to.equal(504);
    expect(await code(answer)).to.equal('upstream_headers_timeout');
    expectWithinMs(performance.now() - began, 1200, { atLeast: 650 });
    expect(provider.requests.length - seen).to.equal(1);
  });

  it('reset before the head: 502 upstream_reset, sent once', async () => {
    const seen = provider.requests.length;
    const answer = await ask('sim-fault:reset-before-head');
    expect(answer.status).to.equal(502);
    expect(await code(answer)).to.equal('upstream_reset');
    expect(provider.requests.length - seen).to.equal(1);
  });

  it('reset in the middle of a plain body: nothing was forwarded, so a fallback answers', async () => {
    const config = {
      strategy: { mode: 'fallback' },
      targets: [
        { provider: '@main', override_params: { model: 'sim-fault:reset-mid-body' } },
        { provider: '@main' },
      ],
    };
    const answer = await ask('gpt-4o-mini', { config });
    expect(answer.status).to.equal(200);
    const alone = await ask('sim-fault:reset-mid-body');
    expect(alone.status).to.equal(502);
    expect(await code(alone)).to.equal('upstream_truncated');
  });

  for (const [fault, expected] of [
    ['reset-mid-stream', 'upstream_truncated'],
    ['eof-mid-stream', 'upstream_truncated'],
    ['stall-mid-stream', 'upstream_idle_timeout'],
  ] as const) {
    for (const slug of ['main', 'claude']) {
      it(`${fault} (@${slug}): an error event, no [DONE], and the tokens seen are charged`, async () => {
        const trace = `${fault}-${slug}`;
        const answer = await ask(`sim-fault:${fault}`, { stream: true, provider: `@${slug}`, trace });
        expect(answer.status).to.equal(200);
        const text = await answer.text();
        expect(text).to.include('event: error\ndata: ').and.not.include('[DONE]');
        const event = /event: error\ndata: (.*)\n\n$/.exec(text);
        expect((JSON.parse(event?.[1] ?? '{}') as ErrorAnswer).error.code).to.equal(expected);
        const entry = await row(trace);
        expect(entry.error).to.equal(expected);
        expect(entry.res_units).to.be.greaterThan(0);
      });
    }
  }

  it('one byte at a time flows', async function () {
    this.timeout(15_000);
    const answer = await ask('sim-fault:drip=5', { stream: true });
    expect(answer.status).to.equal(200);
  });

  it('an endless answer that is no stream ends at the cap, though a stream was asked for', async function () {
    this.timeout(20_000);
    const endless = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(64 * 1024, ' ')));
        response.once('drain', more);
      };
      more();
    });
    await new Promise<void>((done) => endless.listen(0, '127.0.0.1', done));
    const { port } = endless.address() as AddressInfo;
    await gateway.admin().providers.create({
      slug: 'endless',
      provider: 'openai',
      key: 'sk',
      base_url: `http://127.0.0.1:${port}/v1`,
    });
    for (const stream of [false, true]) {
      const answer = await ask('gpt-4o-mini', { stream, provider: '@endless' });
      expect(answer.status).to.equal(502);
      expect(await code(answer)).to.equal('upstream_too_large');
    }
    endless.closeAllConnections();
    endless.close();
  });

  it('200 with bad JSON, HTML or nothing: 502 on a unified route, bytes unchanged on passthrough', async () => {
    for (const fault of ['bad-json', 'html', 'empty']) {
      const answer = await ask(`sim-fault:${fault}`);
      expect(answer.status, fault).to.equal(502);
      expect(await code(answer)).to.equal('upstream_invalid_response');
      const streamed = await ask(`sim-fault:${fault}`, { stream: true });
      expect(streamed.status, fault).to.equal(502);
    }
    const raw = await fetch(`${gateway.url}/v1/other`, {
      headers: {
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-provider': '@main',
        'x-simulate': 'html',
      },
    });
    expect(raw.status).to.equal(200);
    expect(await raw.text()).to.include('<html');
  });

  it('invalid events are refused before anything was sent, so that a fallback may answer', async () => {
    const config = {
      strategy: { mode: 'fallback' },
      targets: [{ provider: '@main', override_params: { model: 'sim-fault:html' } }, { provider: '@main' }],
    };
    const answer = await ask('gpt-4o-mini', { config, stream: true });
    expect(answer.status).to.equal(200);
    expect(await answer.text()).to.include('[DONE]');
  });

  it('a length that lies: too long is a truncated answer; too short never leaks into the next one', async () => {
    const long = await ask('sim-fault:wrong-length-long');
    expect(long.status).to.be.oneOf([502, 504]);
    await (await ask('sim-fault:wrong-length-short')).text();
    for (let i = 0; i < 20; i++) {
      const next = await ask('gpt-4o-mini');
      expect(next.status).to.equal(200);
      expect(await next.text()).to.include('Hello out there');
    }
  });

  it('429 is passed on with its Retry-After, or falls back at once', async () => {
    const answer = await ask('sim-fault:429=2');
    expect(answer.status).to.equal(429);
    expect(answer.headers.get('retry-after')).to.equal('2');
    expect(answer.headers.get('x-gateway-error-origin')).to.equal('provider');
    const sane = { '429=1000000000': '86400', '429=-1': null, '429=abc': null, '429': null };
    for (const [fault, wait] of Object.entries(sane)) {
      const odd = await ask(`sim-fault:${fault}`);
      expect([odd.status, odd.headers.get('retry-after')], fault).to.deep.equal([429, wait]);
    }
    const config = {
      strategy: { mode: 'fallback', on_status_codes: [429] },
      targets: [{ provider: '@main', override_params: { model: 'sim-fault:429=60' } }, { provider: '@main' }],
    };
    const began = performance.now();
    expect((await ask('gpt-4o-mini', { config })).status).to.equal(200);
    // The provider asked for a minute.
    expectWithinMs(performance.now() - began, 10_000);
  });

  it("the provider’s own 401 is distinguished from the gateway's, and not retried", async () => {
    const seen = provider.requests.length;
    const answer = await ask('gpt-4o-mini', {
      config: { provider: '@main', override_params: { model: 'sim-fault:401' }, retry: { attempts: 3 } },
    });
    expect(answer.status).to.equal(401);
    expect(answer.headers.get('x-gateway-error-origin')).to.equal('provider');
    expect(provider.requests.length - seen).to.equal(1);
  });

  it('a redirect is an error on a unified route and returned on passthrough, and is never followed', async () => {
    const seen = provider.requests.length;
    const answer = await ask('sim-fault:redirect');
    expect(answer.status).to.equal(502);
    expect(await code(answer)).to.equal('upstream_redirect');
    const raw = await fetch(`${gateway.url}/v1/other`, {
      redirect: 'manual',
      headers: {
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-provider': '@main',
        'x-simulate': 'redirect',
      },
    });
    expect(raw.status).to.be.within(300, 399);
    expect(provider.requests.length - seen).to.equal(2);
  });

  it('client gone mid-stream: upstream cancelled within 100 ms, tokens so far settled', async function () {
    this.retries(3);
    const leave = new AbortController();
    const answer = await ask('sim-fault:delay=100', {
      stream: true,
      trace: 'gone-mid-stream',
      signal: leave.signal,
    });
    const reader = answer.body?.getReader();
    for (let i = 0; i < 3; i++) await reader?.read();
    const upstream = provider.requests.at(-1);
    expect(upstream?.aborted).to.equal(false);
    leave.abort();
    const left = performance.now();
    await eventually('the upstream call is cancelled', async () => upstream?.aborted, 1000);
    expectWithinMs(performance.now() - left, 150);
    const entry = await row('gone-mid-stream');
    expect(entry.error).to.equal('client_gone');
    expect(entry.usage_source).to.equal('counted');
    expect(entry.res_units).to.be.greaterThan(0);
  });

  it('client gone while uploading or before the first byte: no call is left upstream', async () => {
    const seen = provider.requests.length;
    const socket = connect(gateway.port, '127.0.0.1');
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\nx-gateway-api-key: ${gateway.workspaceKey}\r\nx-gateway-provider: @main\r\n\r\n{"model"`,
    );
    await pause(100);
    socket.destroy();
    await pause(100);
    expect(provider.requests.length).to.equal(seen);
    const leave = new AbortController();
    const waiting = ask('sim-fault:slow-head=600', {
      signal: leave.signal,
      trace: 'gone-before-head',
    }).catch(() => null);
    await eventually('the provider has the request', async () => provider.requests.length > seen);
    leave.abort();
    await waiting;
    await eventually('the upstream call is cancelled', async () => provider.requests.at(-1)?.aborted, 1000);
    expect((await row('gone-before-head')).response_status_code).to.equal(499);
  });

  it('the provider’s own error inside a stream reaches the client as an error event', async () => {
    for (const slug of ['main', 'claude']) {
      const answer = await ask('sim-fault:error-event', { stream: true, provider: `@${slug}` });
      const text = await answer.text();
      expect(text, slug).to.include('"error"').and.not.include('[DONE]');
    }
  });

  it('request_timeout of a target: 408 timeout_error, for a stream only until its first chunk', async () => {
    const slow = await ask('gpt-4o-mini', {
      config: {
        provider: '@main',
        request_timeout: 150,
        override_params: { model: 'sim-fault:slow-head=500' },
      },
    });
    expect(slow.status).to.equal(408);
    expect(((await slow.json()) as ErrorAnswer).error.type).to.equal('timeout_error');
    const stream = await ask('gpt-4o-mini', {
      stream: true,
      config: {
        provider: '@main',
        request_timeout: 150,
        override_params: { model: 'sim-fault:chunks=10,delay=40' },
      },
    });
    expect(stream.status).to.equal(200);
    expect(await stream.text()).to.include('[DONE]');
  });

  it('deadline of a config: all targets and retries together, for a stream only until its first chunk', async () => {
    const slow = { provider: '@main', override_params: { model: 'sim-fault:slow-head=500' } };
    const seen = provider.requests.length;
    const began = performance.now();
    const late = await ask('gpt-4o-mini', {
      config: {
        deadline: 300,
        strategy: { mode: 'fallback' },
        targets: [{ ...slow, request_timeout: 200 }, slow, slow],
      },
    });
    expectWithinMs(performance.now() - began, 499, { atLeast: 299 });
    expect(late.status).to.equal(408);
    expect(((await late.json()) as ErrorAnswer).error.message).to.include('deadline of 300 ms');
    expect(provider.requests.length - seen).to.equal(2);

    const failing = { provider: '@main', override_params: { model: 'sim-fault:503' } };
    const refused = await ask('gpt-4o-mini', {
      config: { ...failing, deadline: 1, retry: { attempts: 5 } },
    });
    // Either the answer came in time and there is none left to wait in, or it did not.
    expect(refused.status).to.be.oneOf([503, 408]);
    expect(provider.requests.length - seen).to.be.within(2, 3);

    const stream = await ask('gpt-4o-mini', {
      stream: true,
      config: {
        provider: '@main',
        deadline: 250,
        override_params: { model: 'sim-fault:chunks=10,delay=40' },
      },
    });
    expect(stream.status).to.equal(200);
    expect(await stream.text()).to.include('[DONE]');
  });
});
