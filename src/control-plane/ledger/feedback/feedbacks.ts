import type { FeedbackChange, LedgerFeedbacks, TraceFeedback } from '../../../common/ledger/logs/feedback.js';
import { type BudgetDatabase, rowsParameter, type Step } from '../budgets/language.js';
import { placeFeedbacks, type TracePlace, type TraceStart } from './starts.js';
import { feedbackColumns, feedbackList } from './tables.js';

const wholeWeight = 1_000_000_000;

interface FeedbackRow {
  readonly id: string;
  readonly org: string;
  readonly workspace: string;
  readonly trace: string;
  readonly key: string | null;
  readonly guardrail: string | null;
  readonly value: number;
  readonly weight: number;
  /** JSON. */
  readonly metadata: string;
  readonly created_at: number;
  readonly updated_at: number;
  readonly row_id: string | null;
  readonly row_at: number | null;
}

const toRow = (given: TraceFeedback): unknown[] => [
  given.id,
  given.org,
  given.workspace,
  given.trace,
  given.key,
  given.guardrail,
  given.value,
  Math.round(given.weight * wholeWeight),
  JSON.stringify(given.metadata),
  given.createdAt,
  given.updatedAt,
  given.rowId,
  given.rowAt,
];

const fromRow = (row: FeedbackRow): TraceFeedback => ({
  id: row.id,
  org: row.org,
  workspace: row.workspace,
  trace: row.trace,
  key: row.key,
  guardrail: row.guardrail,
  value: Number(row.value),
  weight: Number(row.weight) / wholeWeight,
  metadata: JSON.parse(row.metadata),
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  rowId: row.row_id,
  rowAt: row.row_at === null ? null : Number(row.row_at),
});

/** The earliest request of each of these traces that has one. */
export type FindStarts = (traces: readonly TracePlace[]) => Promise<readonly TraceStart[]>;

/** Puts feedback in; one whose id is there already stays. */
export async function insertFeedbacks(
  { language }: Pick<BudgetDatabase, 'language'>,
  step: Step,
  feedbacks: readonly TraceFeedback[],
): Promise<void> {
  if (feedbacks.length === 0) return;
  await step(
    `INSERT INTO feedbacks (${feedbackList}) SELECT ${feedbackList} FROM ${language.rowsOf('?1', feedbackColumns)} AS given
      WHERE true ON CONFLICT (id) DO NOTHING`,
    [rowsParameter(feedbacks.map(toRow))],
  );
}

/** Unplaced feedback that is looked for again: its trace may have had no request at that time. Milliseconds. */
const unplacedForMs = 24 * 3_600_000;
const mostUnplaced = 500;

/** TraceFeedback, in either database. `starts`: finds where traces begin, without a lock. */
export class Feedbacks implements LedgerFeedbacks {
  constructor(
    readonly database: BudgetDatabase,
    readonly starts: FindStarts,
    /** As for `placeFeedbacks`. */
    readonly placement: string,
    /** Called before there is feedback that requests to come have to find. */
    readonly onAdd: () => void,
  ) {}

  async add(feedbacks: readonly TraceFeedback[]): Promise<void> {
    this.onAdd();
    await this.database.transaction((step) => insertFeedbacks(this.database, step, feedbacks));
    // After the commit: a request that comes in from now on finds its feedback by itself.
    await this.#place(feedbacks);
  }

  async #place(places: readonly TracePlace[]): Promise<void> {
    const distinct = new Map(places.map((place) => [`${place.workspace} ${place.trace}`, place]));
    const starts = await this.starts([...distinct.values()]);
    if (starts.length === 0) return;
    await this.database.transaction((step) => placeFeedbacks(step, this.placement, starts, Date.now()));
  }

  /** Places what came before its request, and was missed since both were written at the same time. */
  async placeMissed(now: number): Promise<void> {
    const missed = await this.database.read<TracePlace>(
      `SELECT org, workspace, trace FROM feedbacks WHERE row_id IS NULL AND created_at > ?1
        ORDER BY created_at DESC LIMIT ${mostUnplaced}`,
      [now - unplacedForMs],
    );
    if (missed.length > 0) await this.#place(missed);
  }

  /** All there are, in batches, as another ledger takes them over. Nothing may change them meanwhile. */
  async *all(): AsyncIterable<readonly TraceFeedback[]> {
    for (let after = ''; ; ) {
      const rows = await this.database.read<FeedbackRow>(
        `SELECT ${feedbackList} FROM feedbacks WHERE id > ?1 ORDER BY id LIMIT 2000`,
        [after],
      );
      if (rows.length === 0) return;
      yield rows.map(fromRow);
      after = rows.at(-1)!.id;
    }
  }

  /** Puts feedback of another ledger in, as it is there. */
  take(feedbacks: readonly TraceFeedback[]): Promise<void> {
    this.onAdd();
    return this.database.transaction((step) => insertFeedbacks(this.database, step, feedbacks));
  }

  async update(org: string, workspace: string, id: string, change: FeedbackChange): Promise<boolean> {
    const { value, weight, metadata } = change;
    const changed = await this.database.transaction((step) =>
      step(
        `UPDATE feedbacks SET value = ?4, weight = coalesce(?5, weight), metadata = coalesce(?6, metadata), updated_at = ?7
          WHERE id = ?1 AND org = ?2 AND workspace = ?3 AND guardrail IS NULL RETURNING id`,
        [
          id,
          org,
          workspace,
          value,
          weight === undefined ? null : Math.round(weight * wholeWeight),
          metadata === undefined ? null : JSON.stringify(metadata),
          Date.now(),
        ],
      ),
    );
    return changed.length > 0;
  }

  async ofTrace(org: string, workspace: string, trace: string): Promise<readonly TraceFeedback[]> {
    const rows = await this.database.read<FeedbackRow>(
      `SELECT ${feedbackList} FROM feedbacks WHERE org = ?1 AND trace = ?2 AND workspace = ?3
        ORDER BY created_at, id LIMIT 1000`,
      [org, trace, workspace],
    );
    return rows.map(fromRow);
  }
}
