/** Limits that a JSON text is checked against before it is parsed. */
export interface JsonCaps {
  readonly maxDepth: number;
  readonly maxTokens: number;
  /** Members of one object. */
  readonly maxMembers: number;
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
/** V8 copies the whole table of a growing object in one step, and each copy of such an object takes as long: 9 ms for these. */
const maxMembers = 10_000;

/** Characters. Comparing a number with the nearest double takes time that grows with its digits. */
const longestNumber = 1000;
/** However long the text is: an embedding request of OpenAI's has at most 300,000 tokens. */
const mostTokens = 320_000;

/** Depth 64; 10,000 members an object; 100,000 tokens a MiB, no less than that for a small text, at most 320,000. */
export function jsonCaps(length: number): JsonCaps {
  const perLength = Math.floor((length * tokensPerMiB) / 1_048_576);
  const maxTokens = Math.min(mostTokens, Math.max(tokensPerMiB, perLength));
  return { maxDepth, maxTokens, maxMembers };
}

/** For embedding requests, where a token of four digits is a value. */
export const tokenListCaps: JsonCaps = { maxDepth, maxTokens: mostTokens, maxMembers };

/** Up to this length the caps are the same. */
const smallBytes = 1_048_576;
const smallCaps = jsonCaps(0);

/** What parsing a value costs, as so many bytes of plain text: at worst half a microsecond, and twice that where digits are kept. */
const valueBytes = 64;
/** The cost, as bytes of plain text, of what may be parsed in one turn of the event loop: at worst 12 ms. */
export const quickCost = 1.5 * 1024 * 1024;

/** The cost of parsing a scanned text, as bytes of plain text. */
export const parseCost = (length: number, { tokens, bigNumbers }: JsonScan): number =>
  length + tokens * valueBytes * (bigNumbers ? 2 : 1);

/** Can this JSON text be parsed in one turn of the event loop, whatever is in it? */
export function isQuick(bytes: Uint8Array, most = quickCost): boolean {
  if (bytes.length <= certainlyQuickBytes) return true;
  if (bytes.length > most) return false;
  const scan = scanJson(bytes, answerCaps);
  return scan.problem === null && parseCost(bytes.length, scan) <= most;
}

/** For answers of providers, whose tool calls may be nested deeply; but each level takes a call of the parser. */
export const answerCaps: JsonCaps = {
  maxDepth: 1000,
  maxTokens: Number.POSITIVE_INFINITY,
  maxMembers: 50_000,
};

/** No text of this length costs more, even if each byte began a value. */
export const certainlyQuickBytes = 8 * 1024;

const quote = 1;
const open = 2;
const close = 3;
const separator = 4;
const digit = 5;
const colon = 6;
/** What a byte outside a string begins; 0: nothing that counts. */
const kinds = new Uint8Array(256);
kinds[0x22] = quote;
kinds[0x5b] = kinds[0x7b] = open;
kinds[0x5d] = kinds[0x7d] = close;
kinds[0x2c] = separator;
kinds[0x3a] = colon;
for (let byte = 0x30; byte <= 0x39; byte++) kinds[byte] = digit;

/** From here on a string is skipped by the native search, whose call costs as much as about this many bytes of the loop. */
const longString = 96;

/** Members of the object that is open at each depth; it grows to the deepest cap. */
let members = new Uint32Array(maxDepth + 1);

/**
 * Counts depth, members and tokens of a JSON text, in one loop. It does not check whether the text is valid:
 * JSON.parse does. It checks whether JSON.parse is affordable.
 */
export function scanJson(bytes: Uint8Array, given?: JsonCaps): JsonScan {
  const { length } = bytes;
  const caps = given ?? (length <= smallBytes ? smallCaps : jsonCaps(length));
  if (members.length <= caps.maxDepth) members = new Uint32Array(caps.maxDepth + 1);
  const counts = members;
  counts[0] = 0;
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
        counts[depth] = 0;
        break;
      case close:
        depth--;
        break;
      case separator:
        // What has too many is not read to its end, which for 8 MiB takes 90 ms.
        if (++tokens > caps.maxTokens) return { problem: tooMany(caps), bigNumbers, tokens };
        break;
      case colon:
        tokens++;
        if (++counts[depth]! > caps.maxMembers) {
          return { problem: `has an object of more than ${caps.maxMembers} members`, bigNumbers, tokens };
        }
        break;
      case digit: {
        const start = i;
        let digits = 0;
        let byte = bytes[i]!;
        for (;;) {
          if (kinds[byte] === digit) digits++;
          else if (byte === 0x65 || byte === 0x45) digits = 16;
          else if (byte !== 0x2e) break;
          if (++i >= length) break;
          byte = bytes[i]!;
        }
        if (digits >= 16) {
          bigNumbers = true;
          if (i - start > longestNumber) {
            return { problem: `has a number of more than ${longestNumber} characters`, bigNumbers, tokens };
          }
        }
        i--;
        break;
      }
    }
  }
  return { problem: tokens > caps.maxTokens ? tooMany(caps) : null, bigNumbers, tokens };
}

const tooMany = ({ maxTokens }: JsonCaps): string => `has more than ${maxTokens} names and values`;
