import { expect } from 'chai';
import type { Endpoint, EndpointName } from '../../src/common/core/endpoint.js';
import { GatewayError } from '../../src/common/core/errors.js';
import { endpoints } from '../../src/data-plane/endpoints/table.js';
import { readBody } from '../support/read-body.js';

const endpoint = (name: EndpointName): Endpoint => endpoints.find((one) => one.name === name)!;
const json = ['content-type', 'application/json'];

/** The field at fault, `ok` for a body that is taken, else the error's code. */
function verdict(name: EndpointName, body: unknown, headers = json): string {
  const bytes = Buffer.isBuffer(body)
    ? body
    : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  try {
    readBody(endpoint(name), headers, bytes);
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    if (thrown.code !== 'invalid_request') return thrown.code;
    expect(thrown.status).to.equal(400);
    expect(thrown.message).to.contain(thrown.param!).and.to.match(/\.$/);
    return thrown.param!;
  }
  return 'ok';
}

const user = { role: 'user', content: 'hi' };
const chat = (more: object): object => ({ model: 'gpt-4o', messages: [user], ...more });
const text = (more: object): object => ({ model: 'm', prompt: 'once', ...more });
const embed = (more: object): object => ({ model: 'm', input: 'text', ...more });
const raw = (member: string): string => `{"model":"m","messages":[{"role":"user","content":"x"}],${member}}`;
const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };

type Row = readonly [body: unknown, wanted: string];

function table(name: EndpointName, title: string, rows: readonly Row[]): void {
  it(title, () => {
    for (const [body, wanted] of rows) {
      expect(
        verdict(name, body),
        (typeof body === 'string' ? body : JSON.stringify(body)).slice(0, 160),
      ).to.equal(wanted);
    }
  });
}

/** Values at and past both edges of an integer or number field that may be null. */
function range(
  name: EndpointName,
  base: (more: object) => object,
  field: string,
  good: readonly unknown[],
  bad: readonly unknown[],
): void {
  it(`holds ${name}.${field} to its range`, () => {
    for (const value of good)
      expect(verdict(name, base({ [field]: value })), `${field}: ${value}`).to.equal('ok');
    for (const value of bad)
      expect(verdict(name, base({ [field]: value })), `${field}: ${JSON.stringify(value)}`).to.equal(field);
  });
}

