import type { CheckResult, FoundValue } from '../check.js';
import { patternFacts } from './open-pattern.js';
import type { PieceCheck, PieceCheckOf, PieceRun } from './piece-check.js';

/** Characters of the longest match of a pattern that streams are searched for. */
const maxLongest = 1024;
/** Ways that an expression may try at one place on the event loop: some hundred microseconds for a piece. */
const maxWays = 256;

/** Searches the pieces of a stream for an expression with bounded matches. */
class Pattern {
  readonly #whole: RegExp;
  readonly #open: RegExp;
  readonly longest: number;

  constructor(source: string, flags: string, open: string, longest: number) {
    this.#whole = new RegExp(source, `${flags.replaceAll(/[gy]/g, '')}g`);
    this.#open = new RegExp(`(?:${open})(?![^])`, this.#whole.flags);
    this.longest = longest;
  }

  find(text: string, from: number, after: number): FoundValue[] {
    const found: FoundValue[] = [];
    this.#whole.lastIndex = Math.max(after, from - this.longest);
    for (let match = this.#whole.exec(text); match !== null; match = this.#whole.exec(text)) {
      if (match[0] === '') this.#whole.lastIndex++;
      const end = match.index + match[0].length;
      if (match[0] !== '' && end > from) found.push({ start: match.index, end });
    }
    return found;
  }

  open(text: string, from: number, after: number): number {
    this.#open.lastIndex = Math.max(after, text.length - this.longest);
    return Math.max(from, this.#open.exec(text)?.index ?? text.length);
  }
}

/** null: its matches have no bound that is known, or it may take long. */
function patternOf(source: string, flags: string): Pattern | null {
  const { open, longest, ways, looksFar } = patternFacts(source, /[uv]/.test(flags));
  const isBounded = !looksFar && longest > 0 && longest <= maxLongest && ways <= maxWays;
  return isBounded && !flags.includes('y') ? new Pattern(source, flags, open, longest) : null;
}

class PatternRun implements PieceRun {
  readonly seesChanged = true;
  #count = 0;

  constructor(
    readonly pattern: Pattern,
    readonly replacement: string | null,
    readonly resultOf: (count: number) => CheckResult,
  ) {}

  find(text: string, from: number, after: number): readonly FoundValue[] {
    return this.pattern.find(text, from, after);
  }

  open(text: string, from: number, after: number): number {
    return this.pattern.open(text, from, after);
  }

  take(): string | null {
    this.#count++;
    return this.replacement;
  }

  result(): CheckResult {
    return this.resultOf(this.#count);
  }
}

const checkOf = (
  pattern: Pattern | null,
  replacement: string | null,
  resultOf: (count: number) => CheckResult,
): PieceCheck | null =>
  pattern === null
    ? null
    : { redacts: replacement !== null, begin: () => new PatternRun(pattern, replacement, resultOf) };

const written = /^\/(.+)\/([dgimsuy]*)$/s;

/** A replacement that quotes the match needs the whole text. */
export const replacePieces: PieceCheckOf = ({ rule, redactText = '[REDACTED]' }) => {
  if (String(redactText).includes('$')) return null;
  const [, source = String(rule), flags = ''] = written.exec(String(rule)) ?? [];
  return checkOf(patternOf(source, flags), String(redactText), (count) => ({
    verdict: true,
    ...(count > 0 ? { transformed: [] } : {}),
    data: {
      regexPattern: rule,
      explanation:
        count > 0 ? 'Matches of the pattern were replaced.' : 'The text does not match the pattern.',
    },
  }));
};

/** Only what must not match is known before the end. */
export const matchPieces: PieceCheckOf = ({ rule, not }) => {
  if (not !== true) return null;
  return checkOf(patternOf(String(rule), ''), null, (count) => ({
    verdict: count === 0,
    data: {
      ...{ regexPattern: rule, not, matchDetails: null },
      explanation: count > 0 ? 'The text matches the pattern.' : 'The text does not match the pattern.',
    },
  }));
};

const escaped = (word: string): string => word.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** Only words that must not be there are known before the end. */
export const wordPieces: PieceCheckOf = ({ words, operator }) => {
  if (operator !== 'none') return null;
  const list = (words as readonly string[]).filter((word) => word !== '');
  if (list.length === 0 || list.length > maxWays) return null;
  return checkOf(patternOf(list.map(escaped).join('|'), ''), null, (count) => ({
    verdict: count === 0,
    data: {
      operator,
      explanation: count > 0 ? 'The text has words of the list.' : 'The text has none of the words.',
    },
  }));
};

const casePieces =
  (other: RegExp, name: string): PieceCheckOf =>
  ({ not }) =>
    not === true
      ? null
      : checkOf(new Pattern(other.source, 'u', other.source, 2), null, (count) => ({
          verdict: count === 0,
          data: {
            not,
            explanation: count > 0 ? `The text contains ${name} letters.` : `It contains no ${name} letters.`,
          },
        }));

export const upperPieces = casePieces(/\p{Ll}/u, 'lower case');
export const lowerPieces = casePieces(/\p{Lu}/u, 'upper case');
