import { expect } from 'chai';
import type { JsonObject } from '../../src/common/core/exchange.js';
import { ChatConversion, convertRequest } from '../../src/data-plane/pipeline/answer/conversion.js';
import { streamReading } from '../../src/data-plane/pipeline/answer/stream-reading.js';
import type { Outgoing } from '../../src/data-plane/pipeline/outgoing/outgoing.js';
import { clientFormats } from '../../src/data-plane/providers/client-formats/index.js';
import { formats } from '../../src/data-plane/providers/formats/index.js';
import { InnerJson } from '../../src/data-plane/providers/inner-json.js';

const chat = clientFormats.get('openai-chat')!;
const gemini = formats.get('gemini-generate-content')!;
const model = 'gemini-2.5-pro';

const turn = (args: string, result: string, i: number): JsonObject[] => [
  {
    role: 'assistant',
    tool_calls: [{ id: `c${i}`, type: 'function', function: { name: 'read', arguments: args } }],
  },
  { role: 'tool', tool_call_id: `c${i}`, content: result },
];

/** The parts of the request for Gemini that a conversation of chat with these calls and results becomes. */
function partsOf(calls: readonly (readonly [args: string, result: string])[]): JsonObject[] {
  const messages = [
    { role: 'user', content: 'Go on.' },
    ...calls.flatMap(([args, result], i) => turn(args, result, i)),
  ];
  const { body } = convertRequest(chat, gemini, [], { model, messages }, { model, stream: false });
  return (body['contents'] as { parts: JsonObject[] }[]).flatMap(({ parts }) => parts);
}

const responsesOf = (parts: readonly JsonObject[]): unknown[] =>
  parts.flatMap((part) => (part['functionResponse'] as JsonObject | undefined)?.['response'] ?? []);

describe('JSON texts inside of bodies', () => {
  it('results of tools that are no JSON take nothing from the arguments of calls', () => {
    // It has as many brackets, commas and colons as dense JSON.
    const code = 'const a = { b: [1, 2, 3], c: "x" };\n'.repeat(3000);
    const parts = partsOf(Array(10).fill(['{"path":"a.ts"}', code]));
    expect(responsesOf(parts)).to.deep.equal(Array(10).fill({ output: code }));
  });

  it('results beyond a MiB are sent as texts, and arguments after them as before', () => {
    const rows = JSON.stringify({ rows: Array(2000).fill({ a: 1, b: 'x' }) });
    const found = responsesOf(partsOf(Array(4).fill(['{"table":"t"}', rows])));
    expect(found[0]).to.deep.equal(JSON.parse(rows));
    expect(found.at(-1)).to.deep.equal({ output: rows });
  });

  it('results that are single values stay values', () => {
    const results = ['12', ' -1.5e3 ', 'true', 'null', '"a"', '[1]', '2 files', 'nothing', ''];
    expect(responsesOf(partsOf(results.map((result) => ['{}', result])))).to.deep.equal([
      ...[{ output: 12 }, { output: -1500 }, { output: true }, { output: null }, { output: 'a' }],
      ...[{ output: [1] }, { output: '2 files' }, { output: 'nothing' }, { output: '' }],
    ]);
  });

  it('arguments of more than 2 MiB together are refused', () => {
    const args = JSON.stringify({ text: 'x'.repeat(700_000) });
    expect(() => partsOf(Array(2).fill([args, 'done']))).not.to.throw();
    expect(() => partsOf(Array(3).fill([args, 'done']))).to.throw('messages[5].tool_calls[0]');
  });

  it('of two bodies do not count together, even if they are read in turn', () => {
    const bodies = [new InnerJson(), new InnerJson()];
    const text = JSON.stringify('x'.repeat(900_000));
    for (let i = 0; i < 2; i++) for (const body of bodies) expect(body.parse(text)).to.have.lengthOf(900_000);
    for (const body of bodies)
      expect(() => body.parse(text)).to.throw(RangeError, 'with what came before it');
  });

  it('the end of a stream is counted for itself', () => {
    const client = clientFormats.get('gemini-generate-content')!;
    const reading = () => {
      const context = { provider: 'openai', strict: false, includeUsage: true, model };
      const from = { requestId: 'r', asked: { model, stream: true, events: true }, body: {} };
      const conversion = new ChatConversion(client, formats.get('openai-chat')!, context, from);
      return streamReading({
        conversion,
        wire: 'openai-chat',
        call: { provider: 'openai' },
      } as unknown as Outgoing);
    };
    const event = (delta: object, finish: string | null): Buffer =>
      Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
    const call = (args: string): object => ({
      tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: args } }],
    });
    const both = [reading(), reading()];
    for (const one of both) {
      one.push(event(call(`{"text":"${'x'.repeat(700_000)}`), null));
      one.push(event(call(`${'y'.repeat(700_000)}"}`), null));
      one.push(event({}, 'tool_calls'));
      one.push(Buffer.from('data: [DONE]\n\n'));
    }
    for (const one of both) expect(one.end()?.toString()).to.contain('yyy"}');
  });
});
