import type { BudgetDatabase, Step } from '../budgets/language.js';
import type { LedgerBatch } from '../ledger.js';
import { insertFeedbacks } from './feedbacks.js';
import { type GuardedRow, guardrailFeedback, mayHaveFeedback } from './guardrail-feedback.js';
import { placeFeedbacks, type TracePlace, type TraceStart } from './starts.js';

/** Statements over the rows that a transaction has just put in; `?1`: what `BatchRows.since` gave. */
export interface BatchRows {
  /** Conditions on `exchanges`. */
  readonly isNew: string;
  /** The field of the ledger that has feedback by guardrails; null: none. */
  readonly guardrailFeedback: string;
}

/** A statement for where traces begin: `traces` are conditions on `exchanges`. */
export const startsOf = (conditions: string): string => `
  SELECT org, workspace, trace, id, at FROM (
    SELECT org, workspace, coalesce(trace, id) AS trace, id, at,
      row_number() OVER (PARTITION BY org, workspace, coalesce(trace, id) ORDER BY at, id) AS place
    FROM exchanges WHERE ${conditions} AND workspace IS NOT NULL
  ) AS placed WHERE place = 1`;

/** Other nodes may put the first feedback in. What was missed until then is placed later. Milliseconds. */
const askAgainMs = 1000;

/** Lets feedback count at the rows of a batch, and takes in what guardrails gave: in the transaction of the batch. */
export class FeedbackPlacing {
  /** Once there is any, it is looked for in each batch. */
  #isAny = false;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(
    readonly database: Pick<BudgetDatabase, 'language'>,
    readonly batchRows: BatchRows,
    /** Where traces begin, as far as recent rows show. */
    readonly recentStarts: (step: Step, places: readonly TracePlace[]) => Promise<readonly TraceStart[]>,
    /** As for `placeFeedbacks`. */
    readonly placement: string,
  ) {}

  /** Is there anything to be done after the rows of this batch? Costs one look while there is no feedback at all. */
  async isWanted(step: Step, { settled, unknown }: LedgerBatch): Promise<boolean> {
    if (settled === null && unknown.length === 0) return false;
    if (this.#isAny || mayHaveFeedback(settled)) return true;
    const now = performance.now();
    if (now - this.#askedAt < askAgainMs) return false;
    this.#askedAt = now;
    this.#isAny = (await step('SELECT 1 FROM feedbacks LIMIT 1', [])).length > 0;
    return this.#isAny;
  }

  /** This process has put feedback in. */
  readonly added = (): void => {
    this.#isAny = true;
  };

  async after(step: Step, batch: LedgerBatch, since: readonly unknown[]): Promise<void> {
    const { isNew, guardrailFeedback: given } = this.batchRows;
    const now = Date.now();
    const starts = await step<TraceStart>(
      startsOf(
        `${isNew} AND EXISTS (SELECT 1 FROM feedbacks WHERE feedbacks.org = exchanges.org
          AND feedbacks.trace = coalesce(exchanges.trace, exchanges.id))`,
      ),
      since,
    );
    await placeFeedbacks(step, this.placement, starts, now);
    if (!mayHaveFeedback(batch.settled)) return;
    const rows = await step<GuardedRow>(
      `SELECT id, at, org, workspace, "key", coalesce(trace, id) AS trace, ${given} AS given FROM exchanges
        WHERE ${isNew} AND workspace IS NOT NULL AND ${given} IS NOT NULL`,
      since,
    );
    if (rows.length === 0) return;
    await insertFeedbacks(this.database, step, rows.flatMap(guardrailFeedback));
    const places = new Map(rows.map((row) => [`${row.workspace} ${row.trace}`, row]));
    await placeFeedbacks(step, this.placement, await this.recentStarts(step, [...places.values()]), now);
  }
}
