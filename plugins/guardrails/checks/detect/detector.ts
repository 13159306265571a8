import { ContextWords } from './context-words.js';
import {
  type AnyKind,
  type DetectedValue,
  type FirstToken,
  isSearchKind,
  type Place,
  type SearchKind,
  type TokenKind,
} from './kind.js';
import { type Hit, isCovered, merged, separate } from './overlaps.js';
import { plainText, VisibleText } from './readings.js';
import { classOf, hasDigit, hasLetter, hasOther, Tokens } from './tokens.js';

/** Characters that are searched at a time: a millisecond of work, and 10 at the worst. */
const windowLength = 8192;
/** Characters before a window in which the words near a value are. */
const lookBehind = 256;
/** The longest first token; longer ones count as this long. */
const maxFirst = 160;

const classes = { digits: 0, letters: 1, code: 2 } as const;

interface Candidate {
  readonly kind: TokenKind;
  readonly pattern: RegExp;
  /** Its place in the list of kinds: the earlier of two with the same value is reported. */
  readonly rank: number;
}

class FoundPlace implements Place {
  #named: boolean | null = null;

  constructor(
    readonly text: string,
    readonly start: number,
    readonly end: number,
    readonly words: ContextWords,
    readonly tokens: Tokens,
    /** The first token of the value. */
    readonly first: number,
    readonly rank: number,
  ) {}

  /** Looked up when it is asked for: most values are refused before. */
  get named(): boolean {
    this.#named ??= this.words.near(this.rank, this.text, this.tokens, this.first, this.#last());
    return this.#named;
  }

  #last(): number {
    const { starts, count } = this.tokens;
    let last = this.first;
    while (last + 1 < count && starts[last + 1]! < this.end) last++;
    return last;
  }
}

/** Finds values of some kinds in texts. Takes time linear in the text; keeps nothing of it. */
export class Detector {
  /** Characters of the longest value of all kinds. */
  readonly longest: number;
  readonly #byFirst: readonly (readonly (readonly Candidate[] | undefined)[])[];
  readonly #byWord = new Map<string, Candidate[]>();
  /** Lengths of the words, a bit for each below 32, by the code of their first letter. Refuses most words of a text. */
  readonly #wordLengths = new Int32Array(0x250);
  readonly #searches: { readonly kind: SearchKind; readonly rank: number }[] = [];
  readonly #words = new ContextWords();
  readonly #tokens: Tokens;
  /** Characters after a window whose tokens are read: those of a value that begins in it, and of the words after it. */
  readonly #reach: number;

  constructor(readonly kinds: readonly AnyKind[]) {
    this.longest = kinds.reduce((most, { longest }) => Math.max(most, longest), 0);
    this.#reach =
      64 + kinds.reduce((most, kind) => (isSearchKind(kind) ? most : Math.max(most, kind.longest)), 0);
    this.#tokens = new Tokens(windowLength + lookBehind + this.#reach);
    const byFirst: Candidate[][][] = [[], [], []];
    for (const [rank, kind] of kinds.entries()) {
      if (isSearchKind(kind)) this.#searches.push({ kind, rank });
      else {
        const candidate = { kind, pattern: whole(kind), rank };
        for (const first of kind.first) addFirst(byFirst, first, candidate);
        for (const word of kind.words ?? []) this.#addWord(word, candidate);
        this.#words.add(rank, kind.near ?? []);
        this.#words.add(-1 - rank, kind.unless ?? []);
      }
    }
    this.#byFirst = byFirst;
  }

