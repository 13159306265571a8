// lane: shared gateway
import { expect } from 'chai';
import type { SimulatedProvider } from '../../src/simulated/index.js';
import { type CheckService, startCheckService } from '../support/check-service.js';
import { run } from '../support/command.js';
import { examplesOf } from '../support/examples.js';
import { eventually } from '../support/gateway.js';
import { addSimulated, type SharedGateway, shareGateway } from '../support/shared-gateway.js';

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes, looked into by the tests.
type Json = any;

describe('guardrails of a running gateway that ask services', function () {
  this.timeout(60_000);
  let gateway: SharedGateway;
  let provider: SimulatedProvider;
  let service: CheckService;
  let answer: object = { verdict: true };

  before(async () => {
    gateway = await shareGateway();
    provider = await addSimulated(gateway, { record: true });
    service = await startCheckService(() => ({ body: answer }));
  });
  after(async () => {
    await service?.close();
    await provider?.close();
    await gateway?.stop();
  });

  const send = async (method: string, path: string, body: object | null, key: string, config?: object) => {
    const response = await fetch(`${gateway.url}${path}`, {
      method,
      headers: {
        ...{ 'x-gateway-api-key': key, 'content-type': 'application/json' },
        ...(config && { 'x-gateway-config': JSON.stringify({ provider: '@simulated', ...config }) }),
      },
      body: body === null ? null : JSON.stringify(body),
    });
    const text = await response.text();
    const json: Json = text.startsWith('{') ? JSON.parse(text) : null;
    return { status: response.status, text, json, id: response.headers.get('x-gateway-request-id') };
  };
  const ask = (content: string, config: object) =>
    send(
      'POST',
      '/v1/chat/completions',
      { model: 'gpt-4o-mini', messages: [{ role: 'user', content }] },
      gateway.workspaceKey,
      config,
    );

  /** Types the example of a page that has this in it; returns what it prints. */
  async function type(page: string, part: string): Promise<string> {
    const { text } = examplesOf(page).find(
      ({ language, text: one }) => language === 'sh' && one.includes(part),
    )!;
    const typed = text.replaceAll('http://127.0.0.1:8787', gateway.url);
    const env = { ...gateway.env, ADMIN_KEY: gateway.adminKey };
    const { code, stdout, stderr } = await run('bash', ['-euo', 'pipefail', '-c', typed], { env });
    expect(code, stdout + stderr).to.equal(0);
    return stdout;
  }

  it('ask a webhook once for a request of several messages', async () => {
    const messages = ['one', 'two', 'three'].map((content) => ({ role: 'user', content }));
    const { status, text } = await send(
      ...([
        'POST',
        '/v1/chat/completions',
        { model: 'gpt-4o-mini', messages },
        gateway.workspaceKey,
      ] as const),
      { input_guardrails: [{ 'default.webhook': { webhookURL: service.url } }] },
    );
    expect(status, text).to.equal(200);
    expect(service.asked.splice(0)).to.have.length(1);
  });

  it('store credentials of partners as the page shows it', async () => {
    const stdout = await type('docs/checks.md', '/v1/plugins');
    expect(stdout).to.include('"plugin_provider_id":"patronus"').and.not.include('pat-0123456789');
    expect((await send('DELETE', '/v1/plugins/patronus', null, gateway.adminKey)).status).to.equal(200);
  });

  it('use the credentials of a partner from the answer to their change on', async () => {
    const baseUrl = service.url;
    const made = await send(
      'POST',
      '/v1/plugins',
      { plugin_provider_id: 'pillar', credentials: { apiKey: 'first-key-of-pillar', baseUrl } },
      gateway.adminKey,
    );
    expect(made.status, made.text).to.equal(200);
    const at = `/v1/plugins/${made.json.id}`;
    const config = { input_guardrails: [{ 'pillar.scanPrompt': { scanners: ['pii'] }, deny: true }] };
    const change = async (body: object): Promise<void> => {
      const { status, text } = await send('PUT', at, body, gateway.adminKey);
      expect(status, text).to.equal(200);
    };
    answer = { pii: true };
    expect((await ask('Hello', config)).status).to.equal(446);
    await change({ credentials: { apiKey: 'second-key-of-pillar', baseUrl } });
    answer = { pii: false };
    expect((await ask('Hello', config)).status).to.equal(200);
    expect(service.asked.map(({ path, headers }) => `${path} ${headers.authorization}`)).to.deep.equal([
      '/api/v1/scan/prompt Bearer first-key-of-pillar',
      '/api/v1/scan/prompt Bearer second-key-of-pillar',
    ]);
    await change({ status: 'archived' });
    const { status, json } = await ask('Hello', config);
    expect(status).to.equal(446);
    expect(json.hook_results.before_request_hooks[0].checks[0].error.name).to.equal('CheckNotRun');
    await send('DELETE', at, null, gateway.adminKey);
    service.asked.length = 0;
  });

  it('never call a private address', async () => {
    const port = new URL(service.url).port;
    await send(
      'POST',
      '/v1/plugins',
      { plugin_provider_id: 'lasso', credentials: { apiKey: 'k', baseUrl: `http://127.0.0.2:${port}` } },
      gateway.adminKey,
    );
    const checks = [
      ...['127.0.0.2', '0x7f.0.0.2', '[::1]', '10.0.0.1', '192.168.0.1', '169.254.169.254'].map((host) => ({
        'default.webhook': { webhookURL: `http://${host}:${port}/hook`, failOnError: true },
      })),
      { 'lasso.classify': { failOnError: true } },
    ];
    for (const check of checks) {
      const { status, json } = await ask('Hello', { input_guardrails: [{ ...check, deny: true }] });
      expect(status, JSON.stringify(check)).to.equal(446);
      const [{ error }] = json.hook_results.before_request_hooks[0].checks;
      expect(error.message, JSON.stringify([check, error])).to.include('it has no public address');
      const open = { ...Object.values(check)[0], failOnError: false };
      const passed = await ask('Hello', {
        input_guardrails: [{ [Object.keys(check)[0]!]: open, deny: true }],
      });
      expect(passed.status, JSON.stringify(check)).to.equal(200);
    }
    expect(service.asked).to.deep.equal([]);
    await send('DELETE', '/v1/plugins/lasso', null, gateway.adminKey);
  });

  it('change the answer of a call that is passed through', async () => {
    const plain = await send(
      'POST',
      '/v1/proxy/unknown/endpoint',
      { text: 'secret one' },
      gateway.workspaceKey,
      {},
    );
    expect(plain.status, plain.text).to.equal(200);
    const [path] = Object.entries(plain.json).find(([, value]) => typeof value === 'string') as [
      string,
      string,
    ];
    const { status, text, json } = await send(
      'POST',
      '/v1/proxy/unknown/endpoint',
      { text: 'secret one' },
      gateway.workspaceKey,
      {
        output_guardrails: [
          {
            'default.regexReplace': { rule: '^.*$', redactText: '[changed]' },
            deny: true,
            passthrough_paths: [path],
          },
        ],
      },
    );
    expect(status, text).to.equal(200);
    expect(json).to.deep.equal({ ...plain.json, [path]: '[changed]' });
  });

  it('keep unredacted text, sealed, where the organisation sets that, for its own keys alone', async () => {
    const config = { input_guardrails: [{ 'gateway.pii': { categories: ['EMAIL_ADDRESS'], redact: true } }] };
    const setting = (keep_unredacted_text: boolean) =>
      send('PUT', '/v1/admin/organisation', { settings: { keep_unredacted_text } }, gateway.adminKey);
    const unredacted = (id: string, key: string) => send('GET', `/v1/logs/${id}/unredacted`, null, key);
    const logged = async (): Promise<{ id: string; body: string }> => {
      for (let i = 0; i < 100; i++) {
        const { json } = await send('GET', '/v1/logs?limit=1', null, gateway.workspaceKey);
        const id: string | undefined = json.data[0]?.id;
        const { json: log } =
          id === undefined ? { json: null } : await send('GET', `/v1/logs/${id}`, null, gateway.workspaceKey);
        if (log?.request?.body?.includes('EMAIL_ADDRESS')) return { id: id!, body: log.request.body };
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      throw new Error('no row');
    };
    await type('docs/guardrails.md', 'keep_unredacted_text');
    try {
      expect((await ask('write to ann@example.com', config)).status).to.equal(200);
      const { id, body } = await logged();
      expect(body).to.not.include('ann@example.com');
      const { status, json, text } = await unredacted(id, gateway.adminKey);
      expect(status, text).to.equal(200);
      expect(json.request).to.include('ann@example.com');
      expect(json).to.deep.include({ id, response: null, cut: false });
      const passed = await send(
        'POST',
        '/v1/proxy/unknown/endpoint',
        { text: 'raw text' },
        gateway.workspaceKey,
        {
          input_guardrails: [
            { 'default.regexReplace': { rule: 'raw', redactText: '[changed]' }, passthrough_paths: ['text'] },
          ],
        },
      );
      expect(passed.status, passed.text).to.equal(200);
      await eventually('the text that was passed through is kept', async () => {
        const { json: kept } = await unredacted(passed.id!, gateway.adminKey);
        return kept?.request === '{"text":"raw text"}';
      });
      expect((await unredacted(id, gateway.workspaceKey)).status).to.equal(403);
      expect((await unredacted('0190a1b2-0000-7000-8000-000000000000', gateway.adminKey)).status).to.equal(
        404,
      );
      const audit = await send(
        'GET',
        '/v1/audit-logs?start_time=2026-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z',
        null,
        gateway.adminKey,
      );
      expect(audit.text).to.include('/unredacted').and.not.include('ann@example.com');
    } finally {
      await setting(false);
    }
  });
});
