// lane: shared gateway
import { expect } from 'chai';
import type { LogMetrics } from '../../proto/messages.js';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { eventually } from '../support/gateway.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

interface Answer {
  readonly status: number;
  readonly cache: string | null;
  readonly id: string;
  readonly headers: Headers;
  readonly text: string;
}

const simple = { cache: { mode: 'simple', max_age: 60 } };

describe('the cache', function () {
  this.timeout(30_000);
  let gateway: SharedGateway;
  let upstream: SimulatedProvider;
  let turn = 0;

  before(async () => {
    [gateway, upstream] = await Promise.all([shareGateway(), startSimulated()]);
    await gateway.admin().api.providers.createProvider({
      slug: 'up',
      provider: 'openai',
      key: 'sk-target',
      custom_host: `${upstream.url}/v1`,
    });
    await gateway.admin().api.providers.createProvider({
      slug: 'claude',
      provider: 'anthropic',
      key: 'sk-ant-target',
      custom_host: `${upstream.url}/v1`,
    });
  });
  after(async () => {
    await gateway?.stop();
    await upstream?.close();
  });

  const question = (more: object = {}): object => ({
    model: 'gpt-4o-mini',
    messages: [{ role: 'user', content: `Question ${turn}` }],
    ...more,
  });

  async function ask(
    body: object,
    headers: Record<string, string> = {},
    path = '/v1/chat/completions',
    config: object = { provider: '@up', ...simple },
    signal?: AbortSignal,
  ): Promise<Answer> {
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-config': JSON.stringify(config),
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });
    const text = await response.text();
    const id = response.headers.get('x-gateway-request-id') ?? '';
    return {
      status: response.status,
      cache: response.headers.get('x-gateway-cache-status'),
      id,
      headers: response.headers,
      text,
    };
  }

  const row = (id: string): Promise<LogMetrics> =>
    eventually('the row', async () => {
      const { data } = await gateway.admin().api.logs.listLogs({ limit: 200 });
      return data.find((found) => found.id === id);
    });

  beforeEach(() => {
    turn++;
  });

  it('repeats an answer without an upstream call, and reports the hit', async () => {
    const asked = upstream.count;
    const first = await ask(question());
    const second = await ask(question());
    expect([first.cache, second.cache]).to.deep.equal(['MISS', 'HIT']);
    expect(second.text).to.equal(first.text);
    expect(second.headers.get('content-type')).to.equal('application/json');
    expect(second.headers.get('age')).to.match(/^\d$/);
    expect(second.headers.get('x-gateway-provider')).to.equal('openai');
    expect(second.headers.get('x-gateway-last-used-option-index')).to.equal('config');
    expect(upstream.count - asked).to.equal(1);
  });

  it('records of a hit that it cost nothing, and what it spared', async () => {
    const first = await row((await ask(question())).id);
    const hit = await row((await ask(question())).id);
    expect(hit).to.include({
      cache_status: 'HIT',
      cost: 0,
      cost_saved: first.cost,
      ai_model: first.ai_model,
    });
    expect(first.cost).to.be.above(0);
    expect(hit.time_saved).to.be.above(0);
    expect(hit.attempts).to.deep.equal([]);
    expect(first.cost_saved).to.equal(undefined);
    const body = await eventually(
      'the body',
      async () => (await gateway.admin().api.logs.getLog({ id: hit.id })).response?.body,
    );
    expect(JSON.parse(body).choices).to.have.length(1);
  });

  it('has nothing to do with a call whose config has no cache', async () => {
    for (let i = 0; i < 2; i++)
      expect((await ask(question(), {}, undefined, { provider: '@up' })).cache).to.equal('DISABLED');
  });

  it('is switched on by a header too, and off by debug', async () => {
    const bare = { provider: '@up' };
    expect((await ask(question(), { 'x-gateway-cache': 'simple' }, undefined, bare)).cache).to.equal('MISS');
    expect((await ask(question(), { 'x-gateway-cache': 'simple' }, undefined, bare)).cache).to.equal('HIT');
    expect(
      (await ask(question(), { 'x-gateway-cache': 'simple', 'x-gateway-debug': 'false' }, undefined, bare))
        .cache,
    ).to.equal('DISABLED');
    expect((await ask(question(), { 'x-gateway-cache': 'often' }, undefined, bare)).status).to.equal(400);
  });

  it('keeps no body in the log of a call with debug false, in any spelling', async () => {
    const { logs } = gateway.admin().api;
    const quiet = await ask(question(), { 'x-gateway-debug': 'False' });
    const loud = await ask(question());
    await Promise.all([row(quiet.id), row(loud.id)]);
    await eventually('the body', async () => (await logs.getLog({ id: loud.id })).response?.body);
    expect((await logs.getLog({ id: quiet.id })).response?.body ?? '').to.equal('');
  });

  it('asks an upstream on a forced refresh, and keeps the new answer', async () => {
    const first = await ask(question());
    const forced = await ask(question(), { 'x-gateway-cache-force-refresh': 'true' });
    const third = await ask(question());
    expect([forced.cache, third.cache]).to.deep.equal(['REFRESH', 'HIT']);
    expect(forced.text).to.not.equal(first.text);
    expect(third.text).to.equal(forced.text);
  });

  it('gives no answer that is older than the call allows', async () => {
    await ask(question());
    await new Promise((wait) => setTimeout(wait, 1050));
    expect((await ask(question(), { 'x-gateway-cache-ttl': '1' })).cache).to.equal('MISS');
    expect((await ask(question(), { 'x-gateway-cache-ttl': '60' })).cache).to.equal('HIT');
  });

  it('sends a stored stream as a stream, and as a plain answer', async () => {
    const stream = await ask(question({ stream: true }));
    const again = await ask(question({ stream: true }));
    expect([again.cache, again.headers.get('content-type')]).to.deep.equal(['HIT', 'text/event-stream']);
    expect(again.text).to.equal(stream.text);
    const plain = await ask(question());
    expect(plain.cache).to.equal('HIT');
    const { object, choices } = JSON.parse(plain.text);
    expect(object).to.equal('chat.completion');
    expect(choices[0].message.content).to.equal(contentOf(stream.text));
    expect(choices[0].finish_reason).to.equal('stop');
  });

  it('sends a plain answer as a stream, with its usage on request', async () => {
    const plain = JSON.parse((await ask(question())).text);
    const stream = await ask(question({ stream: true }));
    expect(stream.cache).to.equal('HIT');
    expect(contentOf(stream.text)).to.equal(plain.choices[0].message.content);
    expect(stream.text)
      .to.match(/data: \[DONE\]\n\n$/)
      .and.not.include('usage');
    const counted = await ask(question({ stream: true, stream_options: { include_usage: true } }));
    expect(counted.cache).to.equal('HIT');
    const last = counted.text.trim().split('\n\n').at(-2)!;
    expect(JSON.parse(last.slice(6)).usage).to.deep.equal(plain.usage);
  });

  it('gives streams and plain answers of other formats again as they were', async () => {
    const body = { ...question(), max_tokens: 64 };
    const claude = { provider: '@claude', ...simple };
    for (const stream of [false, true]) {
      const first = await ask({ ...body, stream }, {}, '/v1/messages', claude);
      const again = await ask({ ...body, stream }, {}, '/v1/messages', claude);
      expect([first.status, first.cache, again.cache]).to.deep.equal([200, 'MISS', 'HIT']);
      expect(again.text).to.equal(first.text);
    }
    const input = { model: 'text-embedding-3-small', input: `Text ${turn}` };
    const first = await ask(input, {}, '/v1/embeddings');
    const again = await ask(input, {}, '/v1/embeddings');
    expect([first.cache, again.cache, again.text]).to.deep.equal(['MISS', 'HIT', first.text]);
  });

  for (const fault of ['500', '429', 'bad-json', 'eof-mid-stream', 'reset-mid-stream', 'error-event'])
    it(`keeps no answer that failed (${fault})`, async () => {
      const stream = fault.includes('stream') || fault === 'error-event';
      const body = question({ model: `sim-fault:${fault}`, stream });
      const asked = upstream.count;
      for (let i = 0; i < 2; i++)
        expect((await ask(body).catch(() => null))?.cache ?? 'MISS').to.equal('MISS');
      expect(upstream.count - asked).to.equal(2);
    });

  for (const stream of [false, true])
    it(`lets 100 identical ${stream ? 'streams' : 'calls'} at once reach the upstream once`, async () => {
      const asked = upstream.count;
      const body = question({ model: 'sim-fault:slow-head=100,delay=5', stream });
      const answers = await Promise.all(Array.from({ length: 100 }, () => ask(body)));
      expect(upstream.count - asked).to.equal(1);
      expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
      expect(answers.filter(({ cache }) => cache === 'MISS')).to.have.length(1);
      expect(answers.filter(({ cache }) => cache === 'HIT')).to.have.length(99);
    });

  it('one that gives up does not take the others with it', async () => {
    const asked = upstream.count;
    const body = question({ model: 'gpt-4o' });
    upstream.fault('gpt-4o', 'slow-head=500');
    const leaving = new AbortController();
    const first = ask(body, {}, undefined, undefined, leaving.signal).catch(() => null);
    await eventually('the call', async () => upstream.count > asked);
    const others = Array.from({ length: 5 }, () => ask(body));
    // The others are waiting by then, on a busy machine too.
    await new Promise((wait) => setTimeout(wait, 150));
    leaving.abort();
    expect(await first).to.equal(null);
    for (const { status, cache } of await Promise.all(others))
      expect([status, cache]).to.deep.equal([200, 'HIT']);
    expect(upstream.count - asked).to.equal(1);
    const left = await eventually('the row of who left', async () => {
      const { data } = await gateway.admin().api.logs.listLogs({ limit: 200 });
      return data.find((found) => found.response_status_code === 499);
    });
    expect(left.cost, 'what it used is accounted').to.be.above(0);
  });

  it('lets those who wait ask by themselves where the first fails', async () => {
    const asked = upstream.count;
    const body = question({ model: 'sim-fault:500,slow-head=50' });
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask(body)));
    expect(answers.map(({ status }) => status)).to.deep.equal([500, 500, 500, 500, 500]);
    expect(upstream.count - asked).to.equal(5);
  });
});

function contentOf(stream: string): string {
  let content = '';
  for (const line of stream.split('\n')) {
    if (!line.startsWith('data: {')) continue;
    content += JSON.parse(line.slice(6)).choices[0]?.delta.content ?? '';
  }
  return content;
}
