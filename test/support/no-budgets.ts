import type { LedgerBudgets } from '../../src/common/ledger/budgets.js';
import type { LedgerFeedbacks } from '../../src/common/ledger/logs/feedback.js';
import type { LogWriter } from '../../src/common/ledger/logs/log-writer.js';

/** A ledger in which nothing was used of any budget. */
export const noBudgets: LedgerBudgets = {
  sums: async () => [],
  usage: async () => [],
  ofPolicy: async () => ({ rows: [], total: 0 }),
  find: async () => null,
  reset: async () => 'missing',
  onReset() {},
  ended: async () => {},
  courses: async () => [],
};

/** The same with no feedback, which takes whatever it is given and keeps nothing. */
export const noFeedback: { readonly feedbacks: LedgerFeedbacks; readonly logWriter: LogWriter } = {
  feedbacks: {
    add: async () => {},
    update: async () => false,
    ofTrace: async () => [],
  },
  logWriter: { addRows: async ({ length }) => length, addBodies: async () => {} },
};
