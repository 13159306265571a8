import { type AnyKind, isSearchKind, type SearchKind, type TokenKind } from '../checks/detect/kind.js';
import { plainText, VisibleText } from '../checks/detect/readings.js';
import { classOf, hasDigit, hasLetter, hasOther, Tokens } from '../checks/detect/tokens.js';
import { patternFacts } from './open-pattern.js';

/** Characters of a text that are read at most. */
const maxText = 32 * 1024;
/** The longest first token of a kind; a longer one begins no value of it. */
const maxFirst = 160;
const classes = { digits: hasDigit, letters: hasLetter, code: hasDigit | hasLetter } as const;

/** One for all: it is used within one call. */
const tokens = new Tokens(maxText);

/** A kind's pattern that also matches the beginning of a value, at the end of the text. */
class OpenForm {
  readonly #pattern: RegExp;
  readonly #hasGroup: boolean;

  constructor({ source, flags }: RegExp) {
    this.#hasGroup = source.includes('(?<value>');
    const { open } = patternFacts(source, /[uv]/.test(flags));
    this.#pattern = new RegExp(`(?:${open})(?![^])`, this.#hasGroup ? `${flags}d` : flags);
  }

  /** Where the value begins; -1: there is none, or the words before it have just come. */
  at(text: string, start: number): number {
    this.#pattern.lastIndex = start;
    const match = this.#pattern.exec(text);
    if (match === null) return -1;
    return this.#hasGroup ? (match.indices?.groups?.['value']?.[0] ?? -1) : start;
  }
}

/** The same for a kind that searches by itself: the first place where one may have begun. */
class OpenSearch {
  readonly #pattern: RegExp;

  constructor({ source, flags }: RegExp) {
    const { open } = patternFacts(source, /[uv]/.test(flags));
    this.#pattern = new RegExp(`(?<![A-Za-z0-9])(?:${open})(?![^])`, `${flags.replace('y', '')}g`);
  }

  first(text: string, longest: number): number {
    this.#pattern.lastIndex = Math.max(0, text.length - longest);
    return this.#pattern.exec(text)?.index ?? -1;
  }
}

interface OpenKind {
  readonly kind: TokenKind;
  readonly form: OpenForm;
}

/** Finds out where a value of some kinds may have begun that a text does not end. */
export class OpenValues {
  readonly #kinds: readonly OpenKind[];
  readonly #searches: readonly { readonly kind: SearchKind; readonly form: OpenSearch | null }[];
  readonly #leads: string;
  readonly #worded: readonly OpenKind[];
  readonly #byWord = new Map<string, OpenKind[]>();
  /** Kinds by the class and the length of a first token: one that is whole, and one that may become longer. */
  readonly #whole = new Map<number, readonly OpenKind[]>();
  readonly #growing = new Map<number, readonly OpenKind[]>();

  constructor(kinds: readonly AnyKind[]) {
    this.#kinds = kinds
      .filter((kind): kind is TokenKind => !isSearchKind(kind))
      .map((kind) => ({ kind, form: new OpenForm(kind.pattern) }));
    this.#searches = kinds
      .filter(isSearchKind)
      .map((kind) => ({ kind, form: kind.form === undefined ? null : new OpenSearch(kind.form) }));
    this.#worded = this.#kinds.filter(({ kind }) => kind.words !== undefined);
    for (const one of this.#worded)
      for (const word of one.kind.words!) this.#byWord.set(word, [...(this.#byWord.get(word) ?? []), one]);
    this.#leads = this.#kinds.map(({ kind }) => kind.lead ?? '').join('');
  }

  /** The text's length: no value may have begun. At least `from`. */
  open(text: string, from: number): number {
    const plain = plainText(text);
    const first = this.#openIn(plain.text, from);
    if (!plain.hides) return first;
    const visible = new VisibleText(plain.text);
    const open = visible.placeOf(this.#openIn(visible.text, visible.indexOf(from)));
    return Math.max(from, Math.min(first, open));
  }

  #openIn(text: string, from: number): number {
    let first = text.length;
    if (text === '') return first;
    const note = (at: number): void => {
      if (at >= 0) first = Math.min(first, Math.max(from, at));
    };
    if (this.#leads.includes(text.at(-1)!)) note(text.length - 1);
    for (const { kind, form } of this.#searches) {
      if (form !== null) note(form.first(text, kind.longest));
      else note(kind.open?.(text, from) ?? lastRun(text, kind.longest));
    }
    this.#tokens(text, note);
    return first;
  }

  #tokens(text: string, note: (at: number) => void): void {
    const from = Math.max(0, text.length - maxText);
    tokens.read(text, from, text.length);
    const { starts, ends, masks, count } = tokens;
    for (let at = 0; at < count; at++) {
      const [start, end, mask] = [starts[at]!, ends[at]!, masks[at]!];
      for (const { kind, form } of this.#candidates(text, start, end, mask)) {
        if (text.length - start > kind.longest + 32) continue;
        if (end < text.length && kind.next !== undefined && !follows(kind.next, text[end]!)) continue;
        const isLed = kind.lead !== undefined;
        if (isLed && (start === 0 || !kind.lead.includes(text[start - 1]!))) continue;
        if (kind.inside !== true && joinedBefore(text, isLed ? start - 1 : start)) continue;
        note(form.at(text, isLed ? start - 1 : start));
      }
    }
  }

  #candidates(text: string, start: number, end: number, mask: number): readonly OpenKind[] {
    const length = end - start;
    const isGrowing = end === text.length;
    if (length > maxFirst) return [];
    const word = (mask & hasLetter) !== 0 && length < 32 ? text.slice(start, end).toLowerCase() : null;
    const own = (mask & hasDigit ? hasDigit : 0) | (mask & hasLetter ? hasLetter : 0);
    const isPlain = (mask & hasOther) === 0;
    const key = own * (maxFirst + 1) + length;
    const known = isGrowing ? this.#growing : this.#whole;
    let found = known.get(key);
    if (found === undefined) {
      found = this.#kinds.filter(({ kind }) =>
        kind.first.some(({ of, length: [from, to] }) => {
          const wanted = classes[of];
          if (isGrowing) return (own & ~wanted) === 0 && length <= to;
          return own === wanted && length >= from && length <= to;
        }),
      );
      known.set(key, found);
    }
    const byFirst = isPlain ? found : [];
    if (word === null) return byFirst;
    const byWord = isGrowing
      ? this.#worded.filter(({ kind }) => kind.words!.some((one) => one.startsWith(word)))
      : this.#byWord.get(word);
    return byWord === undefined || byWord.length === 0 ? byFirst : [...byFirst, ...byWord];
  }
}

/** Where the last run of characters begins that are no space. */
function lastRun(text: string, longest: number): number {
  const least = Math.max(0, text.length - longest);
  let at = text.length;
  while (at > least && !/\s/.test(text[at - 1]!)) at--;
  return at;
}

const follows = (wanted: string, after: string): boolean =>
  wanted === '' ? !'-_'.includes(after) : wanted.includes(after);

/** As the detector has it: a value is not the end of something longer. */
function joinedBefore(text: string, start: number): boolean {
  return start > 1 && '-._/\\@+'.includes(text[start - 1]!) && classOf(text.charCodeAt(start - 2)) !== 0;
}
