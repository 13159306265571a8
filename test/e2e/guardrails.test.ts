import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { SimulatedProvider } from '../../src/simulated/index.js';
import { run } from '../support/command.js';
import { examplesOf } from '../support/examples.js';
import { mainFile } from '../support/gateway.js';
import { addSimulated, type SharedGateway, shareGateway } from '../support/shared-gateway.js';

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes, looked into by the tests.
type Json = Record<string, any>;

const words = (maxWords: number, more: object = {}): object => ({
  'default.wordCount': { maxWords },
  ...more,
});
const without = (word: string, more: object = {}): object => ({
  'default.contains': { words: [word], operator: 'none' },
  ...more,
});

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

describe('guardrails of a running gateway', function () {
  this.timeout(60_000);
  let gateway: SharedGateway;
  let provider: SimulatedProvider;

  before(async () => {
    gateway = await shareGateway();
    provider = await addSimulated(gateway, { record: true });
  });
  after(async () => {
    await provider?.close();
    await gateway?.stop();
  });

  const admin = async (method: string, path: string, body: object, key = gateway.adminKey): Promise<Json> => {
    const response = await fetch(`${gateway.url}${path}`, {
      method,
      headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    expect(response.status, text).to.equal(200);
    return JSON.parse(text || '{}');
  };

  const call = async (path: string, body: object, config: object | string): Promise<Response> =>
    fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': gateway.workspaceKey,
        'content-type': 'application/json',
        'x-gateway-config':
          typeof config === 'string' ? config : JSON.stringify({ provider: '@simulated', ...config }),
      },
      body: JSON.stringify(body),
    });

  const chat = (text: string, more: object = {}): object => ({
    model: 'gpt-4o-mini',
    messages: [
      { role: 'user', content: 'an earlier message of many words that nobody judges' },
      { role: 'user', content: text },
    ],
    ...more,
  });
  const ask = async (text: string, config: object | string): Promise<{ status: number; json: Json }> => {
    const response = await call('/v1/chat/completions', chat(text), config);
    return { status: response.status, json: (await response.json()) as Json };
  };
  const rowOf = async (id: string): Promise<Json> => {
    for (let i = 0; i < 100; i++) {
      const response = await fetch(`${gateway.url}/v1/logs/${id}`, {
        headers: { 'x-gateway-api-key': gateway.workspaceKey },
      });
      if (response.status === 200) return (await response.json()) as Json;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error('no row');
  };
  const guardrail = (body: object, key = gateway.workspaceKey): Promise<Json> =>
    admin(
      'POST',
      '/v1/guardrails',
      {
        name: 'Short',
        actions: { deny: true, async: false, on_success: { feedback: {} }, on_fail: { feedback: {} } },
        ...body,
      },
      key,
    );

  const typed = async (part: string): Promise<string> => {
    const { text } = examplesOf('docs/guardrails.md').find((one) => one.text.includes(part))!;
    const folder = mkdtempSync(join(tmpdir(), 'headgate-docs-'));
    const command = text.replaceAll('http://127.0.0.1:8787', gateway.url);
    const env = { ...gateway.env, GATEWAY_KEY: gateway.workspaceKey };
    const { code, stdout, stderr } = await run('bash', ['-euo', 'pipefail', '-c', command], {
      env,
      cwd: folder,
    });
    rmSync(folder, { recursive: true });
    expect(code, stdout + stderr).to.equal(0);
    return stdout;
  };

  it('has an example that works as it is typed', async () => {
    expect(await typed('curl -s -X POST'))
      .to.match(/\n446\n$/)
      .and.include('"type":"hooks_failed"');
  });

  it('judges a stream while it comes, as its example and a stored guardrail have it', async () => {
    const text = (answer: string): string =>
      [...answer.matchAll(/^data: (\{.*)$/gm)]
        .map(([, data]) => JSON.parse(data!).choices?.[0]?.delta?.content ?? '')
        .join('');
    const answer = await typed('curl -sN');
    expect(text(answer)).to.include('My card: {{CREDIT_CARD_1}}').and.not.include('4111');
    expect(answer).to.include('[DONE]');

    const { slug } = await guardrail({
      checks: [{ id: 'gateway.pii', parameters: { categories: ['CREDIT_CARD'] } }],
      actions: {
        ...{ deny: true, async: false, stream: 'incremental' },
        ...{ on_success: { feedback: {} }, on_fail: { feedback: {} } },
      },
    });
    const response = await call('/v1/chat/completions', chat('4111 1111 1111 1111', { stream: true }), {
      output_guardrails: [slug],
    });
    const refused = await response.text();
    expect(refused)
      .to.include('event: error')
      .and.include(slug)
      .and.not.match(/\[DONE\]|4111/);
    const row = await rowOf(response.headers.get('x-gateway-request-id')!);
    expect(JSON.stringify(row)).to.include('"denied_by"').and.include('guardrail_denied');
  });

  it('passes a request, marks it with 246, or refuses it with 446, by the text of its last message', async () => {
    const passed = await ask('two words', { input_guardrails: [words(2)] });
    expect(passed.status).to.equal(200);
    expect(passed.json).to.not.have.property('hook_results');

    const marked = await ask('these are three', { input_guardrails: [words(2)] });
    expect(marked.status).to.equal(246);
    expect(marked.json.choices[0].message.content).to.include('these are three');
    expect(marked.json.hook_results.before_request_hooks[0].verdict).to.equal(false);

    const before = provider.count;
    const refused = await ask('these are three', {
      input_guardrails: [words(2, { deny: true, id: 'short' })],
    });
    expect(refused.status).to.equal(446);
    expect(refused.json.error).to.deep.include({ type: 'hooks_failed', param: null, code: null });
    const [hook] = refused.json.hook_results.before_request_hooks;
    expect(hook).to.have.all.keys(
      ...['id', 'type', 'verdict', 'transformed', 'deny', 'async', 'execution_time', 'created_at', 'checks'],
      ...['feedback', 'event_type', 'guardrail_version_id'],
    );
    expect(hook).to.include({ id: 'short', type: 'guardrail', deny: true, event_type: 'beforeRequestHook' });
    expect(hook.checks[0]).to.have.all.keys(
      ...['id', 'verdict', 'transformed', 'data', 'error', 'execution_time', 'created_at', 'log'],
    );
    expect(hook.checks[0].data).to.include({ wordCount: 3, maxWords: 2 });
    expect(provider.count).to.equal(before);
  });

  it('judges the first choice of the answer, and shows what it found only where compliance is not strict', async () => {
    const said = await ask('swordfish', { output_guardrails: [without('swordfish', { deny: true })] });
    expect(said.status).to.equal(446);
    expect(said.json).to.not.have.property('choices');
    expect(said.json.hook_results.after_request_hooks[0]).to.include({
      verdict: false,
      event_type: 'afterRequestHook',
    });
    const shown = await ask('trout', {
      strict_open_ai_compliance: false,
      output_guardrails: [without('swordfish', { deny: true })],
    });
    expect(shown.status).to.equal(200);
    expect(shown.json.hook_results.after_request_hooks[0].verdict).to.equal(true);
    const errored = await call(
      '/v1/chat/completions',
      { model: 'm', messages: 'none' },
      {
        output_guardrails: [without('swordfish')],
      },
    );
    expect(errored.status).to.equal(400);
  });

  it('lets the strategies of a config act on 246 and 446', async () => {
    const fallback = (deny: boolean, code: number): object => ({
      strategy: { mode: 'fallback', on_status_codes: [code] },
      targets: [
        { provider: '@simulated', output_guardrails: [without('swordfish', { deny })] },
        { provider: '@simulated', override_params: { model: 'second' } },
      ],
    });
    for (const config of [fallback(true, 446), fallback(false, 246)]) {
      const { status, json } = await ask('swordfish', JSON.stringify(config));
      expect(status).to.equal(200);
      expect(json.model).to.equal('second');
    }
    const own = {
      strategy: { mode: 'fallback' },
      targets: [
        { provider: '@simulated', input_guardrails: [words(1, { deny: true })] },
        { provider: '@simulated', override_params: { model: 'second' }, input_guardrails: [words(9)] },
      ],
    };
    let before = provider.count;
    expect((await ask('two words', JSON.stringify(own))).json.model).to.equal('second');
    expect(provider.count - before).to.equal(1);
    const retried = {
      provider: '@simulated',
      retry: { attempts: 1, on_status_codes: [446] },
      output_guardrails: [without('swordfish', { deny: true })],
    };
    before = provider.count;
    expect((await ask('swordfish', JSON.stringify(retried))).status).to.equal(446);
    expect(provider.count - before).to.equal(2);
  });

  it('runs on every endpoint that has texts', async () => {
    const config = { input_guardrails: [words(2, { deny: true })] };
    const long = 'rather more words';
    const requests: readonly (readonly [string, object])[] = [
      ['/v1/chat/completions', chat(long)],
      [
        '/v1/chat/completions',
        { model: 'm', messages: [{ role: 'user', content: [{ type: 'text', text: long }] }] },
      ],
      ['/v1/completions', { model: 'm', prompt: long }],
      ['/v1/embeddings', { model: 'm', input: ['ok', long] }],
      ['/v1/moderations', { model: 'm', input: long }],
      ['/v1/rerank', { model: 'm', query: long, documents: ['one'] }],
      ['/v1/responses', { model: 'm', input: long }],
      [
        '/v1/responses',
        { model: 'm', input: [{ role: 'user', content: [{ type: 'input_text', text: long }] }] },
      ],
      ['/v1/messages', { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: long }] }],
      ['/v1/messages/count_tokens', { model: 'm', messages: [{ role: 'user', content: long }] }],
      ['/v1beta/models/gemini-2.5-flash:generateContent', { contents: [{ parts: [{ text: long }] }] }],
    ];
    for (const [path, body] of requests) {
      const response = await call(path, body, config);
      const json = (await response.json()) as Json;
      expect(response.status, `${path} ${JSON.stringify(json)}`).to.equal(446);
      expect(json.hook_results.before_request_hooks, path).to.have.lengthOf(1);
    }
    const answers: readonly (readonly [string, object])[] = [
      ['/v1/completions', { model: 'm', prompt: 'swordfish' }],
      ['/v1/responses', { model: 'm', input: 'swordfish' }],
      ['/v1/messages', { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'swordfish' }] }],
      ['/v1beta/models/gemini-2.5-flash:generateContent', { contents: [{ parts: [{ text: 'swordfish' }] }] }],
    ];
    for (const [path, body] of answers) {
      const response = await call(path, body, { output_guardrails: [without('swordfish', { deny: true })] });
      expect(response.status, `${path} ${await response.text()}`).to.equal(446);
    }
  });

  it('judges calls that are passed through by the paths of their texts, or refuses them', async () => {
    const path = '/v1/proxy/unknown/endpoint';
    const body = { list: [{ content: 'these are three' }] };
    const post = async (guard: object, key = 'input_guardrails'): Promise<{ status: number; json: Json }> => {
      const response = await call(path, body, { [key]: [guard] });
      const text = await response.text();
      return { status: response.status, json: text.startsWith('{') ? JSON.parse(text) : {} };
    };
    const unjudged = await post(words(9, { deny: true }));
    expect(unjudged.status).to.equal(446);
    expect(unjudged.json.hook_results.before_request_hooks[0].checks[0].error.name).to.equal('CheckNotRun');
    expect((await post(words(9, { deny: true }), 'output_guardrails')).status).to.equal(446);
    const plain = (await call(path, body, {})).status;
    expect(plain).to.equal(200);
    expect((await post(words(9, { deny: true, passthrough: 'allow' }))).status).to.equal(plain);
    expect((await post(words(9, { deny: false }))).status).to.equal(plain);
    const at = { deny: true, passthrough_paths: ['list[*].content'] };
    const refused = await post(words(2, at));
    expect(refused.status).to.equal(446);
    expect(refused.json.hook_results.before_request_hooks[0].checks[0].data.wordCount).to.equal(3);
    expect((await post(words(3, at))).status).to.equal(plain);
  });

  it('sends what was judged where a name is in an object twice, since providers may read the other value', async () => {
    const config = JSON.stringify({
      provider: '@simulated',
      input_guardrails: [without('secret', { deny: true, passthrough_paths: ['messages[*].content'] })],
    });
    const sent = async (path: string, body: string): Promise<string> => {
      provider.reset();
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        headers: {
          'x-gateway-api-key': gateway.workspaceKey,
          'content-type': 'application/json',
          'x-gateway-config': config,
        },
        body,
      });
      expect(response.status, await response.text()).to.equal(200);
      return provider.requests[0]!.body.toString();
    };
    const clean = '[{"role":"user","content":"clean"}]';
    for (const path of ['/v1/chat/completions', '/v1/proxy/unknown/endpoint']) {
      for (const body of [
        `{"model":"gpt-4o","messages":[{"role":"user","content":"secret"}],"messages":${clean}}`,
        `{"model":"gpt-4o","messages":[{"role":"user","content":"secret","cont\\u0065nt":"clean"}]}`,
        `{"x":"${'y'.repeat(1024 * 1024)}","model":"gpt-4o","messages":"secret","messages":${clean}}`,
      ]) {
        const one = await sent(path, body);
        expect(one, body.slice(-200)).to.include('clean');
        expect(one, body.slice(-200)).to.not.include('secret');
      }
      const spaced = ` { "model":"gpt-4o", "messages": ${clean}, "x": {"a": [], "b": [{}, 1, "{,:"]} }`;
      expect(await sent(path, spaced)).to.equal(spaced);
    }
  });

  it('answers what is denied with 200 and a refusal where that is wanted', async () => {
    const soft = { input_guardrails: [words(2, { deny: true, soft_deny_200: true })] };
    const { status, json } = await ask('these are three', soft);
    expect(status).to.equal(200);
    expect(json.choices[0]).to.deep.include({ finish_reason: 'content_filter' });
    const stream = await call('/v1/chat/completions', chat('these are three', { stream: true }), soft);
    expect(await stream.text()).to.match(/"finish_reason":"content_filter".*\n\ndata: \[DONE\]\n\n$/);
    const response = await call('/v1/embeddings', { model: 'm', input: 'these are three' }, soft);
    expect(response.status).to.equal(446);
  });

  it('has frames on streams, before the first chunk and after the last', async () => {
    const guarded = {
      input_guardrails: [words(2)],
      output_guardrails: [without('swordfish', { deny: true })],
    };
    const strict = await call('/v1/chat/completions', chat('swordfish', { stream: true }), guarded);
    const plain = await strict.text();
    expect(plain)
      .to.match(/data: \[DONE\]\n\n$/)
      .and.not.include('hook_results');

    const shown = { ...guarded, strict_open_ai_compliance: false };
    const response = await call('/v1/chat/completions', chat('swordfish', { stream: true }), shown);
    const frames = (await response.text()).trim().split('\n\n');
    expect(response.status).to.equal(200);
    expect(JSON.parse(frames[0]!.slice(6))).to.have.nested.property(
      'hook_results.before_request_hooks[0].verdict',
      true,
    );
    expect(frames.at(-2)).to.equal('data: [DONE]');
    const last = JSON.parse(frames.at(-1)!.slice(6)).hook_results;
    expect(last.before_request_hooks).to.have.lengthOf(1);
    expect(last.after_request_hooks[0]).to.include({ verdict: false, deny: true });

    const body = {
      model: 'm',
      max_tokens: 9,
      stream: true,
      messages: [{ role: 'user', content: 'swordfish' }],
    };
    const messages = await (await call('/v1/messages', body, shown)).text();
    expect(messages).to.match(/^event: hook_results\ndata: \{"hook_results"/);
    expect(messages.trim().split('\n\n').at(-1)).to.match(/^event: hook_results\n.*"verdict":false/);

    const denied = await call('/v1/chat/completions', chat('far too many words', { stream: true }), {
      input_guardrails: [words(2, { deny: true })],
    });
    expect(denied.status).to.equal(446);
    expect(denied.headers.get('content-type')).to.equal('application/json');
  });

  it('are found by slug and id, in their current version, as soon as that is acknowledged', async () => {
    const checks = (maxWords: number): object => ({
      checks: [
        { id: 'default.wordCount', parameters: { maxWords } },
        { id: 'default.wordCount', parameters: { maxWords: 0 }, is_enabled: false },
      ],
    });
    const made = await guardrail(checks(2));
    const bySlug = { before_request_hooks: [{ type: 'guardrail', id: made.slug }] };
    const refused = await ask('these are three', bySlug);
    expect(refused.status).to.equal(446);
    const [hook] = refused.json.hook_results.before_request_hooks;
    expect(hook).to.include({ id: made.slug, guardrail_version_id: made.version_id });
    expect(hook.feedback).to.deep.equal({
      value: -5,
      weight: 1,
      metadata: { successfulChecks: '', failedChecks: 'default.wordCount', erroredChecks: '' },
    });
    expect((await ask('these are three', { input_guardrails: [made.id] })).status).to.equal(446);
    expect(
      (await ask('these are three', { input_guardrails: [{ id: made.id, deny: false }] })).status,
    ).to.equal(246);

    await admin('PUT', `/v1/guardrails/${made.id}`, checks(3), gateway.workspaceKey);
    expect((await ask('these are three', bySlug)).status).to.equal(200);

    await admin('DELETE', `/v1/guardrails/${made.id}`, {}, gateway.workspaceKey);
    const gone = await ask('these are three', bySlug);
    expect(gone.status).to.equal(400);
    expect(gone.json.error.code).to.equal('guardrail_not_found');
  });

  it('of the workspace hold for every request, whatever its config has', async () => {
    const made = await guardrail({ checks: [{ id: 'default.wordCount', parameters: { maxWords: 2 } }] });
    const place = `/v1/admin/workspaces/${gateway.workspaceId}`;
    await admin('PUT', place, { defaults: { input_guardrails: [made.slug] } });
    const own = { input_guardrails: [words(9)] };
    for (const config of [{}, own, { input_guardrails: [{ id: made.slug, deny: false }] }])
      expect((await ask('these are three', config)).status).to.equal(446);
    await admin('PUT', place, { defaults: { input_guardrails: [] } });
    expect((await ask('these are three', own)).status).to.equal(200);
  });

  it('judge what the parameters of a config put into the request', async () => {
    const bad = [{ role: 'user', content: 'bad' }];
    const denies = { input_guardrails: [without('bad', { deny: true })] };
    const own = { ...denies, override_params: { messages: bad } };
    const { status, json } = await ask('fine', own);
    expect(status).to.equal(446);
    expect(json.hook_results.before_request_hooks[0].checks[0]).to.include({
      id: 'default.contains',
      verdict: false,
    });
    expect((await ask('fine', { ...denies, override_params: { temperature: 0 } })).status).to.equal(200);
    expect((await ask('fine', { ...own, input_guardrails: [without('bad')] })).status).to.equal(246);
    const models = { 'default.modelWhitelist': { models: ['gpt-4o-mini'] }, deny: true };
    const other = { input_guardrails: [models], override_params: { model: 'gpt-4' } };
    expect((await ask('fine', other)).status).to.equal(446);
    const tools = [{ type: 'function', function: { name: 'rm', parameters: {} } }];
    const noTools = { 'default.requestParams': { params: { blockedKeys: ['tools'] } }, deny: true };
    expect((await ask('fine', { input_guardrails: [noTools], default_params: { tools } })).status).to.equal(
      446,
    );
    const input = { model: 'gpt-4o-mini', input: 'fine' };
    for (const [path, body, params] of [
      ['/v1/responses', input, { input: 'bad' }],
      ['/v1/embeddings', { ...input, model: 'text-embedding-3-small' }, { input: ['bad'] }],
      ['/v1/completions', { model: 'gpt-3.5-turbo-instruct', prompt: 'fine' }, { prompt: 'bad' }],
    ] as const) {
      const response = await call(path, body, { ...denies, override_params: params });
      expect(response.status, path).to.equal(446);
    }
  });

  it('do not call a target whose parameters they refuse, nor one with texts there that they would redact', async () => {
    const bad = { override_params: { messages: [{ role: 'user', content: 'bad a@example.org' }] } };
    const targets = [{ name: 'first', ...bad }, { override_params: { model: 'gpt-4o' } }];
    const config = (guardrail: object, status: number): object => ({
      strategy: { mode: 'fallback', on_status_codes: [status] },
      targets,
      input_guardrails: [guardrail],
    });
    const moved = await ask('fine', config(without('bad', { deny: true }), 446));
    expect([moved.status, moved.json.model]).to.deep.equal([200, 'gpt-4o']);
    const redacts = { 'gateway.pii': { categories: ['EMAIL_ADDRESS'], redact: true }, deny: true };
    const unredacted = await ask('fine', { ...bad, input_guardrails: [redacts] });
    expect(unredacted.status).to.equal(446);
    expect(unredacted.json.hook_results.before_request_hooks[0].checks[0].error.name).to.equal('CheckNotRun');
    const cleared = await ask('mail b@example.org', {
      override_params: { temperature: 0 },
      input_guardrails: [redacts],
    });
    expect(cleared.status).to.equal(200);
    expect(JSON.stringify(cleared.json)).to.include('{{EMAIL_ADDRESS_1}}');
  });

  it('writes verdicts into the row of the request', async () => {
    const response = await call('/v1/chat/completions', chat('these are three'), {
      input_guardrails: [
        words(2, { id: 'short', deny: true, on_fail: { feedback: { value: -3, weight: 0.5 } } }),
      ],
    });
    const { metrics: row } = await rowOf(response.headers.get('x-gateway-request-id')!);
    expect(row).to.include({ response_status_code: 446 });
    expect(row.stage_fields.guardrails).to.include({
      verdict: false,
      failed: 'short (default.wordCount)',
      denied_by: 'short',
      feedback: 'short -3 * 0.5',
    });
  });

  it('redacts what providers, cache, logs and clients get, and keeps the rest nowhere', async () => {
    const canary = `cnry${randomBytes(8).toString('hex')}`;
    const [address, heard] = [`${canary}@example.com`, `plain${canary.slice(4)}`];
    const config = {
      cache: { mode: 'simple' },
      input_guardrails: [{ 'gateway.pii': { categories: ['EMAIL_ADDRESS'], redact: true }, deny: true }],
      output_guardrails: [{ 'default.regexReplace': { rule: `You said: ${heard}`, redactText: 'Heard' } }],
    };
    const body = (stream: boolean): object => ({
      model: 'gpt-4o-mini',
      stream,
      messages: [
        { role: 'system', content: `Write to ${address}.` },
        { role: 'user', content: `Before: ${address}` },
        { role: 'user', content: [{ type: 'text', text: `${heard} ${address}` }] },
      ],
    });
    const ids: string[] = [];
    for (const [path, sent] of [
      ['/v1/chat/completions', body(false)],
      ['/v1/chat/completions', body(false)],
      ['/v1/chat/completions', body(true)],
      [
        '/v1/messages',
        { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: `${heard} ${address}` }] },
      ],
      ['/v1/responses', { model: 'm', input: `${heard} ${address}` }],
      ['/v1/embeddings', { model: 'm', input: [address] }],
    ] as const) {
      const response = await call(path, sent, config);
      const text = await response.text();
      expect(response.status, text).to.equal(200);
      expect(text).to.not.include(canary);
      if (!text.startsWith('data:') && !path.endsWith('embeddings'))
        expect(text, path).to.include('Heard').and.not.include('You said');
      ids.push(response.headers.get('x-gateway-request-id')!);
    }
    const received = provider.requests.map(({ body: bytes }) => bytes.toString()).join('\n');
    expect(received).to.include(heard).and.not.include(canary);
    for (const id of ids) {
      const row = JSON.stringify(await rowOf(id));
      expect(row).to.include('"transformed":"config.input_guardrails[0]').and.not.include(canary);
    }
    // Bodies follow their rows up to a second later.
    let logged = await rowOf(ids[0]!);
    for (let i = 0; i < 100 && (logged['request']?.body ?? null) === null; i++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      logged = await rowOf(ids[0]!);
    }
    const { request, response } = logged;
    expect(JSON.stringify(request)).to.include(heard);
    expect(JSON.stringify(response)).to.include('Heard');
    const kept = filesIn(gateway.dataDir).map((file) => readFileSync(file));
    expect(kept.some((bytes) => bytes.includes(canary))).to.equal(false);
    expect(kept.some((bytes) => bytes.includes(`You said: ${heard}`))).to.equal(false);
    expect(gateway.output()).to.not.include(canary);
  });

  it('are tried over texts, by the API and the command line, with precision and recall', async () => {
    const { slug } = await guardrail({
      checks: [
        { id: 'default.wordCount', parameters: { maxWords: 2 } },
        { id: 'default.regexReplace', parameters: { rule: 'secret', redactText: 'x' } },
      ],
    });
    const texts = [
      { text: 'a secret', label: 'pass' },
      { text: 'rather many words', label: 'fail' },
      { text: 'also rather long', label: 'pass' },
      { text: 'short', label: 'fail' },
    ];
    const before = provider.count;
    for (const phase of ['before', 'after']) {
      const path = `/v1/guardrails/${slug}/test`;
      const { results, score } = await admin('POST', path, { texts, phase }, gateway.workspaceKey);
      expect(results.map((one: Json) => one.status)).to.deep.equal([200, 446, 446, 200]);
      expect(results[0]).to.include({ verdict: true, transformed: 'a x' });
      expect(results[1].hook.checks[0].data.wordCount).to.equal(3);
      expect(score).to.deep.equal({ labelled: 4, precision: 0.5, recall: 0.5 });
    }
    expect(provider.count).to.equal(before);
    const none = await fetch(`${gateway.url}/v1/guardrails/${slug}/test`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': gateway.workspaceKey, 'content-type': 'application/json' },
      body: '{}',
    });
    expect([none.status, await none.text()].join())
      .to.include('400')
      .and.include('texts');

    const folder = mkdtempSync(join(tmpdir(), 'headgate-guardrails-'));
    const file = join(folder, 'texts.jsonl');
    writeFileSync(file, texts.map((one) => JSON.stringify(one)).join('\n'));
    const env = { ...gateway.env, HEADGATE_ADMIN_KEY: gateway.workspaceKey };
    const tried = (...args: string[]) =>
      run(process.execPath, [mainFile, 'guardrails', 'test', slug, ...args], { env, cwd: folder });
    const { code, stdout, stderr } = await tried('-f', file);
    expect(code, stderr).to.equal(1);
    expect(stdout).to.match(/^pass {2}200 .* → "a x"\nfail {2}446 /);
    expect(stdout).to.include('4 labelled texts: precision 50.0 %, recall 50.0 %');
    expect((await tried('--texts', 'short')).code).to.equal(0);
    writeFileSync(file, '{"text":"a"}\n{"label":"pass"}');
    expect((await tried('-f', file)).stderr).to.include('Line 2 of --file');
    rmSync(folder, { recursive: true });
  });

  it('does not wait for guardrails that run beside the request', async () => {
    const { status, json } = await ask('these are three', {
      strict_open_ai_compliance: false,
      input_guardrails: [words(2, { deny: true, async: true })],
    });
    expect(status).to.equal(200);
    expect(json.hook_results.before_request_hooks).to.deep.equal([]);
  });

  it('are part of what makes two calls the same for the cache', async () => {
    const cached = (guards: object): object => ({ cache: { mode: 'simple' }, ...guards });
    const marked = cached({ input_guardrails: [words(1)] });
    const text = 'cached words';
    expect((await ask(text, marked)).status).to.equal(246);
    const passing = cached({ output_guardrails: [without('swordfish')] });
    await ask(text, passing);
    const again = await call('/v1/chat/completions', chat(text), passing);
    expect(again.headers.get('x-gateway-cache-status')).to.equal('HIT');
    const refusing = cached({ output_guardrails: [without('cached', { deny: true })] });
    expect((await ask(text, refusing)).status).to.equal(446);
  });
});
