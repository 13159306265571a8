import type {
  CreateUsageLimitsPolicyRequest,
  ListUsageLimitsEntitiesRequest,
  UsageLimitsPolicy as PolicyMessage,
  UpdateUsageLimitsPolicyRequest,
} from '../../../../../proto/messages.js';
import { type BudgetPeriod, budgetName, toUnits } from '../../../../common/core/budget-rules.js';
import type { Forget } from '../../../../common/ipc/messages.js';
import type { BudgetUsageRow } from '../../../../common/ledger/budgets.js';
import { broughtTo, currentPeriod, nextResetOf } from '../../../store/records/budget-periods.js';
import type { Listed, NewUsageLimitsPolicy, Page, UsageLimitsPolicy } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { AdminError } from '../../admin-error.js';
import { changeOf, setOf } from '../../audit/mask.js';
import { msOf, pageOf, timeOrNull } from '../../grpc/wire.js';
import { inSight, settled } from '../../records.js';
import type { AdminParts, Service } from '../../service.js';
import { BudgetStates, type CounterState } from '../../usage/budget-states.js';
import { checkExact, stateMessage } from './limits.js';
import { conditionsOf, groupsOf, noteOf, policyMessage } from './policies.js';

/** Counters that an answer with include_usage has at most. */
const mostCounters = 1000;
const fewestTokens = 100;

type Budget = Pick<
  NewUsageLimitsPolicy,
  'creditLimit' | 'alertThreshold' | 'periodicReset' | 'periodicResetDays' | 'nextUsageResetAt'
>;

type Counter = CounterState & { readonly row: BudgetUsageRow };

const toMessage = (
  policy: UsageLimitsPolicy,
  now: number,
  counters: readonly Counter[] = [],
): PolicyMessage => {
  const { startsAt, endsAt } = periodOfPolicy(policy, now);
  return {
    ...policyMessage(policy),
    type: policy.type,
    credit_limit: policy.creditLimit,
    alert_threshold: policy.alertThreshold,
    periodic_reset: policy.periodicReset,
    periodic_reset_days: policy.periodicResetDays,
    next_usage_reset_at: timeOrNull(endsAt),
    last_reset_at: timeOrNull(startsAt === policy.createdAt ? null : startsAt),
    object: 'policy_usage_limits',
    shadow: policy.shadow,
    value_key_usage_map: Object.fromEntries(
      counters.map((counter) => [counter.row.valueKey ?? '', stateMessage(counter)]),
    ),
  };
};

const periodOfPolicy = (policy: UsageLimitsPolicy, now: number): BudgetPeriod =>
  currentPeriod(policy, policy.createdAt, now);

function checkAmounts(type: UsageLimitsPolicy['type'], { creditLimit, alertThreshold }: Budget): void {
  if (type === 'tokens' && creditLimit < fewestTokens)
    throw AdminError.field('credit_limit', `must be at least ${fewestTokens} tokens.`);
  if (type !== 'cost' && !Number.isInteger(creditLimit))
    throw AdminError.field('credit_limit', `must be a whole number of ${type}.`);
  checkExact(type, creditLimit, 'credit_limit');
  if (alertThreshold !== null && alertThreshold >= creditLimit)
    throw AdminError.field('alert_threshold', 'must be below credit_limit.');
}

function periodOf(
  reset: Budget['periodicReset'],
  days: number | null,
): Pick<Budget, 'periodicReset' | 'periodicResetDays'> {
  if (reset !== null && days !== null)
    throw AdminError.field('periodic_reset_days', 'does not go together with periodic_reset.');
  return { periodicReset: reset, periodicResetDays: days };
}

function timeToCome(time: string, now: number): number {
  const at = msOf(time)!;
  if (at <= now) throw AdminError.field('next_usage_reset_at', 'must be in the future.');
  return at;
}

function budgetOf(request: CreateUsageLimitsPolicyRequest, now: number): Budget {
  const period = periodOf(request.periodic_reset || null, request.periodic_reset_days ?? null);
  const { next_usage_reset_at: next } = request;
  return {
    creditLimit: request.credit_limit,
    alertThreshold: request.alert_threshold ?? null,
    ...period,
    nextUsageResetAt: next ? timeToCome(next, now) : nextResetOf(period, now),
  };
}

/** Another period takes the place of the one before, and its first reset is computed again unless it is given. */
function budgetAfter(
  stored: UsageLimitsPolicy,
  request: UpdateUsageLimitsPolicyRequest,
  now: number,
): Budget & Pick<UsageLimitsPolicy, 'lastResetAt'> {
  const before = broughtTo(stored, stored.createdAt, now);
  const threshold = changeOf(request, 'alert_threshold');
  const [reset, days] = [changeOf(request, 'periodic_reset'), changeOf(request, 'periodic_reset_days')];
  const next = changeOf(request, 'next_usage_reset_at');
  const period = periodOf(
    reset === undefined ? (days ? null : before.periodicReset) : reset || null,
    days === undefined ? (reset ? null : before.periodicResetDays) : days,
  );
  const isOther =
    period.periodicReset !== before.periodicReset || period.periodicResetDays !== before.periodicResetDays;
  const usual = isOther || next === null ? nextResetOf(period, now) : before.nextUsageResetAt;
  return {
    creditLimit: setOf(request, 'credit_limit') ?? before.creditLimit,
    alertThreshold: threshold === undefined ? before.alertThreshold : threshold,
    ...period,
    nextUsageResetAt: next ? timeToCome(next, now) : usual,
    lastResetAt: before.lastResetAt,
  };
}

/** What data workers have of the policies of its workspace. */
const inForce = ({ workspaceId }: UsageLimitsPolicy): Forget => ({
  kind: 'policies',
  workspace: workspaceId,
  name: '*',
});

