/** What the data workers ask of the counters of limits in the control process, and what these send to them. */

/** What a request takes of one rate limit. */
export interface Wanted {
  readonly counter: string;
  /** Milliseconds of its window; null: of requests under way at the same time. */
  readonly windowMs: number | null;
  readonly value: number;
  /** Requests or tokens. */
  readonly amount: number;
  /** false: the amount is a guess, for want of `max_tokens`, or nothing; where less is left, that is taken. One must be left. */
  readonly isBounded: boolean;
  readonly shadow: boolean;
}

/** What a request takes of one budget. */
export interface WantedBudget {
  readonly counter: string;
  readonly budget: string;
  /** Its period, Unix milliseconds; `endsAt` null: it never ends. */
  readonly startsAt: number;
  readonly endsAt: number | null;
  /** Nanodollars, tokens or requests, as are the amounts. */
  readonly limit: number;
  readonly amount: number;
  /** So much must be left; where less than `amount` is, that is taken. */
  readonly needed: number;
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
  /** Index of the limit that refused: of the rate limits, then of the budgets. */
  readonly refused: number;
  /** What is left of it. */
  readonly remaining: number;
  /** Milliseconds until there is room; null: never, the request is larger than the limit, or the budget never starts again. */
  readonly waitMs: number | null;
  /** Of a budget: what is used of it. */
  readonly used?: number;
}

/** Permits that were not used, or, below 0, what was used beyond those taken. */
export interface Back {
  readonly counter: string;
  /** Absent: of a rate limit. */
  readonly isBudget?: boolean;
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
      readonly question: {
        /** Process id of the worker, whose journal has what it used. */
        readonly pid: number;
        readonly wanted: readonly Wanted[];
        readonly budgets: readonly WantedBudget[];
        readonly back: readonly Back[];
      };
      /** Of the rate limits, then of the budgets. null: they cannot be checked, and none is to be passed over. */
      readonly answer: readonly Grant[] | LimitRefusal | null;
    };
  }

  interface SharedNews {
    /** From a worker, for what it was granted. */
    'limits-back': { readonly pid: number; readonly back: readonly Back[] };
    /** To the workers: give back what is left of this counter; each answers with `limits-back`. */
    'limits-recall': { readonly counter: string };
  }
}
