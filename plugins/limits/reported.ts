import type { BudgetRule } from '../../src/common/core/budget-rules.js';
import type { RateRule } from '../../src/common/core/rate-rules.js';

export const longestField = 256;

export const described = ({ of, name, measure, ...rule }: RateRule | BudgetRule): string =>
  `${of} ${name} ${measure}${'unit' in rule && rule.unit !== null ? ` ${rule.unit}` : ''}`.slice(
    0,
    longestField,
  );

export function count(counts: Map<string, number>, { of, measure }: RateRule | BudgetRule): void {
  const key = `${of} ${measure}`;
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

export const metricsOf = (name: string, counts: ReadonlyMap<string, number>) =>
  [...counts].map(([key, value]) => {
    const [on = '', type = ''] = key.split(' ');
    return { name, labels: { policy_type: type, on }, value };
  });
