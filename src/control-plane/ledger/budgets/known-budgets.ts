import { LRUCache } from 'lru-cache';
import { budgetParts } from '../../../common/core/budget-name.js';
import { budgetId, type CounterRow } from './counter-rows.js';

/** What a row of `budget_counters` has of its budget, in every period. */
export type NamedBudget = Pick<
  CounterRow,
  'id' | 'org' | 'budget' | 'holder' | 'holder_id' | 'value_key' | 'measure'
>;

export interface KnownBudget {
  readonly name: NamedBudget;
  /** Ends of the periods whose row was written once, by their starts: it is likely to be there. */
  readonly written: Map<number, number | null>;
}

/** Of all names that are kept, in characters; a policy has a name for each value. */
const longestNames = 8 * 1024 * 1024;
/** What one takes beside its texts. */
const leastLength = 256;
/** Periods of one budget that are kept: requests of an earlier one end a little later. */
const mostPeriods = 4;

/** Budgets that were charged lately: what their names mean, and which rows they have. Bounded. */
export class KnownBudgets {
  readonly #budgets = new LRUCache<string, KnownBudget>({
    maxSize: longestNames,
    // The name is its key, and in `name` once more with its parts.
    sizeCalculation: (_, budget) => leastLength + 2 * budget.length,
  });

  /** null: this is no name of a budget. */
  get(budget: string): KnownBudget | null {
    let found = this.#budgets.get(budget);
    if (found === undefined) {
      const name = namedBudget(budget);
      if (name === null) return null;
      found = { name, written: new Map() };
      this.#budgets.set(budget, found);
    }
    return found;
  }
}

export function markWritten({ written }: KnownBudget, startsAt: number, endsAt: number | null): void {
  if (written.size >= mostPeriods && !written.has(startsAt)) written.clear();
  written.set(startsAt, endsAt);
}

function namedBudget(budget: string): NamedBudget | null {
  const parts = budgetParts(budget);
  if (parts === null) return null;
  const { organisationId: org, of: holder, id: holderId, valueKey, measure } = parts;
  return {
    ...{ id: budgetId(budget), org, budget, holder },
    ...{ holder_id: holderId, value_key: valueKey, measure },
  };
}
