import { type Language, rowsParameter, type Step } from '../budgets/language.js';

export interface TracePlace {
  readonly org: string;
  readonly workspace: string;
  readonly trace: string;
}

export interface TraceStart extends TracePlace {
  readonly id: string;
  readonly at: number;
}

const columns = { org: 'text', workspace: 'text', trace: 'text', id: 'text', at: 'integer' } as const;

/** The table `start` of `placeFeedbacks`. */
export const startRows = ({ rowsOf }: Language): string => `${rowsOf('?1', columns)} AS start`;

/** Condition: feedback of the trace counts at a later request than `start` so far, or at none. */
export const startsEarlier = `feedbacks.org = start.org AND feedbacks.trace = start.trace
  AND feedbacks.workspace = start.workspace AND (feedbacks.row_at IS NULL OR start.at < feedbacks.row_at
    OR (start.at = feedbacks.row_at AND start.id < feedbacks.row_id))`;

/**
 * Lets feedback count at the request that its trace begins with, where that is an earlier one than so far. `placement`: the statement;
 * `?1`: `startRows`, `?2`: Unix milliseconds.
 */
export async function placeFeedbacks(
  step: Step,
  placement: string,
  starts: readonly TraceStart[],
  now: number,
): Promise<void> {
  if (starts.length === 0) return;
  const rows = starts.map(({ org, workspace, trace, id, at }) => [org, workspace, trace, id, at]);
  await step(placement, [rowsParameter(rows), now]);
}
