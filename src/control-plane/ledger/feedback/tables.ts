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

/**
 * In SQLite: which feedback was changed, in the order of the changes, for analytics. Times are not enough for that: a clock may be
 * set back, and a change may wait for its turn. A number is never used twice, so a reader misses no change. Feedback that was
 * stored before this table existed is in it too.
 */
export const hasFeedbackChanges = "SELECT 1 FROM sqlite_master WHERE name = 'feedback_changes'";
const noteChange =
  'DELETE FROM feedback_changes WHERE id = NEW.id; INSERT INTO feedback_changes (id) VALUES (NEW.id);';
/** As `sqlite_master` has them. A ledger with any other trigger was altered. */
export const feedbackTriggers: readonly string[] = [
  `CREATE TRIGGER feedbacks_added AFTER INSERT ON feedbacks BEGIN ${noteChange} END`,
  `CREATE TRIGGER feedbacks_changed AFTER UPDATE ON feedbacks BEGIN ${noteChange} END`,
  `CREATE TRIGGER feedbacks_deleted AFTER DELETE ON feedbacks
    BEGIN DELETE FROM feedback_changes WHERE id = OLD.id; END`,
];
export const createFeedbackChanges = `
  CREATE TABLE feedback_changes (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE);
  INSERT INTO feedback_changes (id) SELECT id FROM feedbacks;
  ${feedbackTriggers.join(';')};`;
