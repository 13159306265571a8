import type { KeyType } from '../../../../common/access/principal.js';
import type { ApiKey, RotationPolicy } from '../../records/api-keys.js';
import { etagOf } from '../../records/etag.js';
import type { UsageLimits } from '../../records/usage-limits.js';

/** A row of `api_keys`. Times are Unix milliseconds. */
export interface ApiKeyRow {
  readonly id: string;
  readonly revision: number;
  readonly organisation_id: string;
  readonly workspace_id: string | null;
  readonly user_id: string | null;
  readonly type: KeyType;
  readonly name: string;
  readonly description: string | null;
  readonly hash: string;
  readonly pepper_version: number;
  readonly masked: string;
  readonly scopes: string;
  readonly default_config_id: string | null;
  readonly allow_config_override: boolean | number;
  readonly default_metadata: string;
  readonly creation_mode: ApiKey['creationMode'];
  readonly created_by: string | null;
  readonly expires_at: number | string | null;
  readonly created_at: number | string;
  readonly updated_at: number | string;
  readonly previous_hash: string | null;
  readonly previous_expires_at: number | string | null;
  readonly last_rotated_at: number | string | null;
  readonly rotation_policy: string | null;
  readonly next_rotation_at: number | string | null;
  readonly rate_limits: string;
  readonly usage_limits: string | null;
  readonly next_usage_reset_at: number | string | null;
  readonly last_reset_at: number | string | null;
  readonly alert_emails: string;
}

export const timeOf = (value: number | string | null): number | null =>
  value === null ? null : Number(value);

/** A time in the future; null if it has passed. */
export const futureOf = (value: number | string | null, now: number): number | null =>
  value === null || Number(value) <= now ? null : Number(value);

/** The columns of a key's budget. */
export type BudgetColumns = Pick<ApiKeyRow, 'usage_limits' | 'next_usage_reset_at' | 'last_reset_at'>;

export const usageLimitsOf = (row: BudgetColumns): UsageLimits | null => {
  const limits = parsed<Omit<UsageLimits, 'nextUsageResetAt' | 'lastResetAt'>>(row.usage_limits);
  if (limits === null) return null;
  return {
    ...limits,
    nextUsageResetAt: timeOf(row.next_usage_reset_at),
    lastResetAt: timeOf(row.last_reset_at),
  };
};

const parsed = <T>(text: string | null): T | null => (text === null ? null : (JSON.parse(text) as T));

/** The state of a row at the time `now`. */
export function fromRow(row: ApiKeyRow, now: number): ApiKey {
  const policy = parsed<Omit<RotationPolicy, 'nextRotationAt'>>(row.rotation_policy);
  return {
    id: row.id,
    organisationId: row.organisation_id,
    workspaceId: row.workspace_id,
    userId: row.user_id,
    type: row.type,
    name: row.name,
    description: row.description,
    masked: row.masked,
    isExpired: row.expires_at !== null && Number(row.expires_at) <= now,
    scopes: JSON.parse(row.scopes),
    defaults: {
      configId: row.default_config_id,
      allowConfigOverride: Boolean(row.allow_config_override),
      metadata: JSON.parse(row.default_metadata),
    },
    creationMode: row.creation_mode,
    createdBy: row.created_by,
    expiresAt: timeOf(row.expires_at),
    rateLimits: JSON.parse(row.rate_limits),
    usageLimits: usageLimitsOf(row),
    alertEmails: JSON.parse(row.alert_emails),
    rotationPolicy: policy && { ...policy, nextRotationAt: Number(row.next_rotation_at) },
    lastRotatedAt: timeOf(row.last_rotated_at),
    transitionExpiresAt: futureOf(row.previous_expires_at, now),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    etag: etagOf(row),
  };
}

type Said = Pick<
  ApiKey,
  | 'name'
  | 'description'
  | 'scopes'
  | 'defaults'
  | 'expiresAt'
  | 'rateLimits'
  | 'usageLimits'
  | 'alertEmails'
  | 'rotationPolicy'
>;

/** The columns of the fields of a key that administrators set. */
export function toColumns(key: Said) {
  const { nextUsageResetAt = null, lastResetAt = null, ...limits } = key.usageLimits ?? {};
  const { nextRotationAt = null, ...policy } = key.rotationPolicy ?? {};
  return {
    name: key.name,
    description: key.description,
    scopes: JSON.stringify(key.scopes),
    default_config_id: key.defaults.configId,
    allow_config_override: key.defaults.allowConfigOverride,
    default_metadata: JSON.stringify(key.defaults.metadata),
    expires_at: key.expiresAt,
    rate_limits: JSON.stringify(key.rateLimits),
    usage_limits: key.usageLimits && JSON.stringify(limits),
    next_usage_reset_at: nextUsageResetAt,
    last_reset_at: lastResetAt,
    alert_emails: JSON.stringify(key.alertEmails),
    rotation_policy: key.rotationPolicy && JSON.stringify(policy),
    next_rotation_at: nextRotationAt,
  };
}
