import type { Principal } from '../access/principal.js';
import type { Secret } from '../access/secret.js';
import type { ProviderPrices } from '../prices/provider-prices.js';
import type { FieldValues } from '../vocabulary/provider-fields.js';
import type { BudgetPolicy, BudgetRule } from './budget-rules.js';
import type { GuardrailRules } from './guardrail.js';
import type { RatePolicy, RateRule } from './rate-rules.js';
import type { ResolvedConfig } from './target.js';

/** A value, now or later: a synchronous value needs no await. */
export type Awaitable<T> = T | Promise<T>;

/** A field that a secret reference was to fill, and the error of calls that need it. */
export interface UnresolvedSecret {
  readonly field: string;
  readonly code: 'secret_unavailable' | 'provider_credential_missing';
  readonly message: string;
}

/** A stored provider with its decrypted credential. */
export interface StoredProvider {
  readonly id: string;
  readonly slug: string;
  readonly workspaceId: string;
  /** Name of the provider row with its format: `openai`, `anthropic`, … */
  readonly provider: string;
  /** Slug of the integration whose credential it uses; null: it has its own. */
  readonly integration: string | null;
  readonly credential: Secret | null;
  /** An operator's own base URL for it, version segment included; null: the row's. */
  readonly baseUrl: string | null;
  /** Did the organisation set that address? Otherwise the rules for hosts that callers choose apply. */
  readonly hostTrusted: boolean;
  /** Sent with every call: names in lower case, each followed by its value. */
  readonly headers: readonly string[];
  /** Fields of the provider's own in snake case: `openai_organization`. */
  readonly fields: FieldValues;
  /** Unix milliseconds. */
  readonly expiresAt: number | null;
  /** Fields that are mapped to secrets whose values are not there: `key`, `custom_host`. Absent: none. */
  readonly unresolved?: readonly UnresolvedSecret[];
  /** Has it values of secret references? Absent: no. */
  readonly isMapped?: true;
  /** null: every model is allowed. */
  readonly models: StoredModels | null;
  /** Rate limits of the provider, and of its integration in this workspace; absent: none. */
  readonly limits?: readonly RateRule[];
  /** What its calls cost where its integration or its organisation has set prices; absent: what the gateway counts with. */
  readonly prices?: ProviderPrices;
  /** Budgets of the provider, and of its integration in this workspace; absent: none. */
  readonly budgets?: readonly BudgetRule[];
}

/** The policies of a workspace that are in force. The same object until one of them changes. */
export interface Policies {
  readonly rates: readonly RatePolicy[];
  readonly budgets: readonly BudgetPolicy[];
}

export interface StoredModels {
  /** Are other models allowed too? */
  readonly others: boolean;
  /** `baseUrl`: address of this model alone, version segment included. */
  readonly named: ReadonlyMap<string, { readonly enabled: boolean; readonly baseUrl: string | null }>;
}

/** What a partner is called with, by the names of its fields. The same object until it changes. */
export type PartnerCredentials = Readonly<Record<string, Secret>>;

/** The tenants that the gateway of a deployment serves. */
export interface DeploymentRules {
  readonly organisationId: string;
  /** It is turned off, or archived. */
  readonly disabled: boolean;
  /** Ids; null: every workspace of the organisation. */
  readonly workspaces: ReadonlySet<string> | null;
}

/** The sender of a key. */
export interface Sender {
  /** IP address; empty: the client has disconnected. */
  readonly remoteAddress: string;
}

/**
 * The keys, configs and providers of a data worker. Answers from memory if possible, else asks the control
 * process; forgets on request. The tenant is the first parameter of every lookup.
 */
export interface Directory {
  /**
   * `hash`: HMAC-SHA-256 of the key text, hex. `text`: of a JSON web token; of a key it is not used. null: no such key.
   * Throws or rejects with `too_many_unknown_keys` if the key has to be looked up and its sender's network has sent too
   * many unknown ones; rejects with the reason why a token is not accepted.
   */
  key(hash: string, sender?: Sender, text?: string): Awaitable<Principal | null>;
  config(workspaceId: string, slugOrId: string): Awaitable<ResolvedConfig | null>;
  provider(workspaceId: string, slug: string): Awaitable<StoredProvider | null>;
  /** Slugs of providers that calls of the workspace can use, to suggest one: not necessarily all. null: not known. */
  slugs(workspaceId: string): Awaitable<readonly string[] | null>;
  /** null: the workspace has none. */
  policies(workspaceId: string): Awaitable<Policies | null>;
  /**
   * An active guardrail of the workspace or of its organisation. `scope`: the workspace's id; the organisation's for a
   * key of no workspace. null: there is none.
   */
  guardrail(scope: string, idOrSlug: string): Awaitable<GuardrailRules | null>;
  /** What the organisation's plugin of a partner holds. `scope` as above. null: there is none. */
  partner(scope: string, partner: string): Awaitable<PartnerCredentials | null>;
  /** Rules of the deployment that this node reports as; null: of none. */
  readonly deployment: (() => Awaitable<DeploymentRules>) | null;
  /** Changes whenever providers are forgotten: values derived from a provider are valid until then. */
  readonly providersVersion: number;
  /** Changes whenever policies are forgotten. */
  readonly policiesVersion: number;
}