describe('body of a chat completion', () => {
  range('chat', chat, 'n', [1, 128, null], [0, 129, 1e9, 1.5, '5', true, [1]]);
  range('chat', chat, 'temperature', [0, 2, 0.7, null], [-0.001, 2.001, '1', false]);
  range('chat', chat, 'top_p', [0, 1, null], [-0.1, 1.1, '1']);
  range('chat', chat, 'frequency_penalty', [-2, 2, null], [-2.1, 2.1, {}]);
  range('chat', chat, 'presence_penalty', [-2, 2, null], [-2.1, 2.1, '0']);
  range('chat', chat, 'max_tokens', [0, 1, 2 ** 53 - 1, null], [-1, 2 ** 53, 1.5, '5', true]);
  range('chat', chat, 'max_completion_tokens', [1, null], [-1, 2 ** 53, '5']);
  range(
    'chat',
    chat,
    'seed',
    [0, -5, -9223372036854776000, 9223372036854776000, null],
    [0.5, '1', 2 ** 63 + 2048],
  );
  range('chat', chat, 'logprobs', [true, false, null], [1, 'true']);
  range('chat', chat, 'stream', [true, false, null], ['true', 1, 0]);
  range('chat', chat, 'parallel_tool_calls', [true, false], ['true', 1, null]);
  range('chat', chat, 'user', ['u', ''], [1, null, {}]);
  range(
    'chat',
    chat,
    'stop',
    ['a', [], ['a', 'b', 'c', 'd'], null],
    [['a', 'b', 'c', 'd', 'e'], 1, {}, true],
  );
  range(
    'chat',
    chat,
    'model',
    ['gpt-4o', '@slug/gpt-4o', 'модель', 'x'.repeat(300)],
    ['', 5, null, 'a\r\nSet-Cookie: x=1', 'a\u0000', ['m'], 'x'.repeat(2049)],
  );
  range('chat', chat, 'messages', [[user]], [[], {}, 'hi', null]);
  range(
    'chat',
    chat,
    'functions',
    [[{ name: 'f' }], Array(128).fill({ name: 'f' })],
    [[], Array(129).fill({ name: 'f' }), {}],
  );
  range(
    'chat',
    chat,
    'tools',
    [[], Array(128).fill({ type: 'function', function: { name: 'f' } })],
    [Array(129).fill({ type: 'function', function: { name: 'f' } }), {}, null],
  );
  range(
    'chat',
    chat,
    'tool_choice',
    ['none', 'auto', 'required', { type: 'function', function: { name: 'f' } }],
    ['any', 1, null, []],
  );
  range('chat', chat, 'function_call', ['none', 'auto', { name: 'f' }], ['required', 1, null]);
  range(
    'chat',
    chat,
    'response_format',
    [
      { type: 'text' },
      { type: 'json_object' },
      { type: 'json_schema', json_schema: { name: 'n', schema: {}, strict: null } },
    ],
    ['text', null, []],
  );
  range(
    'chat',
    chat,
    'thinking',
    [{ type: 'enabled', budget_tokens: 1 }, { type: 'disabled' }, null],
    ['enabled', []],
  );

  table('chat', 'requires model and messages', [
    [{ messages: [user] }, 'model'],
    [{ model: 'm' }, 'messages'],
    [{}, 'messages'],
    ['{"__proto__":{"model":"m","messages":[]}}', 'messages'],
  ]);

  table('chat', 'knows the six roles, spelled exactly', [
    [chat({ messages: [{ role: 'system', content: 's' }, { role: 'developer', content: 'd' }, user] }), 'ok'],
    [
      chat({
        messages: [
          { role: 'assistant', content: null, tool_calls: [call] },
          { role: 'tool', content: 'x', tool_call_id: 'c' },
        ],
      }),
      'ok',
    ],
    [chat({ messages: [{ role: 'assistant' }, { role: 'function', content: null, name: 'f' }] }), 'ok'],
    [chat({ messages: [user, { role: 'robot', content: 'x' }] }), 'messages[1].role'],
    [chat({ messages: [{ content: 'x' }] }), 'messages[0].role'],
    [chat({ messages: [{ role: 'User', content: 'x' }] }), 'messages[0].role'],
    [chat({ messages: [{ role: 'aSSıstant', content: 'x' }] }), 'messages[0].role'],
    [chat({ messages: [{ role: ['user'], content: 'x' }] }), 'messages[0].role'],
    [chat({ messages: [user, 'hi'] }), 'messages[1]'],
    [chat({ messages: [null] }), 'messages[0]'],
  ]);

  table('chat', 'checks the content of messages', [
    [chat({ messages: [{ role: 'user' }] }), 'messages[0].content'],
    [chat({ messages: [{ role: 'user', content: null }] }), 'messages[0].content'],
    [chat({ messages: [{ role: 'user', content: 5 }] }), 'messages[0].content'],
    [chat({ messages: [{ role: 'user', content: {} }] }), 'messages[0].content'],
    [chat({ messages: [{ role: 'user', content: [] }] }), 'messages[0].content'],
    [chat({ messages: [{ role: 'user', content: '' }] }), 'ok'],
    [chat({ messages: [{ role: 'system', content: [{ type: 'text', text: 's' }] }] }), 'ok'],
    [chat({ messages: [{ role: 'user', content: [{ type: 'text' }] }] }), 'messages[0].content[0].text'],
    [chat({ messages: [{ role: 'user', content: ['x'] }] }), 'messages[0].content[0]'],
    [
      chat({
        messages: [
          {
            role: 'user',
            content: [
              { type: 'input_audio', input_audio: {} },
              { type: 'file', file: {} },
            ],
          },
        ],
      }),
      'ok',
    ],
    [chat({ messages: [{ role: 'user', content: [{ text: 'x' }] }] }), 'messages[0].content[0].type'],
    [
      chat({
        messages: [
          {
            role: 'user',
            content: [{ type: 'image_url', image_url: { url: 'https://x/y.png', detail: 'high' } }],
          },
        ],
      }),
      'ok',
    ],
    [
      chat({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: 'https://x' }] }] }),
      'messages[0].content[0].image_url',
    ],
    [
      chat({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] }),
      'messages[0].content[0].image_url.url',
    ],
    [
      chat({
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'x', detail: 'best' } }] },
        ],
      }),
      'messages[0].content[0].image_url.detail',
    ],
    [chat({ messages: [{ ...user, name: 5 }] }), 'messages[0].name'],
    [chat({ messages: [{ role: 'tool', content: 'x' }] }), 'messages[0].tool_call_id'],
    [chat({ messages: [{ role: 'function', content: 'x' }] }), 'messages[0].name'],
    [chat({ messages: [{ role: 'function', name: 'f' }] }), 'messages[0].content'],
    [chat({ messages: [{ role: 'assistant', tool_calls: {} }] }), 'messages[0].tool_calls'],
    [
      chat({ messages: [{ role: 'assistant', tool_calls: [{ ...call, id: 1 }] }] }),
      'messages[0].tool_calls[0].id',
    ],
    [
      chat({ messages: [{ role: 'assistant', tool_calls: [{ ...call, type: 'x' }] }] }),
      'messages[0].tool_calls[0].type',
    ],
    [
      chat({
        messages: [{ role: 'assistant', tool_calls: [{ ...call, function: { name: 'f', arguments: {} } }] }],
      }),
      'messages[0].tool_calls[0].function.arguments',
    ],
    [chat({ messages: [{ role: 'assistant', function_call: null }] }), 'ok'],
    [chat({ messages: [{ role: 'assistant', function_call: {} }] }), 'messages[0].function_call.name'],
  ]);

  table('chat', 'checks tools, functions and formats inside', [
    [chat({ tools: [{ type: 'retrieval' }] }), 'tools[0].type'],
    [chat({ tools: ['f'] }), 'tools[0]'],
    [chat({ tools: [{ type: 'function', function: {} }] }), 'tools[0].function.name'],
    [
      chat({ tools: [{ type: 'function', function: { name: 'f', parameters: 'x' } }] }),
      'tools[0].function.parameters',
    ],
    [chat({ tools: [{ type: 'function', function: { name: 'f', strict: 1 } }] }), 'tools[0].function.strict'],
    [chat({ functions: [{}] }), 'functions[0].name'],
    [chat({ tool_choice: { type: 'function' } }), 'tool_choice.function'],
    [chat({ tool_choice: { type: 'x' } }), 'tool_choice.type'],
    [chat({ function_call: {} }), 'function_call.name'],
    [chat({ response_format: { type: 'xml' } }), 'response_format.type'],
    [chat({ response_format: { type: 'json_schema' } }), 'response_format.json_schema'],
    [chat({ response_format: { type: 'json_schema', json_schema: {} } }), 'response_format.json_schema.name'],
    [chat({ thinking: {} }), 'thinking.type'],
    [chat({ thinking: { type: 'enabled', budget_tokens: 0 } }), 'thinking.budget_tokens'],
    [chat({ stop: ['a', 1] }), 'stop[1]'],
  ]);

  table('chat', 'checks biases by value, whatever the key', [
    [chat({ logit_bias: { 50256: -100, 1: 100 } }), 'ok'],
    [chat({ logit_bias: null }), 'ok'],
    [chat({ logit_bias: { 50256: -100.5 } }), 'logit_bias.50256'],
    [chat({ logit_bias: { 1: '5' } }), 'logit_bias.1'],
    [chat({ logit_bias: [] }), 'logit_bias'],
    [raw('"logit_bias":{"__proto__":5}'), 'ok'],
    [raw('"logit_bias":{"__proto__":500}'), 'logit_bias.__proto__'],
    [raw('"logit_bias":{"toString":{}}'), 'logit_bias.toString'],
  ]);

  table('chat', 'allows dependent fields only with what they depend on', [
    [chat({ top_logprobs: 20, logprobs: true }), 'ok'],
    [chat({ top_logprobs: 0, logprobs: true }), 'ok'],
    [chat({ top_logprobs: 21, logprobs: true }), 'top_logprobs'],
    [chat({ top_logprobs: -1, logprobs: true }), 'top_logprobs'],
    [chat({ top_logprobs: 5 }), 'top_logprobs'],
    [chat({ top_logprobs: 5, logprobs: false }), 'top_logprobs'],
    [chat({ top_logprobs: null }), 'ok'],
    [chat({ stream: true, stream_options: { include_usage: true } }), 'ok'],
    [chat({ stream_options: { include_usage: true } }), 'stream_options'],
    [chat({ stream: false, stream_options: {} }), 'stream_options'],
    [chat({ stream: false, stream_options: null }), 'ok'],
    [chat({ stream: true, stream_options: { include_usage: 'yes' } }), 'stream_options.include_usage'],
    [chat({ stream: true, stream_options: true }), 'stream_options'],
  ]);

  table('chat', 'reads numbers by value and strictly by type', [
    [raw('"n":1.0'), 'ok'],
    [raw('"n":1e2'), 'ok'],
    [raw('"n":1e3'), 'n'],
    [raw('"n":-0'), 'n'],
    [raw('"n":1.00000000000000000001'), 'n'],
    [raw('"seed":9223372036854775807'), 'ok'],
    [raw('"temperature":0.70000000000000000001'), 'ok'],
    [raw('"temperature":1e400'), 'temperature'],
    [raw('"max_tokens":1e400'), 'max_tokens'],
    [raw('"max_tokens":9007199254740993'), 'max_tokens'],
  ]);

  table('chat', 'keeps fields it does not know, and names from Object.prototype are such', [
    [chat({ reasoning_effort: 'high', store: true, metadata: { a: 1 } }), 'ok'],
    [raw('"toString":1,"constructor":{"prototype":{}},"__proto__":{"n":"x"}'), 'ok'],
  ]);

  it('accepts a thousand messages and names the one that is wrong', () => {
    const messages: object[] = Array(1000).fill(user);
    expect(verdict('chat', chat({ messages }))).to.equal('ok');
    expect(verdict('chat', chat({ messages: [...messages, { role: 'x' }] }))).to.equal('messages[1000].role');
  });

  it('hands out model and stream', () => {
    const read = readBody(endpoint('chat'), json, Buffer.from(JSON.stringify(chat({ stream: true }))));
    expect(read).to.deep.include({ model: 'gpt-4o', stream: true });
    expect(read.json['messages']).to.deep.equal([user]);
    expect(readBody(endpoint('moderations'), [], Buffer.from('{"input":"x"}'))).to.deep.include({
      model: null,
      stream: false,
    });
  });
});

