/** What a token is made of, as bits. */
export const hasDigit = 1;
export const hasUpper = 2;
export const hasLower = 4;
/** A letter outside of ASCII. */
export const hasOther = 8;
export const hasLetter = hasUpper | hasLower | hasOther;

const asciiClasses = new Uint8Array(128);
for (let code = 48; code <= 57; code++) asciiClasses[code] = hasDigit;
for (let code = 65; code <= 90; code++) asciiClasses[code] = hasUpper;
for (let code = 97; code <= 122; code++) asciiClasses[code] = hasLower;

/**
 * The class of a character; 0: it ends a token. Of the letters outside of ASCII those of the Latin, Greek and Cyrillic
 * scripts count, since Chinese, Thai and others write numbers against their words without a space.
 */
export function classOf(code: number): number {
  if (code < 128) return asciiClasses[code]!;
  if (code < 0xaa || code === 0xd7 || code === 0xf7) return 0;
  if (code <= 0x24f || (code >= 0x370 && code <= 0x52f) || (code >= 0x1e00 && code <= 0x1eff)) {
    return code === 0xab || code === 0xbb || (code >= 0xac && code <= 0xb9) || (code >= 0xbc && code <= 0xbf)
      ? 0
      : hasOther;
  }
  return 0;
}

/** Runs of letters and digits in a part of a text. */
export class Tokens {
  count = 0;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  readonly masks: Uint8Array;

  /** `length`: characters of the longest part that is read. */
  constructor(length: number) {
    const most = (length >> 1) + 2;
    this.starts = new Int32Array(most);
    this.ends = new Int32Array(most);
    this.masks = new Uint8Array(most);
  }

  /** Reads the text from `from` to `to`. */
  read(text: string, from: number, to: number): void {
    let count = 0;
    let mask = 0;
    let start = 0;
    for (let at = from; at < to; at++) {
      const code = text.charCodeAt(at);
      const own = code < 128 ? asciiClasses[code]! : classOf(code);
      if (own === 0) {
        if (mask === 0) continue;
        this.starts[count] = start;
        this.ends[count] = at;
        this.masks[count++] = mask;
        mask = 0;
      } else {
        if (mask === 0) start = at;
        mask |= own;
      }
    }
    if (mask !== 0) {
      this.starts[count] = start;
      this.ends[count] = to;
      this.masks[count++] = mask;
    }
    this.count = count;
  }
}
