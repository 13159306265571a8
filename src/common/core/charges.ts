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
