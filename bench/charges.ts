import { budgetName } from '../src/common/core/budget-rules.js';
import type { Charge } from '../src/common/core/charges.js';
import { org } from '../test/fault/journal-records.js';

const startsAt = Date.UTC(2026, 0, 1);
const endsAt = Date.UTC(2100, 0, 1);
const budgets = ['api_key', 'workspace', 'virtual_key', 'integration', 'usage_limits_policy'] as const;
const id = 'a1b5c2de-0000-4000-8000-00000000000';

/** Charges of so many budgets, at most five; the last is one of a thousand values of a policy, unless all are `plain`. null: none. */
export function chargesOf(request: number, count: number, plain = false): Charge[] | null {
  if (count === 0) return null;
  return (plain ? budgets.slice(0, count) : budgets.slice(-count)).map((of, i) => {
    const value = of === 'usage_limits_policy' ? `user:${request % 1000}` : null;
    return [budgetName(org, of, `${id}${i}`, 'cost', value), startsAt, endsAt, 9e15, null, 1_234_567];
  });
}
