import type { RateLimit } from '../../../common/core/rate-rules.js';
import type { KeyRecord } from '../../../common/ipc/records.js';

/** The rights of a JSON web token, as its claims have them. */
export interface TokenCaller {
  readonly keyId: string;
  readonly keyName: string;
  /** Id or e-mail address of a user; null: the token names none. */
  readonly user: string | null;
  readonly scopes: readonly string[];
  /** Unix milliseconds. */
  readonly expiresAt: number;
  readonly configId: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly rateLimits: readonly RateLimit[];
}

/** What data workers get of a token. `createdAt`: of its organisation, Unix milliseconds. */
export interface FoundTokenCaller {
  readonly record: KeyRecord;
  readonly createdAt: number;
}

export interface TokenCallerStore {
  /**
   * The record of a token in an active workspace, named by id or slug. `missing`: the organisation has no such workspace.
   * `outside`: the token's user is a user of the organisation who is not in that workspace.
   */
  find(
    organisationId: string,
    workspace: string,
    caller: TokenCaller,
  ): Promise<FoundTokenCaller | 'missing' | 'outside'>;
}
