import type { PricesRecord } from '../../../common/prices/provider-prices.js';
import type { Credentials, CredentialsChange } from './credentials.js';
import type { Listed, Page, Place } from './place.js';
import type { RateLimit, UsageLimits } from './usage-limits.js';

/** Limits of every workspace that has none of its own. */
export interface GlobalAccess {
  /** May all workspaces use it, those to come too? */
  readonly enabled: boolean;
  readonly usageLimits: UsageLimits | null;
  readonly rateLimits: readonly RateLimit[];
}

/** A provider's credential, lent to workspaces. */
export interface Integration extends Credentials {
  readonly id: string;
  readonly organisationId: string;
  /** The only workspace that has it; null: the organisation's own. */
  readonly workspaceId: string | null;
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  /** Name of the provider. */
  readonly provider: string;
  readonly status: 'active' | 'archived';
  /** JSON as it came. */
  readonly pricingAdjustments: unknown;
  /** Slug of the provider that a workspace gets with its access; null: made from the integration's. */
  readonly defaultProviderSlug: string | null;
  /** Do models pass that are not named? */
  readonly allowAllModels: boolean;
  readonly globalAccess: GlobalAccess;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly etag: string;
}

export interface NewIntegration extends CredentialsChange {
  readonly workspaceId: string | null;
  /** Made from the name where absent. */
  readonly slug?: string;
  readonly name: string;
  readonly description?: string | null;
  readonly provider: string;
  readonly pricingAdjustments?: unknown;
  readonly defaultProviderSlug?: string | null;
  /** Was its address, if it has one, given by a member of the organisation? */
  readonly hostTrusted: boolean;
}

/** Absent: stays as it is. */
export interface IntegrationChange extends CredentialsChange {
  readonly name?: string;
  readonly description?: string | null;
  readonly pricingAdjustments?: unknown;
  readonly allowAllModels?: boolean;
  readonly globalAccess?: GlobalAccess;
  readonly hostTrusted?: boolean;
  readonly etag?: string;
}

/** A provider that takes its credential from an integration; slugs. */
export interface IntegrationUse {
  readonly workspace: string;
  readonly slug: string;
}

export interface IntegrationFilter {
  /** Of the organisation, of workspaces, or both. */
  readonly levels: readonly ('organisation' | 'workspace')[];
  /** Those that this workspace may use. */
  readonly workspaceId?: string;
}

/** A workspace, and what an integration of the organisation is to it. */
export interface IntegrationReach {
  readonly workspaceId: string;
  /** null: there is no entry for this workspace, so global access decides. */
  readonly own: IntegrationAccess | null;
}

/** The entry of one workspace. */
export interface IntegrationAccess {
  readonly workspaceId: string;
  readonly enabled: boolean;
  readonly usageLimits: UsageLimits | null;
  readonly rateLimits: readonly RateLimit[];
}

export interface IntegrationModel {
  readonly slug: string;
  readonly enabled: boolean;
  /** One's own: the catalogue does not have it. */
  readonly isCustom: boolean;
  readonly isFinetune: boolean;
  readonly baseModelSlug: string | null;
  /** Where this model alone is reached, version segment included. */
  readonly customHost: string | null;
  /** JSON as it came. */
  readonly pricingConfig: unknown;
}

export interface IntegrationStore {
  /** An archived one is found by its id alone: its slug is free for others. */
  get(organisationId: string, slugOrId: string): Promise<Integration | null>;
  /** The active one of this name, if the workspace may use it. */
  usable(place: Place, slugOrId: string): Promise<Integration | null>;
  /** Active ones. */
  list(organisationId: string, filter: IntegrationFilter, page: Page): Promise<Listed<Integration>>;
  create(organisationId: string, input: NewIntegration): Promise<Integration | 'taken' | 'missing'>;
  /** Of an active one. */
  update(
    organisationId: string,
    id: string,
    change: IntegrationChange,
  ): Promise<Integration | 'missing' | 'stale'>;
  /** Archives it, unless providers of active workspaces depend on it: the first 20 of them. */
  delete(
    organisationId: string,
    id: string,
    etag?: string,
  ): Promise<Integration | 'missing' | 'stale' | readonly IntegrationUse[]>;
  /** The providers that use it, as calls name them. */
  providers(
    organisationId: string,
    id: string,
  ): Promise<readonly { readonly workspaceId: string; readonly slug: string }[]>;

  /** Every active workspace of the organisation, in order of age. */
  reach(organisationId: string, id: string): Promise<readonly IntegrationReach[]>;
  /** Replaces the entries of these workspaces. */
  putAccess(organisationId: string, id: string, access: readonly IntegrationAccess[]): Promise<void>;

  /** Those that were named, by slug. */
  models(organisationId: string, id: string): Promise<readonly IntegrationModel[]>;
  putModels(organisationId: string, id: string, models: readonly IntegrationModel[]): Promise<void>;
  /** The prices that the active integration of this slug and its organisation set; null: none. */
  prices(organisationId: string, slug: string): Promise<PricesRecord | null>;
  deleteModels(organisationId: string, id: string, slugs: readonly string[]): Promise<void>;
}
