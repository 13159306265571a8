/** Zeros of the scripts that have digits of their own; each script's are ten in a row. The last ones are full-width. */
const zeros = [
  ...[0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50],
  ...[0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0],
  ...[0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10],
];
/** By the code of a character: the ASCII character that it is read as, `hidden`, or 0 for itself. */
const readAs = new Uint8Array(0x10000);
const hidden = 1;
for (const zero of zeros) for (let digit = 0; digit < 10; digit++) readAs[zero + digit] = 0x30 + digit;
for (const space of [0xa0, 0x202f, 0x205f, 0x3000]) readAs[space] = 0x20;
readAs.fill(0x20, 0x2000, 0x200b);
for (const hyphen of [0x2010, 0x2011]) readAs[hyphen] = 0x2d;
/** Full-width letters, and signs of addresses. The other signs of this width are those of Chinese and Japanese sentences. */
const isFullWidth = /[Ａ-Ｚａ-ｚ＠．＋－＿]/;
for (let code = 0xff01; code <= 0xff5e; code++)
  if (isFullWidth.test(String.fromCharCode(code))) readAs[code] = code - 0xfee0;
/** Soft hyphens, joiners, marks of direction, byte order marks, fillers of Korean, from and to. */
const hiddenRanges = [
  ...[0xad, 0xad, 0x34f, 0x34f, 0x61c, 0x61c, 0x180e, 0x180e, 0x200b, 0x200f, 0x202a, 0x202e],
  ...[0x115f, 0x1160, 0x2060, 0x2064, 0x2066, 0x206f, 0x3164, 0x3164, 0xfeff, 0xfeff, 0xffa0, 0xffa0],
];
for (let i = 0; i < hiddenRanges.length; i += 2)
  readAs.fill(hidden, hiddenRanges[i], hiddenRanges[i + 1]! + 1);
/** Every character that is not read as itself is one of these. Most texts have none. */
const unusual = /[\u00a0\u00ad\u0250-\uffff]/;

/** May the character be part of a value? */
const isOfValue = (code: number): boolean =>
  code < 128
    ? (code >= 0x30 && code <= 0x39) ||
      (code >= 0x40 && code <= 0x5a) ||
      (code >= 0x61 && code <= 0x7a) ||
      '(+-._'.includes(String.fromCharCode(code))
    : readAs[code]! > 0x20;

export interface PlainText {
  /**
   * The text with ASCII digits in place of those of other scripts, spaces in place of no-break and other wide ones, and ASCII
   * letters in place of full-width ones. Its length is the same. Of digits outside of the first plane nothing is known.
   */
  readonly text: string;
  /**
   * Has it invisible characters at its end, or beside a character that may be part of a value? Others are those of emoji, and
   * within words of Persian.
   */
  readonly hides: boolean;
}

/** How detectors read a text. */
export function plainText(text: string): PlainText {
  let at = text.search(unusual);
  if (at === -1) return { text, hides: false };
  let [plain, from, hides] = ['', 0, false];
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const read = readAs[code]!;
    if (read === 0) continue;
    if (read === hidden) {
      hides ||=
        at === text.length - 1 || isOfValue(text.charCodeAt(at - 1)) || isOfValue(text.charCodeAt(at + 1));
    } else {
      plain += text.slice(from, at) + String.fromCharCode(read);
      from = at + 1;
    }
  }
  return { text: from === 0 ? text : plain + text.slice(from), hides };
}

const hiddenRun = new RegExp(
  `[${[...readAs.keys()]
    .filter((code) => readAs[code] === hidden)
    .map((code) => `\\u${code.toString(16).padStart(4, '0')}`)
    .join('')}]+`,
  'g',
);
/** A longer run separates what it is in: otherwise a value that a stream may hold back had no longest form. */
const maxRun = 2;

/** A text without invisible characters, and where each of its characters is in the text with them. */
export class VisibleText {
  readonly text: string;
  /** Of each run that is left out: its place in `text`, and how many characters are left out up to its end. */
  readonly #places: number[] = [];
  readonly #lefts: number[] = [];

  constructor(readonly whole: string) {
    let [left, from] = [0, 0];
    const parts: string[] = [];
    for (const { 0: run, index } of whole.matchAll(hiddenRun)) {
      if (run.length > maxRun) continue;
      parts.push(whole.slice(from, index));
      from = index + run.length;
      this.#places.push(index - left);
      left += run.length;
      this.#lefts.push(left);
    }
    parts.push(whole.slice(from));
    this.text = parts.join('');
  }

  /** Where the character at this index of `text` is. */
  placeOf(index: number): number {
    if (index >= this.text.length) return this.whole.length;
    const runs = countUpTo(this.#places, index);
    return runs === 0 ? index : index + this.#lefts[runs - 1]!;
  }

  /** The index in `text` of the first character that is at this place or after it. */
  indexOf(place: number): number {
    let [low, high] = [0, this.text.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.placeOf(middle) < place) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** How many of the numbers, in their order, are at most `most`. */
function countUpTo(numbers: readonly number[], most: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! <= most) low = middle + 1;
    else high = middle;
  }
  return low;
}
