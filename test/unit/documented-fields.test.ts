import { expect } from 'chai';
import { GatewayError } from '../../src/common/core/errors.js';
import type { JsonObject } from '../../src/common/core/exchange.js';
import { stringifyJson } from '../../src/common/json/json.js';
import { formats } from '../../src/data-plane/providers/formats/index.js';
import { InnerJson } from '../../src/data-plane/providers/inner-json.js';
import type { ChatFormat } from '../../src/data-plane/providers/provider.js';

const base: JsonObject = {
  model: 'some-model',
  messages: [{ role: 'user', content: 'Hi' }],
  tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }],
};

/** Every field of OpenAI's chat request, each with a value that asks for something. */
const fields: JsonObject = {
  audio: { voice: 'alloy', format: 'mp3' },
  frequency_penalty: 0.1,
  function_call: { name: 'f' },
  logit_bias: { '1': 1 },
  logprobs: true,
  max_completion_tokens: 10,
  max_tokens: 10,
  metadata: { a: 'b' },
  modalities: ['text', 'audio'],
  n: 2,
  parallel_tool_calls: false,
  prediction: { type: 'content', content: 'x' },
  presence_penalty: 0.1,
  prompt_cache_key: 'k',
  prompt_cache_retention: '24h',
  reasoning_effort: 'low',
  response_format: { type: 'json_object' },
  safety_identifier: 's',
  seed: 1,
  service_tier: 'flex',
  stop: ['x'],
  store: true,
  temperature: 0.1,
  tool_choice: 'required',
  top_logprobs: 2,
  top_p: 0.1,
  user: 'u',
  verbosity: 'low',
  web_search_options: { search_context_size: 'low' },
};

/** What becomes of one field: it changes what is sent, is named as dropped, or the request is refused by its name. */
function fate(format: ChatFormat, field: string): 'sent' | 'dropped' | 'refused' | 'lost' {
  try {
    const { body, dropped } = format.toWire({ ...base, [field]: fields[field] }, new InnerJson());
    if (dropped.some((path) => path.split(/[.[]/)[0] === field)) return 'dropped';
    return stringifyJson(body) === stringifyJson(format.toWire(base, new InnerJson()).body) ? 'lost' : 'sent';
  } catch (thrown) {
    if (thrown instanceof GatewayError && thrown.param?.split(/[.[]/)[0] === field) return 'refused';
    throw thrown;
  }
}

describe('each documented field of a chat request', () => {
  for (const format of formats.values()) {
    it(`is sent, refused by name or named as dropped for ${format.name}`, () => {
      const lost = Object.keys(fields).filter((field) => fate(format, field) === 'lost');
      expect(lost).to.deep.equal([]);
    });
  }
});
