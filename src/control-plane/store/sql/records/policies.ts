import type { Knex } from 'knex';
import { etagOf } from '../../records/etag.js';
import type { Place } from '../../records/place.js';
import type { Policy, PolicyChange, PolicyCondition, PolicyFilter } from '../../records/policies.js';
import type { Sql } from '../connection/driver.js';
import { containing } from '../lists.js';

/** Columns of policies of both kinds. */
export interface PolicyRow {
  readonly id: string;
  readonly revision: number;
  readonly organisation_id: string;
  readonly workspace_id: string;
  readonly name: string | null;
  readonly description: string | null;
  readonly conditions: string;
  readonly group_by: string;
  readonly status: Policy['status'];
  readonly created_at: number | string;
  readonly updated_at: number | string;
}

export const fromPolicyRow = (row: PolicyRow): Policy => ({
  id: row.id,
  organisationId: row.organisation_id,
  workspaceId: row.workspace_id,
  name: row.name,
  description: row.description,
  conditions: JSON.parse(row.conditions),
  groupBy: JSON.parse(row.group_by),
  status: row.status,
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  etag: etagOf(row),
});

export const toPolicyRow = (
  id: string,
  place: Place,
  input: Pick<Policy, 'name' | 'description' | 'conditions' | 'groupBy'>,
  now: number,
): PolicyRow => ({
  id,
  revision: 1,
  organisation_id: place.organisationId,
  workspace_id: place.workspaceId,
  name: input.name,
  description: input.description,
  conditions: JSON.stringify(input.conditions),
  group_by: JSON.stringify(input.groupBy),
  status: 'active',
  created_at: now,
  updated_at: now,
});

/** The columns of both kinds as `change` makes them. */
export const changedPolicy = (row: PolicyRow, change: PolicyChange, now: number): PolicyRow => ({
  ...row,
  name: change.name === undefined ? row.name : change.name,
  description: change.description === undefined ? row.description : change.description,
  conditions: change.conditions === undefined ? row.conditions : JSON.stringify(change.conditions),
  status: change.status ?? row.status,
  updated_at: now,
});

/** The policies of a workspace that a list asks for. */
export function wantedPolicies(
  sql: Sql,
  table: string,
  place: Place,
  { status, search, type, unit }: PolicyFilter,
): Knex.QueryBuilder {
  const wanted = sql(table).where({
    organisation_id: place.organisationId,
    workspace_id: place.workspaceId,
    status,
    ...(type !== undefined && { type }),
    ...(unit !== undefined && { unit }),
  });
  if (search !== undefined) containing(wanted, ['name'], search);
  return wanted;
}

/**
 * With the id of their workspace for its slug in conditions, since data workers know the id alone. Stored conditions stay as they
 * were written. A slug never changes, and a policy is about calls of its own workspace only.
 */
export async function withWorkspaceId<Rule extends Pick<Policy, 'conditions'>>(
  sql: Sql,
  workspaceId: string,
  policies: readonly Rule[],
): Promise<Rule[]> {
  const isOfWorkspace = ({ conditions }: Rule): boolean =>
    conditions.some(({ key }) => key === 'workspace_id');
  if (!policies.some(isOfWorkspace)) return [...policies];
  const workspace: { slug: string } | undefined = await sql('workspaces')
    .where({ id: workspaceId })
    .first('slug');
  const idOf = (text: string): string => (text === workspace?.slug ? workspaceId : text);
  const idsOf = (texts: string | readonly string[] | undefined) =>
    typeof texts === 'string' ? idOf(texts) : texts?.map(idOf);
  return policies.map((policy) => ({
    ...policy,
    conditions: policy.conditions.map((condition) =>
      condition.key === 'workspace_id'
        ? withTexts(condition, idsOf(condition.value), idsOf(condition.excludes))
        : condition,
    ),
  }));
}

const withTexts = (
  { key }: PolicyCondition,
  value: PolicyCondition['value'],
  excludes: PolicyCondition['excludes'],
): PolicyCondition => ({
  key,
  ...(value !== undefined && { value }),
  ...(excludes !== undefined && { excludes }),
});
