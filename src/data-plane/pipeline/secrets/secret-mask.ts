import { TextAutomaton } from './text-automaton.js';

/** Shorter texts are words that an answer may well contain: they are not searched for. Characters. */
export const shortestSecret = 8;

const star = 42;

/** The result of a search. */
interface Searched {
  /** The searched bytes, or a copy with asterisks. */
  readonly bytes: Buffer;
  /** The automaton's state after it. */
  readonly state: number;
}

/**
 * Finds secrets in a provider's bytes and overwrites each with asterisks of the same
 * length. Made once per credential and shared by all its calls. One pass, however many secrets there are and
 * whatever they and the bytes are: a hostile caller may choose both, and must not block the gateway.
 */
export class SecretMask {
  /** Each once. */
  readonly #secrets: ReadonlySet<string>;
  /** Characters of the shortest; Infinity: there is none. */
  readonly #shortest: number;
  /** Those with characters beyond Latin-1, which headers cannot contain. */
  readonly #wide: readonly string[];
  #made: TextAutomaton | null = null;
  /** Bytes of each secret to search for first; null: too many secrets. */
  #probes: readonly Buffer[] | null = null;
  /** By byte: does any secret hold it? */
  readonly #held = new Uint8Array(256);

  /** `base`: a mask whose secrets are also found. */
  constructor(secrets: readonly string[], base: SecretMask | null = null) {
    const all = new Set(base === null ? [] : base.#secrets);
    for (const text of secrets) if (text.length >= shortestSecret) all.add(text);
    let shortest = Number.POSITIVE_INFINITY;
    for (const { length } of all) if (length < shortest) shortest = length;
    this.#secrets = all;
    this.#shortest = shortest;
    this.#wide = [...all].filter((text) => /[^\0-\xff]/.test(text));
  }

  /** Is there anything to search for? */
  get isEmpty(): boolean {
    return this.#secrets.size === 0;
  }

  /** Bytes of memory, at most. */
  get heldBytes(): number {
    let bytes = 2_048;
    // In UTF-8, and again in Latin-1 where that is another text.
    for (const secret of this.#secrets) {
      const utf8 = Buffer.byteLength(secret);
      bytes += 32 * (utf8 === secret.length ? utf8 : 2 * utf8);
    }
    return bytes;
  }

  /** Is this among what is searched for? */
  has(secret: string): boolean {
    return this.#secrets.has(secret);
  }

  /** The same buffer where it contains no secret, else a changed copy. */
  bytes(bytes: Buffer): Buffer {
    return bytes.length < this.#shortest ? bytes : this.search(bytes, 0, 0).bytes;
  }

  /**
   * Is there certainly neither a secret in these bytes nor the beginning of one at their end? Quick, and true of most
   * chunks of a stream: none of the bytes that are looked for first is there, and the last one, a line end, is in no
   * secret.
   */
  isFreeOf(bytes: Buffer): boolean {
    if (this.#made === null) void this.automaton;
    const probes = this.#probes;
    return probes !== null && this.#held[bytes[bytes.length - 1]!] === 0 && !holdsAny(bytes, probes);
  }

  /** Continues from a state at `from`. Bytes before `from` belong to the caller and are overwritten in place. */
  search(bytes: Buffer, from: number, before: number): Searched {
    const { automaton } = this;
    const { root } = automaton;
    const probes = before === 0 ? this.#probes : null;
    let clean = bytes;
    let state = before;
    let start = from;
    let lastFirst = 0;
    let lastEnd = 0;
    // Without its probe there is no secret, and the state comes from the last bytes alone.
    if (probes !== null && !holdsAny(bytes, probes))
      start = Math.max(from, bytes.length + 1 - automaton.longest);
    for (let i = start; i < bytes.length; i++) {
      if (state === 0) {
        while (i < bytes.length && root[bytes[i]!] === 0) i++;
        if (i === bytes.length) break;
      }
      state = automaton.step(state, bytes[i]!);
      const length = automaton.found[state]!;
      if (length === 0) continue;
      if (clean === bytes && from === 0) clean = Buffer.from(bytes);
      const first = i + 1 - length;
      // Only the part that is not overwritten yet: a secret may end at each byte.
      clean.fill(star, first >= lastFirst ? Math.max(first, lastEnd) : first, i + 1);
      lastFirst = first;
      lastEnd = i + 1;
      state = automaton.open[state]!;
    }
    return { bytes: clean, state };
  }

  /** For header values and messages. */
  text(text: string): string {
    const { length } = text;
    if (length < this.#shortest) return text;
    const { automaton } = this;
    const { root } = automaton;
    /** The text in UTF-16 with asterisks; null: none yet. */
    let starred: Uint16Array | null = null;
    let lastFirst = 0;
    let lastEnd = 0;
    let state = 0;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (state === 0 && (code > 255 || root[code] === 0)) continue;
      state = code > 255 ? 0 : automaton.step(state, code);
      const found = automaton.found[state]!;
      if (found === 0) continue;
      starred ??= codesOf(text);
      const first = i + 1 - found;
      starred.fill(star, first >= lastFirst ? Math.max(first, lastEnd) : first, i + 1);
      lastFirst = first;
      lastEnd = i + 1;
      state = automaton.open[state]!;
    }
    let clean = starred === null ? text : Buffer.from(starred.buffer).toString('utf16le');
    for (const secret of this.#wide) clean = clean.replaceAll(secret, '*'.repeat(secret.length));
    return clean;
  }

  /** In Latin-1, as headers carry them, and in UTF-8, as JSON does. */
  get automaton(): TextAutomaton {
    if (this.#made === null) {
      const texts: Buffer[] = [];
      for (const secret of this.#secrets) {
        const utf8 = Buffer.from(secret);
        texts.push(utf8);
        if (utf8.length > secret.length) texts.push(Buffer.from(secret, 'latin1'));
      }
      this.#made = new TextAutomaton(texts);
      for (const text of texts) for (const byte of text) this.#held[byte] = 1;
      if (texts.length <= maxProbes) this.#probes = texts.map(probeOf);
    }
    return this.#made;
  }
}

export const emptyMask = new SecretMask([]);

/**
 * A mask for bytes that arrive in pieces: a secret is found even if it is cut. If a piece ends with the beginning
 * of a secret, that end is kept back until the next one; other pieces pass without delay, and without a copy if clean.
 */
export class StreamMask {
  #held: Buffer | null = null;
  #state = 0;

  constructor(readonly mask: SecretMask) {}

  /** What may be passed on; null: nothing yet. */
  push(chunk: Buffer): Buffer | null {
    const held = this.#held;
    if (held === null && this.mask.isFreeOf(chunk)) return chunk;
    const from = held === null ? 0 : held.length;
    const { bytes, state } = this.mask.search(
      held === null ? chunk : Buffer.concat([held, chunk]),
      from,
      this.#state,
    );
    this.#state = state;
    const end = bytes.length - this.mask.automaton.depth[state]!;
    if (end === bytes.length) {
      this.#held = null;
      return bytes;
    }
    // A copy: a view would keep the whole chunk alive for as long as the provider is silent.
    this.#held = Buffer.from(bytes.subarray(end));
    return end === 0 ? null : bytes.subarray(0, end);
  }

  /** The bytes that were kept back at the end; null: none. The beginning of a secret is masked too. */
  end(): Buffer | null {
    const held = this.#held;
    this.#held = null;
    this.#state = 0;
    return held !== null && held.length >= shortestSecret ? held.fill(star) : held;
  }
}

function codesOf(text: string): Uint16Array {
  const codes = new Uint16Array(text.length);
  for (let i = 0; i < text.length; i++) codes[i] = text.charCodeAt(i);
  return codes;
}

/** For more secrets a single pass is faster. */
const maxProbes = 8;
/** A shorter probe would match too often. With a longer one the search per byte could take time in its length. */
const probeBytes = { least: 4, most: 16 };

/** By byte: how rare it is in texts and JSON; 0 for most. */
const rarity = new Uint8Array(256);
for (const [i, char] of [...'vkxjzq_/=+%~ETSAINDRCOLFPMBHGUWVYKJXZQ'].entries())
  rarity[char.charCodeAt(0)] = i + 1;

/** Starts at its rarest byte: a search stops at each occurrence of a probe's first byte. */
function probeOf(secret: Buffer): Buffer {
  let at = 0;
  for (let i = 1; i <= secret.length - probeBytes.least; i++) {
    if (rarity[secret[i]!]! > rarity[secret[at]!]!) at = i;
  }
  return secret.subarray(at, at + probeBytes.most);
}

function holdsAny(bytes: Buffer, probes: readonly Buffer[]): boolean {
  for (const probe of probes) if (bytes.indexOf(probe) !== -1) return true;
  return false;
}
