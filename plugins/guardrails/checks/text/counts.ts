import type { TextCheck } from '../../check.js';

/** A check that a number of things in the text is within bounds. */
function countCheck(id: string, what: string, count: (text: string) => number): TextCheck {
  const [name, capital] = [what.toLowerCase(), `${what[0]!.toUpperCase()}${what.slice(1)}`];
  return {
    id,
    runs: 'text',
    cheap: true,
    run({ text }, parameters) {
      const least = parameters[`min${capital}s`] as number;
      const most = parameters[`max${capital}s`] as number;
      const not = parameters['not'] as boolean;
      const counted = count(text);
      const isWithin = counted >= least && counted <= most;
      const explanation = `The text has ${counted} ${name}s, which is ${isWithin ? 'within' : 'outside'} ${least} to ${most}.`;
      const data = {
        [`${name}Count`]: counted,
        [`min${capital}s`]: least,
        [`max${capital}s`]: most,
        not,
        explanation,
      };
      return { verdict: isWithin !== not, data };
    },
  };
}

const ends = new Set('.!?。！？।؟');
const closers = new Set('"\'”’»)]');
/** Marks after which no space is needed. */
const wideEnds = new Set('。！？');

/**
 * Sentences end with a row of marks before a space, those of Chinese, Japanese, Hindi and Arabic included: `3.14` has none.
 * The last one may have no mark.
 */
function countSentences(text: string): number {
  let count = 0;
  let hasWords = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (!ends.has(char)) {
      if (!closers.has(char) && char.trim() !== '') hasWords = true;
      continue;
    }
    while (at + 1 < text.length && (ends.has(text[at + 1]!) || closers.has(text[at + 1]!))) at++;
    const next = text[at + 1];
    if (!hasWords || !(next === undefined || next.trim() === '' || wideEnds.has(char))) continue;
    count++;
    hasWords = false;
  }
  return hasWords ? count + 1 : count;
}

/** Is the number of sentences within bounds? */
export const sentenceCount = countCheck('default.sentenceCount', 'sentence', countSentences);

/** Is the number of characters (UTF-16 units, as JavaScript counts) within bounds? */
export const characterCount = countCheck('default.characterCount', 'character', (text) => text.length);
