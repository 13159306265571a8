import { type BudgetDatabase, type Step, sqliteLanguage } from '../budgets/language.js';
import { partBits } from '../sqlite-schema.js';
import { Feedbacks } from './feedbacks.js';
import { FeedbackPlacing, startsOf } from './placing.js';
import { startRows, startsEarlier, type TracePlace, type TraceStart } from './starts.js';

/** Parts of the index over traces that are looked into for each batch: a million rows. */
const recentParts = 256;

/** `?1`: organisations, `?2`: traces, as JSON. The text is the same each time: the statement stays prepared. */
const starts = (parts: number): string => {
  const newest = `((SELECT max(seq) FROM exchanges) >> ${partBits})`;
  return startsOf(`+org IN (SELECT value FROM json_each(?1)) AND seq IN (
    WITH RECURSIVE part(number) AS (SELECT ${newest}
      UNION ALL SELECT number - 1 FROM part WHERE number > max(0, ${newest} - ${parts}))
    SELECT e.seq FROM json_each(?2) AS wanted CROSS JOIN part CROSS JOIN exchanges AS e
      WHERE e.seq >> ${partBits} = part.number AND e.trace = wanted.value AND e.trace IS NOT NULL
    UNION ALL SELECT seq FROM exchanges WHERE id IN (SELECT value FROM json_each(?2)) AND trace IS NULL)`);
};
const allStarts = starts(Number.MAX_SAFE_INTEGER);
const recentStarts = starts(recentParts);

const find =
  (statement: string) =>
  async (step: Step, places: readonly TracePlace[]): Promise<readonly TraceStart[]> =>
    places.length === 0
      ? []
      : step<TraceStart>(statement, [distinct(places, 'org'), distinct(places, 'trace')]);

const distinct = (places: readonly TracePlace[], name: keyof TracePlace): string =>
  JSON.stringify([...new Set(places.map((place) => place[name]))]);

const placement = `UPDATE feedbacks SET row_id = start.id, row_at = start.at, updated_at = ?2
  FROM ${startRows(sqliteLanguage)} WHERE ${startsEarlier}`;

export const sqliteFeedbacks = (database: BudgetDatabase, onAdd: () => void): Feedbacks =>
  new Feedbacks(database, (places) => find(allStarts)(database.read, places), placement, onAdd);

export const sqlitePlacing = (): FeedbackPlacing =>
  new FeedbackPlacing(
    { language: sqliteLanguage },
    { isNew: 'seq > ?1', guardrailFeedback: "rest ->> '$.stages.guardrails.feedback'" },
    find(recentStarts),
    placement,
  );
