import { setImmediate as nextTurn } from 'node:timers/promises';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { decoderOf } from '../../src/data-plane/pipeline/answer/answer-body.js';
import { expectWithinMs } from '../support/time-limits.js';

const mebibyte = 1024 * 1024;
const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const encoders: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: (bytes) => gzipSync(bytes),
  deflate: (bytes) => deflateSync(bytes),
  br: (bytes) => brotliCompressSync(bytes, quick),
};

/** Milliseconds of this thread's longest turn until `done`, without the time in which another process had the processor. */
async function longestTurn(done: Promise<unknown>): Promise<number> {
  let ended = false;
  const end = done.finally(() => {
    ended = true;
  });
  let longest = 0;
  while (!ended) {
    const at = performance.now();
    const before = process.cpuUsage();
    await nextTurn();
    const { user, system } = process.cpuUsage(before);
    longest = Math.max(longest, Math.min(performance.now() - at, (user + system) / 1000));
  }
  await end;
  return longest;
}

describe('a compressed answer', () => {
  for (const [coding, encode] of Object.entries(encoders)) {
    const decode = decoderOf(coding)!;

    it(`in ${coding} is decoded byte for byte`, async () => {
      const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, i) => `${i} `).join(''));
      expect((await decode(encode(bytes), bytes.length)).equals(bytes)).to.equal(true);
    });

    it(`in ${coding} is refused if it is cut off, broken, or decodes to more than the limit`, async () => {
      const bytes = encode(Buffer.alloc(mebibyte, 'a'));
      const broken = [bytes.subarray(0, -10), Buffer.from('nothing of the kind'), Buffer.alloc(0)];
      for (const body of broken)
        expect(await decode(body, 2 * mebibyte).catch(() => 'refused')).to.equal('refused');
      expect(await decode(bytes, mebibyte - 1).catch(() => 'refused')).to.equal('refused');
      expect(await decode(bytes, mebibyte)).to.have.length(mebibyte);
    });

    it(`of 30 MB in ${coding} does not block the event loop`, async function () {
      this.timeout(20_000);
      const bytes = encode(Buffer.alloc(30 * mebibyte, 'a'));
      const turns: number[] = [];
      // Kept, so that none is written into memory of the one before, which takes less time.
      const kept: Promise<Buffer>[] = [];
      // The best of a few: the collector of garbage and other processes hold the loop as well.
      for (let i = 0; i < 4; i++) {
        kept.push(decode(bytes, 32 * mebibyte));
        turns.push(await longestTurn(kept[i]!));
      }
      expectWithinMs(Math.min(...turns), 15, {
        what: `the longest turn (${turns.join(', ')})`,
      });
    });
  }
});
