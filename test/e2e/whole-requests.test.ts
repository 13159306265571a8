// lane: shared gateway
import { expect } from 'chai';
import { providers } from '../../src/data-plane/providers/rows.js';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

/** Every documented field of a chat request (platform.openai.com/docs/api-reference/chat/create), and two of nobody's. */
const full = {
  model: 'a-model',
  messages: [
    { role: 'system', content: 'Be kind.', name: 'house' },
    {
      role: 'user',
      name: 'ann',
      content: [
        { type: 'text', text: 'Look: get_weather' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } },
        { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
        { type: 'file', file: { file_id: 'file-1' } },
      ],
    },
    {
      role: 'assistant',
      content: 'I shall ask.',
      refusal: null,
      audio: { id: 'audio_1' },
      tool_calls: [
        {
          id: 'callRome1',
          type: 'function',
          function: { name: 'get_weather', arguments: '{"city":"Rome"}' },
        },
      ],
    },
    { role: 'tool', tool_call_id: 'callRome1', content: [{ type: 'text', text: 'sunny' }] },
    { role: 'user', content: 'And then?' },
  ],
  audio: { voice: 'alloy', format: 'mp3' },
  frequency_penalty: 0.5,
  logit_bias: { '50256': -100 },
  logprobs: true,
  max_completion_tokens: 200,
  metadata: { team: 'blue' },
  modalities: ['text'],
  n: 2,
  parallel_tool_calls: false,
  prediction: { type: 'content', content: 'sunny' },
  presence_penalty: -0.5,
  prompt_cache_key: 'key',
  prompt_cache_retention: '24h',
  reasoning_effort: 'low',
  response_format: {
    type: 'json_schema',
    json_schema: {
      name: 'x',
      strict: true,
      schema: { type: 'object', properties: { a: { type: 'integer' } } },
    },
  },
  safety_identifier: 'user-1',
  seed: 42,
  service_tier: 'auto',
  stop: ['END', 'STOP'],
  store: false,
  stream: true,
  stream_options: { include_usage: true, include_obfuscation: false },
  temperature: 0.7,
  tool_choice: { type: 'function', function: { name: 'get_weather' } },
  tools: [
    {
      type: 'function',
      function: {
        name: 'get_weather',
        description: 'd',
        strict: true,
        parameters: { type: 'object', properties: {} },
      },
    },
  ],
  top_logprobs: 5,
  top_p: 0.9,
  user: 'ann',
  verbosity: 'low',
  web_search_options: { search_context_size: 'low' },
  guided_json: { nobodys: ['field', 1e-7] },
  chat_template_kwargs: { enable_thinking: false },
};

/** What a provider calls by another name, or sends without being asked. */
const renamed: Readonly<Record<string, (body: Record<string, unknown>) => void>> = {
  'mistral-ai': (body) => {
    body['max_tokens'] = body['max_completion_tokens'];
    body['random_seed'] = body['seed'];
    delete body['max_completion_tokens'];
    delete body['seed'];
    for (const name of ['user', 'service_tier', 'store', 'safety_identifier']) delete body[name];
    body['stream_options'] = { include_obfuscation: false };
  },
  ollama: (body) => {
    body['max_tokens'] = body['max_completion_tokens'];
    delete body['max_completion_tokens'];
    const messages = body['messages'] as readonly { readonly role: string }[];
    body['messages'] = messages.map((one) => (one.role === 'developer' ? { ...one, role: 'system' } : one));
  },
};

describe('A chat request with every field there is', () => {
  let gateway: SharedGateway;
  let upstream: SimulatedProvider;

  before(async function () {
    this.timeout(30_000);
    [gateway, upstream] = await Promise.all([shareGateway(), startSimulated({ record: true })]);
  });
  after(async () => {
    await gateway?.stop();
    await upstream?.close();
  });

  const send = (provider: string, text: string): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: 'Bearer own-key',
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-provider': provider,
        'x-gateway-custom-host': `${upstream.url}/v1`,
      },
      body: text,
    });

  for (const { name, paths, quirks, forCall } of providers.values()) {
    if (paths['openai-chat'] === undefined || forCall !== undefined) continue;
    it(`reaches ${name} whole`, async () => {
      const text = JSON.stringify(full);
      const response = await send(name, text);
      const answer = await response.text();
      expect(response.status, answer).to.equal(200);
      expect(answer).to.match(/data: \[DONE\]\n\n$/);
      const body = String(upstream.requests.at(-1)?.body);
      if (quirks === undefined) return expect(body, 'byte for byte').to.equal(text);
      const expected: Record<string, unknown> = { ...full };
      renamed[name]?.(expected);
      expect(JSON.parse(body)).to.deep.equal(expected);
    });
  }

  it('keeps every digit, also where a row renames fields', async () => {
    const digits =
      '{"model":"m","messages":[{"role":"user","content":"Hi"}],"x":12345678901234567890.123456789}';
    for (const name of ['openai', 'mistral-ai']) {
      expect((await send(name, digits)).status).to.equal(200);
      expect(String(upstream.requests.at(-1)?.body)).to.include('12345678901234567890.123456789');
    }
  });

  it('reaches a server of one’s own without a key, where it asks for none', async () => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-provider': 'ollama',
        'x-gateway-custom-host': `${upstream.url}/v1`,
      },
      body: JSON.stringify({ model: 'llama', messages: [{ role: 'user', content: 'Hi' }] }),
    });
    // The simulated one does ask: what counts is what it was sent.
    expect(response.status).to.equal(401);
    expect(upstream.requests.at(-1)?.headers).to.not.have.any.keys('authorization', 'api-key', 'x-api-key');
  });
});
