import { hasDigit, hasLetter, type Tokens } from './tokens.js';

/** How far from a value its words may be. */
const maxTokensBefore = 8;
const maxCharsBefore = 80;
const maxTokensAfter = 4;
const maxCharsAfter = 30;

interface Phrase {
  /** The words after the first. */
  readonly rest: readonly string[];
  readonly owner: number;
}

const none: readonly number[] = [];

/** Finds out which kinds the words around a value speak of. */
export class ContextWords {
  readonly #phrases = new Map<string, Phrase[]>();
  /** Owners by token, for the part of the text that is read; those of an earlier part have an earlier number. */
  readonly #known: (readonly number[])[] = [];
  readonly #partOf: number[] = [];
  #part = 0;
  /** The part whose owners are `#present`. */
  #presentPart = -1;
  readonly #present = new Set<number>();
  /** The tokens of the last questions, and the answers. */
  #beforeToken = -1;
  #before: readonly number[] = none;
  #afterToken = -1;
  #after: readonly number[] = none;

  /** `owner`: any number by which `near` asks. */
  add(owner: number, phrases: readonly string[]): void {
    for (const phrase of phrases) {
      const [first = '', ...rest] = phrase.split(' ');
      const own = this.#phrases.get(first) ?? [];
      own.push({ rest, owner });
      this.#phrases.set(first, own);
    }
  }

  /** Another part of a text is read now. */
  reset(): void {
    this.#part++;
    this.#beforeToken = -1;
    this.#afterToken = -1;
  }

  /** Is a phrase of the owner anywhere in the part? Where it is not, no value of it has to be looked for. */
  present(owner: number, text: string, tokens: Tokens): boolean {
    if (this.#presentPart !== this.#part) {
      this.#presentPart = this.#part;
      this.#present.clear();
      for (let at = 0; at < tokens.count; at++) {
        if ((tokens.masks[at]! & hasLetter) === 0) continue;
        for (const each of this.#ownersAt(text, tokens, at)) this.#present.add(each);
      }
    }
    return this.#present.has(owner);
  }

  /** Is a phrase of the owner near the tokens from `first` to `last`? */
  near(owner: number, text: string, tokens: Tokens, first: number, last: number): boolean {
    return this.before(owner, text, tokens, first) || this.#ownersAfter(text, tokens, last).includes(owner);
  }

  /** Is one before the token `first`? */
  before(owner: number, text: string, tokens: Tokens, first: number): boolean {
    // Several kinds are tried at a token: the words before it are looked up once.
    if (this.#beforeToken !== first) {
      this.#beforeToken = first;
      this.#before = this.#ownersBefore(text, tokens, first, maxTokensBefore);
    }
    return this.#before.includes(owner);
  }

  /** Is one among the three tokens before the token `first`? */
  justBefore(owner: number, text: string, tokens: Tokens, first: number): boolean {
    return (
      this.before(owner, text, tokens, first) && this.#ownersBefore(text, tokens, first, 3).includes(owner)
    );
  }

  #ownersBefore(text: string, tokens: Tokens, first: number, most: number): readonly number[] {
    const { starts, masks } = tokens;
    const start = starts[first]!;
    let found: number[] | null = null;
    for (let at = first - 1; at >= 0 && at >= first - most; at--) {
      if (start - starts[at]! > maxCharsBefore) break;
      if ((masks[at]! & hasLetter) === 0) continue;
      const owners = this.#ownersAt(text, tokens, at);
      if (owners.length > 0) found = [...(found ?? []), ...owners];
    }
    return found ?? none;
  }

  #ownersAfter(text: string, tokens: Tokens, last: number): readonly number[] {
    if (this.#afterToken === last) return this.#after;
    const { starts, ends, masks, count } = tokens;
    const end = ends[last]!;
    let found: number[] | null = null;
    for (let at = last + 1; at < count && at <= last + maxTokensAfter; at++) {
      if (starts[at]! - end > maxCharsAfter || text.charCodeAt(starts[at]! - 1) === 10) break;
      if ((masks[at]! & hasLetter) === 0) continue;
      const owners = this.#ownersAt(text, tokens, at);
      if (owners.length > 0) found = [...(found ?? []), ...owners];
    }
    this.#afterToken = last;
    this.#after = found ?? none;
    return this.#after;
  }

  #ownersAt(text: string, tokens: Tokens, at: number): readonly number[] {
    if (this.#partOf[at] === this.#part) return this.#known[at]!;
    let owners = none;
    if ((tokens.masks[at]! & hasDigit) === 0 && tokens.ends[at]! - tokens.starts[at]! <= 32) {
      const phrases = this.#phrases.get(word(text, tokens, at));
      if (phrases !== undefined) {
        owners = phrases
          .filter(({ rest }) => rest.every((each, index) => word(text, tokens, at + 1 + index) === each))
          .map(({ owner }) => owner);
      }
    }
    this.#known[at] = owners;
    this.#partOf[at] = this.#part;
    return owners;
  }
}

const word = (text: string, tokens: Tokens, at: number): string =>
  at < tokens.count
    ? text.slice(tokens.starts[at]!, Math.min(tokens.ends[at]!, tokens.starts[at]! + 33)).toLowerCase()
    : '';
