import { expect } from 'chai';
import { requestTexts } from '../../plugins/guardrails/texts/request-parts.js';
import type { JsonObject } from '../../src/common/core/exchange.js';
import { withTexts } from '../../src/common/plugin-host/texts/found-text.js';

const text = 'Call me at 555-0100.';
const blocks: Readonly<Record<string, JsonObject>> = {
  'a text': { type: 'text', text },
  'a plain document': { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text } },
  'a document of blocks': {
    type: 'document',
    source: { type: 'content', content: [{ type: 'text', text }] },
  },
  'a document of one text': { type: 'document', source: { type: 'content', content: text } },
  'a search result': {
    ...{ type: 'search_result', source: 'https://a.example', title: 'T' },
    content: [{ type: 'text', text }],
  },
  'a result of a tool': { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text }] },
  'a document in a result of a tool': {
    ...{ type: 'tool_result', tool_use_id: 't' },
    content: [{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: text } }],
  },
};

describe('the texts of a request that guardrails judge', () => {
  const judged = (format: 'anthropic-messages' | 'gemini-generate-content', json: JsonObject) =>
    requestTexts(format, json)!.judged;

  for (const [what, block] of Object.entries(blocks))
    it(`have those of ${what} on /v1/messages, where they can be changed`, () => {
      const json = { messages: [{ role: 'user', content: [block] }] };
      const found = judged('anthropic-messages', json);
      expect(found.map((one) => one.text)).to.deep.equal([text]);
      const changed = withTexts(json, [{ ...found[0]!, text: 'redacted' }]);
      expect(JSON.stringify(changed)).to.equal(JSON.stringify(json).replace(text, 'redacted'));
    });

  it('have no addresses and bytes of documents', () => {
    for (const source of [
      { type: 'url', url: 'https://a.example/x.pdf' },
      { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
      { type: 'file', file_id: 'f' },
    ])
      expect(
        judged('anthropic-messages', {
          messages: [{ role: 'user', content: [{ type: 'document', source }] }],
        }),
      ).to.deep.equal([]);
  });

  it('have those that a function returned in Gemini’s format', () => {
    const response = { result: text, rows: [{ note: 'second' }, 5, null], ok: true };
    const json = {
      contents: [
        { role: 'user', parts: [{ text: 'earlier' }] },
        { role: 'user', parts: [{ functionResponse: { name: 'look', response } }, { text: 'third' }] },
      ],
    };
    const found = judged('gemini-generate-content', json);
    expect(found.map((one) => one.text)).to.deep.equal([text, 'second', 'third']);
    const changed = withTexts(json, [{ ...found[1]!, text: 'redacted' }]);
    expect(JSON.stringify(changed)).to.equal(JSON.stringify(json).replace('second', 'redacted'));
  });

  it('end at a depth that no function returns', () => {
    let response: unknown = text;
    for (let i = 0; i < 100_000; i++) response = [response];
    const parts = [{ functionResponse: { name: 'deep', response: { response } } }];
    expect(judged('gemini-generate-content', { contents: [{ role: 'user', parts }] })).to.deep.equal([]);
  });
});
