import { expect } from 'chai';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';
import { awsKeys } from '../support/simulated/aws-auth.js';
import { type SimulatedProvider, startSimulated } from '../support/simulated/index.js';

const slugs = ['openai', 'anthropic', 'gemini', 'bedrock'] as const;

/** With what each format spells in its own way, drops or cannot take. */
const body = JSON.stringify({
  model: 'claude-sonnet-4-5',
  messages: [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at": 1.50}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'A river' },
    { role: 'user', content: 'And now?' },
  ],
  tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }],
  max_tokens: 64,
  temperature: 0.5,
  stop: ['END'],
  seed: 7,
  unknown_field: { kept: ['digits'] },
}).replace('"digits"', '1.0, 12345678901234567890');

describe('a fallback to another format', () => {
  let gateway: SharedGateway;
  let provider: SimulatedProvider;

  before(async function () {
    this.timeout(20_000);
    [gateway, provider] = await Promise.all([shareGateway(), startSimulated({ record: true })]);
    const { providers } = gateway.admin();
    const base_url = `${provider.url}/v1`;
    await providers.create({ slug: 'openai', provider: 'openai', key: 'sk-sim', base_url });
    await providers.create({ slug: 'anthropic', provider: 'anthropic', key: 'sk-ant-sim', base_url });
    await providers.create({
      slug: 'gemini',
      provider: 'google',
      key: 'AIza-sim',
      base_url: `${provider.url}/v1beta`,
    });
    await providers.create({
      slug: 'bedrock',
      provider: 'bedrock',
      base_url: provider.url,
      aws_auth_type: 'accessKey',
      aws_region: 'us-east-1',
      aws_access_key_id: awsKeys.accessKeyId,
      aws_secret_access_key: awsKeys.secretAccessKey,
    });
  });

  beforeEach(() => provider.reset());

  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  /** Path and bytes of every request that a config leads to. */
  async function sent(config: object): Promise<{ path: string; body: string }[]> {
    provider.reset();
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-config': JSON.stringify(config),
      },
      body,
    });
    expect(answer.status, await answer.text()).to.equal(200);
    return provider.requests.map((request) => ({ path: request.path, body: request.body.toString() }));
  }

  for (const first of slugs) {
    for (const second of slugs) {
      if (first === second) continue;
      it(`from ${first} to ${second} sends the bytes of a first attempt`, async () => {
        const alone = await sent({ provider: `@${second}` });
        const both = await sent({
          strategy: { mode: 'fallback' },
          targets: [
            {
              provider: `@${first}`,
              override_params: { model: 'sim-fault:500', temperature: 0.1, top_p: 0.2 },
            },
            { provider: `@${second}` },
          ],
        });
        expect(both).to.have.lengthOf(2);
        expect(both[1]).to.deep.equal(alone[0]);
        expect(both[0]!.body).to.not.equal(both[1]!.body);
      });
    }
  }

  it('of the client’s own format sends its very bytes', async () => {
    const [, second] = await sent({
      strategy: { mode: 'fallback' },
      targets: [
        { provider: '@gemini', override_params: { model: 'sim-fault:500' } },
        { provider: '@openai' },
      ],
    });
    expect(second!.body).to.equal(body);
  });
});
