import type { Principal } from './principal.js';
import type { FieldValues } from './provider-fields.js';
import type { Secret } from './secret.js';
import type { ResolvedConfig } from './target.js';

/** A value now where it is known, else later: a synchronous answer costs no await. */
export type Awaitable<T> = T | Promise<T>;

/** A provider credential kept by Headgate, opened. */
export interface StoredProvider {
  readonly id: string;
  readonly slug: string;
  readonly workspaceId: string;
  /** Name of the provider row whose wire it speaks: `openai`, `anthropic`, … */
  readonly provider: string;
  readonly credential: Secret | null;
  /** An operator's own base URL for it, version segment included; null: the row's. */
  readonly baseUrl: string | null;
  /** Is that address the organisation's word? Else calls to it pass the rules for hosts that callers choose. */
  readonly hostTrusted: boolean;
  /** Sent with every call: names in lower case, each with its value behind it. */
  readonly headers: readonly string[];
  /** Fields of the provider's own in snake case: `openai_organization`. */
  readonly fields: FieldValues;
  /** Unix milliseconds. */
  readonly expiresAt: number | null;
  /** Whose budget is used up. */
  readonly exhausted: 'virtual_key' | 'integration' | null;
  /** null: every model may be asked for. */
  readonly models: StoredModels | null;
}

export interface StoredModels {
  /** Do models pass that are not named? */
  readonly others: boolean;
  /** `baseUrl`: where this model alone is reached, version segment included. */
  readonly named: ReadonlyMap<string, { readonly enabled: boolean; readonly baseUrl: string | null }>;
}

/**
 * What a data worker knows of keys, configs and providers. Answers from memory where it can, asks the control
 * process where it cannot, forgets when told. Tenant first in every question.
 */
export interface Directory {
  /** `hash`: HMAC-SHA-256 of the key text, hex. null: no such key. */
  key(hash: string): Awaitable<Principal | null>;
  config(workspaceId: string, slugOrId: string): Awaitable<ResolvedConfig | null>;
  provider(workspaceId: string, slug: string): Awaitable<StoredProvider | null>;
}
