import { etagOf } from '../../records/etag.js';
import type { Integration, IntegrationAccess, IntegrationModel } from '../../records/integrations.js';
import type { Place } from '../../records/place.js';
import type { UsageLimits } from '../../records/usage-limits.js';
import type { Sql } from '../connection/driver.js';
import { type CredentialColumns, credentialsOf } from './credentials.js';

export interface IntegrationRow extends CredentialColumns {
  readonly id: string;
  readonly revision: number;
  readonly organisation_id: string;
  readonly workspace_id: string | null;
  readonly slug: string;
  readonly active_slug: string | null;
  readonly name: string;
  readonly description: string | null;
  readonly provider: string;
  readonly status: Integration['status'];
  readonly host_trusted: boolean | number;
  readonly pricing_adjustments: string | null;
  readonly default_provider_slug: string | null;
  readonly allow_all_models: boolean | number;
  readonly global_enabled: boolean | number;
  readonly global_usage_limits: string | null;
  readonly global_rate_limits: string;
  readonly created_at: number | string;
  readonly updated_at: number | string;
}

export interface AccessRow {
  readonly organisation_id: string;
  readonly integration_id: string;
  readonly workspace_id: string;
  readonly enabled: boolean | number;
  readonly usage_limits: string | null;
  /** Of earlier versions, which want it. */
  readonly usage: '{}';
  readonly rate_limits: string;
}

export interface ModelRow {
  readonly organisation_id: string;
  readonly integration_id: string;
  readonly slug: string;
  readonly enabled: boolean | number;
  readonly is_custom: boolean | number;
  readonly is_finetune: boolean | number;
  readonly base_model_slug: string | null;
  readonly custom_host: string | null;
  readonly pricing_config: string | null;
}

/** JSON as a nullable column holds it. */
export const textOrNull = (value: unknown): string | null =>
  value === null || value === undefined ? null : JSON.stringify(value);
export const valueOrNull = <T>(text: string | null): T | null => (text === null ? null : JSON.parse(text));

/** Budgets that earlier versions have stored lack the time of the last reset. */
export const usageLimitsOf = (text: string | null): UsageLimits | null =>
  text === null ? null : { lastResetAt: null, ...JSON.parse(text) };

export const fromIntegrationRow = (row: IntegrationRow): Integration => ({
  id: row.id,
  organisationId: row.organisation_id,
  workspaceId: row.workspace_id,
  slug: row.slug,
  name: row.name,
  description: row.description,
  provider: row.provider,
  status: row.status,
  ...credentialsOf(row),
  pricingAdjustments: valueOrNull(row.pricing_adjustments),
  defaultProviderSlug: row.default_provider_slug,
  allowAllModels: Boolean(row.allow_all_models),
  globalAccess: {
    enabled: Boolean(row.global_enabled),
    usageLimits: usageLimitsOf(row.global_usage_limits),
    rateLimits: JSON.parse(row.global_rate_limits),
  },
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  etag: etagOf(row),
});

export const fromAccessRow = (row: AccessRow): IntegrationAccess => ({
  workspaceId: row.workspace_id,
  enabled: Boolean(row.enabled),
  usageLimits: usageLimitsOf(row.usage_limits),
  rateLimits: JSON.parse(row.rate_limits),
});

export const toAccessRow = (
  organisation_id: string,
  integration_id: string,
  access: IntegrationAccess,
): AccessRow => ({
  organisation_id,
  integration_id,
  workspace_id: access.workspaceId,
  enabled: access.enabled,
  usage_limits: textOrNull(access.usageLimits),
  usage: '{}',
  rate_limits: JSON.stringify(access.rateLimits),
});

export const fromModelRow = (row: ModelRow): IntegrationModel => ({
  slug: row.slug,
  enabled: Boolean(row.enabled),
  isCustom: Boolean(row.is_custom),
  isFinetune: Boolean(row.is_finetune),
  baseModelSlug: row.base_model_slug,
  customHost: row.custom_host,
  pricingConfig: valueOrNull(row.pricing_config),
});

export const toModelRow = (
  organisation_id: string,
  integration_id: string,
  model: IntegrationModel,
): ModelRow => ({
  organisation_id,
  integration_id,
  slug: model.slug,
  enabled: model.enabled,
  is_custom: model.isCustom,
  is_finetune: model.isFinetune,
  base_model_slug: model.baseModelSlug,
  custom_host: model.customHost,
  pricing_config: textOrNull(model.pricingConfig),
});

/** The active integration of this slug, or the one of this id, archived or not. */
export async function integrationAt(
  sql: Sql,
  organisationId: string,
  slugOrId: string,
): Promise<IntegrationRow | undefined> {
  const rows: IntegrationRow[] = await sql('integrations')
    .where({ organisation_id: organisationId })
    .andWhere((either) => either.where({ id: slugOrId }).orWhere({ active_slug: slugOrId }));
  // Ids are generated, slugs are chosen: the id takes precedence.
  return rows.find(({ id }) => id === slugOrId) ?? rows[0];
}

/** By the entry of the workspace; without one, the row's global access decides. */
async function isUsable(sql: Sql, row: IntegrationRow, workspaceId: string): Promise<boolean> {
  if (row.status !== 'active' || row.workspace_id !== null) return accessBy(row, workspaceId, null).enabled;
  const own: AccessRow | undefined = await sql('integration_workspaces')
    .where({ organisation_id: row.organisation_id, integration_id: row.id, workspace_id: workspaceId })
    .first();
  return accessBy(row, workspaceId, own ?? null).enabled;
}

/** `own`: the row of that workspace; null: there is none. */
export function accessBy<Own extends Pick<AccessRow, 'enabled'>>(
  row: Pick<IntegrationRow, 'status' | 'workspace_id' | 'global_enabled'>,
  workspaceId: string,
  own: Own | null,
): { readonly enabled: boolean; readonly own: Own | null } {
  if (row.status !== 'active') return { enabled: false, own: null };
  if (row.workspace_id !== null) return { enabled: row.workspace_id === workspaceId, own: null };
  return { enabled: Boolean(own?.enabled ?? row.global_enabled), own };
}

/** The active integration of this name that the workspace may use. */
export async function usableAt(
  sql: Sql,
  place: Place,
  slugOrId: string,
): Promise<IntegrationRow | undefined> {
  const row = await integrationAt(sql, place.organisationId, slugOrId);
  if (row === undefined) return undefined;
  return (await isUsable(sql, row, place.workspaceId)) ? row : undefined;
}
