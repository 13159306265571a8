import type { SecuritySettings, SetFlags } from '../../../common/access/security-settings.js';

/** Of keys of users: days, or at the start of each week or month. */
export type RotationPeriod = 'weekly' | 'monthly' | number;

/** What an organisation has set; kept as one document under the names of the proto file. Absent: not set. */
export interface OrganisationSettings {
  readonly block_inline_configs?: boolean;
  /** JSON Schema, draft 7. */
  readonly metadata_schema?: Readonly<Record<string, unknown>>;
  /** Seconds. */
  readonly user_api_key_ttl?: number;
  readonly user_api_key_max_ttl?: number;
  readonly user_api_key_count?: number;
  /** Days. */
  readonly user_api_key_rotation_period?: number;
  readonly default_workspace_user_api_key_auto_create?: boolean;
  readonly keep_unredacted_text?: boolean;
}

/** Guardrails that every workspace's requests and answers pass: ids. */
export interface OrganisationDefaults {
  readonly inputGuardrails: readonly string[];
  readonly outputGuardrails: readonly string[];
}

export interface Organisation {
  readonly id: string;
  readonly name: string;
  readonly settings: OrganisationSettings;
  readonly securitySettings: SetFlags;
  readonly defaults: OrganisationDefaults;
  /** Seconds after which a user signs in again; null: no limit. */
  readonly maxSessionTtl: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly etag: string;
}

/** Absent: stays as it is. Documents are replaced whole. */
export interface OrganisationChange {
  readonly name?: string;
  readonly settings?: OrganisationSettings;
  readonly securitySettings?: SetFlags;
  readonly defaults?: OrganisationDefaults;
  readonly maxSessionTtl?: number | null;
  readonly etag?: string;
}

/** What holds in the end: a workspace's own setting, else the organisation's, else the default. */
export interface SettingsInForce {
  readonly security: SecuritySettings;
  readonly blockInlineConfigs: boolean;
  /** JSON Schema, draft 7; null: any metadata will do. */
  readonly metadataSchema: Readonly<Record<string, unknown>> | null;
  /** Seconds that a user's new key lives; 0: without end. */
  readonly userApiKeyTtl: number;
  /** Seconds that a user's key may live at most; 0: any. */
  readonly userApiKeyMaxTtl: number;
  /** Keys that a user may have in a workspace; -1: any number. */
  readonly userApiKeyCount: number;
  /** null: users' keys are not rotated. */
  readonly userApiKeyRotationPeriod: RotationPeriod | null;
  readonly userApiKeyAutoCreate: boolean;
}

export interface OrganisationStore {
  get(organisationId: string): Promise<Organisation | null>;
  update(organisationId: string, change: OrganisationChange): Promise<Organisation | 'missing' | 'stale'>;
  /** What holds in the organisation, or in one of its workspaces. null: there is no such one. */
  settings(organisationId: string, workspaceId?: string | null): Promise<SettingsInForce | null>;
}
