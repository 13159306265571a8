/**
 * What a request adds to one budget; its intent has what was held back for it, its settlement what it used. The limit and the threshold are those that held at that
 * time: the ledger finds out in the transaction of the settlement whether they were reached.
 */
export type Charge = readonly [
  /** `BudgetRule.budget`. */
  budget: string,
  /** The period that it counts to, Unix milliseconds. */
  startsAt: number,
  /** null: the period never ends. */
  endsAt: number | null,
  /** Nanodollars, tokens or requests, as the budget counts. */
  limit: number,
  threshold: number | null,
  amount: number,
];

/** The counter of one period of a budget. */
export interface BudgetCounter {
  /** `BudgetRule.budget`. */
  readonly budget: string;
  /** Unix milliseconds. */
  readonly startsAt: number;
}

/** What was added to a counter; below 0: less was used than was charged before. */
export interface ChargedBudget extends BudgetCounter {
  readonly amount: number;
}

/** Amounts below are in the unit of the budget: nanodollars, tokens or requests. */
export interface CounterSums extends BudgetCounter {
  /** By the id of the node that served the requests. `resetsNode` has what resets took away, a number below 0. */
  readonly byNode: ReadonlyMap<string, number>;
}

/** No node has this id. */
export const resetsNode = '-';
