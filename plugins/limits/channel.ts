/** What the data workers ask of the counters of limits in the control process, and what these send to them. */

/** What a request takes of one limit. */
export interface Wanted {
  readonly counter: string;
  /** Milliseconds of its window; null: of requests under way at the same time. */
  readonly windowMs: number | null;
  readonly value: number;
  /** Requests or tokens. */
  readonly amount: number;
  /** false: the amount is a guess, for want of `max_tokens`; where less is left, that is taken. */
  readonly isBounded: boolean;
  readonly shadow: boolean;
}

/** Permits of one counter in the hands of a data worker. */
export interface Grant {
  /** What the request may take of them. */
  readonly taken: number;
  /** For requests that follow. */
  readonly extra: number;
  /** The part of the window that they are counted in, and within which they are valid. */
  readonly slot: number;
  /** Milliseconds from the question on for which `extra` is valid; null: until it is asked back. */
  readonly validMs: number | null;
  /** false: of a limit in shadow mode, which would have refused. */
  readonly isWithin: boolean;
}

/** A limit that is looked at. */
export type Looked = Pick<Wanted, 'counter' | 'windowMs' | 'value'>;

export interface LimitRefusal {
  /** Index of the limit that refused. */
  readonly refused: number;
  /** What is left of it. */
  readonly remaining: number;
  /** Milliseconds until there is room; null: never, the request is larger than the limit. */
  readonly waitMs: number | null;
}

/** Permits that were not used, or, below 0, tokens used beyond those taken. */
export interface Back {
  readonly counter: string;
  readonly windowMs: number | null;
  readonly slot: number;
  readonly amount: number;
}

declare module '../../src/common/ipc/shared.js' {
  interface SharedQuestions {
    /** What is left of each; null: it cannot be found out. Takes nothing. */
    'limits-look': {
      readonly question: { readonly limits: readonly Looked[] };
      readonly answer: readonly (number | null)[];
    };
    /** All of them, or none. Permits of the same counters that are left go back with it. */
    'limits-take': {
      readonly question: { readonly wanted: readonly Wanted[]; readonly back: readonly Back[] };
      /** null: they cannot be checked, and none is to be passed over. */
      readonly answer: readonly Grant[] | LimitRefusal | null;
    };
  }

  interface SharedNews {
    /** From a worker, for what it was granted. */
    'limits-back': { readonly back: readonly Back[] };
    /** To the workers: give back what is left of this counter; each answers with `limits-back`. */
    'limits-recall': { readonly counter: string };
  }
}
