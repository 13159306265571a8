import type { BudgetRule } from '../core/budget-rules.js';
import type { EndpointName } from '../core/endpoint.js';
import type { RateRule } from '../core/rate-rules.js';

export type KeyType = 'organisation-service' | 'workspace-service' | 'workspace-user';

/** Ids of guardrails that all requests (`before`) and answers (`after`) of a key pass. */
export interface DefaultGuardrails {
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** The caller: the data of a gateway key. One object per key, shared by all its calls; never modified. */
export interface Principal {
  readonly organisationId: string;
  /** null for an organisation's own (admin) key. */
  readonly workspaceId: string | null;
  readonly keyId: string;
  readonly keyName: string;
  readonly keyType: KeyType;
  readonly userId: string | null;
  readonly scopes: readonly string[];
  /** Unix milliseconds, or null for a key that does not expire. */
  readonly expiresAt: number | null;
  /** May its calls use only saved configs and providers, and no inline ones? */
  readonly blockInline: boolean;
  /** false: its workspace keeps no bodies of requests and answers in the log. */
  readonly keepBodies?: boolean;
  /** Does its organisation keep what guardrails change as it was, too? Absent: no. */
  readonly keepUnredacted?: boolean;
  /** Rate limits of the key and of its workspace; absent: none. */
  readonly limits?: readonly RateRule[];
  /** Guardrails of its organisation and its workspace; absent: none. */
  readonly guardrails?: DefaultGuardrails;
  /** Budgets of the key and of its workspace; absent: none. */
  readonly budgets?: readonly BudgetRule[];
  /** It was identified by a JSON web token, not by a key. Absent: by a key. */
  readonly isToken?: boolean;
  readonly defaults: {
    readonly configId: string | null;
    readonly allowConfigOverride: boolean;
    readonly metadata: Readonly<Record<string, string>>;
    /** Metadata `_user` of calls that name no user; absent: none. */
    readonly user?: string;
  };
}

/** Do the key's scopes allow calls of that endpoint? */
export function mayCall({ scopes }: Principal, endpoint: EndpointName): boolean {
  return (
    scopes.includes('completions.write') || (endpoint === 'models' && scopes.includes('virtual_keys.list'))
  );
}

/** Is the key past its expiry at that time, in Unix milliseconds? */
export function isExpired({ expiresAt }: Principal, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}
