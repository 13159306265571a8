import { type BudgetDatabase, postgresLanguage, type Step } from '../budgets/language.js';
import { Feedbacks } from '../feedback/feedbacks.js';
import { FeedbackPlacing, startsOf } from '../feedback/placing.js';
import { startRows, startsEarlier, type TracePlace, type TraceStart } from '../feedback/starts.js';
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

/** Also records the days that feedback leaves: what analytics has made of them counts it. */
const placement = `WITH placed AS MATERIALIZED (
    SELECT feedbacks.id, feedbacks.row_at, start.id AS start_id, start.at AS start_at
    FROM feedbacks JOIN ${startRows(postgresLanguage)} ON ${startsEarlier} ORDER BY feedbacks.id FOR UPDATE OF feedbacks),
  noted AS (INSERT INTO feedback_moves (day)
    SELECT DISTINCT row_at / ${dayMs} FROM placed WHERE row_at / ${dayMs} <> start_at / ${dayMs})
  UPDATE feedbacks SET row_id = placed.start_id, row_at = placed.start_at, updated_at = ?2
  FROM placed WHERE feedbacks.id = placed.id`;

export const postgresFeedbacks = (database: BudgetDatabase, onAdd: () => void): Feedbacks =>
  new Feedbacks(database, (places) => find(() => 0)(database.read, places), placement, onAdd);

/** Rows of a batch are those of its transaction, on its days. */
export const postgresPlacing = (): FeedbackPlacing =>
  new FeedbackPlacing(
    { language: postgresLanguage },
    {
      isNew: 'tx = pg_current_xact_id() AND at >= ?1 AND at < ?2',
      guardrailFeedback: `(${restWithoutNul} -> 'stages' -> 'guardrails' ->> 'feedback')`,
    },
    find(() => Date.now() - recentDays * dayMs),
    placement,
  );
