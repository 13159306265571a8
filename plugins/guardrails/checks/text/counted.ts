import type { TextContext, TextCounts } from '../../check.js';

/** Nanoseconds for each character, at most. */
export const countNs = 3;

/** Counted once for all checks that see the same text. */
export function countsOf(context: TextContext): TextCounts {
  context.counts ??= count(context.text);
  return context.counts;
}

// Kinds of a UTF-16 unit, one bit each, so that the loop below needs few branches. Constants of this module: those of another one
// are read again at each use, which takes as long as all the rest.
const space = 1;
const plain = 2;
/** Ends a sentence where a space follows. */
const end = 4;
/** Ends a sentence without a space after it. */
const wideEnd = 8;
/** May follow the end of a sentence: a quotation mark, a bracket. */
const closer = 16;

/** The kind of each unit: looked up without a string for the character. */
const kinds = new Uint8Array(0x10000).fill(plain);

function set(chars: string, kind: number): void {
  for (const char of chars) kinds[char.charCodeAt(0)] = kind;
}

// What `trim` removes.
set('\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff', space);
for (let unit = 0x2000; unit <= 0x200a; unit++) kinds[unit] = space;
set('.!?।؟', end);
set('。！？', wideEnd);
set('"\'”’»)]', closer);

/**
 * Words are separated by white space. Sentences end with a row of marks before a space, those of Chinese, Japanese, Hindi
 * and Arabic included: `3.14` has none. The last one may have no mark.
 */
function count(text: string): TextCounts {
  const { length } = text;
  let [words, sentences] = [0, 0];
  let [wasSpace, seen] = [space, 0];
  for (let at = 0; at < length; at++) {
    const kind = kinds[text.charCodeAt(at)]!;
    const isSpace = kind & space;
    words += wasSpace & ~isSpace;
    wasSpace = isSpace;
    seen |= kind & plain;
    if ((kind & (end | wideEnd)) === 0) continue;
    while (at + 1 < length && kinds[text.charCodeAt(at + 1)]! >= end) at++;
    const isOver = kind === wideEnd || at + 1 === length || kinds[text.charCodeAt(at + 1)] === space;
    if (seen === 0 || !isOver) continue;
    sentences++;
    seen = 0;
  }
  return { words, sentences: seen === 0 ? sentences : sentences + 1 };
}
