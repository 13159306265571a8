import type { BudgetHolder, BudgetMeasure } from './budget-rules.js';

/** What `budgetName` made a name of. */
export interface BudgetParts {
  readonly organisationId: string;
  readonly of: BudgetHolder;
  readonly id: string;
  readonly measure: BudgetMeasure;
  readonly valueKey: string | null;
}

const holders: ReadonlySet<string> = new Set<BudgetHolder>([
  'api_key',
  'workspace',
  'virtual_key',
  'integration',
  'usage_limits_policy',
]);
const measures: ReadonlySet<string> = new Set<BudgetMeasure>(['cost', 'tokens', 'requests']);

/** null: this is no name of a budget. Ids have no slash; a value key may. */
export function budgetParts(budget: string): BudgetParts | null {
  const [organisationId = '', of = '', id = '', measure = '', ...values] = budget.split('/');
  if (!holders.has(of) || !measures.has(measure)) return null;
  return {
    organisationId,
    of: of as BudgetHolder,
    id,
    measure: measure as BudgetMeasure,
    valueKey: values.length === 0 ? null : values.join('/'),
  };
}
