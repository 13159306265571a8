import { expect } from 'chai';
import { awsKeys } from '../../src/simulated/aws/aws-auth.js';
import { type InjectedGateway, openInjected, type ProviderCall } from '../support/inject.js';

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

const said = 'A river.';
/** By a part of the URL. */
const answers: Readonly<Record<string, object>> = {
  '/chat/completions': {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: said }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  },
  '/messages': {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: said }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 2 },
  },
  generateContent: {
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text: said }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  },
  converse: {
    output: { message: { role: 'assistant', content: [{ text: said }] } },
    stopReason: 'end_turn',
    usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
  },
};
const failing = 'a-model-that-fails';

function answer({ url, body }: ProviderCall): { status: number; body: string } {
  if (`${url}${body}`.includes(failing)) return { status: 500, body: '{"error":{"message":"down"}}' };
  const [, found] = Object.entries(answers).find(([part]) => url.pathname.includes(part)) ?? [];
  expect(found, url.href).to.be.an('object');
  return { status: 200, body: JSON.stringify(found) };
}

describe('a fallback to another format', () => {
  let gateway: InjectedGateway;

  before(async () => {
    gateway = await openInjected({
      providers: {
        openai: { provider: 'openai', credential: 'sk-any' },
        anthropic: { provider: 'anthropic', credential: 'sk-ant-any' },
        gemini: { provider: 'google', credential: 'AIza-any' },
        bedrock: {
          provider: 'bedrock',
          fields: {
            aws_auth_type: 'accessKey',
            aws_region: 'us-east-1',
            aws_access_key_id: awsKeys.accessKeyId,
          },
          secrets: { aws_secret_access_key: awsKeys.secretAccessKey },
        },
      },
      answer,
    });
  });

  after(() => gateway?.close());

  /** Path and bytes of every request that a config leads to. */
  async function sent(config: object): Promise<{ path: string; body: string }[]> {
    const before = gateway.calls.length;
    const answered = await gateway.inject('/v1/chat/completions', { config, body });
    const text = await answered.text();
    expect(answered.status, text).to.equal(200);
    expect(text).to.include(said);
    return gateway.calls.slice(before).map(({ url, body }) => ({ path: url.pathname + url.search, body }));
  }

  for (const first of slugs) {
    for (const second of slugs) {
      if (first === second) continue;
      it(`from ${first} to ${second} sends the bytes of a first attempt`, async () => {
        const alone = await sent({ provider: `@${second}` });
        const both = await sent({
          strategy: { mode: 'fallback' },
          targets: [
            { provider: `@${first}`, override_params: { model: failing, temperature: 0.1, top_p: 0.2 } },
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
      targets: [{ provider: '@gemini', override_params: { model: failing } }, { provider: '@openai' }],
    });
    expect(second!.body).to.equal(body);
  });
});
