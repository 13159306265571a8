import type { KeyRecord } from '../core/messages.js';
import type { KeyType } from '../core/principal.js';
import type { Secret } from '../core/secret.js';
import type { Listed, Page } from './place.js';

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
  readonly etag: string;
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
  delete(
    organisationId: string,
    id: string,
    etag?: string,
  ): Promise<{ readonly hash: string } | 'missing' | 'stale'>;
  /** The one question asked before a tenant is known: a key says whose it is. Expired keys are found too. */
  findByHash(hash: string): Promise<KeyRecord | null>;
}
