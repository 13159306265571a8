import type { ConfigRecord, KeyRecord, ProviderRecord } from '../core/messages.js';
import type { KeyType } from '../core/principal.js';
import type { Secret } from '../core/secret.js';

/** The workspace something belongs to. Stands first in every method of what a workspace owns. */
export interface Place {
  readonly organisationId: string;
  readonly workspaceId: string;
}

/** A part of a list. */
export interface Page {
  /** Rows to leave out before the first. */
  readonly offset: number;
  readonly limit: number;
}

export interface Listed<T> {
  readonly total: number;
  readonly rows: readonly T[];
}

export interface Workspace {
  readonly id: string;
  readonly organisationId: string;
  readonly slug: string;
  readonly name: string;
  readonly createdAt: number;
}

export interface WorkspaceStore {
  get(organisationId: string, idOrSlug: string): Promise<Workspace | null>;
  list(organisationId: string, page: Page): Promise<Listed<Workspace>>;
  create(
    organisationId: string,
    input: { readonly name: string; readonly slug: string },
  ): Promise<Workspace | 'taken'>;
}

export interface KeyDefaults {
  /** Slug or id of a config of the key's workspace. */
  readonly configId: string | null;
  readonly allowConfigOverride: boolean;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A gateway key as it is shown: everything but its text. */
export interface ApiKey {
  readonly id: string;
  readonly organisationId: string;
  readonly workspaceId: string | null;
  readonly userId: string | null;
  readonly type: KeyType;
  readonly name: string;
  readonly description: string | null;
  /** First 2 characters, `*****`, last 3. */
  readonly masked: string;
  readonly scopes: readonly string[];
  readonly defaults: KeyDefaults;
  readonly creationMode: 'api' | 'auto' | 'ui';
  readonly expiresAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface NewApiKey {
  readonly type: KeyType;
  /** null exactly for `organisation-service`. */
  readonly workspaceId: string | null;
  readonly userId?: string | null;
  readonly name: string;
  readonly description?: string | null;
  readonly scopes: readonly string[];
  readonly defaults?: Partial<KeyDefaults>;
  readonly creationMode?: ApiKey['creationMode'];
  readonly expiresAt?: number | null;
}

/** A key with its text, once; the hash is what caches know it by. */
export interface MadeApiKey {
  readonly key: ApiKey;
  readonly text: Secret;
  readonly hash: string;
}

export interface ApiKeyFilter {
  readonly workspaceId?: string;
  readonly types?: readonly KeyType[];
  readonly status?: readonly ('active' | 'expired')[];
}

export interface ApiKeyStore {
  get(organisationId: string, id: string): Promise<ApiKey | null>;
  list(organisationId: string, filter: ApiKeyFilter, page: Page): Promise<Listed<ApiKey>>;
  /** `missing`: no such workspace in this organisation. */
  create(organisationId: string, input: NewApiKey): Promise<MadeApiKey | 'missing'>;
  delete(organisationId: string, id: string): Promise<{ readonly hash: string } | 'missing'>;
  /** The one question asked before a tenant is known: a key says whose it is. Expired keys are found too. */
  findByHash(hash: string): Promise<KeyRecord | null>;
}

/** A provider credential kept by Headgate, as it is shown. */
export interface Provider {
  readonly id: string;
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly slug: string;
  readonly name: string;
  readonly note: string | null;
  /** Name of the provider row whose wire it speaks. */
  readonly provider: string;
  readonly maskedCredential: string | null;
  readonly baseUrl: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface NewProvider {
  readonly slug: string;
  readonly name: string;
  readonly note?: string | null;
  readonly provider: string;
  readonly credential: Secret | null;
  readonly baseUrl?: string | null;
  /** The base URL comes from `setRuntimeBaseUrl`; until then the provider is not found. */
  readonly baseUrlAtRunTime?: boolean;
}

export interface ProviderStore {
  get(place: Place, slug: string): Promise<Provider | null>;
  list(place: Place, page: Page): Promise<Listed<Provider>>;
  create(place: Place, input: NewProvider): Promise<Provider | 'taken' | 'missing'>;
  delete(place: Place, slug: string): Promise<'deleted' | 'missing'>;
  /** What a data worker needs, credential opened. */
  find(workspaceId: string, slug: string): Promise<ProviderRecord | null>;
  /** Base URL, in this process alone, of the providers of this slug that were created for one. */
  setRuntimeBaseUrl(slug: string, url: string): void;
}

export interface Config {
  readonly id: string;
  readonly organisationId: string;
  readonly workspaceId: string;
  /** `pc-…` */
  readonly slug: string;
  readonly name: string;
  readonly isDefault: boolean;
  readonly status: 'active' | 'archived';
  readonly versionId: string;
  readonly ownerId: string | null;
  readonly updatedBy: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface ConfigWithText extends Config {
  /** JSON text. */
  readonly text: string;
}

export interface ConfigVersion {
  readonly id: string;
  /** Counts up from 1. */
  readonly number: number;
  readonly text: string;
  readonly createdBy: string | null;
  readonly createdAt: number;
}

export interface NewConfig {
  /** Made from the name where absent. */
  readonly slug?: string;
  readonly name: string;
  readonly text: string;
  readonly isDefault?: boolean;
  /** Id of the key or user that acts. */
  readonly by?: string | null;
}

/** Absent: stays as it is. */
export interface ConfigChange {
  readonly name?: string;
  readonly text?: string;
  readonly isDefault?: boolean;
  readonly status?: 'active' | 'archived';
  readonly by?: string | null;
}

export interface ConfigStore {
  get(place: Place, slugOrId: string): Promise<ConfigWithText | null>;
  /** Active ones. */
  list(place: Place, page: Page): Promise<Listed<Config>>;
  create(place: Place, input: NewConfig): Promise<Config | 'taken' | 'missing'>;
  /** A change of text makes a new version; slug and id stay. */
  update(place: Place, slugOrId: string, change: ConfigChange): Promise<Config | 'missing'>;
  /** Archives it: no call finds it, its versions stay. */
  delete(place: Place, slugOrId: string): Promise<Config | 'missing'>;
  versions(place: Place, slugOrId: string): Promise<readonly ConfigVersion[]>;
  /** What a data worker needs: the active config's current text. */
  find(workspaceId: string, slugOrId: string): Promise<ConfigRecord | null>;
}

/** What a first start has made, as first-keys.json holds it. The only place where these key texts exist. */
export interface FirstKeys {
  readonly admin_key: string;
  readonly workspace_key: string;
  readonly organisation_id: string;
  readonly workspace_id: string;
}

/** Everything that an administrator can change. Acknowledged means on disk. */
export interface Store {
  readonly workspaces: WorkspaceStore;
  readonly keys: ApiKeyStore;
  readonly providers: ProviderStore;
  readonly configs: ConfigStore;
  /** What goes into the hash of every gateway key; data workers hash by it. */
  readonly pepper: Buffer;
  /** Hash of a gateway key's text under the pepper. */
  hashKey(text: string): string;
  /** Does the store answer? */
  ping(): Promise<boolean>;
  /** The organisation and workspace of the first start; null before it. */
  first(): Promise<Place | null>;
  /**
   * Makes the first organisation, workspace and keys, unless that has happened: then null. `keep` runs before the
   * commit; where it fails, nothing was made.
   */
  establish(keep: (first: FirstKeys) => void): Promise<FirstKeys | null>;
  close(): Promise<void>;
}
