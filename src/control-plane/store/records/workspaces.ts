import type { SetFlags } from '../../../common/access/security-settings.js';
import type { RotationPeriod } from './organisations.js';
import type { Listed, Page } from './place.js';
import type { RateLimit, UsageLimits } from './usage-limits.js';

/** What holds for every request of a workspace. */
export interface WorkspaceDefaults {
  readonly metadata: Readonly<Record<string, string>>;
  /** Ids. */
  readonly inputGuardrails: readonly string[];
  readonly outputGuardrails: readonly string[];
  /** Slug of the config of users' new keys. */
  readonly userApiKeyConfig: string | null;
}

/** What a workspace has set for itself; kept as one document under the names of the proto file. Absent: not set. */
export interface WorkspaceSettings {
  /** Seconds; 0: without end. */
  readonly user_api_key_ttl?: number;
  /** Seconds; 0: any. */
  readonly user_api_key_max_ttl?: number;
  /** -1: any number. */
  readonly user_api_key_count?: number;
  /** 0 or 1. */
  readonly debug_log?: number;
  readonly user_key_metadata?: number;
  readonly user_key_metadata_override?: number;
  /** `none`: no rotation, whatever the organisation wants. */
  readonly user_api_key_rotation_period?: RotationPeriod | 'none';
  readonly user_api_key_auto_create?: boolean;
  /** Days; 0: as long as the gateway keeps them. */
  readonly log_retention_days?: number;
  readonly log_body_retention_days?: number;
}

/** A budget of a workspace, for all its requests or for those with this metadata. */
export interface WorkspaceUsageLimits extends UsageLimits {
  readonly metadata: Readonly<Record<string, string>>;
}

export interface Workspace {
  readonly id: string;
  readonly organisationId: string;
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  readonly icon: string | null;
  /** The first one, which stays. */
  readonly isDefault: boolean;
  readonly status: 'active' | 'archived';
  readonly defaults: WorkspaceDefaults;
  readonly usageLimits: readonly WorkspaceUsageLimits[];
  readonly rateLimits: readonly RateLimit[];
  readonly securitySettings: SetFlags;
  readonly settings: WorkspaceSettings;
  /** Do the organisation's guardrails pass by it? */
  readonly excludedFrom: { readonly inputGuardrails: boolean; readonly outputGuardrails: boolean };
  readonly createdBy: string | null;
  /** The SCIM group that was mapped to it first, of those that still are; null: none is. */
  readonly scimSourceId: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly etag: string;
}

/** The fields of a workspace that are set on creation and may be changed later. Absent: as it is, or none. */
export interface WorkspaceInput {
  readonly name?: string;
  readonly description?: string | null;
  readonly icon?: string | null;
  readonly defaults?: WorkspaceDefaults;
  readonly usageLimits?: readonly WorkspaceUsageLimits[];
  readonly rateLimits?: readonly RateLimit[];
  readonly securitySettings?: SetFlags;
  readonly settings?: WorkspaceSettings;
  readonly excludedFrom?: Workspace['excludedFrom'];
}

export interface NewWorkspace extends WorkspaceInput {
  readonly name: string;
  /** Made from the name where absent. */
  readonly slug?: string;
  readonly createdBy?: string | null;
}

export interface WorkspaceChange extends WorkspaceInput {
  /** The state it is made for: another one makes it `stale`. */
  readonly etag?: string;
}

export interface WorkspaceFilter {
  /** These alone. */
  readonly ids?: readonly string[];
  /** Part of the name, its case included. */
  readonly name?: string;
  readonly exactName?: string;
  /** Active ones unless given. */
  readonly status?: readonly Workspace['status'][];
}

export interface WorkspaceStore {
  /** Archived ones too. */
  get(organisationId: string, idOrSlug: string): Promise<Workspace | null>;
  /** Oldest first. */
  list(organisationId: string, page: Page, filter?: WorkspaceFilter): Promise<Listed<Workspace>>;
  /** Those that set flags of their own, archived ones too. */
  withOwnFlags(organisationId: string): Promise<readonly Pick<Workspace, 'id' | 'securitySettings'>[]>;
  /** Of all organisations, archived ones too: those that set how long logs are kept. */
  withLogRetention(): Promise<readonly Pick<Workspace, 'id' | 'organisationId' | 'settings'>[]>;
  create(organisationId: string, input: NewWorkspace): Promise<Workspace | 'taken'>;
  update(
    organisationId: string,
    id: string,
    change: WorkspaceChange,
  ): Promise<Workspace | 'missing' | 'stale'>;
  /** Its keys are no longer found. */
  archive(organisationId: string, id: string, etag?: string): Promise<Workspace | 'missing' | 'stale'>;
  /** How many keys, providers, configs, guardrails, integrations and policies are in use in it. */
  dependents(organisationId: string, id: string): Promise<number>;
}
