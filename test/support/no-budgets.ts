import type { LedgerBudgets } from '../../src/common/ledger/budgets.js';

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