describe('body of a text completion', () => {
  range('completions', text, 'prompt', ['', 'x', ['a', ''], [1, 2], [[1], []], []], [null, 5, {}, true]);
  range('completions', text, 'best_of', [0, 20, null], [-1, 21, 1.5, '5']);
  range('completions', text, 'echo', [true, null], ['x', 1]);
  range('completions', text, 'logprobs', [0, 5, null], [-1, 6, true]);
  range('completions', text, 'max_tokens', [0, 16, null], [-1, 2 ** 53]);
  range('completions', text, 'n', [1, 128, null], [0, 129]);
  range('completions', text, 'suffix', ['x', null], [1]);
  range('completions', text, 'temperature', [0, 2, null], [2.1, -0.1]);
  range('completions', text, 'stop', ['a', ['a', 'b', 'c', 'd']], [['a', 'b', 'c', 'd', 'e']]);

  table('completions', 'requires model and prompt, and keeps unknown fields', [
    [{ prompt: 'x' }, 'model'],
    [{ model: 'm' }, 'prompt'],
    [text({ top_k: 5 }), 'ok'],
    [text({ prompt: ['a', 1] }), 'prompt[1]'],
    [text({ prompt: [1, 'a'] }), 'prompt[1]'],
    [text({ prompt: [[1], [1.5]] }), 'prompt[1][0]'],
    [text({ prompt: [null] }), 'prompt[0]'],
  ]);

  table('completions', 'ties best_of to n and to streaming', [
    [text({ best_of: 3, n: 2 }), 'ok'],
    [text({ best_of: 2, n: 2 }), 'best_of'],
    [text({ best_of: 2, n: 3 }), 'best_of'],
    [text({ best_of: 2, n: null }), 'ok'],
    [text({ best_of: 2, stream: true }), 'best_of'],
    [text({ best_of: 1, stream: true }), 'ok'],
    [text({ n: 3, stream: true }), 'ok'],
    [text({ stream_options: {} }), 'stream_options'],
  ]);
});

