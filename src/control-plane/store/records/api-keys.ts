import type { KeyType } from '../../../common/access/principal.js';
import type { Secret } from '../../../common/access/secret.js';
import type { KeyRecord } from '../../../common/ipc/records.js';
import type { Period } from '../../../common/text/calendar.js';
import type { SetBudget } from './budget-periods.js';
import type { Listed, Page } from './place.js';
import type { RateLimit, UsageLimits } from './usage-limits.js';

export interface KeyDefaults {
  /** Slug or id of a config of the key's workspace. */
  readonly configId: string | null;
  readonly allowConfigOverride: boolean;
  readonly metadata: Readonly<Record<string, string>>;
}

/** When a key gets a new text by itself. */
export interface RotationPolicy {
  /** At most one of the two is set; neither: once. */
  readonly period: Period | null;
  readonly periodDays: number | null;
  /** For how long the old text stays good. */
  readonly transitionMs: number;
  /** 00:00 UTC of a day, Unix milliseconds. */
  readonly nextRotationAt: number;
}

export type KeyStatus = 'active' | 'exhausted' | 'expired';

/** The fields of a key that administrators set and may change. Times are Unix milliseconds. */
interface KeySettings {
  readonly name: string;
  readonly description: string | null;
  readonly scopes: readonly string[];
  readonly defaults: KeyDefaults;
  readonly expiresAt: number | null;
  readonly rateLimits: readonly RateLimit[];
  readonly usageLimits: UsageLimits | null;
  readonly alertEmails: readonly string[];
  readonly rotationPolicy: RotationPolicy | null;
}

/** A gateway key as it is shown: everything but its text. */
export interface ApiKey extends KeySettings {
  readonly id: string;
  readonly organisationId: string;
  readonly workspaceId: string | null;
  readonly userId: string | null;
  readonly type: KeyType;
  /** First 2 characters, `*****`, last 3. */
  readonly masked: string;
  /** Whether its budget is used up is in the ledger. */
  readonly isExpired: boolean;
  readonly creationMode: 'api' | 'auto' | 'ui';
  /** Id of the user who created it; null: no user did, or that is unknown. */
  readonly createdBy: string | null;
  readonly lastRotatedAt: number | null;
  /** Until when the text before the last rotation is good; null: it no longer is. */
  readonly transitionExpiresAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly etag: string;
}

export interface NewApiKey extends Partial<Omit<KeySettings, 'name' | 'scopes' | 'defaults'>> {
  readonly type: KeyType;
  /** null exactly for `organisation-service`. */
  readonly workspaceId: string | null;
  readonly userId?: string | null;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly defaults?: Partial<KeyDefaults>;
  readonly creationMode?: ApiKey['creationMode'];
  readonly createdBy?: string | null;
}

/** Absent: stays as it is. */
export interface ApiKeyChange extends Partial<Omit<KeySettings, 'defaults'>> {
  readonly defaults?: Partial<KeyDefaults>;
  readonly etag?: string;
}

/** A key with its text, once. */
export interface MadeApiKey {
  readonly key: ApiKey;
  readonly text: Secret;
  /** What caches know it by. */
  readonly hash: string;
}

/** A key, and the hashes of all texts by which caches may know it. */
export interface TouchedApiKey {
  readonly key: ApiKey;
  readonly hashes: readonly string[];
}

export interface RotatedApiKey extends TouchedApiKey {
  readonly text: Secret;
  /** Until when the old text is good. Unix milliseconds. */
  readonly transitionExpiresAt: number;
}

export interface ApiKeyFilter {
  readonly workspaceId?: string;
  readonly userId?: string;
  readonly types?: readonly KeyType[];
  /** Any of them; all where absent or empty. */
  readonly status?: readonly KeyStatus[];
  /** Ids of the keys whose budget is used up, which their status depends on; none where absent. */
  readonly exhausted?: readonly string[];
}

export interface ApiKeyStore {
  get(organisationId: string, id: string): Promise<ApiKey | null>;
  /** Newest first. */
  list(organisationId: string, filter: ApiKeyFilter, page: Page): Promise<Listed<ApiKey>>;
  /** Budgets of the keys that are not expired and pass the filter, whatever its status. */
  budgets(organisationId: string, filter: ApiKeyFilter): Promise<readonly SetBudget[]>;
  /** `missing`: no such workspace in this organisation. */
  create(organisationId: string, input: NewApiKey): Promise<MadeApiKey | 'missing'>;
  update(
    organisationId: string,
    id: string,
    change: ApiKeyChange,
  ): Promise<TouchedApiKey | 'missing' | 'stale'>;
  /**
   * Gives the key a new text; the old one is good for so long. `rotating`: the one before it still is, and two are
   * enough.
   */
  rotate(
    organisationId: string,
    id: string,
    transitionMs: number,
  ): Promise<RotatedApiKey | 'missing' | 'rotating' | 'stale'>;
  delete(organisationId: string, id: string, etag?: string): Promise<TouchedApiKey | 'missing' | 'stale'>;
  /**
   * The one lookup that runs before the tenant is known: the key leads to it. Expired keys are found too; those of an
   * archived workspace, and of a user who is no longer a member, are not.
   */
  findByHash(hash: string): Promise<KeyRecord | null>;
  /** What data workers get of a key, by its id; null also where it would not be found by its text. */
  record(organisationId: string, id: string): Promise<KeyRecord | null>;
  /** Is this the hash of a key's newest text? false for the text before a rotation, even while it is valid. */
  isNewest(hash: string): Promise<boolean>;
}
