import { randomUUID } from 'node:crypto';
import { type BudgetPolicy, budgetTermsOf } from '../../../../common/core/budget-rules.js';
import type { Listed, Page, Place } from '../../records/place.js';
import type { PolicyFilter } from '../../records/policies.js';
import type {
  NewUsageLimitsPolicy,
  UsageLimitsPolicy,
  UsageLimitsPolicyChange,
  UsageLimitsPolicyStore,
} from '../../records/usage-limits-policies.js';
import type { Database, Sql } from '../connection/driver.js';
import { rowsOf } from '../connection/statements.js';
import { listed, newestFirst } from '../lists.js';
import { isCurrent, replaceRow } from '../revision.js';
import {
  changedPolicy,
  fromPolicyRow,
  type PolicyRow,
  toPolicyRow,
  wantedPolicies,
  withWorkspaceId,
} from './policies.js';
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

const table = 'usage_limits_policies';

/** Requests wait for it: it is not compiled each time. */
const activePolicies = `SELECT * FROM usage_limits_policies
  WHERE workspace_id = ? AND status = 'active' ORDER BY created_at`;
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

const rowOf = (sql: Sql, organisationId: string, id: string): Promise<UsageLimitsPolicyRow | undefined> =>
  sql(table).where({ organisation_id: organisationId, id }).first();

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
      const rows = await rowsOf<UsageLimitsPolicyRow>(sql, activePolicies, [workspaceId]);
      return withWorkspaceId(sql, workspaceId, rows.map(toPolicy));
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
        last_reset_at: kept(change.lastResetAt, row.last_reset_at),
      });
      return written === 'stale' ? written : fromRow(written);
    });
  }
}
