import { expect } from 'chai';
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

async function read(answerDeadlineMs: number): Promise<{ bytes: Buffer; attempt: Attempt }> {
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
    return { bytes: await answer.read(dense), attempt };
  } finally {
    await bodies.close();
  }
}

describe('an answer of many values that is passed on', () => {
  it('has its model from another thread', async () => {
    const { bytes, attempt } = await read(30_000);
    expect(bytes).to.equal(dense);
    expect(attempt.modelUsed).to.equal('m');
  });

  it('is passed on although it could not be read in time', async () => {
    const { bytes, attempt } = await read(0);
    expect(bytes).to.equal(dense);
    expect(attempt).not.to.have.property('modelUsed');
  });
});
