import type { Secret } from '../../../common/access/secret.js';
import type { SecretReferenceRecord } from '../../../common/ipc/records.js';
import type { SecretManager } from '../../../common/vocabulary/secret-managers.js';
import type { Listed, Page } from './place.js';

/** A secret that another system keeps, as it may be shown. */
export interface SecretReference {
  readonly id: string;
  readonly organisationId: string;
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  readonly managerType: SecretManager;
  /** How the gateway signs in there, by the names of the API; credentials are masked. */
  readonly shownAuth: Readonly<Record<string, string>>;
  readonly secretPath: string;
  readonly secretKey: string | null;
  /** Ids of the workspaces that may use it; null: all of them. */
  readonly workspaces: readonly string[] | null;
  readonly tags: Readonly<Record<string, string>> | null;
  /** Id of a user or key. */
  readonly createdBy: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly etag: string;
}

/** JSON texts of one object: as it is used, and as it is shown. */
export interface SecretReferenceAuth {
  readonly auth: Secret;
  readonly shownAuth: Readonly<Record<string, string>>;
}

export interface NewSecretReference extends SecretReferenceAuth {
  readonly slug?: string;
  readonly name: string;
  readonly description: string | null;
  readonly managerType: SecretManager;
  readonly secretPath: string;
  readonly secretKey: string | null;
  readonly workspaces: readonly string[] | null;
  readonly tags: Readonly<Record<string, string>> | null;
  readonly createdBy: string;
}

/** Absent: stays as it is. */
export interface SecretReferenceChange {
  readonly name?: string;
  readonly description?: string | null;
  readonly auth?: SecretReferenceAuth;
  readonly secretPath?: string;
  readonly secretKey?: string | null;
  readonly workspaces?: readonly string[] | null;
  readonly tags?: Readonly<Record<string, string>> | null;
  /** The state it is made for: another one makes it `stale`. */
  readonly etag?: string;
}

export interface SecretReferenceFilter {
  readonly managerType?: string;
  readonly tags?: Readonly<Record<string, string>>;
  /** Part of the name, slug or description. */
  readonly search?: string;
}

/** Something whose credential is taken from a secret reference. */
export interface SecretReferenceUse {
  readonly kind: 'integration' | 'virtual key' | 'plugin';
  readonly slug: string;
}

export interface SecretReferenceStore {
  /** By id or slug. */
  get(organisationId: string, idOrSlug: string): Promise<SecretReference | null>;
  /** How the gateway signs in, with credentials: JSON text. */
  openAuth(organisationId: string, id: string): Promise<Secret | null>;
  /** What is needed to fetch it, for the organisation as a whole. By id or slug. */
  record(organisationId: string, idOrSlug: string): Promise<SecretReferenceRecord | null>;
  list(organisationId: string, filter: SecretReferenceFilter, page: Page): Promise<Listed<SecretReference>>;
  create(organisationId: string, input: NewSecretReference): Promise<SecretReference | 'taken'>;
  update(
    organisationId: string,
    id: string,
    change: SecretReferenceChange,
  ): Promise<SecretReference | 'missing' | 'stale'>;
  /** `missing`, `stale`, or what still uses it: then it stays. */
  delete(
    organisationId: string,
    id: string,
    etag?: string,
  ): Promise<SecretReference | 'missing' | 'stale' | readonly SecretReferenceUse[]>;
}