  #addWord(word: string, candidate: Candidate): void {
    const own = this.#byWord.get(word) ?? [];
    own.push(candidate);
    this.#byWord.set(word, own);
    for (const letter of [word.charCodeAt(0), word.toUpperCase().charCodeAt(0)]) {
      this.#wordLengths[letter]! |= 1 << word.length;
    }
  }

  /**
   * Every value, in the order of the text. Of two that overlap the one that contains the other; else one that covers both, of the
   * kind of the longer.
   */
  find(text: string): readonly DetectedValue[] {
    const plain = plainText(text);
    const found = this.#findIn(plain.text);
    if (!plain.hides) return found.hasOverlaps ? merged(found.hits) : found.hits.map(asValue);
    const visible = new VisibleText(plain.text);
    const { hits } = this.#findIn(visible.text);
    const more = hits.map(({ kind, rank, place, start, end }) => ({
      ...{ kind, rank, place, start: visible.placeOf(start), end: visible.placeOf(end - 1) + 1 },
    }));
    return merged([...found.hits, ...more]);
  }

  /** Values, none of which contains another. `hasOverlaps`: some overlap in part; else they are in the order of the text. */
  #findIn(text: string): { readonly hits: Hit[]; readonly hasOverlaps: boolean } {
    const [hits, left]: [Hit[], Hit[]] = [[], []];
    for (let from = 0; from < text.length; from += windowLength)
      separate(this.#window(text, from, Math.min(text.length, from + windowLength)), hits, left);
    // What others cover only joins them.
    const rests = left.filter((hit) => !isCovered(text, hit, hits));
    return { hits: rests.length === 0 ? hits : [...hits, ...rests], hasOverlaps: rests.length > 0 };
  }

  #window(text: string, from: number, to: number): Hit[] {
    const hits: Hit[] = [];
    for (const { kind, rank } of this.#searches)
      kind.search(text, from, to, (start, end) => hits.push({ kind, rank, start, end, place: null }));
    const tokens = this.#tokens;
    tokens.read(text, tokenStart(text, from), Math.min(text.length, to + this.#reach));
    this.#words.reset();
    const { starts, ends, masks, count } = tokens;
    const [ofDigits, ofLetters, ofBoth] = this.#byFirst;
    const wordLengths = this.#wordLengths;
    for (let at = 0; at < count; at++) {
      const start = starts[at]!;
      if (start < from) continue;
      if (start >= to) break;
      const mask = masks[at]!;
      const length = Math.min(maxFirst, ends[at]! - start);
      if ((mask & hasOther) === 0) {
        const row = mask === hasDigit ? ofDigits : (mask & hasDigit) === 0 ? ofLetters : ofBoth;
        const candidates = row![length];
        if (candidates !== undefined) this.#try(text, at, candidates, hits);
      }
      if (
        (mask & hasLetter) !== 0 &&
        length < 32 &&
        ((wordLengths[text.charCodeAt(start)] ?? 0) >>> length) % 2 === 1
      ) {
        const candidates = this.#byWord.get(text.slice(start, ends[at]).toLowerCase());
        if (candidates !== undefined) this.#try(text, at, candidates, hits);
      }
    }
    return hits;
  }

  #try(text: string, at: number, candidates: readonly Candidate[], hits: Hit[]): void {
    const { starts, ends } = this.#tokens;
    const after = text[ends[at]!];
    for (const { kind, pattern, rank } of candidates) {
      if (kind.next !== undefined && !follows(kind.next, after)) continue;
      let start = starts[at]!;
      if (kind.lead !== undefined) {
        if (start === 0 || !kind.lead.includes(text[start - 1]!)) continue;
        start--;
      }
      if (kind.inside !== true && joinedBefore(text, start)) continue;
      if (kind.needs !== undefined && !this.#words.present(rank, text, this.#tokens)) continue;
      pattern.lastIndex = start;
      const match = pattern.exec(text);
      if (match === null) continue;
      const end = start + match[0].length;
      const value = match.groups?.['value'] ?? match[0];
      if (kind.inside !== true && joinedAfter(text, end)) continue;
      const [tokens, words] = [this.#tokens, this.#words];
      if (kind.unless !== undefined && words.justBefore(-1 - rank, text, tokens, at)) continue;
      if (kind.needs === 'before' && !words.before(rank, text, tokens, at)) continue;
      const place = new FoundPlace(text, end - value.length, end, words, tokens, at, rank);
      if (kind.needs === 'always' && !place.named) continue;
      if (kind.valid !== undefined && !kind.valid(value, place)) continue;
      hits.push({ kind, rank, start: place.start, end, place });
    }
  }
}

/** The kind's pattern, which then ends where a run of letters and digits ends. */
const whole = ({ pattern, inside }: TokenKind): RegExp =>
  inside === true ? pattern : new RegExp(`(?:${pattern.source})(?![A-Za-z0-9])`, pattern.flags);

function addFirst(byFirst: Candidate[][][], { of, length }: FirstToken, candidate: Candidate): void {
  const row = byFirst[classes[of]]!;
  for (let each = length[0]; each <= Math.min(maxFirst, length[1]); each++) {
    const own = row[each] ?? [];
    own.push(candidate);
    row[each] = own;
  }
}

const follows = (wanted: string, after: string | undefined): boolean =>
  wanted === ''
    ? after === undefined || !'-_'.includes(after)
    : after !== undefined && wanted.includes(after);

/** Where the tokens of a window are read from: not within a token that begins before it. */
function tokenStart(text: string, from: number): number {
  let at = Math.max(0, from - lookBehind);
  while (at > 0 && at < from && classOf(text.charCodeAt(at - 1)) !== 0) at++;
  return at;
}

/** Characters that join two runs of letters and digits to one name, path or number. */
const joints = '-._/\\@+';

/** Is the value the end of something longer: `abc-123`, `1.234`? */
function joinedBefore(text: string, start: number): boolean {
  if (start < 2 || !joints.includes(text[start - 1]!)) return false;
  return classOf(text.charCodeAt(start - 2)) !== 0;
}

/** Does the value go on: with a letter or digit, or after a joint? */
function joinedAfter(text: string, end: number): boolean {
  if (end >= text.length) return false;
  if (classOf(text.charCodeAt(end)) !== 0) return classOf(text.charCodeAt(end - 1)) !== 0;
  return end + 1 < text.length && joints.includes(text[end]!) && classOf(text.charCodeAt(end + 1)) !== 0;
}

const asValue = ({ kind, start, end }: Hit): DetectedValue => ({ kind, start, end });
