import { expect } from 'chai';
import {
  type InjectedGateway,
  type InjectOptions,
  openInjected,
  type ProviderCall,
} from '../support/inject.js';

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes, looked into by the tests.
type Json = any;

const chat = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'two words' }] };
const answered = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'gpt-4o-mini' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};
const providers = { openai: { provider: 'openai', credential: 'sk-openai' } };
const body = (json: object) => ({ body: JSON.stringify(json) });

describe('guardrails of an exchange', () => {
  let gateway: InjectedGateway | null = null;
  afterEach(() => gateway?.close());

  const open = async (more: Partial<InjectOptions> = {}): Promise<InjectedGateway> => {
    gateway = await openInjected({ providers, answer: () => body(answered), ...more });
    return gateway;
  };
  const ask = async (config: object, path = '/v1/chat/completions', sent: object = chat) => {
    const response = await gateway!.inject(path, { config: { provider: '@openai', ...config }, body: sent });
    const text = await response.text();
    return { status: response.status, text, json: (): Json => JSON.parse(text) };
  };

  describe('with a moderation', () => {
    const moderated = (flagged: boolean) => (call: ProviderCall) =>
      call.url.pathname === '/v1/moderations'
        ? body({
            id: 'm',
            model: 'omni',
            results: [{ flagged, categories: { violence: flagged, hate: false } }],
          })
        : body(answered);
    const guarded = (more: object = {}, wanted = 'violence') => ({
      input_guardrails: [{ 'gateway.moderateContent': { categories: [wanted], ...more }, deny: true }],
    });

    it('ask the provider of the request, and refuse what it flags', async () => {
      const { calls, settled } = await open({ answer: moderated(true) });
      const { status, json } = await ask(guarded());
      expect(status).to.equal(446);
      expect(json().hook_results.before_request_hooks[0].checks[0]).to.deep.include({
        ...{ verdict: false, error: null, data: { found: ['violence'] } },
      });
      expect(calls.map(({ url }) => url.href)).to.deep.equal(['https://api.openai.com/v1/moderations']);
      expect(calls[0]!.headers.get('authorization')).to.equal('Bearer sk-openai');
      expect(JSON.parse(calls[0]!.body)).to.deep.equal({
        model: 'omni-moderation-latest',
        input: ['two words'],
      });
      const row = settled.find(({ endpoint }) => endpoint === 'moderations')!;
      const main = settled.find(({ endpoint }) => endpoint === 'chat')!;
      expect(row.metadata).to.deep.include({ _moderation_of: main.id });
      expect([row.trace, row.workspace, row.status]).to.deep.equal([main.trace, main.workspace, 200]);
    });

    it('pass what is flagged for something else, and with not what is flagged', async () => {
      await open({ answer: moderated(true) });
      expect((await ask(guarded({}, 'hate'))).status).to.equal(200);
      expect((await ask(guarded({ not: true }))).status).to.equal(200);
      expect(gateway!.calls.length).to.equal(4);
    });

    it('ask the provider that the check names', async () => {
      await open({
        providers: { ...providers, judge: { provider: 'mistral-ai', credential: 'sk-mistral' } },
        answer: ({ url }) =>
          url.pathname === '/v1/moderations'
            ? body({ results: [{ categories: { violence_and_threats: true } }] })
            : body(answered),
      });
      const { status } = await ask(guarded({ provider: '@judge', model: 'mistral-moderation-latest' }));
      expect(status).to.equal(446);
      expect(gateway!.calls.map(({ url }) => url.host)).to.deep.equal(['api.mistral.ai']);
      expect(gateway!.calls[0]!.headers.get('authorization')).to.equal('Bearer sk-mistral');
    });

    it('err where no provider answers, which passes unless it has failOnError', async () => {
      await open({
        answer: ({ url }) =>
          url.pathname === '/v1/moderations' ? { status: 500, body: '{}' } : body(answered),
      });
      expect((await ask(guarded())).status).to.equal(200);
      const { status, json } = await ask(guarded({ failOnError: true }));
      expect(status).to.equal(446);
      expect(json().hook_results.before_request_hooks[0].checks[0].error.message).to.include('provider');
    });
  });

  describe('with a check of a partner', () => {
    const guarded = (more: object = {}) => ({
      input_guardrails: [{ 'mistral.moderateContent': { categories: ['pii'] }, deny: true, ...more }],
    });
    const partner = (pii: boolean) => (call: ProviderCall) =>
      call.url.host === 'api.mistral.ai' ? body({ results: [{ categories: { pii } }] }) : body(answered);

    it('ask it with the credentials of the organisation', async () => {
      await open({ partners: { mistral: { apiKey: 'key-of-mistral' } }, answer: partner(true) });
      expect((await ask(guarded())).status).to.equal(446);
      const [call] = gateway!.calls;
      expect([call!.url.href, call!.headers.get('authorization')]).to.deep.equal([
        ...['https://api.mistral.ai/v1/moderations', 'Bearer key-of-mistral'],
      ]);
    });

    it('refuse the request where these are missing, if they deny', async () => {
      await open({ answer: partner(false) });
      const { status, json } = await ask(guarded());
      expect(status).to.equal(446);
      expect(json().hook_results.before_request_hooks[0].checks[0].error).to.deep.equal({
        name: 'CheckNotRun',
        message:
          'The organisation has no active plugin of this partner: store its credentials with POST /v1/plugins.',
      });
      expect((await ask(guarded({ deny: false }))).status).to.equal(200);
    });
  });

  it('refuse with every field of the answer that is documented', async () => {
    await open();
    const { status, json } = await ask({
      input_guardrails: [{ 'default.wordCount': { maxWords: 1 }, deny: true }],
    });
    expect(status).to.equal(446);
    const { error, hook_results, ...more } = json();
    expect(more).to.deep.equal({});
    expect(error).to.deep.include({ type: 'hooks_failed', param: null, code: null });
    expect(error.message).to.be.a('string');
    expect(hook_results.after_request_hooks).to.deep.equal([]);
    const [{ checks, ...hook }] = hook_results.before_request_hooks;
    expect(hook).to.have.all.keys(
      ...[
        'id',
        'type',
        'verdict',
        'transformed',
        'deny',
        'async',
        'execution_time',
        'created_at',
        'feedback',
      ],
      ...['event_type', 'guardrail_version_id'],
    );
    expect(hook).to.deep.include({
      ...{ type: 'guardrail', verdict: false, transformed: false, deny: true, async: false },
      event_type: 'beforeRequestHook',
    });
    expect(checks[0]).to.have.all.keys(
      ...['id', 'verdict', 'transformed', 'data', 'error', 'execution_time', 'created_at', 'log'],
    );
  });

  it('run a partner’s check for what it judges, and pass where it judges something else', async () => {
    const { calls } = await open({ partners: { lasso: { apiKey: 'k' } } });
    const { status } = await ask({ output_guardrails: [{ 'lasso.classify': {}, deny: true }] });
    expect([status, calls.map(({ url }) => url.host)]).to.deep.equal([200, ['api.openai.com']]);
  });

  describe('that the organisation or the workspace sets', () => {
    const checks = [{ id: 'default.wordCount', parameters: { maxWords: 1 } }];
    const strict = { 'pg-strict': { checks, deny: true } };

    it('judge every request, and no config can weaken them', async () => {
      await open({ guardrails: strict, key: { guardrails: { before: ['pg-strict'], after: [] } } });
      const weak = { id: 'pg-strict', deny: false, async: true };
      for (const config of [{}, { input_guardrails: ['pg-strict'] }, { input_guardrails: [weak] }])
        expect((await ask(config)).status, JSON.stringify(config)).to.equal(446);
      expect(gateway!.calls).to.deep.equal([]);
    });

    it('judge every answer', async () => {
      const after = {
        'pg-after': {
          checks: [{ id: 'default.contains', parameters: { words: ['Hello'], operator: 'none' } }],
          deny: true,
        },
      };
      await open({ guardrails: after, key: { guardrails: { before: [], after: ['pg-after'] } } });
      expect((await ask({})).status).to.equal(446);
      expect(gateway!.calls.length).to.equal(1);
    });

    it('have no effect once they are archived', async () => {
      await open({ key: { guardrails: { before: ['pg-gone'], after: [] } } });
      expect((await ask({})).status).to.equal(200);
    });
  });

  describe('that change text', () => {
    const guarded = {
      input_guardrails: [{ 'default.regexReplace': { rule: 'two', redactText: '[number]' } }],
      output_guardrails: [{ 'default.regexReplace': { rule: 'Hello', redactText: '[greeting]' } }],
    };
    const kept = () =>
      gateway!.questions.flatMap(({ kind, question }): Json[] =>
        kind === 'unredacted-text' ? [question] : [],
      );

    it('keep it as it was where the organisation wants that', async () => {
      const { settled } = await open({ key: { keepUnredacted: true } });
      expect((await ask(guarded)).json().choices[0].message.content).to.equal('[greeting]');
      const [request, response, ...more] = kept();
      expect(more).to.deep.equal([]);
      const { id, org } = settled[0]!;
      expect(request).to.deep.equal({
        ...{ organisationId: org, id, part: 'request', cut: false, text: JSON.stringify(chat) },
      });
      expect(response).to.deep.include({ organisationId: org, id, part: 'response', cut: false });
      expect(response.text).to.include('Hello');
      expect(gateway!.calls[0]!.body).to.include('[number] words');
    });

    it('keep it nowhere else, and not where no body is to be kept', async () => {
      for (const key of [{}, { keepUnredacted: true, keepBodies: false }]) {
        await open({ key });
        expect((await ask(guarded)).status).to.equal(200);
        expect(kept()).to.deep.equal([]);
        gateway?.close();
      }
      await open({ key: { keepUnredacted: true } });
      await ask({});
      await gateway!.inject('/v1/chat/completions', {
        config: { provider: '@openai', ...guarded },
        headers: { 'x-gateway-debug': 'false' },
        body: chat,
      });
      expect(kept()).to.deep.equal([]);
    });
  });

  describe('with checks of the whole body, where parameters of the config change it', () => {
    /** Refuses one model. */
    const webhook = { 'default.webhook': { webhookURL: 'https://hooks.example.com/judge' }, deny: true };
    const judging = (call: ProviderCall) =>
      call.url.host === 'hooks.example.com'
        ? body({ verdict: JSON.parse(call.body).request.json.model !== 'gpt-4o' })
        : body(answered);
    const asked = (host: string): Json[] =>
      gateway!.calls.filter(({ url }) => url.host === host).map((call) => JSON.parse(call.body));

    it('ask a webhook about the body that the provider would get', async () => {
      await open({ answer: judging });
      const { status } = await ask({
        input_guardrails: [webhook],
        override_params: { model: 'gpt-4o' },
      });
      expect(status).to.equal(446);
      expect(asked('hooks.example.com').map(({ request }) => request.json.model)).to.deep.equal([
        'gpt-4o-mini',
        'gpt-4o',
      ]);
      expect(asked('api.openai.com')).to.deep.equal([]);
    });

    it('ask it once about targets with the same parameters, and call the one that it lets pass', async () => {
      await open({ answer: judging });
      const { status } = await ask({
        ...{ strategy: { mode: 'fallback', on_status_codes: [446] }, input_guardrails: [webhook] },
        targets: [{ override_params: { model: 'gpt-4o' } }, { override_params: { model: 'o3' } }],
      });
      expect(status).to.equal(200);
      expect(asked('hooks.example.com')).to.have.length(3);
      expect(asked('api.openai.com').map(({ model }) => model)).to.deep.equal(['o3']);
    });

    it('do not ask again what judges texts alone', async () => {
      await open({
        partners: { mistral: { apiKey: 'k' } },
        answer: ({ url }) =>
          url.host === 'api.mistral.ai'
            ? body({ results: [{ categories: { pii: false } }] })
            : body(answered),
      });
      const { status } = await ask({
        input_guardrails: [{ 'mistral.moderateContent': { categories: ['pii'] }, deny: true }],
        override_params: { model: 'gpt-4o' },
      });
      expect(status).to.equal(200);
      expect(asked('api.mistral.ai')).to.have.length(1);
    });
  });

  describe('that refuse the answer of one target', () => {
    const greeting = { 'default.contains': { words: ['Hello'], operator: 'none' }, deny: true };
    const names = (hooks: readonly { readonly id: string; readonly verdict: boolean }[]) =>
      hooks.map(({ id, verdict }) => `${id} ${verdict}`);

    it('are in the row with those of the target that answers, which alone are in its answer', async () => {
      let asked = 0;
      const { settled } = await open({
        answer: () =>
          body(
            asked++ === 0 ? answered : { ...answered, choices: [{ index: 0, message: { content: 'Bye' } }] },
          ),
      });
      const { status, text, json } = await ask({
        ...{ strategy: { mode: 'fallback', on_status_codes: [446] }, strict_open_ai_compliance: false },
        targets: [
          { output_guardrails: [{ id: 'first', ...greeting }] },
          { output_guardrails: [{ id: 'second', ...greeting }] },
        ],
      });
      expect(status, text).to.equal(200);
      expect(names(json().hook_results.after_request_hooks)).to.deep.equal(['second true']);
      const row = settled[0]!.stages!['guardrails'] as Record<string, unknown>;
      expect(row).to.deep.include({ verdict: false, failed: 'first (default.contains)' });
      expect(String(row['runs'])).to.match(/^first after - \d+ \d+; second after \+ \d+ \d+$/);
      // The request was answered.
      expect(row).to.not.have.property('denied_by');
    });

    it('are those of the last target, where all are refused', async () => {
      const { settled } = await open();
      const { status, json } = await ask({
        strategy: { mode: 'fallback', on_status_codes: [446] },
        targets: ['first', 'second'].map((id) => ({ output_guardrails: [{ id, ...greeting }] })),
      });
      expect(status).to.equal(446);
      expect(names(json().hook_results.after_request_hooks)).to.deep.equal(['second false']);
      expect(settled[0]!.stages!['guardrails']).to.deep.include({ denied_by: 'second', verdict: false });
    });

    it('do not count as what refused a request that another target answers', async () => {
      const { settled } = await open();
      const short = { 'default.wordCount': { maxWords: 1 }, deny: true };
      const { status } = await ask({
        strategy: { mode: 'fallback', on_status_codes: [446] },
        targets: [{ input_guardrails: [{ id: 'first', ...short }] }, { input_guardrails: [] }],
      });
      expect(status).to.equal(200);
      const row = settled[0]!.stages!['guardrails'] as Record<string, unknown>;
      expect(row).to.deep.include({ verdict: false, failed: 'first (default.wordCount)' });
      expect(row).to.not.have.property('denied_by');
    });
  });

  it('judge the answer of a stream in Gemini’s format', async () => {
    const chunk = (text: string, more: object = {}): string =>
      `data: ${JSON.stringify({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, ...more }] })}\r\n\r\n`;
    const { settled } = await open({
      providers: { gemini: { provider: 'google', credential: 'g' } },
      answer: () => ({
        contentType: 'text/event-stream',
        body: [chunk('a sec'), chunk('ret word', { finishReason: 'STOP' })],
      }),
    });
    const config = {
      ...{ provider: '@gemini', strict_open_ai_compliance: false },
      output_guardrails: [{ 'default.contains': { words: ['secret'], operator: 'none' } }],
    };
    const { status, text } = await ask(
      config,
      '/v1beta/models/gemini-2.0-flash:streamGenerateContent?alt=sse',
      { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    );
    expect(status, text).to.equal(200);
    const frames = text.split(/\r?\n\r?\n/).filter((frame) => frame.includes('hook_results'));
    const last = JSON.parse(frames.at(-1)!.replace(/^data: /, ''));
    expect(last.hook_results.after_request_hooks[0].checks[0]).to.deep.include({
      verdict: false,
      error: null,
    });
    expect(settled[0]!.stages?.['guardrails']).to.deep.include({ verdict: false });
  });
});
