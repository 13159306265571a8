import type { Secret } from '../../../common/access/secret.js';
import type { ModelRules, ProviderRecord } from '../../../common/ipc/records.js';
import type { SetBudget } from './budget-periods.js';
import type { Credentials, CredentialsChange } from './credentials.js';
import type { Integration } from './integrations.js';
import type { Listed, Page, Place } from './place.js';
import type { RateLimit, UsageLimits } from './usage-limits.js';

/**
 * What calls of a workspace name by `@slug`: a credential of its own, or an integration's. Virtual keys are an older
 * face of the same records.
 */
export interface Provider extends Credentials {
  readonly id: string;
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly slug: string;
  readonly name: string;
  readonly note: string | null;
  /** Name of the provider row whose wire it speaks. */
  readonly provider: string;
  readonly baseUrl: string | null;
  /** Where credential, address and the rest come from; null: from here. */
  readonly integration: { readonly id: string; readonly slug: string } | null;
  readonly usageLimits: UsageLimits | null;
  readonly rateLimits: readonly RateLimit[];
  /** Unix milliseconds. */
  readonly expiresAt: number | null;
  readonly tags: Readonly<Record<string, string>> | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly etag: string;
}

/** What every provider may have, wherever its credential comes from. Absent: none, or as it was. */
interface ProviderTerms {
  readonly note?: string | null;
  readonly usageLimits?: UsageLimits | null;
  readonly rateLimits?: readonly RateLimit[];
  readonly expiresAt?: number | null;
  readonly tags?: Readonly<Record<string, string>> | null;
}

export interface NewProvider extends ProviderTerms, Omit<CredentialsChange, 'key'> {
  /** Made from the name where absent. */
  readonly slug?: string;
  readonly name: string;
  readonly provider: string;
  readonly credential: Secret | null;
  readonly baseUrl?: string | null;
  /** Was that given by a member of the organisation? true where absent. */
  readonly hostTrusted?: boolean;
  /** The base URL comes from `setRuntimeBaseUrl`; until then the provider is not found. */
  readonly baseUrlAtRunTime?: boolean;
}

/** Of an integration that the workspace may use. */
export interface LentProvider extends ProviderTerms {
  readonly slug?: string;
  readonly name: string;
  readonly integrationId: string;
}

/** Absent: stays as it is. */
export interface ProviderChange extends ProviderTerms, CredentialsChange {
  readonly name?: string;
  readonly baseUrl?: string | null;
  readonly hostTrusted?: boolean;
  readonly etag?: string;
}

/** A provider that calls of its workspace can use now, unless a budget is used up: not expired, its integration enabled. */
export interface UsableProvider {
  readonly slug: string;
  /** Name of the provider row whose wire it speaks. */
  readonly provider: string;
  /** null: every model. */
  readonly models: ModelRules | null;
  /** Its own and the one of its integration in the workspace. */
  readonly budgets: readonly SetBudget[];
}

export interface ProviderFilter {
  /** Each a name, or a name and its value, that the tags must have. */
  readonly tags?: readonly { readonly name: string; readonly value: string | null }[];
}

export interface ProviderStore {
  get(place: Place, slugOrId: string): Promise<Provider | null>;
  /** Wherever in the organisation it is. */
  byId(organisationId: string, id: string): Promise<Provider | null>;
  /** Ids of the workspaces that have a provider of that slug or id. */
  workspacesWith(organisationId: string, slugOrId: string): Promise<readonly string[]>;
  list(place: Place, page: Page, filter?: ProviderFilter): Promise<Listed<Provider>>;
  /** `missing`: the workspace, or the integration. */
  /** Those that calls can use now, by slug, `limit` at most; `slug`: that one alone. */
  usable(
    place: Place,
    filter: { readonly slug?: string; readonly limit: number },
  ): Promise<readonly UsableProvider[]>;
  /** The slugs of those, in order. */
  usableSlugs(workspaceId: string, limit: number): Promise<readonly string[]>;
  create(place: Place, input: NewProvider | LentProvider): Promise<Provider | 'taken' | 'missing'>;
  /** A second one with the credential, address and all that belongs to it of the one called `from`. */
  duplicate(
    place: Place,
    from: string,
    input: ProviderTerms & { readonly slug?: string; readonly name: string },
  ): Promise<Provider | 'taken' | 'missing'>;
  update(place: Place, slugOrId: string, change: ProviderChange): Promise<Provider | 'missing' | 'stale'>;
  delete(place: Place, slugOrId: string, etag?: string): Promise<Provider | 'missing' | 'stale'>;
  /**
   * Makes an integration of its workspace out of its credential, and uses that. Calls go on as before. null: its
   * address is known at run time alone, so that no other record could hold it.
   */
  migrate(place: Place, slugOrId: string): Promise<Integration | 'missing' | null>;
  /** What a data worker needs, credential opened. null also where its integration may not be used. */
  find(workspaceId: string, slug: string): Promise<ProviderRecord | null>;
  /** Base URL, in this process alone, of the providers of this slug that were created for one. */
  setRuntimeBaseUrl(slug: string, url: string): void;
  /** null: there is none. */
  runtimeBaseUrl(slug: string): string | null;
}
