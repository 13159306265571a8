import type { TextContext } from '../../check.js';
import { end, kinds, plain, space, wideEnd } from './characters.js';

/** What a text has. */
interface Counted {
  readonly words: number;
  readonly sentences: number;
}

/** Nanoseconds for each character, at most. */
export const countNs = 3;

const counted = new WeakMap<TextContext, Counted>();

/** Counted once for all checks that see the same text. */
export function countsOf(context: TextContext): Counted {
  let counts = counted.get(context);
  if (counts === undefined) {
    counts = count(context.text);
    counted.set(context, counts);
  }
  return counts;
}

/**
 * Words are separated by white space. Sentences end with a row of marks before a space, those of Chinese, Japanese, Hindi
 * and Arabic included: `3.14` has none. The last one may have no mark.
 */
function count(text: string): Counted {
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
