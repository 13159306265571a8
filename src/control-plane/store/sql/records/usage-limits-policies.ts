import { randomUUID } from 'node:crypto';
import { type BudgetPolicy, budgetTermsOf } from '../../../../common/core/budget-rules.js';
import type { Listed, Page, Place } from '../../records/place.js';
import type { PolicyFilter } from '../../records/policies.js';
import type {
  EntityFilter,
  NewUsageLimitsPolicy,
  UsageLimitsEntity,
  UsageLimitsPolicy,
  UsageLimitsPolicyChange,
  UsageLimitsPolicyStore,
} from '../../records/usage-limits-policies.js';
import type { Database, Sql, Transaction } from '../connection/driver.js';
import { containing, listed, newestFirst } from '../lists.js';
import { isCurrent, replaceRow } from '../revision.js';
import { changedPolicy, fromPolicyRow, type PolicyRow, toPolicyRow, wantedPolicies } from './policies.js';
import { hasWorkspace } from './workspaces.js';

interface UsageLimitsPolicyRow extends PolicyRow {
  readonly type: UsageLimitsPolicy['type'];
  readonly credit_limit: number;
  readonly alert_threshold: number | null;
  readonly periodic_reset: UsageLimitsPolicy['periodicReset'];
  readonly periodic_reset_days: number | null;
  readonly next_usage_reset_at: number | string | null;
  readonly last_reset_at: number | string | null;
  readonly shadow: boolean | number;
}

interface EntityRow {
  readonly id: string;
  readonly organisation_id: string;
  readonly policy_id: string;
  readonly value_key: string;
  readonly current_usage: number;
  readonly status: UsageLimitsEntity['status'];
  readonly threshold_alerts_sent: boolean | number;
  readonly exhausted_alerts_sent: boolean | number;
  readonly created_at: number | string;
}

const table = 'usage_limits_policies';
const timeOf = (value: number | string | null): number | null => (value === null ? null : Number(value));

const fromRow = (row: UsageLimitsPolicyRow): UsageLimitsPolicy => ({
  ...fromPolicyRow(row),
  type: row.type,
  creditLimit: row.credit_limit,
  alertThreshold: row.alert_threshold,
  periodicReset: row.periodic_reset,
  periodicResetDays: row.periodic_reset_days,
  nextUsageResetAt: timeOf(row.next_usage_reset_at),
  lastResetAt: timeOf(row.last_reset_at),
  shadow: Boolean(row.shadow),
});

function toPolicy(row: UsageLimitsPolicyRow): BudgetPolicy {
  const policy = fromRow(row);
  const { id, organisationId, name, conditions, groupBy, lastResetAt, createdAt } = policy;
  return {
    ...{ id, organisationId, name, conditions, groupBy },
    ...budgetTermsOf(policy, lastResetAt ?? createdAt),
  };
}

const fromEntityRow = (row: EntityRow): UsageLimitsEntity => ({
  id: row.id,
  valueKey: row.value_key,
  currentUsage: row.current_usage,
  status: row.status,
  thresholdAlertsSent: Boolean(row.threshold_alerts_sent),
  exhaustedAlertsSent: Boolean(row.exhausted_alerts_sent),
});

const rowOf = (sql: Sql, organisationId: string, id: string): Promise<UsageLimitsPolicyRow | undefined> =>
  sql(table).where({ organisation_id: organisationId, id }).first();

const entitiesOf = (sql: Sql, organisationId: string, policyId: string) =>
  sql('usage_limits_entities').where({ organisation_id: organisationId, policy_id: policyId });

const kept = <T>(value: T | undefined, before: T): T => (value === undefined ? before : value);

export class SqlUsageLimitsPolicies implements UsageLimitsPolicyStore {
  constructor(
    readonly database: Database,
    readonly now: () => number,
  ) {}

  get(organisationId: string, id: string): Promise<UsageLimitsPolicy | null> {
    return this.database.read(async (sql) => {
      const row = await rowOf(sql, organisationId, id);
      return row === undefined ? null : fromRow(row);
    });
  }

  inForce(workspaceId: string): Promise<BudgetPolicy[]> {
    return this.database.read(async (sql) => {
      const rows: UsageLimitsPolicyRow[] = await sql(table)
        .where({ workspace_id: workspaceId, status: 'active' })
        .orderBy('created_at');
      return rows.map(toPolicy);
    });
  }

  list(place: Place, filter: PolicyFilter, page: Page): Promise<Listed<UsageLimitsPolicy>> {
    return this.database.read((sql) =>
      listed(wantedPolicies(sql, table, place, filter), newestFirst, page, fromRow),
    );
  }

