import { expect } from 'chai';
import fc from 'fast-check';
import type { Principal } from '../../src/common/access/principal.js';
import { GatewayError } from '../../src/common/core/errors.js';
import { type ClientRequest, Exchange } from '../../src/common/core/exchange.js';
import { createBodyReader } from '../../src/data-plane/endpoints/body-reader.js';
import { findEndpoint } from '../../src/data-plane/endpoints/table.js';
import { createTokenCounter, type TokenCounter } from '../../src/data-plane/journal/token-counter.js';
import { bodyReading } from '../../src/data-plane/pipeline/request/read-body.js';
import { RecurringBodies } from '../../src/data-plane/pipeline/request/recurring-bodies.js';
import { encoderNamed } from '../../workers/encoders.js';
import { LimitedCount, nextCut } from '../../workers/token-limit.js';

const model = 'text-embedding-ada-002';

describe('the length of an embedding request', () => {
  let counter: TokenCounter;
  before(async function () {
    this.timeout(30_000);
    counter = createTokenCounter({ maxQueue: 64, deadlineMs: 20_000 });
    // Loads the encoder.
    await counter.exceeds({ model, request: Buffer.from('{"input":"a"}'), limit: 1 });
  });
  after(() => counter.close());

  /** What came of it: `ok`, or the field at fault; and whether anything was counted. */
  async function read(
    body: object,
    exceeds: TokenCounter['exceeds'] = (job) => counter.exceeds(job),
  ): Promise<{ said: string; counted: boolean }> {
    let counted = false;
    const readBody = bodyReading(createBodyReader(), new RecurringBodies(), {
      exceeds: (job) => {
        counted = true;
        return exceeds(job);
      },
    });
    const path = '/v1/embeddings';
    const bytes = Buffer.from(JSON.stringify({ model, ...body }));
    const request = { path, headers: ['content-type', 'application/json'], bytes, json: null };
    const x = new Exchange('x', findEndpoint('POST', path), request as unknown as ClientRequest);
    x.principal = { organisationId: 'o' } as Principal;
    try {
      await readBody(x);
      return { said: x.request.json === null ? 'unread' : 'ok', counted };
    } catch (thrown) {
      if (!(thrown instanceof GatewayError) || thrown.code !== 'invalid_request') throw thrown;
      expect(thrown.message).to.include('8192 tokens in total');
      return { said: thrown.param ?? '', counted };
    }
  }

  const words = (count: number): string => `hello${' hello'.repeat(count - 1)}`;

  it('is that of its text, to the token', async () => {
    expect(await read({ input: words(8192) })).to.deep.equal({ said: 'ok', counted: true });
    expect(await read({ input: words(8193) })).to.deep.equal({ said: 'input', counted: true });
  }).timeout(20_000);

  it('is that of all its items together', async () => {
    expect(await read({ input: [words(4096), words(4096)] })).to.include({ said: 'ok' });
    expect(await read({ input: [words(4096), words(4097)] })).to.include({ said: 'input' });
  }).timeout(20_000);

  it('is measured under each name of the model', async () => {
    expect(await read({ model: `@main/${model}`, input: words(8193) })).to.include({ said: 'input' });
    expect(await read({ model: 'text-embedding-3-small', input: words(8193) })).to.deep.equal({
      said: 'ok',
      counted: false,
    });
  });

  it('is not counted where the bytes alone decide', async () => {
    expect(await read({ input: 'ä'.repeat(4096) })).to.deep.equal({ said: 'ok', counted: false });
    expect(await read({ input: Array(1000).fill('"\n".') })).to.deep.equal({ said: 'ok', counted: false });
    expect(await read({ input: 'word '.repeat(300_000) })).to.deep.equal({ said: 'input', counted: false });
  });

  it('is left to the provider where the counter has too much to do', async () => {
    expect(await read({ input: words(8193) }, async () => null)).to.deep.equal({ said: 'ok', counted: true });
    const request = Buffer.from(JSON.stringify({ input: words(9000) }));
    const jobs = Array.from({ length: 40 }, () => counter.exceeds({ model, request, limit: 8192 }));
    const answers = await Promise.all(jobs);
    expect(answers.filter((answer) => answer === true)).to.have.length(16);
    expect(answers.filter((answer) => answer === null)).to.have.length(24);
  }).timeout(20_000);
});

describe('the pieces in which a long text is counted', () => {
  const encoder = encoderNamed('cl100k_base');
  const unit = fc.constantFrom(
    'word',
    ' ',
    '\n',
    '\n\n',
    "it's",
    '.',
    ' (x)',
    '42',
    '\t',
    '早上好',
    '，',
    'é',
    '😀',
    'ß',
    ' — ',
  );
  const text = fc.array(unit, { minLength: 3000, maxLength: 4000 }).map((units) => units.join(''));

  it('have the tokens of the whole', () => {
    fc.assert(
      fc.property(text, (whole) => {
        let tokens = 0;
        for (let from = 0; from < whole.length; ) {
          const { at, exact } = nextCut(whole, from);
          expect(at - from).to.be.within(1, 4096);
          expect(exact).to.equal(true);
          tokens += encoder.count(whole.slice(from, at));
          from = at;
        }
        expect(tokens).to.equal(encoder.count(whole));
      }),
      { numRuns: 15 },
    );
  }).timeout(20_000);

  it('end within a run that has no break, and count in favour of the client there', () => {
    const whole = '😀'.repeat(3000);
    const count = new LimitedCount(encoder, encoder.count(whole) - 1);
    let seen = '';
    for (let from = 0; from < whole.length; ) {
      const { at } = nextCut(whole, from);
      expect(whole.slice(from, at)).to.not.match(/\p{Surrogate}/u);
      seen += whole.slice(from, at);
      from = at;
    }
    expect(seen).to.equal(whole);
    count.add(whole);
    expect(count.exceeded).to.equal(false);
    count.add(whole);
    expect(count.exceeded).to.equal(true);
  });

  it('are no more than it takes to pass the limit', () => {
    let pieces = 0;
    const counting = {
      count(piece: string) {
        pieces++;
        return encoder.count(piece);
      },
    };
    const count = new LimitedCount(counting, 1000);
    count.add('word '.repeat(200_000));
    expect(count.exceeded).to.equal(true);
    expect(pieces).to.be.at.most(3);
  });
});
