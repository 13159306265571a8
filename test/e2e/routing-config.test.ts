// lane: shared gateway, quick
import { expect } from 'chai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

describe('a routing config in a running gateway', () => {
  let gateway: SharedGateway;
  let provider: SimulatedProvider;

  before(async function () {
    this.timeout(20_000);
    [gateway, provider] = await Promise.all([shareGateway(), startSimulated({ record: true })]);
    const { providers } = gateway.admin();
    const base_url = `${provider.url}/v1`;
    await providers.create({ slug: 'main', provider: 'openai', key: 'sk-sim', base_url });
    await providers.create({ slug: 'claude', provider: 'anthropic', key: 'sk-ant-sim', base_url });
  });
  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  const body =
    '{ "model": "gpt-4o", "user":"u", "temperature":1.0,  "messages":[{"role":"user","content":"Hi"}] }';

  async function ask(
    config: object,
    text = body,
    headers: Record<string, string> = {},
    path = '/v1/chat/completions',
  ) {
    const seen = provider.requests.length;
    const response = await fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-config': JSON.stringify(config),
        ...headers,
      },
      body: text,
    });
    const json = JSON.parse(await response.text());
    const sent = provider.requests.slice(seen).map((request) => request.body.toString());
    return {
      status: response.status,
      json,
      sent,
      target: response.headers.get('x-gateway-last-used-option-index'),
    };
  }

  const rules = {
    default_params: { max_tokens: 77, temperature: 0 },
    override_params: { top_p: 0.5 },
    drop_params: ['user', 'messages[*].name'],
  };

  it('has its rules for bodies applied to the bytes of the client', async () => {
    const { sent, status } = await ask({ provider: '@main', ...rules });
    expect(status).to.equal(200);
    expect(sent).to.deep.equal([
      '{ "model": "gpt-4o", "temperature":1.0,  "messages":[{"role":"user","content":"Hi"}],"max_tokens":77,"top_p":0.5 }',
    ]);
  });

  it('has them applied, in the format of the client, before a body is converted', async () => {
    const { sent, status } = await ask({ provider: '@claude', ...rules });
    expect(status).to.equal(200);
    const [converted] = sent.map((text) => JSON.parse(text));
    expect(converted).to.include({ max_tokens: 77, temperature: 1, top_p: 0.5 });
    expect(converted).not.to.have.property('metadata');
  });

  it('gives a model to a body that need not name one', async () => {
    const { sent, status } = await ask(
      {
        strategy: { mode: 'single' },
        targets: [{ default_params: { model: '@main/omni-moderation-latest' } }],
      },
      '{"input":"Hi"}',
      {},
      '/v1/moderations',
    );
    expect([status, sent]).to.deep.equal([200, ['{"input":"Hi","model":"omni-moderation-latest"}']]);
  });

  it('passes a body through as it came, a parent’s rules or not', async () => {
    const config = {
      ...rules,
      strategy: { mode: 'single' },
      targets: [{ provider: '@main', passthrough: true }],
    };
    expect((await ask(config)).sent).to.deep.equal([body]);
  });

  it('does not pass a body through to who speaks another format; a fallback moves on', async () => {
    const alone = await ask({ virtual_key: 'claude', passthrough: true });
    expect([alone.status, alone.json.error.code, alone.sent]).to.deep.equal([
      400,
      'unsupported_by_provider',
      [],
    ]);
    const next = await ask({
      strategy: { mode: 'fallback', on_status_codes: [429] },
      targets: [{ provider: '@claude', passthrough: true }, { provider: '@main' }],
    });
    expect([next.status, next.target, next.sent]).to.deep.equal([200, 'config.targets[1]', [body]]);
  });

  it('takes the target of the first condition that holds, else the default', async () => {
    const when = (query: object, name: string) =>
      Object.fromEntries([
        ['query', query],
        ['then', name],
      ]);
    const config = {
      strategy: {
        mode: 'conditional',
        conditions: [
          when({ 'metadata.plan': 'paid', 'params.temperature': { $gte: 1 } }, 'paid'),
          when(
            {
              $or: [
                { 'headers.X-Region': { $in: ['eu'] } },
                { 'params.messages[0].content': { $regex: '^Bon' } },
              ],
            },
            'eu',
          ),
        ],
        default: 'rest',
      },
      targets: ['paid', 'eu', 'rest'].map((name) => ({ name, provider: '@main' })),
    };
    for (const [headers, text, index] of [
      [{ 'x-gateway-metadata': '{"plan":"paid"}', 'x-region': 'eu' }, body, 0],
      [{ 'x-region': 'eu' }, body, 1],
      [{}, body.replace('Hi', 'Bonjour'), 1],
      [{ 'x-gateway-metadata': '{"plan":"free"}' }, body, 2],
    ] as const) {
      expect((await ask(config, text, headers)).target).to.equal(`config.targets[${index}]`);
    }
  });

  it('cannot look at the keys of those who call', async () => {
    const { status, json, sent } = await ask({
      strategy: {
        mode: 'conditional',
        conditions: [
          Object.fromEntries([
            ['query', { 'headers.authorization': { $regex: '^Bearer sk-a' } }],
            ['then', 'a'],
          ]),
        ],
        default: 'a',
      },
      targets: [{ name: 'a', provider: '@main' }],
    });
    expect([status, json.error.code, sent]).to.deep.equal([400, 'AB01', []]);
  });
});