  create(place: Place, input: NewUsageLimitsPolicy): Promise<UsageLimitsPolicy | 'missing'> {
    return this.database.write(async (sql) => {
      if (!(await hasWorkspace(sql, place))) return 'missing';
      const row: UsageLimitsPolicyRow = {
        ...toPolicyRow(randomUUID(), place, input, this.now()),
        type: input.type,
        credit_limit: input.creditLimit,
        alert_threshold: input.alertThreshold,
        periodic_reset: input.periodicReset,
        periodic_reset_days: input.periodicResetDays,
        next_usage_reset_at: input.nextUsageResetAt,
        last_reset_at: null,
        shadow: input.shadow,
      };
      await sql(table).insert(row);
      return fromRow(row);
    });
  }

  update(
    organisationId: string,
    id: string,
    change: UsageLimitsPolicyChange,
  ): Promise<UsageLimitsPolicy | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const row = await rowOf(sql, organisationId, id);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, change.etag)) return 'stale';
      const written = await replaceRow(sql, table, {
        ...row,
        ...changedPolicy(row, change, this.now()),
        credit_limit: kept(change.creditLimit, row.credit_limit),
        alert_threshold: kept(change.alertThreshold, row.alert_threshold),
        periodic_reset: kept(change.periodicReset, row.periodic_reset),
        periodic_reset_days: kept(change.periodicResetDays, row.periodic_reset_days),
        next_usage_reset_at: kept(change.nextUsageResetAt, row.next_usage_reset_at),
        shadow: kept(change.shadow, row.shadow),
      });
      if (written === 'stale') return written;
      await this.#judge(sql, row, written);
      return fromRow(written);
    });
  }

  /** Counters under a limit that has changed. */
  async #judge(sql: Transaction, before: UsageLimitsPolicyRow, after: UsageLimitsPolicyRow): Promise<void> {
    const { credit_limit: limit, alert_threshold: threshold } = after;
    const entities = () => entitiesOf(sql, after.organisation_id, after.id);
    if (limit !== before.credit_limit) {
      await entities().where('current_usage', '<', limit).update({ status: 'active' });
      await entities().where('current_usage', '>=', limit).update({ status: 'exhausted' });
    }
    const isRaised = limit > before.credit_limit;
    const isLater =
      before.alert_threshold !== null && (threshold === null || threshold > before.alert_threshold);
    if (isRaised) await entities().update({ exhausted_alerts_sent: false });
    if (isRaised || isLater) await entities().update({ threshold_alerts_sent: false });
  }

  entities(
    organisationId: string,
    policyId: string,
    { status, search }: EntityFilter,
    page: Page,
  ): Promise<Listed<UsageLimitsEntity>> {
    return this.database.read(async (sql) => {
      const wanted = entitiesOf(sql, organisationId, policyId);
      if (status !== undefined) wanted.where({ status });
      if (search !== undefined) containing(wanted, ['value_key'], search);
      return listed(wanted, [{ column: 'created_at' }, { column: 'id' }], page, fromEntityRow);
    });
  }

  count(
    organisationId: string,
    policyId: string,
    valueKey: string,
    amount: number,
  ): Promise<UsageLimitsEntity | 'missing'> {
    return this.database.write(async (sql) => {
      const policy = await rowOf(sql, organisationId, policyId);
      if (policy === undefined) return 'missing';
      await sql('usage_limits_entities')
        .insert({
          id: randomUUID(),
          organisation_id: organisationId,
          policy_id: policyId,
          value_key: valueKey,
          current_usage: 0,
          status: 'active',
          threshold_alerts_sent: false,
          exhausted_alerts_sent: false,
          created_at: this.now(),
        })
        .onConflict(['organisation_id', 'policy_id', 'value_key'])
        .ignore();
      const entity = () => entitiesOf(sql, organisationId, policyId).where({ value_key: valueKey });
      await entity().increment('current_usage', amount);
      await entity().where('current_usage', '>=', policy.credit_limit).update({ status: 'exhausted' });
      return fromEntityRow(await entity().first());
    });
  }

  reset(
    organisationId: string,
    policyId: string,
    idOrValueKey: string,
  ): Promise<UsageLimitsEntity | 'missing'> {
    return this.database.write(async (sql) => {
      const row: EntityRow | undefined = await entitiesOf(sql, organisationId, policyId)
        .andWhere((either) => either.where({ id: idOrValueKey }).orWhere({ value_key: idOrValueKey }))
        .first();
      if (row === undefined) return 'missing';
      const empty: Partial<EntityRow> = {
        current_usage: 0,
        status: 'active',
        threshold_alerts_sent: false,
        exhausted_alerts_sent: false,
      };
      await sql('usage_limits_entities').where({ id: row.id }).update(empty);
      return fromEntityRow({ ...row, ...empty });
    });
  }
}
