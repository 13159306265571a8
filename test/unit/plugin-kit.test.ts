import { expect } from 'chai';
import { definePlugin, fakeExchange, inject, openPlugin, type Plugin } from '../../src/plugin-kit/index.js';

const region = definePlugin<{ readonly allowed: readonly string[] }>({
  name: 'region',
  options: {
    type: 'object',
    properties: { allowed: { type: 'array', items: { type: 'string' }, minItems: 1 } },
    required: ['allowed'],
    additionalProperties: false,
  },
  setup: ({ allowed }, host) => ({
    request(x) {
      if (allowed.includes(x.metadata['region'] ?? '')) return;
      host.log.warn({ request_id: x.id }, 'no region');
      throw host.error('invalid_request', 'Send a metadata "region".', { param: 'region' });
    },
    attempt: (x, call) => void call.headers.push('x-data-region', x.metadata['region']!),
  }),
});
const options = { allowed: ['eu'] };

const plain = (hooks: ReturnType<Plugin['setup']>, more: Partial<Plugin> = {}): Plugin => ({
  name: 'plain',
  options: {},
  setup: () => hooks,
  ...more,
});

describe('inject', () => {
  it('passes a request through a plugin to the simulated provider, and shows what that received', async () => {
    const { status, json, text, calls, outcome, row } = await inject(region, options, {
      metadata: { region: 'eu' },
    });
    expect(status).to.equal(200);
    expect(json.object).to.equal('chat.completion');
    expect(text).to.equal(json.choices[0].message.content).and.not.equal('');
    expect(calls).to.have.length(1);
    expect(calls[0]).to.include({ method: 'POST', url: 'http://simulated.test/v1/chat/completions' });
    expect(calls[0]!.headers).to.include({ 'x-data-region': 'eu', authorization: 'Bearer sk-simulated' });
    expect(calls[0]!.json.messages).to.deep.equal([{ role: 'user', content: 'Hello' }]);
    expect(outcome).to.include({ status: 200, error: null });
    expect(row).to.include({ provider: 'openai' });
    expect(row.metadata).to.include({ region: 'eu' });
    expect(row.attempts).to.deep.equal([{ provider: 'openai', status: 200, error: null }]);
    expect(row.usage.input).to.be.above(0);
  });

  it('shows a refusal as the client gets it, its outcome, and what was logged', async () => {
    const { status, json, calls, outcome, log } = await inject(region, options);
    expect(status).to.equal(400);
    expect(json.error).to.include({ code: 'invalid_request', param: 'region' });
    expect(calls).to.deep.equal([]);
    expect(outcome).to.include({ status: 400, error: 'invalid_request' });
    expect(log.map(({ level, message }) => [level, message])).to.deep.equal([['warn', 'no region']]);
  });

  for (const [path, body] of [
    ['/v1/chat/completions', {}],
    ['/v1/messages', {}],
    ['/v1/responses', {}],
    ['/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse', {}],
    ['/v1/completions', {}],
  ] as const) {
    it(`reads the events and the text of a stream at ${path}`, async () => {
      const whole = await inject(
        plain({}),
        {},
        { path: path.replace('streamGenerateContent?alt=sse', 'generateContent') },
      );
      const streamed = await inject(plain({}), {}, { path, stream: true, ...body });
      expect(whole.status, whole.body).to.equal(200);
      expect(streamed.status, streamed.body).to.equal(200);
      expect(streamed.events.length).to.be.above(2);
      expect(streamed.json).to.equal(null);
      expect(streamed.text).to.equal(whole.text).and.not.equal('');
    });
  }

  it('calls the providers of a config, in their own formats', async () => {
    const { status, text, calls } = await inject(plain({}), {}, { config: { provider: '@anthropic' } });
    expect(status).to.equal(200);
    expect(text).not.to.equal('');
    expect(calls[0]!.url).to.equal('https://api.anthropic.com/v1/messages');
    expect(calls[0]!.json.max_tokens).to.be.a('number');
  });

  it('answers with what a test gives in place of the simulated provider, and retries as configured', async () => {
    let asked = 0;
    const answered = await inject(
      plain({}),
      {},
      {
        config: { provider: '@simulated', retry: { attempts: 1 } },
        answer: () => (++asked === 1 ? { status: 503, body: { error: { message: 'down' } } } : undefined),
      },
    );
    expect(answered.status).to.equal(200);
    expect(answered.row.attempts.map(({ status }) => status)).to.deep.equal([503, 200]);
  });

  it('shows faults of a plugin: 500 for the client, and plugin and hook in the log', async () => {
    const broken = plain({
      request() {
        throw new Error('no licence');
      },
    });
    const { status, log } = await inject(broken);
    expect(status).to.equal(500);
    expect(log[0]).to.include({ level: 'error', message: 'the plugin plain failed in request' });
    expect(log[0]!.fields).to.include({ plugin: 'plain', hook: 'request' });
  });

  it('refuses options that break the schema, with their path', async () => {
    const refused = await inject(region, { allowed: [] }).catch((error: Error) => error.message);
    expect(refused).to.equal('plugin region: options.allowed must NOT have fewer than 1 items');
  });

  it('is refused like a client without a key where the test sends none', async () => {
    const { status, json } = await inject(region, options, { principal: null });
    expect(status).to.equal(401);
    expect(json.error.code).to.equal('03');
    expect((await inject(region, options, { path: '/nowhere' })).status).to.equal(404);
  });

  it('calls close of the plugin before it resolves', async () => {
    let closed = false;
    await inject(
      plain({
        async close() {
          closed = true;
        },
      }),
    );
    expect(closed).to.equal(true);
  });

  it('shows a client that disconnects', async () => {
    const leaving = new AbortController();
    const { status, outcome } = await inject(
      plain({ attempt: () => leaving.abort() }),
      {},
      {
        signal: leaving.signal,
      },
    );
    expect(status).to.equal(0);
    expect(outcome).to.include({ status: 499, error: 'client_gone' });
  });
});

