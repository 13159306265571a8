/** What a kind's first token may be: a run of letters and digits. */
export interface FirstToken {
  readonly of: 'digits' | 'letters' | 'code';
  /** Its length, from and to. */
  readonly length: readonly [number, number];
}

/** A first token of digits only. */
export const digits = (from: number, to = from): FirstToken => ({ of: 'digits', length: [from, to] });
/** A first token of ASCII letters only. */
export const letters = (from: number, to = from): FirstToken => ({ of: 'letters', length: [from, to] });
/** A first token of ASCII letters and digits, at least one of each. */
export const code = (from: number, to = from): FirstToken => ({ of: 'code', length: [from, to] });

/** Where a value was found. */
export interface Place {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** One of the kind's `near` words is before or after the value. */
  readonly named: boolean;
}

/** A kind of value that is found by its form. */
export interface ValueKind {
  /** As in a guardrail's categories, and in its placeholders: `{{US_EIN_1}}`. */
  readonly id: string;
  /** For people: `US employer identification number`. */
  readonly title: string;
  /** A made-up value, with the words around it that it needs. */
  readonly example: string;
  /** Characters of the longest value. A stream must hold back as many to see each whole. */
  readonly longest: number;
}

/** A kind whose value begins with a token that `first` describes. */
export interface TokenKind extends ValueKind {
  readonly first: readonly FirstToken[];
  /** Or its first token is one of these words, in lower case. */
  readonly words?: readonly string[];
  /** Characters of which one must follow the first token; '': none, its value is one token. Absent: any. */
  readonly next?: string;
  /** A character before the first token that belongs to the value. */
  readonly lead?: string;
  /** Sticky. A group named `value` is the value, and ends the match; without one, the whole match is. Must be linear in `longest`. */
  readonly pattern: RegExp;
  /** Words, or phrases of words, in lower case, of which one is near the value. */
  readonly near?: readonly string[];
  /** 'always': a value without one of the words near it is not found; 'before': nor one with words after it only. */
  readonly needs?: 'always' | 'before';
  /** Words, in lower case, that make it something else where one is among the three before the value. */
  readonly unless?: readonly string[];
  /** The value may be part of a longer run, as in `KEY=value` or `a/value`; the pattern decides alone. */
  readonly inside?: true;
  valid?(value: string, place: Place): boolean;
}

/** A kind that searches the text by itself. */
export interface SearchKind extends ValueKind {
  /** Sticky: what every value of it looks like, after a character that is no letter or digit. */
  readonly form?: RegExp;
  /** For one that has no such form: from where on, but not before `from`, a value may begin that the text does not end. */
  open?(text: string, from: number): number;
  /** Reports values that start in the text from `from` to `to`; it may read `longest` characters beyond. */
  search(text: string, from: number, to: number, found: (start: number, end: number) => void): void;
}

export type AnyKind = TokenKind | SearchKind;

export const isSearchKind = (kind: AnyKind): kind is SearchKind => 'search' in kind;

/** A value that was found. `start` and `end` are indexes of characters (UTF-16 units). */
export interface DetectedValue {
  readonly kind: ValueKind;
  readonly start: number;
  readonly end: number;
  /** Other kinds of which there are values in it. */
  readonly alsoOf?: readonly ValueKind[];
}

/** The kinds of a value that was found, each id once. */
export const idsOf = ({ kind, alsoOf = [] }: DetectedValue): readonly string[] =>
  alsoOf.length === 0 ? [kind.id] : [...new Set([kind.id, ...alsoOf.map(({ id }) => id)])];
