import { expect } from 'chai';
import { Pieces } from '../../src/common/bytes/pieces.js';
import type { Attempt, Exchange } from '../../src/common/core/exchange.js';
import { createBodyReader } from '../../src/data-plane/endpoints/body-reader.js';
import { CollectedAnswer } from '../../src/data-plane/pipeline/answer/collected-answer.js';
import type { Outgoing } from '../../src/data-plane/pipeline/outgoing/outgoing.js';
import type { Pipeline } from '../../src/data-plane/pipeline/parts.js';
import { SecretMask } from '../../src/data-plane/pipeline/secrets/secret-mask.js';
import { formats } from '../../src/data-plane/providers/formats/index.js';

/** An answer of 240 KB with 60,000 values. */
const dense = Buffer.from(
  JSON.stringify({ model: 'm', data: [{ embedding: Array(60_000).fill(0.5) }], usage: { prompt_tokens: 7 } }),
);

const piecesOf = (bytes: Buffer, size: number): Pieces => {
  const pieces = new Pieces();
  for (let at = 0; at < bytes.length; at += size) pieces.add(Buffer.from(bytes.subarray(at, at + size)));
  return pieces;
};

async function read(
  answerDeadlineMs: number,
  pieces = piecesOf(dense, dense.length),
): Promise<{ bytes: Buffer; attempt: Attempt }> {
  const bodies = createBodyReader({ answerDeadlineMs });
  const attempt = {} as Attempt;
  try {
    const answer = new CollectedAnswer(
      { bodies, formats } as unknown as Pipeline,
      {} as Exchange,
      { conversion: null, wire: 'openai-embeddings' } as Outgoing,
      attempt,
      { status: 200, headers: [] },
      new SecretMask([]),
      () => true,
    );
    return { bytes: await answer.read(pieces), attempt };
  } finally {
    await bodies.close();
  }
}

describe('an answer of many values that is passed on', () => {
  it('has its model from another thread', async () => {
    const { bytes, attempt } = await read(30_000);
    expect(bytes.equals(dense)).to.equal(true);
    expect(attempt.modelUsed).to.equal('m');
  });

  it('is passed on although it could not be read in time', async () => {
    const { bytes, attempt } = await read(0);
    expect(bytes.equals(dense)).to.equal(true);
    expect(attempt).not.to.have.property('modelUsed');
  });
});

describe('an answer that is too long to be parsed', () => {
  const vectors = Array.from({ length: 60_000 }, () => ({ embedding: [0.123456789] }));
  const usage = { prompt_tokens: 77, total_tokens: 77 };

  for (const [where, json] of [
    ['at its end', { object: 'list', data: vectors, model: 'm', usage }],
    ['at its start', { model: 'm', object: 'list', usage, data: vectors }],
  ] as const)
    it(`has the usage and the model that it reports ${where}`, async () => {
      const bytes = Buffer.from(JSON.stringify(json));
      expect(bytes.length).to.be.above(1024 * 1024);
      const { attempt, bytes: passed } = await read(30_000, piecesOf(bytes, bytes.length));
      expect(passed.equals(bytes)).to.equal(true);
      expect(attempt.modelUsed).to.equal('m');
      expect(attempt.usage).to.include({ input: 77, source: 'provider' });
    });

  it('has no usage from within what a model has written', async () => {
    const inner = { usage: { prompt_tokens: 1 } };
    const list = [...vectors, { inner, text: JSON.stringify(inner) }];
    const bytes = Buffer.from(JSON.stringify({ model: 'm', data: list, last: inner }));
    const { attempt } = await read(30_000, piecesOf(bytes, bytes.length));
    expect(attempt).not.to.have.property('usage');
  });
});

describe('a long answer', () => {
  it('is put together with the event loop in between', async () => {
    const long = Buffer.from(JSON.stringify({ data: 'x'.repeat(20 * 1024 * 1024) }));
    const pieces = piecesOf(long, 64 * 1024);
    let turns = 0;
    let waiting = true;
    const turn = (): void => {
      turns++;
      if (waiting) setImmediate(turn);
    };
    setImmediate(turn);
    const { bytes } = await read(30_000, pieces);
    waiting = false;
    expect(bytes.equals(long)).to.equal(true);
    expect(turns).to.be.at.least(9);
  });
});