describe('body of an embedding', () => {
  const many = <T>(n: number, item: T): T[] => Array(n).fill(item);

  range(
    'embeddings',
    embed,
    'input',
    ['x', ['a'], many(2048, 'a'), [1], many(2048, 1), [[1]], many(2048, [1])],
    ['', [], many(2049, 'a'), many(2049, 1), many(2049, [1]), 5, null, {}],
  );
  range('embeddings', embed, 'dimensions', [1, 256], [0, -1, 1.5, '1', null]);
  range('embeddings', embed, 'encoding_format', ['float', 'base64'], ['int8', null, 1]);

  table('embeddings', 'checks the items of its input', [
    [embed({ input: [[1], []] }), 'input[1]'],
    [embed({ input: ['a', 1] }), 'input[1]'],
    [embed({ input: [1, [1]] }), 'input[1]'],
    [embed({ input: [[1], ['a']] }), 'input[1][0]'],
    [embed({ input: [1.5] }), 'input[0]'],
    [embed({ input: [{}] }), 'input[0]'],
  ]);

  table('embeddings', 'takes no field but its own', [
    [embed({ user: 'u', encoding_format: 'base64', dimensions: 3 }), 'ok'],
    [embed({ temperature: 1 }), 'temperature'],
    ['{"model":"m","input":"x","__proto__":1}', '__proto__'],
    ['{"model":"m","input":"x","toString":1}', 'toString'],
    [{ input: 'x' }, 'model'],
    [{ model: 'm' }, 'input'],
  ]);

  table('embeddings', 'holds text-embedding-ada-002 to what it can do', [
    [embed({ model: 'text-embedding-ada-002', input: [many(8192, 1)] }), 'ok'],
    [embed({ model: 'text-embedding-ada-002', input: many(2048, 1) }), 'ok'],
    [embed({ model: 'text-embedding-ada-002', input: [[1], many(8192, 1)] }), 'input'],
    [embed({ model: 'text-embedding-ada-002', input: [many(4096, 1), many(4097, 1)] }), 'input'],
    [embed({ model: '@main/text-embedding-ada-002', input: [many(8193, 1)] }), 'input'],
    [embed({ model: '@main/text-embedding-ada-002', dimensions: 256 }), 'dimensions'],
    [embed({ model: 'text-embedding-ada-002', input: 'a'.repeat(128 * 8192 + 1) }), 'input'],
    [embed({ model: 'text-embedding-3-small', input: [many(8193, 1)] }), 'ok'],
    [embed({ model: 'text-embedding-ada-002', dimensions: 256 }), 'dimensions'],
    [embed({ model: 'text-embedding-3-small', dimensions: 256 }), 'ok'],
  ]);
});

