import { expect } from 'chai';
import { SecretMask, StreamMask } from '../../src/data-plane/pipeline/secrets/secret-mask.js';
import { expectWithinMs } from '../support/time-limits.js';

/** Everything that a stream lets through of these pieces. */
function poured(mask: SecretMask, pieces: readonly Buffer[]): string {
  const stream = new StreamMask(mask);
  const out = pieces.map((piece) => stream.push(Buffer.from(piece)));
  return Buffer.concat([...out, stream.end()].filter((bytes) => bytes !== null)).toString();
}

describe('A mask for secrets', () => {
  const key = 'sk-sk-0123-sk-';
  const mask = new SecretMask([key, 'other/secret']);
  const text = Buffer.from(`data: {"a":"${key}${key}, sk-sk-01 other/secret"}\n\nsk-é other`);
  const clean = text
    .toString()
    .replaceAll(key, '*'.repeat(key.length))
    .replace('other/secret', '*'.repeat(12));

  it('finds a secret of a stream wherever it is cut in two', () => {
    for (let cut = 0; cut <= text.length; cut++)
      expect(poured(mask, [text.subarray(0, cut), text.subarray(cut)]), `cut at ${cut}`).to.equal(clean);
  });

  it('finds it where the stream is cut twice', () => {
    for (let first = 0; first <= text.length; first++) {
      for (let second = first; second <= text.length; second++) {
        const pieces = [text.subarray(0, first), text.subarray(first, second), text.subarray(second)];
        expect(poured(mask, pieces), `cut at ${first} and ${second}`).to.equal(clean);
      }
    }
  });

  it('finds it in pieces of one byte, up to pieces of twenty', () => {
    for (let size = 1; size <= 20; size++) {
      const pieces: Buffer[] = [];
      for (let at = 0; at < text.length; at += size) pieces.push(text.subarray(at, at + size));
      expect(poured(mask, pieces), `pieces of ${size}`).to.equal(clean);
    }
  });

  it('finds a secret that repeats itself within itself', () => {
    const self = new SecretMask(['abababab!']);
    const bytes = Buffer.from('x abababababab! y');
    for (let cut = 0; cut <= bytes.length; cut++)
      expect(poured(self, [bytes.subarray(0, cut), bytes.subarray(cut)])).to.equal('x abab********* y');
  });

  it('passes a clean piece at once, and as it is', () => {
    const stream = new StreamMask(mask);
    const piece = Buffer.from('data: {"delta":"s"}\n\n');
    expect(stream.push(piece)).to.equal(piece);
    expect(mask.bytes(piece)).to.equal(piece);
  });

  it('keeps back no more than what could be the beginning of a secret', () => {
    const stream = new StreamMask(mask);
    expect(stream.push(Buffer.from('hello sk-s'))?.toString()).to.equal('hello ');
    expect(stream.push(Buffer.from('k'))).to.equal(null);
    expect(stream.push(Buffer.from('y'))?.toString()).to.equal('sk-sky');
    expect(stream.end()).to.equal(null);
  });

  it('lets out a short end that it kept back, and masks one that is most of a secret', () => {
    expect(poured(mask, [Buffer.from('ends in sk-')])).to.equal('ends in sk-');
    expect(poured(mask, [Buffer.from(`broke off at ${key.slice(0, -1)}`)])).to.equal(
      `broke off at ${'*'.repeat(key.length - 1)}`,
    );
  });

  it('leaves what it was given unchanged', () => {
    const given = Buffer.from(`a ${key}`);
    expect(mask.bytes(given).toString()).to.equal(`a ${'*'.repeat(key.length)}`);
    expect(given.toString()).to.equal(`a ${key}`);
  });

  it('masks text alike', () => {
    const often = new SecretMask(['abcdefgh']);
    const value = 'abcdefgh '.repeat(20_000);
    const began = performance.now();
    expect(often.text(value)).to.equal('******** '.repeat(20_000));
    expectWithinMs(performance.now() - began, 1_000);
    expect(often.text('€ \ud83d\ude00 abcdefgh é')).to.equal('€ \ud83d\ude00 ******** é');
    expect(mask.text(`https://x/?k=${key}`)).to.equal(`https://x/?k=${'*'.repeat(key.length)}`);
    expect(mask.text('short')).to.equal('short');
  });

  it('finds a secret that contains another, wherever a stream is cut', () => {
    const nested = new SecretMask(['tenant-01', 'sk-tenant-01-abcdef', 'abcdef-tenant-0', 'tenant-01-abcd']);
    const bytes = Buffer.from('x sk-tenant-01-abcdef-tenant-01 y sk-tenant-01 z');
    const hidden = `x ${'*'.repeat(29)} y sk-${'*'.repeat(9)} z`;
    expect(nested.bytes(bytes).toString()).to.equal(hidden);
    expect(nested.text(bytes.toString())).to.equal(hidden);
    for (let first = 0; first <= bytes.length; first++) {
      for (let second = first; second <= bytes.length; second++) {
        const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
        expect(poured(nested, pieces), `cut at ${first} and ${second}`).to.equal(hidden);
      }
    }
  });

  it('finds what a plain search finds, whatever the secrets and the bytes are', () => {
    let seed = 1;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * below);
    };
    const word = (length: number): string => Array.from({ length }, () => 'ab'[random(2)]).join('');
    for (let round = 0; round < 300; round++) {
      const secrets = Array.from({ length: 1 + random(12) }, () => word(8 + random(5)));
      const bytes = word(random(200));
      const hidden = [...bytes];
      for (const secret of secrets) {
        for (let at = bytes.indexOf(secret); at !== -1; at = bytes.indexOf(secret, at + 1))
          hidden.fill('*', at, at + secret.length);
      }
      const many = new SecretMask(secrets);
      expect(many.bytes(Buffer.from(bytes)).toString()).to.equal(hidden.join(''));
      expect(many.text(bytes)).to.equal(hidden.join(''));
      const stream = new StreamMask(many);
      const out: Buffer[] = [];
      for (let at = 0; at < bytes.length; ) {
        const to = at + 1 + random(20);
        out.push(stream.push(Buffer.from(bytes.slice(at, to))) ?? Buffer.alloc(0));
        at = to;
      }
      const end = stream.end()?.toString() ?? '';
      const all = Buffer.concat(out).toString();
      expect(all).to.equal(hidden.join('').slice(0, all.length));
      expect(all.length + end.length).to.equal(bytes.length);
    }
  });

  it('finds a secret that is cut at a line end, or begins after one', () => {
    const mask = new SecretMask(['sk-one\ntwo-three', 'sk-four-five']);
    const chunks = ['data: sk-one\n', 'two-three\n\n', 'sk-fo', 'ur-five\n\n', '\n', 'x\n\n'];
    const text = chunks.join('');
    const clean = text.replace(/sk-one\ntwo-three|sk-four-five/g, (found) => '*'.repeat(found.length));
    const out = poured(
      mask,
      chunks.map((chunk) => Buffer.from(chunk)),
    );
    expect(out.toString()).to.equal(clean);
  });

  it('passes a chunk that ends with a line end uncopied, also where it follows the beginning of a secret', () => {
    const stream = new StreamMask(new SecretMask(['sk-four-five']));
    const clean = Buffer.from('data: {"a":1}\n\n');
    expect(stream.push(clean)).to.equal(clean);
    expect(stream.push(Buffer.from('data: sk-fo'))?.toString()).to.equal('data: ');
    expect(stream.push(Buffer.from('\n'))?.toString()).to.equal('sk-fo\n');
    expect(stream.push(clean)).to.equal(clean);
  });

  it('takes time that grows with the bytes alone, whatever the secret is', function () {
    this.timeout(60_000);
    const half = 'a'.repeat(2_000);
    const slow = new SecretMask([`${half}b${half}`]);
    const bytes = Buffer.alloc(4 * 1024 * 1024, 'a');
    const began = performance.now();
    expect(slow.bytes(bytes)).to.equal(bytes);
    expect(poured(slow, [bytes]).length).to.equal(bytes.length);
    expectWithinMs(performance.now() - began, 4_000);
    // Ends at each byte.
    const dense = new SecretMask(['a'.repeat(4_000)]);
    const denseBegan = performance.now();
    expect(dense.bytes(bytes).equals(Buffer.alloc(bytes.length, '*'))).to.equal(true);
    expectWithinMs(performance.now() - denseBegan, 4_000);
  });
});
