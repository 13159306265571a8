import type { Principal } from '../access/principal.js';
import type { Secret } from '../access/secret.js';
import type { FieldValues } from '../vocabulary/provider-fields.js';
import type { RatePolicy, RateRule } from './rate-rules.js';
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
  /** Slug of the integration whose credential it uses; null: it has its own. */
  readonly integration: string | null;
  readonly credential: Secret | null;
  /** An operator's own base URL for it, version segment included; null: the row's. */
  readonly baseUrl: string | null;
  /** Is that address the organisation's word? Else calls to it pass the rules for hosts that callers choose. */
  readonly hostTrusted: boolean;
  /** Sent with every call: names in lower case, each followed by its value. */
  readonly headers: readonly string[];
  /** Fields of the provider's own in snake case: `openai_organization`. */
  readonly fields: FieldValues;
  /** Unix milliseconds. */
  readonly expiresAt: number | null;
  /** Fields that are mapped to secrets which cannot be read: `key`, `custom_host`. Absent: none. */
  readonly unresolved?: readonly string[];
  /** Whose budget is used up. */
  readonly exhausted: 'virtual_key' | 'integration' | null;
  /** null: every model may be asked for. */
  readonly models: StoredModels | null;
  /** Rate limits of the provider, and of its integration in this workspace; absent: none. */
  readonly limits?: readonly RateRule[];
}

/** The policies of a workspace that are in force. The same object until one of them changes. */
export interface Policies {
  readonly rates: readonly RatePolicy[];
}

export interface StoredModels {
  /** Do models pass that are not named? */
  readonly others: boolean;
  /** `baseUrl`: where this model alone is reached, version segment included. */
  readonly named: ReadonlyMap<string, { readonly enabled: boolean; readonly baseUrl: string | null }>;
}

/** Whom the gateway of a deployment serves. */
export interface DeploymentRules {
  readonly organisationId: string;
  /** It is turned off, or archived. */
  readonly disabled: boolean;
  /** Ids; null: every workspace of the organisation. */
  readonly workspaces: ReadonlySet<string> | null;
}

/** Who sent a key. */
export interface Sender {
  /** IP address; empty where the client has disconnected. */
  readonly remoteAddress: string;
}

/**
 * The keys, configs and providers of a data worker. Answers from memory where it can, asks the control
 * process where it cannot, forgets on request. The tenant is the first parameter of every lookup.
 */
export interface Directory {
  /**
   * `hash`: HMAC-SHA-256 of the key text, hex. null: no such key. Throws or rejects with `too_many_unknown_keys` where
   * the key has to be looked up and its sender's network has sent too many that do not exist.
   */
  key(hash: string, sender?: Sender): Awaitable<Principal | null>;
  config(workspaceId: string, slugOrId: string): Awaitable<ResolvedConfig | null>;
  provider(workspaceId: string, slug: string): Awaitable<StoredProvider | null>;
  /** null: the workspace has none. */
  policies(workspaceId: string): Awaitable<Policies | null>;
  /** Rules of the deployment that this node reports as; null: of none. */
  readonly deployment: (() => Awaitable<DeploymentRules>) | null;
  /** Another number once providers have been forgotten: what was derived from one holds until then. */
  readonly providersVersion: number;
}
