import { daysLater, nextPeriod, type Period } from '../text/calendar.js';
import type { PolicyCondition, PolicyKey } from './rate-rules.js';

/** What a budget counts: nanodollars, tokens, or requests. */
export type BudgetMeasure = 'cost' | 'tokens' | 'requests';

/** What a budget is set on. */
export type BudgetHolder = 'api_key' | 'workspace' | 'virtual_key' | 'integration' | 'usage_limits_policy';

/** Cost is counted in nanodollars, rounded up for each request: a number holds nine million dollars of them exactly. */
export const nanosPerDollar = 1_000_000_000;

/** When usage starts again. */
export interface BudgetPeriods {
  /** When the first period began, Unix milliseconds: the last reset by hand, else when its holder was created. */
  readonly since: number;
  /** End of the first period, Unix milliseconds; null: usage never starts again. */
  readonly nextResetAt: number | null;
  /** At most one of the two is set; neither, with `nextResetAt`: usage starts again once. */
  readonly periodicReset: Period | null;
  readonly periodicResetDays: number | null;
}

/** A budget as data workers apply it. */
export interface BudgetRule extends BudgetPeriods {
  /** Its name, the same on every node; begins with the organisation's id. Each period has a counter of its own. */
  readonly budget: string;
  readonly of: BudgetHolder;
  /** How messages name what it is set on: a name, a slug, or the id of a policy without a name. */
  readonly name: string;
  readonly measure: BudgetMeasure;
  /** Nanodollars, tokens or requests. */
  readonly limit: number;
  /** Usage at which an alert goes out, in the unit of the limit; null: no alert. */
  readonly threshold: number | null;
  /** Is it counted and reported only, and refuses nothing? */
  readonly shadow: boolean;
  /** Only requests with all of these metadata values count; absent: every request. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** A budget as administrators set it. Money in US dollars. */
export interface BudgetLimit {
  readonly type: BudgetMeasure;
  readonly creditLimit: number;
  readonly alertThreshold: number | null;
  readonly periodicReset: Period | null;
  readonly periodicResetDays: number | null;
  /** Unix milliseconds. */
  readonly nextUsageResetAt: number | null;
  readonly shadow?: boolean;
}

/** A usage-limits policy as data workers apply it: a budget for each combination of the values of its groups. */
export interface BudgetPolicy extends BudgetPeriods {
  readonly id: string;
  readonly organisationId: string;
  readonly name: string | null;
  /** All of them must hold. */
  readonly conditions: readonly PolicyCondition[];
  readonly groupBy: readonly PolicyKey[];
  readonly measure: BudgetMeasure;
  /** Nanodollars, tokens or requests. */
  readonly limit: number;
  readonly threshold: number | null;
  readonly shadow: boolean;
}

/** Unix milliseconds; `endsAt` null: it never ends. */
export interface BudgetPeriod {
  readonly startsAt: number;
  readonly endsAt: number | null;
}

/** The name of a budget. `valueKey`: of a policy, the values of its groups. */
export const budgetName = (
  organisationId: string,
  of: BudgetHolder,
  id: string,
  measure: BudgetMeasure,
  valueKey: string | null = null,
): string => `${organisationId}/${of}/${id}/${measure}${valueKey === null ? '' : `/${valueKey}`}`;

/** What a budget and a policy have in common: amounts in the unit that is counted, and the periods. */
export const budgetTermsOf = (
  { type, creditLimit, alertThreshold, periodicReset, periodicResetDays, ...limits }: BudgetLimit,
  since: number,
): BudgetPeriods & Pick<BudgetRule, 'measure' | 'limit' | 'threshold' | 'shadow'> => ({
  measure: type,
  limit: toUnits(type, creditLimit),
  threshold: alertThreshold === null ? null : toUnits(type, alertThreshold),
  shadow: limits.shadow ?? false,
  since,
  nextResetAt: limits.nextUsageResetAt,
  periodicReset,
  periodicResetDays,
});

/** Nanodollars of US dollars; tokens and requests as they are. */
export const toUnits = (measure: BudgetMeasure, amount: number): number =>
  measure === 'cost' ? Math.round(amount * nanosPerDollar) : amount;

/** US dollars of nanodollars; tokens and requests as they are. */
export const fromUnits = (measure: BudgetMeasure, amount: number): number =>
  measure === 'cost' ? amount / nanosPerDollar : amount;

/** `since`: the last reset by hand, else when its holder was created. Unix milliseconds. */
export const budgetRuleOf = (
  organisationId: string,
  of: BudgetHolder,
  id: string,
  name: string,
  limit: BudgetLimit,
  since: number,
): BudgetRule => ({
  budget: budgetName(organisationId, of, id, limit.type),
  of,
  name,
  ...budgetTermsOf(limit, since),
});

/** The period of a budget at a time: no one has to write down that a period has ended. */
export function periodAt(periods: BudgetPeriods, now: number): BudgetPeriod {
  const { since, nextResetAt } = periods;
  if (nextResetAt === null || now < nextResetAt) return { startsAt: since, endsAt: nextResetAt };
  let startsAt = nextResetAt;
  for (;;) {
    const endsAt = resetAfter(periods, startsAt);
    if (endsAt === null || now < endsAt) return { startsAt, endsAt };
    startsAt = endsAt;
  }
}

function resetAfter({ periodicReset, periodicResetDays }: BudgetPeriods, at: number): number | null {
  if (periodicReset !== null) return nextPeriod(periodicReset, at);
  return periodicResetDays === null ? null : daysLater(periodicResetDays, at);
}