describe('openPlugin', () => {
  it('keeps shared state, counts and callers over several requests', async () => {
    const counting = definePlugin<{ readonly calls: number }>({
      name: 'quota',
      settings: { calls: { unit: 'count', minimum: 1, maximum: 9, default: 1, doc: 'Calls of a key.' } },
      errors: { kit_quota: { status: 429, type: 'rate_limit_error', blame: 'client', doc: 'Too many.' } },
      state: { calls: { kind: 'counter', seconds: 60, doc: 'Calls, by key.' } },
      ledgerFields: { used: { type: 'integer', doc: 'Calls.' } },
      replyHeaders: { 'quota-left': 'Calls left.' },
      metrics: { quota_refused_total: 'Refused calls.' },
      setup({ calls }, host) {
        let refused = 0;
        host.metrics.show(() => [{ name: 'quota_refused_total', labels: { kind: 'key' }, value: refused }]);
        return {
          async request(x) {
            const used = await host.state.counter('calls').add(x.principal.keyId);
            host.record(x, 'used', used);
            host.setReplyHeader(x, 'quota-left', String(Math.max(0, calls - used)));
            if (used <= calls) return;
            refused++;
            throw host.error('kit_quota', 'Too many calls.');
          },
        };
      },
    });
    const opened = await openPlugin(counting);
    try {
      const first = await opened.inject();
      const second = await opened.inject();
      const other = await opened.inject({ principal: { keyId: 'another' } });
      expect([first, second, other].map(({ status }) => status)).to.deep.equal([200, 429, 200]);
      expect(second.headers['x-gateway-quota-left']).to.equal('0');
      expect(second.row.fields).to.deep.equal({ quota: { used: 2 } });
      expect(opened.metrics()).to.include({ 'quota_refused_total{kind="key"}': 1 });
      expect(opened.calls).to.have.length(2);
    } finally {
      await opened.close();
    }
  });

  it('keeps calls and log lines of simultaneous requests apart', async () => {
    const noting = definePlugin({
      name: 'noting',
      options: {},
      setup: (_options, host) => ({
        request: (x) => host.log.info({ n: x.metadata['n'] }, 'seen'),
      }),
    });
    const opened = await openPlugin(noting);
    try {
      const all = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          opened.inject({
            metadata: { n: String(i) },
            body: { model: 'gpt-4o-mini', user: String(i), messages: [{ role: 'user', content: 'Hi' }] },
          }),
        ),
      );
      for (const [i, { calls, log }] of all.entries()) {
        expect(calls.map(({ json }) => json.user)).to.deep.equal([String(i)]);
        expect(log.map(({ fields }) => fields['n'])).to.deep.equal([String(i)]);
      }
    } finally {
      await opened.close();
    }
  });
});

describe('fakeExchange', () => {
  it('is an exchange for one function of a plugin', () => {
    const x = fakeExchange({
      headers: { 'X-Tenant': 'acme' },
      metadata: { region: 'eu' },
      principal: { workspaceId: 'w2' },
    });
    expect(x.request.headers).to.deep.equal(['x-tenant', 'acme']);
    expect(x.metadata).to.deep.equal({ region: 'eu' });
    expect(x.principal).to.include({ workspaceId: 'w2', organisationId: 'org' });
    expect(x.request.json).to.include({ model: 'gpt-4o-mini' });
    expect(x.modelAsked).to.equal('gpt-4o-mini');
  });
});
