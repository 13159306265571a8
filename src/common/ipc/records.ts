import type { KeyType } from '../access/principal.js';
import type { BudgetPolicy, BudgetRule } from '../core/budget-rules.js';
import type { GuardrailFeedback } from '../core/guardrail.js';
import type { RatePolicy, RateRule } from '../core/rate-rules.js';
import type { PricesRecord } from '../prices/provider-prices.js';
import type { SecretManager } from '../vocabulary/secret-managers.js';

/** Wire form of a Principal. */
export interface KeyRecord {
  organisationId: string;
  workspaceId: string | null;
  keyId: string;
  keyName: string;
  keyType: KeyType;
  userId: string | null;
  scopes: string[];
  expiresAt: number | null;
  /** May its calls use only saved configs and providers? */
  blockInline: boolean;
  /** Are the bodies of its calls kept in the log? Absent: yes. */
  keepBodies?: boolean;
  /** Is what guardrails change kept as it was, too? Absent: no. */
  keepUnredacted?: boolean;
  /** Rate limits of the key and of its workspace; absent: none. */
  limits?: RateRule[];
  /** Ids of guardrails of its organisation and its workspace; absent: none. */
  guardrails?: { before: string[]; after: string[] };
  /** Budgets of the key and of its workspace; absent: none. */
  budgets?: BudgetRule[];
  /** It was identified by a JSON web token, not by a key. Absent: by a key. */
  isToken?: boolean;
  defaults: {
    configId: string | null;
    allowConfigOverride: boolean;
    metadata: Record<string, string>;
    /** Metadata `_user` of calls that name no user; absent: none. */
    user?: string;
  };
}

/** Why a JSON web token is not accepted. */
export interface TokenRefusal {
  /** `01`: it has expired; `03`: it is not valid; `033`: it cannot be checked now; `permission_denied`: it may not do this. */
  refused: '01' | '03' | '033' | 'permission_denied';
  /** For the sender: nothing that only the organisation may know, unless the signature is right. */
  message: string;
}

export type TokenRecord = KeyRecord | TokenRefusal;

/** Whom the gateway of a deployment serves. */
export interface DeploymentRecord {
  organisationId: string;
  /** It is turned off, or archived. */
  disabled: boolean;
  /** Ids; null: every workspace of the organisation. */
  workspaces: string[] | null;
  /** Subjects whose JSON web tokens it accepts; absent: any. */
  tokenSubjects?: string[];
  /** Workspaces, by id or slug, that the tokens of a subject are for; absent: those that the tokens name. */
  subjectWorkspaces?: Readonly<Record<string, readonly string[]>>;
}

export interface ConfigRecord {
  slug: string;
  version: string;
  /** JSON text of the routing config. */
  text: string;
}

export interface ProviderRecord {
  id: string;
  slug: string;
  workspaceId: string;
  provider: string;
  /** Slug of the integration whose credential it uses; null: it has its own. */
  integration: string | null;
  /** Opened credential: the channel is a private socket pair between parent and child. */
  credential: string | null;
  baseUrl: string | null;
  /** Is that address the organisation's word? Else calls to it pass the rules for hosts that callers choose. */
  hostTrusted: boolean;
  /** Sent with every call: names in lower case, each followed by its value. */
  headers: string[];
  /** Fields of the provider's own in snake case: `openai_organization`. */
  fields: Record<string, string>;
  /** Fields that are credentials or hold one, opened. */
  secrets: Record<string, string>;
  /** Fields that are mapped to secrets whose values are not there. */
  unresolved: UnresolvedField[];
  /** Fields that are mapped to secrets; absent: none. Not sent to workers, which get the values. */
  mapped?: MappedField[];
  /** Has it values of secrets? Absent: no. */
  isMapped?: true;
  /** Unix milliseconds. */
  expiresAt: number | null;
  /** null: every model. */
  models: ModelRules | null;
  /** Rate limits of the provider, and of its integration in this workspace; absent: none. */
  limits?: RateRule[];
  /** Prices of its integration and its organisation; absent: none. */
  prices?: PricesRecord;
  /** Budgets of the provider, and of its integration in this workspace; absent: none. */
  budgets?: BudgetRule[];
}

/** The policies of a workspace that are in force. */
export interface PoliciesRecord {
  rates: RatePolicy[];
  /** Absent: none, or an earlier version wrote the record. */
  budgets?: BudgetPolicy[];
}

/** A guardrail in its current version, its secrets opened. */
export interface GuardrailRecord {
  slug: string;
  versionId: string;
  /** Those that are enabled. */
  checks: { id: string; parameters: Record<string, unknown> }[];
  deny: boolean;
  async: boolean;
  sequential: boolean;
  softDeny: boolean;
  incremental: boolean;
  onSuccess: GuardrailFeedback | null;
  onFail: GuardrailFeedback | null;
  passthroughPaths: string[];
  passthroughAllowed: boolean;
}

/** What a partner of guardrails is called with, opened. */
export interface PartnerRecord {
  credentials: Readonly<Record<string, string>>;
  /** Credentials that are mapped to secrets whose values are not there; absent: none. */
  unresolved?: UnresolvedField[];
  /** Credentials that are mapped to secrets; absent: none. Not sent to workers, which get the values. */
  mapped?: MappedField[];
}

/** A field that a secret reference was to fill. */
export interface UnresolvedField {
  field: string;
  code: 'secret_unavailable' | 'provider_credential_missing';
  /** A sentence for the caller, which names the reference. */
  message: string;
}

/** A field of a record that a secret reference fills. */
export interface MappedField {
  /** Without the part before its point: `key`, `aws_secret_access_key`. */
  field: string;
  /** The reference by the id or slug that the mapping has. */
  named: string;
  /** Wins over the reference's own. */
  secretKey: string | null;
  isJson: boolean;
  /** null: there is no such reference. */
  reference: SecretReferenceRecord | null;
}

/** What is needed to fetch a secret. */
export interface SecretReferenceRecord {
  id: string;
  revision: number;
  organisationId: string;
  slug: string;
  managerType: SecretManager;
  /** By the names of the API, credentials included. */
  auth: Record<string, string>;
  secretPath: string;
  secretKey: string | null;
  /** May the workspace of the record use it? */
  isAllowed: boolean;
}

/** The models that a stored provider allows. */
export interface ModelRules {
  /** Are other models allowed too? */
  others: boolean;
  /** `baseUrl`: address of this model alone, version segment included. */
  named: { model: string; enabled: boolean; baseUrl: string | null }[];
}
