/** A 64-bit hash of a text, in two halves: evenly distributed and fast, not safe against an adversary. */
export interface Hash {
  readonly high: number;
  readonly low: number;
}

/** Two independent lanes of multiply-and-rotate with MurmurHash3's finish. */
export function hashOf(text: string): Hash {
  let high = 0x9747b28c;
  let low = 0x3c6ef372;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    high = Math.imul(high ^ code, 0xcc9e2d51);
    high = (high << 13) | (high >>> 19);
    low = Math.imul(low ^ code, 0x1b873593);
    low = (low << 15) | (low >>> 17);
  }
  return { high: finish(high ^ text.length), low: finish(low ^ high) };
}

/** A number above 0 and below 1 made from two hashes: deterministic, and evenly distributed. */
export function share(a: Hash, b: Hash): number {
  const high = finish(a.high ^ Math.imul(b.high, 0x85ebca6b)) >>> 0;
  const low = finish(a.low ^ Math.imul(b.low, 0xc2b2ae35) ^ high) >>> 0;
  // 52 bits plus half a step: never 0, which has no logarithm.
  return ((high >>> 6) * 0x4000000 + (low >>> 6) + 0.5) / 0x10000000000000;
}

function finish(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
