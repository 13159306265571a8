import { expect } from 'chai';
import { ResponsesStreamWriter } from '../../src/data-plane/providers/client-formats/responses-stream.js';

const context = {
  asked: { model: 'm', stream: true },
  body: { model: 'm', input: 'Hello', stream: true },
  requestId: '0198c0de-0000-7000-8000-000000000000',
} as unknown as ConstructorParameters<typeof ResponsesStreamWriter>[0];

/** Text, two parallel calls and thinking, of so many characters each. */
function written(length: number): ResponsesStreamWriter {
  const writer = new ResponsesStreamWriter(context);
  const say = (delta: object, finish: string | null = null): string =>
    writer.chunk({ created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] });
  const text = 'lorem "ipsum" \u{1f30a}\n'.repeat(length / 18);
  say({ reasoning_content: text });
  say({ content: text });
  for (const index of [0, 1])
    say({
      tool_calls: [{ index, id: `c${index}`, function: { name: 'f', arguments: JSON.stringify({ text }) } }],
    });
  say({}, 'tool_calls');
  return writer;
}

describe('the end of a Responses stream', () => {
  it('is the same written in slices as written at once', () => {
    const slices = written(500_000).endInSlices();
    if (slices === null) throw new Error('it is long');
    const bytes = [...slices];
    expect(Buffer.concat(bytes).toString() === written(500_000).end()).to.equal(true);
    for (const slice of bytes) expect(slice.length).to.be.lessThan(1_000_000);
  });

  it('is written at once where the answer is short', () => {
    expect(written(1000).endInSlices()).to.equal(null);
  });
});
