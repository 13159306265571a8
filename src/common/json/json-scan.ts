/** Ceilings that a JSON text must keep to before anyone parses it. */
export interface JsonCaps {
  readonly maxDepth: number;
  readonly maxTokens: number;
}

/** What one pass over a JSON text found out. */
export interface JsonScan {
  /** How the text breaks a cap, to follow "it"; null: it may be parsed (it is not yet known to be valid JSON). */
  readonly problem: string | null;
  /** Is there a number with 16 or more digits, or an exponent, so that a double may not hold it? */
  readonly bigNumbers: boolean;
  /** Values and keys, roughly: what parsing costs. */
  readonly tokens: number;
}

const maxDepth = 64;
const tokensPerMiB = 100_000;

/** Depth 64; 100,000 tokens a MiB, and no less than that for a small text. */
export function jsonCaps(length: number): JsonCaps {
  return { maxDepth, maxTokens: Math.max(tokensPerMiB, Math.floor((length * tokensPerMiB) / 1_048_576)) };
}

/** Up to this length the caps are the same. */
const smallBytes = 1_048_576;
const smallCaps = jsonCaps(0);

const quote = 1;
const open = 2;
const close = 3;
const separator = 4;
const digit = 5;
/** What a byte outside a string begins; 0: nothing that counts. */
const kinds = new Uint8Array(256);
kinds[0x22] = quote;
kinds[0x5b] = kinds[0x7b] = open;
kinds[0x5d] = kinds[0x7d] = close;
kinds[0x2c] = kinds[0x3a] = separator;
for (let byte = 0x30; byte <= 0x39; byte++) kinds[byte] = digit;

/** From here on a string is skipped by the native search, whose call costs as much as about this many bytes of the loop. */
const longString = 96;

/**
 * Counts depth and tokens of a JSON text, in one loop. It does not check whether the text is valid:
 * JSON.parse does. It checks whether JSON.parse is affordable.
 */
export function scanJson(bytes: Uint8Array, given?: JsonCaps): JsonScan {
  const { length } = bytes;
  const caps = given ?? (length <= smallBytes ? smallCaps : jsonCaps(length));
  let depth = 0;
  let tokens = 0;
  let bigNumbers = false;
  for (let i = 0; i < length; i++) {
    switch (kinds[bytes[i]!]) {
      case quote: {
        let run = i + longString;
        let byte = bytes[++i];
        while (byte !== 0x22 && i < length) {
          if (byte === 0x5c) {
            i++;
            run = i + longString;
          } else if (i >= run) {
            const end = bytes.indexOf(0x22, i);
            if (end < 0) return { problem: null, bigNumbers, tokens };
            i = end - 1;
            let backslashes = 0;
            while (bytes[end - 1 - backslashes] === 0x5c) backslashes++;
            if (backslashes % 2 === 1) i = end;
            run = i + longString;
          }
          byte = bytes[++i];
        }
        break;
      }
      case open:
        tokens++;
        if (++depth > caps.maxDepth) {
          return { problem: `nests deeper than ${caps.maxDepth} levels`, bigNumbers, tokens };
        }
        break;
      case close:
        depth--;
        break;
      case separator:
        tokens++;
        break;
      case digit: {
        let digits = 0;
        let byte = bytes[i]!;
        for (;;) {
          if (kinds[byte] === digit) digits++;
          else if (byte === 0x65 || byte === 0x45) digits = 16;
          else if (byte !== 0x2e) break;
          if (++i >= length) break;
          byte = bytes[i]!;
        }
        if (digits >= 16) bigNumbers = true;
        i--;
        break;
      }
    }
  }
  const problem =
    tokens > caps.maxTokens ? `has more than ${caps.maxTokens} values, too many for its size` : null;
  return { problem, bigNumbers, tokens };
}
