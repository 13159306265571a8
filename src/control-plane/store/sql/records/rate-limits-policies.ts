import { randomUUID } from 'node:crypto';
import type { RatePolicy } from '../../../../common/core/rate-rules.js';
import type { Listed, Page, Place } from '../../records/place.js';
import type { PolicyFilter } from '../../records/policies.js';
import type {
  NewRateLimitsPolicy,
  RateLimitsPolicy,
  RateLimitsPolicyChange,
  RateLimitsPolicyStore,
} from '../../records/rate-limits-policies.js';
import type { Database } from '../connection/driver.js';
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

interface RateLimitsPolicyRow
  extends PolicyRow,
    Pick<RateLimitsPolicy, 'type' | 'unit' | 'value' | 'target'> {
  readonly shadow: boolean | number;
}

const table = 'rate_limits_policies';

/** Requests wait for it: it is not compiled each time. */
const activePolicies = `SELECT * FROM rate_limits_policies
  WHERE workspace_id = ? AND status = 'active' AND target = 'llm' ORDER BY created_at`;

const fromRow = (row: RateLimitsPolicyRow): RateLimitsPolicy => ({
  ...fromPolicyRow(row),
  type: row.type,
  unit: row.unit,
  value: row.value,
  target: row.target,
  shadow: Boolean(row.shadow),
});

export class SqlRateLimitsPolicies implements RateLimitsPolicyStore {
  constructor(
    readonly database: Database,
    readonly now: () => number,
  ) {}

  get(organisationId: string, id: string): Promise<RateLimitsPolicy | null> {
    return this.database.read(async (sql) => {
      const row: RateLimitsPolicyRow | undefined = await sql(table)
        .where({ organisation_id: organisationId, id })
        .first();
      return row === undefined ? null : fromRow(row);
    });
  }

  inForce(workspaceId: string): Promise<RatePolicy[]> {
    return this.database.read(async (sql) => {
      const rows = await rowsOf<RateLimitsPolicyRow>(sql, activePolicies, [workspaceId]);
      const policies = rows
        .map(fromRow)
        .map(({ id, organisationId, name, conditions, groupBy, ...policy }) => ({
          ...{ id, organisationId, name, conditions, groupBy },
          ...{ measure: policy.type, unit: policy.unit, value: policy.value, shadow: policy.shadow },
        }));
      return withWorkspaceId(sql, workspaceId, policies);
    });
  }

  list(place: Place, filter: PolicyFilter, page: Page): Promise<Listed<RateLimitsPolicy>> {
    return this.database.read((sql) =>
      listed(wantedPolicies(sql, table, place, filter), newestFirst, page, fromRow),
    );
  }

  create(place: Place, input: NewRateLimitsPolicy): Promise<RateLimitsPolicy | 'missing'> {
    return this.database.write(async (sql) => {
      if (!(await hasWorkspace(sql, place))) return 'missing';
      const { type, unit, value, target, shadow } = input;
      const made = toPolicyRow(randomUUID(), place, input, this.now());
      const row = { ...made, type, unit, value, target, shadow };
      await sql(table).insert(row);
      return fromRow(row);
    });
  }

  update(
    organisationId: string,
    id: string,
    change: RateLimitsPolicyChange,
  ): Promise<RateLimitsPolicy | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const row: RateLimitsPolicyRow | undefined = await sql(table)
        .where({ organisation_id: organisationId, id })
        .first();
      if (row === undefined) return 'missing';
      if (!isCurrent(row, change.etag)) return 'stale';
      const written = await replaceRow(sql, table, {
        ...row,
        ...changedPolicy(row, change, this.now()),
        unit: change.unit ?? row.unit,
        value: change.value ?? row.value,
        shadow: change.shadow ?? row.shadow,
      });
      return written === 'stale' ? written : fromRow(written);
    });
  }
}