/** Budgets over requests that share something. */
export function usageLimitsPoliciesService({
  store,
  budgets,
  answered,
}: AdminParts): Service<'UsageLimitsPolicies'> {
  const policies = store.usageLimitsPolicies;
  const states = new BudgetStates(budgets);

  /** Its counters in the period of now. */
  async function countersOf(
    policy: UsageLimitsPolicy,
    { status, search }: Pick<ListUsageLimitsEntitiesRequest, 'status' | 'search'>,
    page: Page,
    now: number,
  ): Promise<Listed<Counter>> {
    const { organisationId, id, type, creditLimit } = policy;
    const limit = toUnits(type, creditLimit);
    const filter = { ...(status && { status: { is: status, limit } }), ...(search && { search }) };
    const { startsAt } = periodOfPolicy(policy, now);
    const { total, rows } = await budgets.ofPolicy(organisationId, id, startsAt, filter, page);
    return { total, rows: await states.ofRows(organisationId, policy, rows, now) };
  }

  /** Sets a counter to 0, in the period of now. false: there is none. What was used before is counted before. */
  async function setBack(policy: UsageLimitsPolicy, budget: string): Promise<boolean> {
    await answered?.();
    const now = Date.now();
    const { startsAt } = periodOfPolicy(policy, now);
    return (await budgets.reset(policy.organisationId, { budget, startsAt }, now)) !== 'missing';
  }

  async function found(
    caller: Caller,
    { id, workspace_id }: { readonly id: string; readonly workspace_id?: string | null },
    status?: UsageLimitsPolicy['status'],
  ): Promise<UsageLimitsPolicy> {
    const policy = await policies.get(caller.organisationId, id);
    const isWanted = status === undefined || policy?.status === status;
    return inSight(caller, workspace_id, isWanted ? policy : null, 'policy');
  }

  return {
    async CreateUsageLimitsPolicy(caller, request) {
      const budget = budgetOf(request, Date.now());
      checkAmounts(request.type, budget);
      const made = await policies.create(await caller.place(request.workspace_id), {
        name: noteOf(request.name) ?? null,
        description: noteOf(request.description) ?? null,
        conditions: conditionsOf(request.conditions, 'budget'),
        groupBy: groupsOf(request.group_by, 'budget'),
        type: request.type,
        ...budget,
        shadow: request.shadow ?? false,
      });
      if (made === 'missing') throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
      caller.changed(made, [inForce(made)]);
      return { id: made.id, object: 'policy_usage_limits' };
    },

    async ListUsageLimitsPolicies(caller, request) {
      const place = await caller.place(request.workspace_id, { archived: true });
      const filter = {
        status: request.status || 'active',
        search: request.search || undefined,
        type: request.type || undefined,
      } as const;
      const { total, rows } = await policies.list(place, filter, pageOf(request));
      return { object: 'list', total, data: rows.map((policy) => toMessage(policy, Date.now())) };
    },

    async GetUsageLimitsPolicy(caller, request) {
      const policy = await found(caller, request, request.status || 'active');
      const now = Date.now();
      if (request.include_usage !== true) return toMessage(policy, now);
      const { rows } = await countersOf(policy, {}, { offset: 0, limit: mostCounters }, now);
      return toMessage(policy, now, rows);
    },

    async UpdateUsageLimitsPolicy(caller, request) {
      const before = await found(caller, request);
      const budget = budgetAfter(before, request, Date.now());
      checkAmounts(before.type, budget);
      const conditions = setOf(request, 'conditions');
      const policy = await policies.update(caller.organisationId, before.id, {
        name: noteOf(changeOf(request, 'name')),
        description: noteOf(changeOf(request, 'description')),
        conditions: conditions && conditionsOf(conditions, 'budget'),
        status: setOf(request, 'status'),
        ...budget,
        shadow: setOf(request, 'shadow'),
        etag: request.etag ?? undefined,
      });
      const changed = settled(policy, 'policy');
      caller.changed(changed, [inForce(changed)]);
      const { reset_usage_for_value: value } = request;
      if (value && !(await setBack(changed, budgetOfValue(changed, value))))
        throw new AdminError(
          'AB02',
          'reset_usage_for_value must be a value_key of GET …/entities, such as metadata.team:red.',
        );
      return {};
    },

    async DeleteUsageLimitsPolicy(caller, request) {
      const { id } = await found(caller, request, 'active');
      const change = { status: 'archived', etag: request.etag ?? undefined } as const;
      const archived = settled(await policies.update(caller.organisationId, id, change), 'policy');
      caller.changed(archived, [inForce(archived)]);
      return {};
    },

    async ListUsageLimitsEntities(caller, request) {
      const policy = await found(caller, request);
      const { total, rows } = await countersOf(policy, request, pageOf(request), Date.now());
      const data = rows.map((counter) => {
        const { current_usage, status, projected_usage, projected_exhausted_at } = stateMessage(counter);
        const { id, valueKey } = counter.row;
        const value_key = valueKey ?? '';
        return { id, value_key, current_usage, status, projected_usage, projected_exhausted_at };
      });
      return { object: 'list', total, data };
    },

    async ResetUsageLimitsEntity(caller, request) {
      const policy = await found(caller, request);
      const { organisationId, id } = policy;
      const { startsAt } = periodOfPolicy(policy, Date.now());
      const counter = await budgets.find(organisationId, id, startsAt, request.entity_id);
      if (counter === null || !(await setBack(policy, counter.budget)))
        throw new AdminError('AB08', 'There is no such counter.');
      caller.changed(policy);
      return {};
    },
  };
}

const budgetOfValue = ({ organisationId, id, type }: UsageLimitsPolicy, valueKey: string): string =>
  budgetName(organisationId, 'usage_limits_policy', id, type, valueKey);
