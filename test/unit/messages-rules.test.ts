import { expect } from 'chai';
import { GatewayError } from '../../src/common/core/errors.js';
import { findEndpoint } from '../../src/data-plane/endpoints/table.js';
import { readBody } from '../support/read-body.js';

const messages = findEndpoint('POST', '/v1/messages');
const counting = findEndpoint('POST', '/v1/messages/count_tokens');

/** The field at fault, or `ok`. */
function verdict(body: unknown, endpoint = messages): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  try {
    readBody(endpoint, ['content-type', 'application/json'], Buffer.from(text));
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    if (thrown.code !== 'invalid_request') return thrown.code;
    expect(thrown.message.startsWith(thrown.param ?? '?')).to.equal(true);
    return thrown.param ?? '';
  }
  return 'ok';
}

const base = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] };
const saying = (...content: unknown[]): object => ({ ...base, messages: [{ role: 'user', content }] });
const image = (source: unknown): object => saying({ type: 'image', source });

describe('body of a message', () => {
  const rows: readonly (readonly [body: unknown, wanted: string])[] = [
    [base, 'ok'],
    [{ ...base, new_field: { any: [1] } }, 'ok'],
    [{ ...base, max_tokens: 0 }, 'ok'],
    [{ ...base, max_tokens: -1 }, 'max_tokens'],
    [{ ...base, max_tokens: '5' }, 'max_tokens'],
    [{ ...base, max_tokens: true }, 'max_tokens'],
    ['{"model":"m","max_tokens":1.0,"messages":[{"role":"user","content":"x"}]}', 'ok'],
    ['{"model":"m","max_tokens":1e400,"messages":[{"role":"user","content":"x"}]}', 'max_tokens'],
    [{ ...base, max_tokens: undefined }, 'max_tokens'],
    [{ ...base, model: '' }, 'model'],
    [{ ...base, model: 'a\r\nb' }, 'model'],
    [{ ...base, messages: undefined }, 'messages'],
    [{ ...base, messages: 'Hi' }, 'messages'],
    [{ ...base, messages: [null] }, 'messages[0]'],
    [{ ...base, messages: [{ role: 'user' }] }, 'messages[0].content'],
    [{ ...base, messages: [{ role: 'user', content: 5 }] }, 'messages[0].content'],
    [{ ...base, messages: [...base.messages, { role: 'tool', content: '' }] }, 'messages[1].role'],
    [{ ...base, messages: [{ role: 'system', content: 'x' }] }, 'ok'],
    [saying('text'), 'messages[0].content[0]'],
    [saying({ text: 'x' }), 'messages[0].content[0].type'],
    [saying({ type: 'text' }), 'messages[0].content[0].text'],
    [saying({ type: 'something_new', any: 1 }), 'ok'],
    [image(undefined), 'messages[0].content[0].source'],
    [image({ type: 'base64', data: 'AA' }), 'messages[0].content[0].source.media_type'],
    [image({ type: 'base64', media_type: 'image/png' }), 'messages[0].content[0].source.data'],
    [image({ type: 'url', url: 5 }), 'messages[0].content[0].source.url'],
    [image({ type: 'file', file_id: 'f' }), 'ok'],
    [image({}), 'messages[0].content[0].source.type'],
    [saying({ type: 'tool_use', id: 'a', name: 'f', input: '{}' }), 'messages[0].content[0].input'],
    [saying({ type: 'tool_use', name: 'f', input: {} }), 'messages[0].content[0].id'],
    [saying({ type: 'tool_result', content: 'x' }), 'messages[0].content[0].tool_use_id'],
    [saying({ type: 'tool_result', tool_use_id: 'a' }), 'ok'],
    [
      saying({ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text' }] }),
      'messages[0].content[0].content[0].text',
    ],
    [saying({ type: 'tool_result', tool_use_id: 'a', is_error: 'yes' }), 'messages[0].content[0].is_error'],
    [saying({ type: 'thinking', thinking: 'x' }), 'messages[0].content[0].signature'],
    [saying({ type: 'redacted_thinking' }), 'messages[0].content[0].data'],
    [{ ...base, system: 5 }, 'system'],
    [{ ...base, system: ['x'] }, 'system[0]'],
    [{ ...base, system: [{ type: 'text', text: 1 }] }, 'system[0].text'],
    [{ ...base, temperature: 1.01 }, 'temperature'],
    [{ ...base, temperature: null }, 'ok'],
    [{ ...base, top_p: -0.1 }, 'top_p'],
    [{ ...base, top_k: 0.5 }, 'top_k'],
    [{ ...base, stop_sequences: 'END' }, 'stop_sequences'],
    [{ ...base, stop_sequences: ['END', 1] }, 'stop_sequences[1]'],
    [{ ...base, stream: 'true' }, 'stream'],
    [{ ...base, metadata: [] }, 'metadata'],
    [{ ...base, metadata: { user_id: 5 } }, 'metadata.user_id'],
    [{ ...base, tools: [{ input_schema: {} }] }, 'tools[0].name'],
    [{ ...base, tools: [{ name: 'f', input_schema: [] }] }, 'tools[0].input_schema'],
    [{ ...base, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'ok'],
    [{ ...base, tool_choice: 'auto' }, 'tool_choice'],
    [{ ...base, tool_choice: { type: 'required' } }, 'tool_choice.type'],
    [{ ...base, tool_choice: { type: 'tool' } }, 'tool_choice.name'],
    [{ ...base, tool_choice: { type: 'any' } }, 'tool_choice'],
    [{ ...base, thinking: { type: 'enabled' } }, 'thinking.budget_tokens'],
    [{ ...base, thinking: { type: 'enabled', budget_tokens: 1023 } }, 'thinking.budget_tokens'],
    [{ ...base, thinking: { type: 'adaptive' } }, 'ok'],
    [{ ...base, output_config: { format: { type: 'text' } } }, 'output_config.format.type'],
    [{ ...base, output_config: { format: { type: 'json_schema' } } }, 'output_config.format.schema'],
    ['', 'body_malformed'],
    ['[]', 'body_malformed'],
    ['{"model":"m",}', 'body_malformed'],
  ];

  it('is taken, or refused with the path of what is wrong', () => {
    for (const [body, wanted] of rows) {
      expect(verdict(body), JSON.stringify(body)?.slice(0, 160)).to.equal(wanted);
    }
  });

  it('needs no max_tokens where tokens are only counted', () => {
    const { max_tokens: _, ...rest } = base;
    expect(verdict(rest, counting)).to.equal('ok');
    expect(verdict({ ...rest, messages: [] }, counting)).to.equal('messages');
  });
});