describe('body of a moderation', () => {
  table('moderations', 'requires input alone', [
    [{ input: 'x' }, 'ok'],
    [{ input: ['x', 'y'], model: 'text-moderation-latest' }, 'ok'],
    [{ model: 'm' }, 'input'],
    [{ input: 5 }, 'input'],
    [{ input: ['x', 5] }, 'input[1]'],
    [{ input: 'x', model: 5 }, 'model'],
  ]);
});

describe('body of a rerank', () => {
  const rerank = (more: object): object => ({ model: 'm', query: 'q', documents: ['a'], ...more });
  table('rerank', 'has a question and documents', [
    [rerank({}), 'ok'],
    [rerank({ documents: ['a', { text: 'b', title: 'c' }], top_n: 1, return_documents: true }), 'ok'],
    [rerank({ rank_fields: ['title'], priority: 0.5, truncation: false, parameters: {}, own: 1 }), 'ok'],
    [{ model: 'm', query: 'q' }, 'documents'],
    [{ model: 'm', documents: ['a'] }, 'query'],
    [{ query: 'q', documents: ['a'] }, 'model'],
    [rerank({ query: '' }), 'query'],
    [rerank({ documents: [] }), 'documents'],
    [rerank({ documents: 'a' }), 'documents'],
    [rerank({ documents: ['a', 5] }), 'documents[1]'],
    [rerank({ top_n: 0 }), 'top_n'],
    [rerank({ max_tokens_per_doc: 1.5 }), 'max_tokens_per_doc'],
    [rerank({ return_documents: 'yes' }), 'return_documents'],
    [rerank({ rank_fields: [1] }), 'rank_fields[0]'],
    [rerank({ parameters: [] }), 'parameters'],
  ]);
});

