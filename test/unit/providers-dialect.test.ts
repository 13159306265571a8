import { expect } from 'chai';
import { GatewayError } from '../../src/common/core/errors.js';
import type { JsonObject } from '../../src/common/core/exchange.js';
import { openAiDialect } from '../../src/data-plane/providers/formats/openai-dialect.js';
import type { ConversionContext } from '../../src/data-plane/providers/provider.js';

const context: ConversionContext = { provider: 'mistral-ai', strict: true, includeUsage: true };
const whole = (message: JsonObject, finish_reason: string | null): JsonObject => ({
  id: 'x',
  own_field: 1,
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason, logprobs: null }],
});
const read = (message: JsonObject, finish: string | null): unknown =>
  openAiDialect.fromWire(whole(message, finish), context)['choices'];

describe('Answers that depart from OpenAI’s in a few words', () => {
  it('leave as they came where they do not', () => {
    const body = whole({ content: 'Hi', reasoning_content: 'Hm' }, 'stop');
    expect(openAiDialect.fromWire(body, context)).to.equal(body);
  });

  it('end for OpenAI’s reasons', () => {
    for (const [own, reason] of [
      ['model_length', 'length'],
      ['eos', 'stop'],
      ['error', 'stop'],
      ['tool_calls', 'tool_calls'],
      ['never heard of', 'never heard of'],
    ] as const)
      expect((read({ content: 'x' }, own) as JsonObject[])[0]?.['finish_reason']).to.equal(reason);
  });

  it('have thinking beside their text', () => {
    const content = [
      {
        type: 'thinking',
        thinking: [
          { type: 'text', text: 'Hm. ' },
          { type: 'text', text: 'So.' },
        ],
      },
      { type: 'text', text: 'Yes' },
      { type: 'text', text: '.' },
    ];
    expect((read({ content }, 'stop') as JsonObject[])[0]?.['message']).to.deep.equal({
      role: 'assistant',
      content: 'Yes.',
      reasoning_content: 'Hm. So.',
    });
  });

  it('are no answers where the provider ran out of resources', () => {
    expect(() => read({ content: 'x' }, 'insufficient_system_resource')).to.throw(GatewayError, 'ran out');
    const stream = openAiDialect.stream(context);
    const chunk = { choices: [{ index: 0, delta: {}, finish_reason: 'insufficient_system_resource' }] };
    expect(() => stream.event('', JSON.stringify(chunk))).to.throw(GatewayError, 'ran out');
  });

  it('stream the same, with their usage and their end', () => {
    const stream = openAiDialect.stream(context);
    const events = [
      {
        choices: [
          { index: 0, delta: { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }] } },
        ],
      },
      { choices: [{ index: 0, delta: { content: 'Yes' }, finish_reason: null }] },
      {
        model: 'm',
        choices: [{ index: 0, delta: { content: '' }, finish_reason: 'model_length' }],
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
      },
    ];
    const chunks = events.flatMap((event) => stream.event('', JSON.stringify(event)));
    const choices = chunks.map((chunk) => (chunk['choices'] as JsonObject[])[0]);
    expect(choices[0]?.['delta']).to.deep.equal({ content: '', reasoning_content: 'Hm' });
    expect(choices[1]?.['delta']).to.deep.equal({ content: 'Yes' });
    expect(choices[2]?.['finish_reason']).to.equal('length');
    expect(stream.event('', '[DONE]')).to.deep.equal([]);
    expect(stream.done).to.equal(true);
    expect(stream.usage).to.include({ input: 3, output: 2 });
  });
});
