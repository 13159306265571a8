import type { Language } from '../budgets/language.js';

/** `weight`: in billionths, so that sums are exact. `row_id`, `row_at`: the request at which it counts. */
export const feedbackColumns = {
  id: 'text',
  org: 'text',
  workspace: 'text',
  trace: 'text',
  key: 'text',
  guardrail: 'text',
  value: 'integer',
  weight: 'integer',
  metadata: 'text',
  created_at: 'integer',
  updated_at: 'integer',
  row_id: 'text',
  row_at: 'integer',
} as const;

const mayBeNull: readonly string[] = ['key', 'guardrail', 'row_id', 'row_at'];

export const feedbackList = Object.keys(feedbackColumns)
  .map((name) => `"${name}"`)
  .join(', ');

/** The statements that make the table. */
export function createFeedbacks(language: Language): string {
  const lines = Object.entries(feedbackColumns).map(
    ([name, type]) => `"${name}" ${language[type]}${mayBeNull.includes(name) ? '' : ' NOT NULL'}`,
  );
  return `CREATE TABLE feedbacks (${lines.join(', ')}, PRIMARY KEY (id));
    CREATE INDEX feedbacks_trace ON feedbacks (org, trace);
    CREATE INDEX feedbacks_row ON feedbacks (org, row_id);
    CREATE INDEX feedbacks_row_at ON feedbacks (org, row_at);
    CREATE INDEX feedbacks_updated ON feedbacks (updated_at, id);
    CREATE INDEX feedbacks_unplaced ON feedbacks (created_at) WHERE row_id IS NULL;`;
}