describe('reading a body', () => {
  const good = JSON.stringify(chat({}));

  it('takes JSON in UTF-8 and nothing else', () => {
    for (const type of [
      'application/json',
      'Application/JSON',
      'application/json; charset=utf-8',
      'application/json;charset="UTF-8"',
      'application/json ; charset=utf8',
      'application/json;',
    ]) {
      expect(verdict('chat', good, ['content-type', type]), type).to.equal('ok');
    }
    for (const type of [
      'text/plain',
      'multipart/form-data; boundary=x',
      'application/json; charset=utf-16',
      'application/jsonx',
      'application/json, text/html',
      '',
      'application/json; boundary=x',
    ]) {
      expect(verdict('chat', good, ['content-type', type]), type).to.equal('content-type');
    }
    expect(verdict('chat', good, [])).to.equal('ok');
  });

  it('takes no compressed body', () => {
    expect(verdict('chat', good, [...json, 'content-encoding', 'identity'])).to.equal('ok');
    for (const encoding of [
      'gzip',
      'br',
      'gzip, gzip',
      'x',
      'deflate, identity',
      `${'gzip, '.repeat(1000)}gzip`,
    ]) {
      expect(verdict('chat', good, [...json, 'content-encoding', encoding])).to.equal(
        'unsupported_media_type',
      );
    }
  });

  it('refuses what is not JSON in UTF-8', () => {
    const bad = [
      '',
      ' ',
      '{',
      '[]',
      '5',
      '"x"',
      'null',
      '{"a":1,}',
      "{'a':1}",
      '{"a":NaN}',
      '{"a":Infinity}',
      '{"a":1}//',
      '{"a":01}',
      '{"a":.5}',
      `{}${good}`,
      '{"a":"\n"}',
    ];
    for (const body of bad) expect(verdict('chat', body), body).to.equal('body_malformed');
    for (const body of [
      Buffer.from(`\ufeff${good}`),
      Buffer.from(good, 'utf16le'),
      Buffer.from('{"model":"m\u00e9"}', 'latin1'),
      Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
      Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xc0, 0x80]), Buffer.from('"}')]),
    ]) {
      expect(verdict('chat', body)).to.equal('body_malformed');
    }
  });

  it('passes escaped NULs and lone surrogates in text on', () => {
    expect(verdict('chat', raw('"user":"a\\u0000b\\ud800"'))).to.equal('ok');
  });

  it('reports a position where it can, and nothing of the body', () => {
    const message = (body: string): string => {
      try {
        readBody(endpoint('chat'), json, Buffer.from(body));
      } catch (thrown) {
        expect((thrown as Error).cause).to.equal(undefined);
        return (thrown as Error).message;
      }
      return 'taken';
    };
    expect(message('{"secret-of-the-client": sk-12345}'))
      .to.match(/not valid JSON/)
      .and.not.to.match(/secret|sk-/);
    expect(message('{"secret-of-the-client": "sk-12345" "b": 1}'))
      .to.match(/at position 36/)
      .and.not.to.match(/secret|sk-/);
  });

  it('refuses depth and density before parsing', () => {
    expect(verdict('chat', raw(`"x":${'['.repeat(63)}${']'.repeat(63)}`))).to.equal('ok');
    expect(verdict('chat', raw(`"x":${'['.repeat(64)}${']'.repeat(64)}`))).to.equal('body_malformed');
    expect(verdict('chat', raw(`"x":[${'{},'.repeat(100_000)}1]`))).to.equal('body_malformed');
    expect(verdict('chat', '['.repeat(1_000_000))).to.equal('body_malformed');
  });

  it('leaves Object.prototype alone', () => {
    verdict('chat', raw('"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}'));
    expect(({} as Record<string, unknown>)['polluted']).to.equal(undefined);
  });
});
