import { latin } from './words.js';

/** Characters of a text that are judged; letters of the shortest word and of the shortest text that are. */
const maxLength = 16_384;
const minWord = 3;
const minLetters = 8;

/** Common English words and endings, for pairs of letters that short words lack. */
const more =
  'question answer school government world country company system program number example through public change problem money history result building research question knowledge technology community development information because right light night thought enough child children friend family water music power local quickly health energy quality future special possible important language business service market process support product customer computer network message account request version update please function object string value index array return error server client model prompt token graph rhythm psychology';

const size = 28;
/** a to z are 1 to 26; 0 is the beginning and the end of a word, 27 any other letter. */
const indexOf = (code: number): number => (code >= 97 && code <= 122 ? code - 96 : 27);

/** How often a letter follows two others, in words of many languages. */
const pairs = new Float64Array(size * size);
const firsts = new Float64Array(size);

const plain = (word: string): string => word.normalize('NFD').replace(/\p{M}/gu, '');

for (const word of [...Object.values(latin).flatMap(({ words }) => words.split(' ')), ...more.split(' ')]) {
  let before = 0;
  for (const char of `${plain(word)} `) {
    const next = char === ' ' ? 0 : indexOf(char.charCodeAt(0));
    pairs[before * size + next]! += 1;
    firsts[before]! += 1;
    before = next;
  }
}

/** Nats: how surprising a pair of letters is. */
const surprise = pairs.map(
  (count, at) => -Math.log((count + 0.2) / (firsts[Math.floor(at / size)]! + 0.2 * size)),
);

/** Surprise of the pairs of a word together, its beginning and end included. */
function surpriseOf(word: string): number {
  let sum = 0;
  let before = 0;
  for (let at = 0; at <= word.length; at++) {
    const next = at === word.length ? 0 : indexOf(word.charCodeAt(at));
    sum += surprise[before * size + next]!;
    before = next;
  }
  return sum;
}

const word = /[\p{L}\p{M}]+/gu;
const isLatin = /^[a-z]+$/;
const keyboardRun =
  /(?:qwert|werty|asdf|sdfg|dfgh|fghj|ghjk|hjkl|zxcv|xcvb|cvbn|vbnm|uiop|poiu|lkjh|fdsa|trewq)/;

/** A sentence of any language has 2.0 to 3.2; letters by chance have 3.3 to 5, and of 100 such texts 99 more than this. */
const maxSurprise = 3.5;

export interface Gibberish {
  /** Nats for each pair of letters, on average. */
  readonly surprise: number;
  /** How much, 0 to 1 by letters, is in words that no language has. */
  readonly oddShare: number;
}

/** How unlike words a text is. null: it has too few Latin letters to judge. */
export function measureGibberish(text: string): Gibberish | null {
  let letters = 0;
  let pairCount = 0;
  let sum = 0;
  let odd = 0;
  let others = 0;
  for (const [found] of text.slice(0, maxLength).toLowerCase().matchAll(word)) {
    const written = plain(found);
    if (!isLatin.test(written)) others += written.length;
    else if (written.length >= minWord) {
      letters += written.length;
      pairCount += written.length + 1;
      sum += surpriseOf(written);
      if (isOdd(written)) odd += written.length;
    }
  }
  // Where most of a text is in another script, the rest is names.
  return letters < minLetters || others > letters
    ? null
    : { surprise: sum / pairCount, oddShare: odd / letters };
}

function isOdd(written: string): boolean {
  if (keyboardRun.test(written) || /(.)\1\1\1/.test(written)) return true;
  if (written.length >= 4 && !/[aeiouy]/.test(written)) return true;
  // Compounds of German and Finnish are long, and regular.
  return written.length > 60 || /[bcdfghjklmnpqrstvwxz]{6}/.test(written);
}

/** Are the words of the text none? */
export function isGibberish(text: string): boolean {
  const measured = measureGibberish(text);
  return measured !== null && (measured.surprise > maxSurprise || measured.oddShare >= 0.5);
}
