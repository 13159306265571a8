// lane: not quick
import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import { Broadcast } from '../../plugins/cache/answers/broadcast.js';
import type { Sink } from '../../src/common/bytes/body.js';
import { BodyRecord } from '../../src/common/bytes/body-record.js';
import { Pieces } from '../../src/common/bytes/pieces.js';
import { loadedFile, loading } from '../support/loading.js';
import { seeded } from '../support/seeded.js';

const seed = Number(process.env['HEADGATE_TEST_SEED'] ?? Date.now() % 1_000_000);

describe(`bytes that come in pieces (seed ${seed})`, () => {
  const random = seeded(seed);
  const below = (n: number): number => Math.floor(random() * n);
  /** Bytes that any piece is a part of: to draw each byte of each takes seconds. */
  const drawn = Buffer.from(Array.from({ length: 150_000 }, () => below(256)));
  /** One byte, a few, a packet; of a slab that others use too, or of its own. */
  const piece = (): Buffer => {
    const length = [1, 1, below(20), below(5_000), 4_096 + below(70_000)][below(5)]!;
    const bytes =
      random() < 0.5 ? Buffer.allocUnsafeSlow(length) : Buffer.alloc(length + 9_000).subarray(9_000);
    drawn.copy(bytes, 0, below(drawn.length - length));
    return bytes;
  };

  it('are given back as they came, whole or in a few parts, whatever their sizes', () => {
    for (let round = 0; round < 40; round++) {
      const came = Array.from({ length: below(60) }, piece);
      const pieces = new Pieces();
      for (const bytes of came) {
        pieces.add(bytes);
        // Looking at what has come changes nothing.
        if (below(20) === 0) pieces.bytes();
      }
      const all = Buffer.concat(came);
      expect(pieces.length).to.equal(all.length);
      if (round % 2 === 0) expect(pieces.bytes().equals(all)).to.equal(true);
      expect(Buffer.concat(pieces.take()).equals(all)).to.equal(true);
      expect(pieces.length).to.equal(0);
      pieces.add(Buffer.from('next'));
      expect(pieces.bytes().toString()).to.equal('next');
    }
  });

  it('can be read from any place that is still kept', () => {
    for (let round = 0; round < 20; round++) {
      const pieces = new Pieces();
      let all = Buffer.alloc(0);
      let forgotten = 0;
      for (let i = 0; i < 40; i++) {
        const bytes = piece();
        all = Buffer.concat([all, bytes]);
        pieces.add(bytes);
        if (below(4) === 0) {
          forgotten += below(all.length - forgotten + 1);
          pieces.forget(forgotten);
        }
        let at = forgotten + below(all.length - forgotten + 1);
        for (;;) {
          const found = pieces.from(at);
          if (found === null) break;
          expect(found.length).to.be.above(0);
          expect(found.equals(all.subarray(at, at + found.length))).to.equal(true);
          at += found.length;
        }
        expect(at).to.equal(all.length);
      }
    }
  });

  it('take at most about three times their bytes, whatever their sizes', () => {
    for (let round = 0; round < 20; round++) {
      const pieces = new Pieces();
      let length = 0;
      const large = round % 3 === 0;
      for (let i = 0; i < 200; i++) {
        const bytes = large && i % 2 === 0 ? Buffer.allocUnsafeSlow(1) : piece();
        length += bytes.length;
        pieces.add(bytes);
        if (length > 10_000) expect(pieces.heldBytes).to.be.at.most(3 * length + 2 * 1024);
      }
    }
  });

  it('are recorded up to the cap and no further', () => {
    const record = new BodyRecord(1_000);
    for (let i = 0; i < 300; i++) record.add(Buffer.from('1234567'));
    expect([record.total, record.bytes().length, record.cut]).to.deep.equal([2_100, 1_000, true]);
    expect(record.heldBytes).to.be.at.most(5_000);
  });

  it('reach each reader of a stream in order, at its own pace, and are forgotten once all have them', () => {
    for (let round = 0; round < 20; round++) {
      let sink: Sink | null = null;
      let isWaiting = false;
      const source = {
        start(to: Sink) {
          sink = to;
        },
        resume() {
          isWaiting = false;
        },
        cancel: () => {},
      };
      let whole: Buffer | null | undefined;
      const max = 20_000;
      const stream = new Broadcast(
        source,
        max,
        (known) => {
          whole = known;
        },
        () => {},
      );
      const readers = Array.from({ length: 3 }, () => {
        const got: Buffer[] = [];
        const reader = stream.reader();
        let ended = false;
        reader.start({
          data: (chunk) => got.push(Buffer.from(chunk)) % (1 + below(4)) !== 0,
          end: () => {
            ended = true;
          },
          error: () => {},
        });
        return { got, reader, ended: () => ended };
      });
      const came: Buffer[] = [];
      let length = 0;
      for (let i = 0; i < 200; i++) {
        if (!isWaiting) {
          const bytes = Buffer.alloc(1 + below(300), i);
          came.push(bytes);
          length += bytes.length;
          isWaiting = !sink!.data(bytes);
        }
        readers[below(3)]!.reader.resume();
        expect(stream.heldBytes).to.be.at.most(3 * (max + 300) + 64 * 1024);
      }
      sink!.end();
      for (const { reader, ended } of readers) while (!ended()) reader.resume();
      const all = Buffer.concat(came);
      for (const { got } of readers) expect(Buffer.concat(got).equals(all)).to.equal(true);
      expect(whole === null ? null : whole?.equals(all)).to.equal(length > max ? null : true);
    }
  });

  it('cost about their size in memory wherever they are collected, one at a time', function () {
    this.timeout(30_000);
    const total = 100_000;
    const file = loadedFile('test/support/bytewise-memory.ts');
    const printed = execFileSync(process.execPath, ['--expose-gc', ...loading, file, String(total)], {
      encoding: 'utf8',
      // Not the options of the tests' own process.
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    const { 'a list of what came': naive, ...figures } = JSON.parse(printed) as Record<string, number>;
    expect(naive, 'what is measured against').to.be.above(50 * total);
    // What the measuring itself moves about is half a megabyte at times.
    for (const [place, bytes] of Object.entries(figures))
      expect(bytes, place).to.be.below(3 * total + 512 * 1024);
  });
});
