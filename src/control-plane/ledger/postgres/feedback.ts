import { type BudgetDatabase, postgresLanguage, type Step } from '../budgets/language.js';
import { Feedbacks, type TracePlace, type TraceStart } from '../feedback/feedbacks.js';
import { FeedbackPlacing, startsOf } from '../feedback/placing.js';
import { dayMs } from './schema.js';
import { kept, restWithoutNul } from './search.js';

/** Days whose partitions are looked into for each batch. */
const recentDays = 3;

const find =
  (since: () => number) =>
  async (step: Step, places: readonly TracePlace[]): Promise<readonly TraceStart[]> => {
    if (places.length === 0) return [];
    const distinct = (name: keyof TracePlace): string[] => [
      ...new Set(places.map((place) => kept(place[name]))),
    ];
    return step<TraceStart>(
      startsOf(`org = ANY (?1::text[]) AND at >= ?3
        AND (trace = ANY (?2::text[]) OR (id = ANY (?2::text[]) AND trace IS NULL))`),
      [distinct('org'), distinct('trace'), since()],
    );
  };

export const postgresFeedbacks = (database: BudgetDatabase, onAdd: () => void): Feedbacks =>
  new Feedbacks(database, (places) => find(() => 0)(database.read, places), onAdd);

/** Rows of a batch are those of its transaction, on its days. */
export const postgresPlacing = (): FeedbackPlacing =>
  new FeedbackPlacing(
    { language: postgresLanguage },
    {
      isNew: 'tx = pg_current_xact_id() AND at >= ?1 AND at < ?2',
      guardrailFeedback: `(${restWithoutNul} -> 'stages' -> 'guardrails' ->> 'feedback')`,
    },
    find(() => Date.now() - recentDays * dayMs),
  );
