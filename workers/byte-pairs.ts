/** Larger than every rank. */
const noRank = 0x7fffffff;

/** The tokens of a byte pair encoding: bytes to ranks, in three flat arrays (4 MB for 200,000 tokens). */
export class Vocabulary {
  /** All tokens, one after the other in the order of their ranks. */
  readonly #bytes: Uint8Array;
  /** Where the token of each rank begins; one more for the end of the last. */
  readonly #starts: Uint32Array;
  /** Rank + 1 by hash, with open addressing; 0: empty. */
  readonly #slots: Int32Array;

  /**
   * `file`: one of tiktoken's `encoders/*.json`. Read as bytes: as strings its tokens would temporarily take a hundred
   * megabytes.
   */
  constructor(file: Uint8Array) {
    const { bytes, starts, count } = readTokens(file);
    this.#bytes = bytes;
    this.#starts = starts;
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * count)));
    const mask = this.#slots.length - 1;
    for (let rank = 0; rank < count; rank++) {
      let slot = hash(bytes, starts[rank]!, starts[rank + 1]!) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = rank + 1;
    }
  }

  /** Rank of the token that has exactly these bytes; `noRank`: there is none. */
  rank(text: Uint8Array, from: number, to: number): number {
    const mask = this.#slots.length - 1;
    for (let slot = hash(text, from, to) & mask; ; slot = (slot + 1) & mask) {
      const rank = this.#slots[slot]! - 1;
      if (rank < 0) return noRank;
      if (this.#is(rank, text, from, to)) return rank;
    }
  }

  #is(rank: number, text: Uint8Array, from: number, to: number): boolean {
    let at = this.#starts[rank]!;
    if (this.#starts[rank + 1]! - at !== to - from) return false;
    for (let i = from; i < to; i++, at++) if (this.#bytes[at] !== text[i]) return false;
    return true;
  }
}

/** Counts the tokens of a text as tiktoken's `encode_ordinary` would. */
export class TokenEncoder {
  readonly #vocabulary: Vocabulary;
  /** Cuts a text into pieces; no token spans two of them. */
  readonly #pieces: RegExp;
  readonly #encoder = new TextEncoder();
  #bytes = new Uint8Array(1024);
  /** For the piece being merged: the start of each part, and the rank of each part joined with the next one. */
  #parts = new Int32Array(1024);
  #ranks = new Int32Array(1024);

  /** `pieces`: with the flags `g` and `u`; every character of a text belongs to a match. */
  constructor(vocabulary: Vocabulary, pieces: RegExp) {
    this.#vocabulary = vocabulary;
    this.#pieces = pieces;
  }

  count(text: string): number {
    const pieces = this.#pieces;
    let tokens = 0;
    let from = 0;
    pieces.lastIndex = 0;
    while (pieces.test(text)) {
      tokens += this.#countPiece(text, from, pieces.lastIndex);
      from = pieces.lastIndex;
    }
    return tokens;
  }

  #countPiece(text: string, from: number, to: number): number {
    const length = this.#write(text, from, to);
    return this.#vocabulary.rank(this.#bytes, 0, length) === noRank ? this.#merge(length) : 1;
  }

  /** Writes a piece into `#bytes` as UTF-8. Returns its length in bytes. */
  #write(text: string, from: number, to: number): number {
    if (3 * (to - from) >= this.#bytes.length) {
      const size = 4 * (to - from);
      this.#bytes = new Uint8Array(size);
      this.#parts = new Int32Array(size + 1);
      this.#ranks = new Int32Array(size + 1);
    }
    for (let i = from; i < to; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) return this.#encoder.encodeInto(text.slice(from, to), this.#bytes).written;
      this.#bytes[i - from] = code;
    }
    return to - from;
  }

  /** Joins the neighbours of lowest rank until no two make a token. Returns the number of remaining parts. */
  #merge(length: number): number {
    const parts = this.#parts;
    const ranks = this.#ranks;
    let count = length;
    for (let i = 0; i <= length; i++) parts[i] = i;
    for (let i = 0; i < length; i++) ranks[i] = this.#joined(i, length);
    for (;;) {
      let lowest = noRank;
      let at = 0;
      for (let i = 0; i < count; i++) {
        if (ranks[i]! >= lowest) continue;
        lowest = ranks[i]!;
        at = i;
      }
      if (lowest === noRank) return count;
      parts.copyWithin(at + 1, at + 2, count + 1);
      ranks.copyWithin(at + 1, at + 2, count);
      count--;
      ranks[at] = this.#joined(at, count);
      if (at > 0) ranks[at - 1] = this.#joined(at - 1, count);
    }
  }

  /** Rank of a part joined with the one after it. */
  #joined(part: number, count: number): number {
    if (part + 2 > count) return noRank;
    return this.#vocabulary.rank(this.#bytes, this.#parts[part]!, this.#parts[part + 2]!);
  }
}

/** FNV-1a. */
function hash(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return hash ^ (hash >>> 15);
}

const space = 0x20;
const backslash = 0x5c;
const quote = 0x22;
const zero = 0x30;

/** Value of each base64 digit; 64: none. */
const digits = new Uint8Array(128).fill(64);
for (const [value, digit] of [
  ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
].entries())
  digits[digit.charCodeAt(0)] = value;

/** `"bpe_ranks":"! 0 IQ== Ig==\n! 100 …"`: lines of a first rank and the tokens from it on, in base64. */
function readTokens(file: Uint8Array): { bytes: Uint8Array; starts: Uint32Array; count: number } {
  const name = '"bpe_ranks":"';
  let at = Buffer.from(file.buffer, file.byteOffset, file.byteLength).indexOf(name) + name.length;
  if (at < name.length) throw new Error('The file has no bpe_ranks.');
  const bytes = new Uint8Array(file.length);
  const starts: number[] = [0];
  let end = 0;
  while (file[at] !== quote && at < file.length) {
    // '! ', or '\n! ' between lines.
    at += file[at] === backslash ? 4 : 2;
    let first = 0;
    for (; file[at] !== space; at++) first = 10 * first + file[at]! - zero;
    if (first !== starts.length - 1) throw new Error('The ranks of the tokens are not contiguous.');
    while (file[at] === space) {
      let bits = 0;
      let buffer = 0;
      for (at++; digits[file[at]! & 127]! < 64; at++) {
        buffer = (buffer << 6) | digits[file[at]! & 127]!;
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        bytes[end++] = buffer >> bits;
        buffer &= (1 << bits) - 1;
      }
      while (file[at] === 0x3d) at++;
      starts.push(end);
    }
  }
  return { bytes: bytes.slice(0, end), starts: Uint32Array.from(starts), count: starts.length - 1 };
}
