// Generated from proto/headgate/admin/v1 by `npm run gen`.
// In memory: times are ISO 8601 text, free JSON is itself. What is optional may be absent; what is not never is.

export interface AcceptInviteRequest {
  /** The token of the link. */
  readonly token: string;
  /** At most 255 characters. */
  readonly first_name?: string | null;
  /** At most 255 characters. */
  readonly last_name?: string | null;
  /** To sign in with: 12 to 128 characters. Required for the first owner and for a new password; an invited user without one
   * signs in by OpenID Connect. */
  readonly password?: string | null;
  /** Required for the first owner; an invited user has the address of the invitation. */
  readonly email?: string | null;
}

export interface AcceptInviteResponse {
  readonly user: User;
  /** One for each workspace, where the invitation asks for keys. */
  readonly api_keys: readonly InviteKey[];
}

export interface AddWorkspaceMembersRequest {
  /** Id or slug. */
  readonly workspace_id: string;
  /** 1 to 1000. */
  readonly users: readonly NewWorkspaceMember[];
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export type AddWorkspaceMembersResponse = Readonly<Record<string, never>>;

export interface AiModelGroup {
  readonly ai_model?: string | null;
  readonly requests: number;
  readonly object: 'analytics-group';
}

export interface AiModelGroups {
  readonly object: 'list';
  /** Groups in all. */
  readonly total?: number | null;
  readonly data: readonly AiModelGroup[];
}

/** Amounts are dollars, tokens or requests, as the budget counts. For an anomaly they are 0, and its figures are in `anomaly`. */
export interface Alert {
  readonly id: string;
  readonly object: 'alert';
  /** threshold: usage has reached alert_threshold. exhausted: it has reached credit_limit. reset: it starts again at 0.
   * anomaly: a figure of a workspace differs from the same hours of past weeks. */
  readonly event: 'threshold' | 'exhausted' | 'reset' | 'anomaly';
  readonly created_at?: string | null;
  readonly organisation_id: string;
  readonly workspace_id?: string | null;
  /** What the budget is set on; for an anomaly, the workspace. */
  readonly holder_type: 'api_key' | 'workspace' | 'virtual_key' | 'integration' | 'usage_limits_policy';
  readonly holder_id: string;
  /** At the time of the alert; absent: it had none, or was deleted. */
  readonly holder_name?: string | null;
  /** The same for each period of the budget. For a policy, the id of an entity. Empty for an anomaly. */
  readonly budget_id: string;
  /** Of a policy, the values of its groups. */
  readonly value_key?: string | null;
  /** What the budget counts, or the metric of an anomaly. */
  readonly type: 'cost' | 'tokens' | 'requests' | 'errors' | 'latency' | 'traffic';
  readonly credit_limit: number;
  readonly alert_threshold?: number | null;
  /** Of a reset: before it. */
  readonly usage: number;
  /** Of an anomaly: since when the figure differs. */
  readonly period_start?: string | null;
  /** Absent: the period never ends. */
  readonly period_end?: string | null;
  /** E-mail addresses; empty for keys of a workspace. */
  readonly recipients: readonly string[];
  /** To the webhook. none: no webhook was set. failed: it was not accepted for 24 hours. */
  readonly delivery: 'none' | 'pending' | 'sent' | 'failed';
  /** Calls of the webhook so far. */
  readonly delivery_attempts: number;
  readonly sent_at?: string | null;
  /** Only with the event anomaly. */
  readonly anomaly?: Anomaly | null;
}

/** A figure of a workspace that differed from the same hours of past weeks. */
export interface Anomaly {
  /** Also the id of its alert. */
  readonly id: string;
  readonly object: 'anomaly';
  readonly workspace_id: string;
  /** cost: cents in five minutes. errors: percent of the requests. latency: mean milliseconds. traffic: requests in five minutes. */
  readonly metric: 'cost' | 'errors' | 'latency' | 'traffic';
  /** When it was found. */
  readonly value: number;
  /** The median of the same hours of past weeks. */
  readonly expected: number;
  /** Start of the first five minutes that differed. */
  readonly started_at?: string | null;
  /** End of the last five minutes that differed. If this is a moment ago, the anomaly continues. */
  readonly last_seen_at?: string | null;
  /** When it was found. */
  readonly created_at?: string | null;
}

export interface ApiKey {
  readonly id: string;
  /** 2 first characters, *****, 3 last. */
  readonly key: string;
  readonly name: string;
  readonly description?: string | null;
  readonly type: 'organisation-service' | 'workspace-service' | 'workspace-user';
  readonly organisation_id: string;
  readonly workspace_id?: string | null;
  readonly user_id?: string | null;
  readonly status: 'active' | 'exhausted' | 'expired';
  readonly created_at: string;
  readonly last_updated_at: string;
  /** auto: made for a user by the gateway. */
  readonly creation_mode: 'ui' | 'api' | 'auto';
  readonly scopes: readonly string[];
  readonly defaults: ApiKeyDefaults;
  readonly expires_at?: string | null;
  readonly object: 'api-key';
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
  readonly rate_limits: readonly RateLimit[];
  readonly usage_limits?: UsageLimitsState | null;
  readonly reset_usage?: number | null;
  readonly alert_emails: readonly string[];
  readonly rotation_policy?: RotationPolicyState | null;
  readonly last_reset_at?: string | null;
  readonly last_rotated_at?: string | null;
  readonly next_usage_reset_at?: string | null;
  /** 1: it expired, and is refused for that. */
  readonly expiry_enforced: number;
  /** The same as defaults.allow_config_override: 0 or 1. */
  readonly allow_config_override?: number | null;
  readonly api_key_defaults_id?: string | null;
  /** Until when the text before the last rotation is good; absent where it no longer is. */
  readonly key_transition_expires_at?: string | null;
}

export interface ApiKeyDefaults {
  /** Added to every request. Values of at most 128 characters. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Slug or id of a config of the key's workspace. */
  readonly config_id?: string | null;
  /** true unless given; false pins the config. */
  readonly allow_config_override?: boolean | null;
}

export interface AppliedDocument {
  /** Index of the document in the request, from 0; -1: a record without a document, which is deleted. */
  readonly index: number;
  readonly kind: string;
  readonly name: string;
  /** Slug; absent: a record of the organisation. */
  readonly workspace?: string | null;
  readonly action: 'create' | 'update' | 'delete' | 'unchanged';
  readonly changes: readonly DocumentChange[];
  /** Of the record; absent in a dry run that would make it. */
  readonly id?: string | null;
  /** The secret of a key that was created, which is only shown here. */
  readonly key?: string | null;
  /** Secrets without a value, of which the record keeps what it has. */
  readonly kept_secrets: readonly KeptSecret[];
}

export interface AppliedDocuments {
  readonly object: 'list';
  readonly dry_run: boolean;
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
  readonly unchanged: number;
  /** In the order of the request; deleted records last. */
  readonly data: readonly AppliedDocument[];
  /** Names the state of the records before the changes; for the etag of an apply. */
  readonly etag: string;
}

export interface ApplyDocumentsRequest {
  /** Each with kind, name, workspace and spec. At most 10000. */
  readonly documents: readonly Readonly<Record<string, unknown>>[];
  /** Name of the set that consists of these documents; `default` unless given. */
  readonly set?: string | null;
  /** Report what would change, and change nothing? */
  readonly dry_run?: boolean | null;
  /** Delete records that an earlier apply of this set created and that no document describes any more? */
  readonly prune?: boolean | null;
  /** Values of the secrets that documents name by {env: NAME}, by that name; `-` is standard input. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Workspace of documents that name none: id or slug. */
  readonly workspace_id?: string | null;
  /** Refuse placeholders without a value? Otherwise an existing record keeps its secret. */
  readonly strict_secrets?: boolean | null;
  /** The etag of a dry run: refused with 409 if the records have changed since. */
  readonly etag?: string | null;
}

/** What one try of one target cost. */
export interface AttemptCost {
  readonly target: string;
  readonly provider: string;
  /** Its own name for the model; absent where it is not known. */
  readonly model?: string | null;
  /** The model whose price this is: a dated name costs what the name without its date does. */
  readonly priced_as?: string | null;
  /** batch, flex or priority; absent: the usual one. */
  readonly tier?: string | null;
  /** Does the price of a long input hold? */
  readonly long_input: boolean;
  /** Where the price was read, else whose own it is: integration, organisation or settings; absent where none is known. */
  readonly price_source?: string | null;
  /** The days on which it was read, and from which on it holds. */
  readonly price_read_on?: string | null;
  readonly price_since?: string | null;
  readonly lines: readonly CostLine[];
  /** The sum of the lines; absent where there is no price or nothing was used. */
  readonly cost?: string | null;
  /** As the ledger has it. */
  readonly recorded_cost?: string | null;
  /** integration or organisation, where the price is theirs; absent: the gateway's. */
  readonly price_set_by?: string | null;
  /** Slug of the integration of the stored provider that was called; absent: none. */
  readonly integration?: string | null;
}

export interface AuditLog {
  readonly timestamp: string;
  /** HTTP method of the action, over gRPC too. */
  readonly method: 'POST' | 'PUT' | 'DELETE';
  /** Path of the action, over gRPC too. */
  readonly uri: string;
  readonly request_id: string;
  /** JSON text. A keyed hash replaces each secret. */
  readonly request_body: string;
  readonly query_params: string;
  /** JSON text, without credentials. */
  readonly request_headers: string;
  readonly user_id?: string | null;
  readonly user_type?: 'user' | 'api_key' | 'local_command' | 'schedule' | null;
  readonly organisation_id: string;
  readonly workspace_id?: string | null;
  readonly response_status_code: number;
  /** workspace, api_key, virtual_key, provider, integration, config, collection, label, guardrail, policy,
   * deployment, user, invite, organisation, … */
  readonly resource_type: string;
  /** create, update, delete, publish, export, rotate, manage or duplicate. */
  readonly action: string;
  readonly client_ip?: string | null;
  /** Two letters. */
  readonly country?: string | null;
  /** Place in the organisation's chain, from 1. Each row's hash covers the row before. */
  readonly seq: number;
  /** Name of the key or user at that time. */
  readonly actor_name?: string | null;
  readonly resource_id?: string | null;
  /** Was it allowed? */
  readonly allowed: boolean;
}

export interface AuthSettings {
  readonly session_settings: SessionSettings;
  readonly jwks_url?: string | null;
  readonly jwks?: Readonly<Record<string, unknown>> | null;
  readonly issuer?: string | null;
  readonly audience?: string | null;
  readonly algorithms: readonly string[];
  readonly user_id_claims: readonly string[];
  readonly oidc?: OidcSettings | null;
}

/** One deployment of a model on Azure OpenAI. */
export interface AzureDeployment {
  /** What calls name it by. */
  readonly alias?: string | null;
  /** At most 30 characters. */
  readonly azure_api_version: string;
  readonly azure_deployment_name: string;
  /** false unless given. */
  readonly is_default?: boolean | null;
  readonly azure_model_slug: string;
}

export interface CacheHitRateGraph {
  readonly summary: CacheHitRateSummary;
  readonly data_points: readonly CacheHitRatePoint[];
  readonly object: 'analytics-graph';
}

export interface CacheHitRatePoint {
  readonly timestamp: string;
  readonly simple_hits: number;
  readonly semantic_hits: number;
  readonly rate: number;
  readonly cumulative_simple_cache_savings: number;
  readonly cumulative_semantic_cache_savings: number;
}

export interface CacheHitRateSummary {
  readonly total: number;
  readonly rate: number;
}

export interface CacheLatencyGraph {
  readonly summary: CacheLatencySummary;
  readonly data_points: readonly CacheLatencyPoint[];
  readonly object: 'analytics-graph';
}

export interface CacheLatencyPoint {
  readonly timestamp: string;
  readonly avg?: number | null;
}

export type CacheLatencySummary = Readonly<Record<string, never>>;

export interface CacheSummary {
  readonly hits: number;
  /** Milliseconds that hits took; null: there was none. */
  readonly avg_latency?: number | null;
  readonly total_requests: number;
  /** How many times as long the misses took, on average; null: no hits, or no misses. */
  readonly cache_speedup?: number | null;
}

export interface CacheSummaryAnswer {
  readonly summary: CacheSummary;
  readonly object: 'analytics-summary';
}

export interface CancelLogExportRequest {
  readonly export_id: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export interface ChildCollection {
  readonly id: string;
  readonly name: string;
  readonly last_updated_at: string;
  readonly collection_details: CollectionDetails;
}

export interface CircuitBreaker {
  readonly workspace_id: string;
  /** Slug of the saved config; absent for a config that was sent with a request. */
  readonly config?: string | null;
  /** Identifies this version of the config. */
  readonly fingerprint: string;
  /** The target: config.targets[0]. */
  readonly path: string;
  /** Who failed last. */
  readonly provider: string;
  /** open, or half_open while a request probes the target. */
  readonly state: string;
  /** The last failure: an HTTP status, or an error's code. */
  readonly reason: string;
  readonly opened_at: string;
  /** From then on one request may probe. */
  readonly next_probe_at: string;
  /** Of the minute before it opened, and of the probes since. */
  readonly requests: number;
  readonly failures: number;
}

export interface Collection {
  readonly id: string;
  readonly name: string;
  readonly workspace_id: string;
  readonly slug: string;
  readonly parent_collection_id?: string | null;
  readonly is_default: boolean;
  readonly status: 'active' | 'archived';
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly child_collections: readonly ChildCollection[];
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
}

/** The contents of a collection. */
export interface CollectionDetails {
  readonly child_collections_count: number;
  readonly prompts_count: number;
  readonly child_collections_last_updated_at?: string | null;
  readonly prompts_last_updated_at?: string | null;
}

export interface CollectionRow {
  readonly id: string;
  readonly name: string;
  readonly workspace_id: string;
  readonly slug: string;
  readonly parent_collection_id?: string | null;
  readonly is_default: boolean;
  readonly status: 'active' | 'archived';
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly collection_details: CollectionDetails;
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
}

export interface Config {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly organisation_id: string;
  readonly workspace_id: string;
  readonly is_default: number;
  readonly status: 'active' | 'archived';
  readonly owner_id?: string | null;
  readonly updated_by?: string | null;
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly object: string;
  /** The routing config itself; secrets in it (api_key) are masked. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Always "json". */
  readonly format: string;
  /** Always "ORG_CONFIG". */
  readonly type: string;
  readonly version_id: string;
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
}

export interface ConfigEvent {
  /** What happened to the record. `start`: the stream is open. `reset`: changes since the token are no longer kept, so
   * everything must be read again. `alive`: nothing happened for a while. */
  readonly action: 'create' | 'update' | 'delete' | 'start' | 'reset' | 'alive';
  /** Where to go on after this event. */
  readonly token: string;
  /** config, api_key, provider, virtual_key, integration, workspace, …: as in the audit log. */
  readonly kind?: string | null;
  readonly id?: string | null;
  readonly slug?: string | null;
  /** Absent for what belongs to the whole organisation. */
  readonly workspace_id?: string | null;
  readonly at: string;
}

export interface ConfigRow {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly organisation_id: string;
  readonly workspace_id: string;
  /** 0 or 1. */
  readonly is_default: number;
  readonly status: 'active' | 'archived';
  readonly owner_id?: string | null;
  readonly updated_by?: string | null;
  readonly created_at: string;
  readonly last_updated_at: string;
  /** Always "config". */
  readonly object: string;
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
  /** With return_last_used: its newest use among the last 1000 requests of the workspace. */
  readonly last_used_at?: string | null;
}

export interface CostExplanation {
  readonly id: string;
  readonly currency: 'USD';
  readonly attempts: readonly AttemptCost[];
  /** The sum of all lines; absent where nothing has a price. */
  readonly cost?: string | null;
  /** As the ledger has it. */
  readonly recorded_cost?: string | null;
  /** Are both the same? */
  readonly matches: boolean;
  /** Why they differ, or why there is no cost. */
  readonly note?: string | null;
}

export interface CostGraph {
  readonly summary: CostSummary;
  readonly data_points: readonly CostPoint[];
  readonly object: 'analytics-graph';
  readonly series: readonly CostSeries[];
}

/** One product. Amounts are US dollars as exact decimal text. */
export interface CostLine {
  /** input, cached, cache_write, cache_write_hour, audio_input, output, reasoning, second, request, … */
  readonly rate: string;
  /** token, character, second or request. */
  readonly unit: string;
  readonly quantity: number;
  /** For one unit. */
  readonly unit_price: string;
  readonly cost: string;
  /** What an integration multiplies the price by; absent: nothing does. `unit_price` has it in it. */
  readonly factor?: number | null;
}

export interface CostPoint {
  readonly timestamp: string;
  readonly total: number;
  readonly avg?: number | null;
}

export interface CostSeries {
  /** Slug, name or code; null: none; `other`: all that are not among the ten. */
  readonly group_key?: string | null;
  readonly summary: CostSummary;
  readonly data_points: readonly CostPoint[];
}

/** The same in US dollars, as exact decimal text. */
export interface CostSides {
  readonly ledger: string;
  readonly export: string;
  readonly difference: string;
}

export interface CostSummary {
  readonly total: number;
  readonly avg?: number | null;
}

export interface CreateApiKeyRequest {
  /** Whose key it is. */
  readonly type: 'organisation' | 'workspace';
  /** `user` goes with `workspace` alone. */
  readonly sub_type: 'service' | 'user';
  /** For people; at most 255 characters. */
  readonly name: string;
  /** At most 1024 characters. */
  readonly description?: string | null;
  /** Id or slug. For a workspace's key made by an organisation's that has several workspaces. */
  readonly workspace_id?: string | null;
  /** For a user's key: a member of the workspace. */
  readonly user_id?: string | null;
  /** What the key may do: at least one. None that the calling key cannot grant. */
  readonly scopes: readonly string[];
  /** Metadata and config of its requests. */
  readonly defaults?: ApiKeyDefaults | null;
  /** Must be in the future. Without end, unless given. */
  readonly expires_at?: string | null;
  /** One of each type. */
  readonly rate_limits: readonly RateLimit[];
  /** Its budget. None, unless given. */
  readonly usage_limits?: UsageLimits | null;
  /** Where alerts go, at most 50 addresses. */
  readonly alert_emails: readonly string[];
  /** When the key gets a new text by itself. Never, unless given. */
  readonly rotation_policy?: RotationPolicy | null;
  /** The calling key's own. */
  readonly organisation_id?: string | null;
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreateCollectionRequest {
  /** For people; at most 255 characters. */
  readonly name: string;
  /** Id or slug of a collection of the workspace. The top, unless given. */
  readonly parent_collection_id?: string | null;
  /** Id or slug. Needed with an organisation's key that has several workspaces. */
  readonly workspace_id?: string | null;
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreateConfigRequest {
  /** For people; at most 255 characters. */
  readonly name: string;
  /** An object, or its JSON text; 262144 bytes at most. */
  readonly config: unknown;
  /** 1 makes it the workspace's default, in place of the one there is. 0 unless given. */
  readonly is_default?: number | null;
  /** Id or slug. Needed with an organisation's key that has several workspaces. */
  readonly workspace_id?: string | null;
  /** Begins with `pc-`, at most 123 characters. Made from the name, where absent. */
  readonly slug?: string | null;
  /** The same again within a day: the same answer. */
  readonly request_id?: string | null;
}

export interface CreateConfigResponse {
  readonly success: boolean;
  readonly data: CreatedConfig;
}

export interface CreateDeploymentRequest {
  /** For people; at most 255 characters. */
  readonly name: string;
  /** The key's own. */
  readonly organisation_id?: string | null;
  /** Letters, digits, dashes and underscores, 1 to 50. Made from the name, unless given. */
  readonly slug?: string | null;
  /** `production` unless given. */
  readonly type?: 'production' | 'non_production' | null;
  /** Settings of free choice. */
  readonly deployment_config?: Readonly<Record<string, unknown>> | null;
  /** Where it is reached, and who may use it. */
  readonly auth_settings?: DeploymentAuthSettings | null;
  /** Takes the place of the default there is. false unless given. */
  readonly is_default?: boolean | null;
  /** With which the gateway is called, where it asks for them. */
  readonly credentials?: DeploymentCredentials | null;
  /** For people and searches. */
  readonly tags?: Readonly<Record<string, unknown>> | null;
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreateFeedbackRequest {
  readonly feedbacks: readonly NewFeedback[];
}

export interface CreateGuardrailRequest {
  /** For people; at most 255 characters. */
  readonly name: string;
  /** Id or slug: a guardrail of that workspace. Either this or organisation_id with an organisation's key. */
  readonly workspace_id?: string | null;
  /** A guardrail of the whole organisation. */
  readonly organisation_id?: string | null;
  /** 1 to 100. */
  readonly checks: readonly GuardrailCheck[];
  /** What follows from the verdict. */
  readonly actions: GuardrailActions;
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreateIntegrationRequest {
  /** At most 255 characters. */
  readonly name: string;
  /** Letters, digits, dashes and underscores, at most 255; unique in the organisation.
   * Made from the name, unless given. */
  readonly slug?: string | null;
  /** Such as openai. Fixed. */
  readonly ai_provider_id: string;
  /** The provider's credential. Sealed, never shown again.
   * Needed where the provider needs one and none is mapped. */
  readonly key?: string | null;
  /** At most 1024 characters. */
  readonly description?: string | null;
  /** Id or slug: an integration of that workspace alone. */
  readonly workspace_id?: string | null;
  /** What else the provider needs. */
  readonly configurations?: IntegrationConfigurations | null;
  /** Make a provider from it in the workspace? true unless given. */
  readonly create_default_provider?: boolean | null;
  /** Slug of that provider. One that is there already is refused. */
  readonly default_provider_slug?: string | null;
  /** At most 100. */
  readonly secret_mappings: readonly SecretMapping[];
  /** Factors for the provider's prices. */
  readonly pricing_adjustments?: PricingAdjustments | null;
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreateInviteRequest {
  /** Where the invitation goes. */
  readonly email: string;
  /** In the organisation. */
  readonly role: 'admin' | 'member';
  /** Workspaces to join: 1 to 1000. */
  readonly workspaces: readonly WorkspaceRole[];
  /** Keys to be made with the user. None, unless given. */
  readonly workspace_api_key_details?: InviteKeyDetails | null;
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreateLabelRequest {
  /** Letters, digits, dashes and underscores, at most 255; not `latest`, `default` or a number. */
  readonly name: string;
  /** At most 500 characters. */
  readonly description?: string | null;
  /** Such as #ff8800. */
  readonly color_code?: string | null;
  /** Id or slug. Needed with an organisation's key that has several workspaces, unless organisation_id is given. */
  readonly workspace_id?: string | null;
  /** The key's own. Without workspace_id, and with an organisation's key: a label of every workspace. */
  readonly organisation_id?: string | null;
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreateLogExportRequest {
  /** Id or slug. Needed with an organisation's key that has several workspaces. */
  readonly workspace_id?: string | null;
  /** The filters of logs, page_size (50,000 at most) with current_page for a part of what they leave, and filter_id of a saved
   * filter: its values are copied, unless these filters replace them. */
  readonly filters: Readonly<Record<string, unknown>>;
  /** Each of id, trace_id, created_at, request, response, is_success, ai_org, ai_model, req_units, res_units, total_units,
   * request_url, cost, cost_currency, response_time, response_status_code, mode, config, prompt_slug, metadata. */
  readonly requested_data: readonly (
    | 'id'
    | 'trace_id'
    | 'created_at'
    | 'request'
    | 'response'
    | 'is_success'
    | 'ai_org'
    | 'ai_model'
    | 'req_units'
    | 'res_units'
    | 'total_units'
    | 'request_url'
    | 'cost'
    | 'cost_currency'
    | 'response_time'
    | 'response_status_code'
    | 'mode'
    | 'config'
    | 'prompt_slug'
    | 'metadata'
  )[];
  readonly description?: string | null;
  /** jsonl unless given: a JSON object a line. csv: a table under its heading. */
  readonly format?: 'jsonl' | 'csv' | null;
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreateLogsRequest {
  readonly logs: readonly CustomLog[];
}

export interface CreatePluginRequest {
  /** The key's own. */
  readonly organisation_id?: string | null;
  /** The partner: what precedes the point in the ids of its checks, such as azure or patronus. */
  readonly plugin_provider_id: string;
  /** Id or slug of an integration of the organisation that lends its credential: of mistral-ai to mistral, of bedrock to
   * bedrock. */
  readonly integration_id?: string | null;
  /** What the partner is called with, by the fields that it needs. Sealed, and shown masked. It may be {} with
   * integration_id, and for partners that need none. */
  readonly credentials?: Readonly<Record<string, unknown>> | null;
  /** For people; the partner's name unless given. */
  readonly name?: string | null;
  /** Takes credentials from secret references, by `credentials.<field>`; at most 100. A field that is mapped need not be in
   * credentials. */
  readonly secret_mappings: readonly SecretMapping[];
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreateProviderRequest {
  /** The slug, where absent. At most 255 characters. */
  readonly name: string;
  /** Letters, digits, dashes and underscores, at most 255; unique in the workspace. Not `models`.
   * Made from the name, unless given. */
  readonly slug?: string | null;
  /** At most 1024 characters. */
  readonly note?: string | null;
  /** Id or slug. Needed with an organisation's key that has several workspaces. */
  readonly workspace_id?: string | null;
  /** Name of the provider whose API it speaks, such as openai. Needed without integration_id. */
  readonly provider: string;
  /** The provider's credential. Sealed, never shown again. */
  readonly key?: string | null;
  /** Its address, version segment included. Given by a key of a workspace, it must be one that the network rules let
   * callers choose. */
  readonly custom_host?: string | null;
  /** Slug or id of an integration that the workspace may use; then nothing of a credential is given. */
  readonly integration_id?: string | null;
  /** Its budget. None, unless given. */
  readonly usage_limits?: UsageLimits | null;
  /** One of each type. */
  readonly rate_limits: readonly ProviderRateLimit[];
  /** Must be in the future. */
  readonly expires_at?: string | null;
  /** Sent with every request. */
  readonly custom_headers: Readonly<Record<string, string>>;
  /** If false, traceparent and tracestate are not sent. true unless given. */
  readonly send_trace_context?: boolean | null;
  /** Azure OpenAI: at most 30 characters. */
  readonly api_version?: string | null;
  /** Azure OpenAI. */
  readonly deployment_name?: string | null;
  /** Azure OpenAI. */
  readonly resource_name?: string | null;
  /** Azure. */
  readonly azure_auth_mode?: 'entra' | 'managed' | 'workload' | null;
  /** Azure. */
  readonly azure_foundry_url?: string | null;
  /** Azure: at most 30 characters. */
  readonly azure_api_version?: string | null;
  /** Azure. */
  readonly azure_region?: string | null;
  /** Azure. */
  readonly azure_deployment_type?: 'serverless' | 'managed' | null;
  /** Azure. */
  readonly azure_deployment_name?: string | null;
  /** Azure. */
  readonly azure_endpoint_name?: string | null;
  /** Azure with entra. */
  readonly azure_entra_tenant_id?: string | null;
  /** Azure with entra. */
  readonly azure_entra_client_id?: string | null;
  /** Azure with entra. */
  readonly azure_entra_client_secret?: string | null;
  /** Azure with managed. */
  readonly azure_managed_client_id?: string | null;
  /** Azure with workload. */
  readonly azure_workload_client_id?: string | null;
  /** AWS. */
  readonly aws_auth_type?: 'accessKey' | 'assumedRole' | null;
  /** AWS. */
  readonly aws_region?: string | null;
  /** AWS with accessKey. */
  readonly aws_access_key_id?: string | null;
  /** AWS with accessKey. */
  readonly aws_secret_access_key?: string | null;
  /** AWS with assumedRole. */
  readonly aws_role_arn?: string | null;
  /** AWS with assumedRole. */
  readonly aws_external_id?: string | null;
  /** Vertex AI. */
  readonly vertex_project_id?: string | null;
  /** Vertex AI. */
  readonly vertex_region?: string | null;
  /** Vertex AI. */
  readonly vertex_auth_type?: 'serviceAccount' | 'workloadIdentity' | null;
  /** Vertex AI. */
  readonly vertex_service_account_json?: Readonly<Record<string, unknown>> | null;
  /** Vertex AI. */
  readonly vertex_skip_ptu_cost_attribution?: boolean | null;
  /** Hugging Face. */
  readonly huggingface_base_url?: string | null;
  /** Workers AI. */
  readonly workers_ai_account_id?: string | null;
  /** OpenAI. */
  readonly openai_organization?: string | null;
  /** OpenAI. */
  readonly openai_project?: string | null;
  /** Oracle. */
  readonly oracle_region?: string | null;
  /** Oracle. */
  readonly oracle_version?: string | null;
  /** Oracle. */
  readonly oracle_compartment_id?: string | null;
  /** Oracle. */
  readonly oracle_tenancy?: string | null;
  /** Oracle. */
  readonly oracle_user?: string | null;
  /** Oracle. */
  readonly oracle_fingerprint?: string | null;
  /** Oracle. */
  readonly oracle_private_key?: string | null;
  /** Id or slug of a provider of the workspace whose credential is taken over, address and all. Needs the scope
   * providers.duplicate. */
  readonly source_provider_api_key_id?: string | null;
  /** Texts by name, at most 64, for people and searches. */
  readonly tags?: Readonly<Record<string, unknown>> | null;
  /** Takes credentials from secret references, by `key` or `model_config.<field>`; at most 100. Not with integration_id. */
  readonly secret_mappings: readonly SecretMapping[];
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreateRateLimitsPolicyRequest {
  /** For people; at most 255 characters. */
  readonly name?: string | null;
  /** At most 500 characters. */
  readonly description?: string | null;
  /** 1 to 100. */
  readonly conditions: readonly PolicyCondition[];
  /** 1 to 20. Fixed. */
  readonly group_by: readonly PolicyGroup[];
  /** What is counted. Fixed. */
  readonly type: 'requests' | 'tokens';
  /** Per minute, hour, day or week. */
  readonly unit: 'rpm' | 'rph' | 'rpd' | 'rpw';
  /** At least 1. */
  readonly value: number;
  /** What is limited: calls of models (`llm`, unless given), or of tools. Fixed. */
  readonly target?: 'llm' | 'mcp_tools' | null;
  /** Id or slug. Needed with an organisation's key that has several workspaces. */
  readonly workspace_id?: string | null;
  /** The key's own. */
  readonly organisation_id?: string | null;
  /** true: what is beyond it is counted and reported, and nothing is refused. */
  readonly shadow?: boolean | null;
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreateSavedFilterRequest {
  /** For people; at most 255 characters. */
  readonly name: string;
  readonly filters: Readonly<Record<string, unknown>>;
  /** Id or slug. Needed with an organisation's key that has several workspaces. */
  readonly workspace_id?: string | null;
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreateScimGroupRequest {
  /** Id of the organisation, which is the key's own. */
  readonly organisation_id: string;
  /** The group. */
  readonly resource: Readonly<Record<string, unknown>>;
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreateScimMappingRequest {
  /** Id or slug. */
  readonly workspace_id: string;
  readonly role: 'admin' | 'manager' | 'member';
  /** One of scim_group_id and scim_group_name is required. */
  readonly scim_group_id?: string | null;
  /** In upper or lower case. */
  readonly scim_group_name?: string | null;
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreateScimUserRequest {
  /** Id of the organisation, which is the key's own. */
  readonly organisation_id: string;
  /** The user. */
  readonly resource: Readonly<Record<string, unknown>>;
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreateSecretReferenceRequest {
  /** For people; at most 255 characters. */
  readonly name: string;
  /** Letters, digits, dashes and underscores, at most 255; unique in the organisation. Made from the name, unless given. */
  readonly slug?: string | null;
  /** At most 1024 characters. */
  readonly description?: string | null;
  /** Where the secret is kept. Fixed. */
  readonly manager_type: 'aws_sm' | 'azure_kv' | 'hashicorp_vault' | 'env' | 'file';
  /** How the gateway signs in there; {} for env and file. */
  readonly auth_config?: SecretReferenceAuth | null;
  /** Name or ARN at AWS, name (or name/version) at Azure, API path after /v1/ at Vault, name of the variable (env) or of
   * the file. */
  readonly secret_path: string;
  /** Picks one value of a secret that is a JSON object, or one field of a Vault secret. */
  readonly secret_key?: string | null;
  /** May every workspace use it? true unless allowed_workspaces is given. */
  readonly allow_all_workspaces?: boolean | null;
  /** Ids or slugs of the workspaces that may use it, 1 to 1000. */
  readonly allowed_workspaces: readonly string[];
  /** For searches: at most 64, each of at most 255 characters. */
  readonly tags: Readonly<Record<string, string>>;
  /** That of the key. */
  readonly organisation_id?: string | null;
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreateTracesRequest {
  /** ExportTraceServiceRequest: application/json or application/x-protobuf. */
  readonly spans: HttpBody;
}

export interface CreateUsageLimitsPolicyRequest {
  /** For people; at most 255 characters. */
  readonly name?: string | null;
  /** At most 500 characters. */
  readonly description?: string | null;
  /** 1 to 100. */
  readonly conditions: readonly PolicyCondition[];
  /** 1 to 20. Fixed. */
  readonly group_by: readonly PolicyGroup[];
  /** What is counted. Fixed. */
  readonly type: 'cost' | 'tokens' | 'requests';
  /** US dollars, tokens or requests: at least 1, of tokens 100. */
  readonly credit_limit: number;
  /** Usage at which an alert goes out; below credit_limit. */
  readonly alert_threshold?: number | null;
  /** Usage starts again on Mondays or on the first of the month, at 00:00 UTC. Never, unless given. */
  readonly periodic_reset?: 'monthly' | 'weekly' | null;
  /** Days between resets, 1 to 365. Not together with periodic_reset. */
  readonly periodic_reset_days?: number | null;
  /** First reset. Computed, unless given. */
  readonly next_usage_reset_at?: string | null;
  /** Id or slug. Needed with an organisation's key that has several workspaces. */
  readonly workspace_id?: string | null;
  /** The key's own. */
  readonly organisation_id?: string | null;
  /** true: what is beyond it is counted and reported, and nothing is refused. */
  readonly shadow?: boolean | null;
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreateUserRequest {
  /** Unique in the organisation. */
  readonly email: string;
  /** At most 255 characters. */
  readonly first_name?: string | null;
  /** At most 255 characters. */
  readonly last_name?: string | null;
  /** In the organisation. Only an owner makes another owner; while there is none, every caller who may make users. */
  readonly role: 'owner' | 'admin' | 'member';
  /** Workspaces to join, at most 1000. */
  readonly workspaces: readonly WorkspaceRole[];
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreateVirtualKeyRequest {
  /** At most 255 characters. */
  readonly name: string;
  /** Name of the provider whose API it speaks, such as openai. Fixed. */
  readonly provider: string;
  /** The provider's credential. Sealed, never shown again.
   * Needed where the provider needs one and none is mapped. */
  readonly key?: string | null;
  /** At most 1024 characters. */
  readonly note?: string | null;
  /** Letters, digits, dashes and underscores, at most 255; unique in the workspace. Not `models`.
   * Made from the name, unless given. */
  readonly slug?: string | null;
  /** Id or slug. Needed with an organisation's key that has several workspaces. */
  readonly workspace_id?: string | null;
  /** Its budget. None, unless given. */
  readonly usage_limits?: UsageLimits | null;
  /** One of each type. */
  readonly rate_limits: readonly ProviderRateLimit[];
  /** Must be in the future. */
  readonly expires_at?: string | null;
  /** At most 100. */
  readonly secret_mappings: readonly SecretMapping[];
  /** Azure OpenAI: at most 100. */
  readonly deployment_config: readonly VirtualKeyDeployment[];
  /** Its address, version segment included. Given by a key of a workspace, it must be one that the network rules let
   * callers choose. */
  readonly custom_host?: string | null;
  /** Sent with every request. */
  readonly custom_headers: Readonly<Record<string, string>>;
  /** If false, traceparent and tracestate are not sent. true unless given. */
  readonly send_trace_context?: boolean | null;
  /** Azure OpenAI: at most 30 characters. */
  readonly api_version?: string | null;
  /** Azure OpenAI. */
  readonly deployment_name?: string | null;
  /** Azure OpenAI. */
  readonly resource_name?: string | null;
  /** Azure. */
  readonly azure_auth_mode?: 'entra' | 'managed' | 'workload' | null;
  /** Azure. */
  readonly azure_foundry_url?: string | null;
  /** Azure: at most 30 characters. */
  readonly azure_api_version?: string | null;
  /** Azure. */
  readonly azure_region?: string | null;
  /** Azure. */
  readonly azure_deployment_type?: 'serverless' | 'managed' | null;
  /** Azure. */
  readonly azure_deployment_name?: string | null;
  /** Azure. */
  readonly azure_endpoint_name?: string | null;
  /** Azure with entra. */
  readonly azure_entra_tenant_id?: string | null;
  /** Azure with entra. */
  readonly azure_entra_client_id?: string | null;
  /** Azure with entra. */
  readonly azure_entra_client_secret?: string | null;
  /** Azure with managed. */
  readonly azure_managed_client_id?: string | null;
  /** Azure with workload. */
  readonly azure_workload_client_id?: string | null;
  /** AWS. */
  readonly aws_auth_type?: 'accessKey' | 'assumedRole' | null;
  /** AWS. */
  readonly aws_region?: string | null;
  /** AWS with accessKey. */
  readonly aws_access_key_id?: string | null;
  /** AWS with accessKey. */
  readonly aws_secret_access_key?: string | null;
  /** AWS with assumedRole. */
  readonly aws_role_arn?: string | null;
  /** AWS with assumedRole. */
  readonly aws_external_id?: string | null;
  /** Vertex AI. */
  readonly vertex_project_id?: string | null;
  /** Vertex AI. */
  readonly vertex_region?: string | null;
  /** Vertex AI. */
  readonly vertex_auth_type?: 'serviceAccount' | 'workloadIdentity' | null;
  /** Vertex AI. */
  readonly vertex_service_account_json?: Readonly<Record<string, unknown>> | null;
  /** Vertex AI. */
  readonly vertex_skip_ptu_cost_attribution?: boolean | null;
  /** Hugging Face. */
  readonly huggingface_base_url?: string | null;
  /** Workers AI. */
  readonly workers_ai_account_id?: string | null;
  /** OpenAI. */
  readonly openai_organization?: string | null;
  /** OpenAI. */
  readonly openai_project?: string | null;
  /** Oracle. */
  readonly oracle_region?: string | null;
  /** Oracle. */
  readonly oracle_version?: string | null;
  /** Oracle. */
  readonly oracle_compartment_id?: string | null;
  /** Oracle. */
  readonly oracle_tenancy?: string | null;
  /** Oracle. */
  readonly oracle_user?: string | null;
  /** Oracle. */
  readonly oracle_fingerprint?: string | null;
  /** Oracle. */
  readonly oracle_private_key?: string | null;
  /** Id or slug of a virtual key of the workspace whose credential is taken over, address and all. Needs the scope
   * virtual_keys.duplicate. */
  readonly source_provider_api_key_id?: string | null;
  /** Texts by name, at most 64, for people and searches. */
  readonly tags?: Readonly<Record<string, unknown>> | null;
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreateVirtualKeyResponse {
  readonly success: boolean;
  readonly data: CreatedVirtualKey;
}

export interface CreateWorkspaceRequest {
  /** At most 128 characters. */
  readonly name: string;
  /** At most 500 characters. */
  readonly description?: string | null;
  /** Of free choice; at most 255 characters. */
  readonly icon?: string | null;
  /** Letters, digits, dashes and underscores, at most 255; unique in the organisation.
   * Made from the name, unless given. */
  readonly slug?: string | null;
  /** Users of the organisation who become members: ids, or objects with an `id`. At most 1000. */
  readonly users: readonly unknown[];
  /** What holds for all its requests. */
  readonly defaults?: NewWorkspaceDefaults | null;
  /** One. */
  readonly usage_limits: readonly WorkspaceUsageLimits[];
  /** One of each type. */
  readonly rate_limits: readonly RateLimit[];
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface CreatedApiKey {
  readonly id: string;
  /** The key's text. */
  readonly key: string;
  readonly object: 'api-key';
}

export interface CreatedCollection {
  readonly id: string;
  readonly slug: string;
}

export interface CreatedConfig {
  readonly id: string;
  readonly version_id: string;
  readonly slug: string;
  readonly object: string;
}

export interface CreatedDeployment {
  readonly id: string;
  readonly slug: string;
  readonly object: 'deployment';
  /** With which the gateway signs in. */
  readonly auth_secret: string;
}

export interface CreatedIntegration {
  readonly id: string;
  readonly slug: string;
}

export interface CreatedInvite {
  readonly id: string;
  /** Ends in `#token=` and the token with which the invitation is accepted. */
  readonly invite_link: string;
}

export interface CreatedLabel {
  readonly id: string;
}

export interface CreatedPlugin {
  readonly id: string;
  readonly object: 'plugin';
}

export interface CreatedProvider {
  readonly id: string;
  readonly slug: string;
}

export interface CreatedRateLimitsPolicy {
  readonly id: string;
  readonly object: 'policy_rate_limits';
}

export interface CreatedSecretReference {
  readonly id: string;
  readonly slug: string;
  readonly object: 'secret-reference';
}

export interface CreatedUsageLimitsPolicy {
  readonly id: string;
  readonly object: 'policy_usage_limits';
}

export interface CreatedVirtualKey {
  readonly id: string;
  readonly slug: string;
  readonly object: 'virtual-key';
}

export interface CustomLog {
  readonly request: CustomLogRequest;
  readonly response: CustomLogResponse;
  /** trace_id, span_id, span_name and parent_span_id; every other text is metadata of the request. */
  readonly metadata?: Readonly<Record<string, unknown>> | null;
}

export interface CustomLogRequest {
  readonly url: string;
  /** POST unless given. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH' | 'OPTIONS' | 'HEAD' | null;
  /** Credentials in them are masked. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export interface CustomLogResponse {
  /** 200 unless given. */
  readonly status?: number | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** Milliseconds. */
  readonly response_time?: number | null;
}

/** Whose logs and analytics a role sees: those of all keys, or of its own alone. */
export interface DataVisibility {
  readonly members_view_all_data?: boolean | null;
  readonly managers_view_all_data?: boolean | null;
}

export interface DeleteApiKeyRequest {
  /** Id of the record. */
  readonly id: string;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type DeleteApiKeyResponse = Readonly<Record<string, never>>;

export interface DeleteCollectionRequest {
  /** Id or slug. */
  readonly id: string;
  /** Delete what is in it too? */
  readonly cascade?: boolean | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type DeleteCollectionResponse = Readonly<Record<string, never>>;

export interface DeleteConfigRequest {
  /** Slug or id. */
  readonly slug: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Of the state that is to be deleted; another one is refused with AB07. */
  readonly etag?: string | null;
}

export type DeleteConfigResponse = Readonly<Record<string, never>>;

export interface DeleteDeploymentRequest {
  /** Id or slug. */
  readonly deployment_id: string;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type DeleteDeploymentResponse = Readonly<Record<string, never>>;

export interface DeleteGuardrailRequest {
  /** Id or slug. */
  readonly id: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type DeleteGuardrailResponse = Readonly<Record<string, never>>;

export interface DeleteIntegrationModelsRequest {
  /** Slug or id. */
  readonly slug: string;
  /** Of models of one's own: 1 to 1000. */
  readonly slugs: readonly string[];
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export type DeleteIntegrationModelsResponse = Readonly<Record<string, never>>;

export interface DeleteIntegrationRequest {
  /** Slug or id. */
  readonly slug: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type DeleteIntegrationResponse = Readonly<Record<string, never>>;

export interface DeleteInviteRequest {
  /** Id of the invitation. */
  readonly invite_id: string;
}

export type DeleteInviteResponse = Readonly<Record<string, never>>;

export interface DeleteLabelRequest {
  /** Id of the record. */
  readonly id: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type DeleteLabelResponse = Readonly<Record<string, never>>;

export interface DeleteModelPriceRequest {
  /** Name of a provider's API, such as openai. */
  readonly provider: string;
  readonly model: string;
  /** The day from which on it holds; absent: the one without a day. */
  readonly since?: string | null;
}

export type DeleteModelPriceResponse = Readonly<Record<string, never>>;

export interface DeletePluginRequest {
  /** Id, or the partner's. */
  readonly id: string;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type DeletePluginResponse = Readonly<Record<string, never>>;

export interface DeleteProviderRequest {
  /** Slug or id. */
  readonly slug: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type DeleteProviderResponse = Readonly<Record<string, never>>;

export interface DeleteRateLimitsPolicyRequest {
  /** Id of the record. */
  readonly id: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type DeleteRateLimitsPolicyResponse = Readonly<Record<string, never>>;

export interface DeleteSavedFilterRequest {
  readonly id: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type DeleteSavedFilterResponse = Readonly<Record<string, never>>;

export interface DeleteScimGroupRequest {
  /** Id of the organisation, which is the key's own. */
  readonly organisation_id: string;
  /** Id of the group. */
  readonly group_id: string;
  /** Refused with 412 if the record has another etag. */
  readonly etag?: string | null;
}

export type DeleteScimGroupResponse = Readonly<Record<string, never>>;

export interface DeleteScimMappingRequest {
  /** Id of the mapping. */
  readonly scim_workspace_group_id: string;
}

export interface DeleteScimMappingResponse {
  readonly success: boolean;
}

export interface DeleteScimUserRequest {
  /** Id of the organisation, which is the key's own. */
  readonly organisation_id: string;
  /** Id of the user. */
  readonly user_id: string;
  /** Refused with 412 if the record has another etag. */
  readonly etag?: string | null;
}

export type DeleteScimUserResponse = Readonly<Record<string, never>>;

export interface DeleteSecretReferenceRequest {
  /** Id or slug. */
  readonly secret_reference_id: string;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type DeleteSecretReferenceResponse = Readonly<Record<string, never>>;

export interface DeleteSessionRequest {
  readonly session_id: string;
}

export type DeleteSessionResponse = Readonly<Record<string, never>>;

export interface DeleteUsageLimitsPolicyRequest {
  /** Id of the record. */
  readonly id: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type DeleteUsageLimitsPolicyResponse = Readonly<Record<string, never>>;

export interface DeleteUserRequest {
  /** Id of the user. */
  readonly user_id: string;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type DeleteUserResponse = Readonly<Record<string, never>>;

export interface DeleteVirtualKeyRequest {
  /** Slug or id. */
  readonly slug: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type DeleteVirtualKeyResponse = Readonly<Record<string, never>>;

export interface DeleteWorkspaceRequest {
  /** Id or slug. */
  readonly workspace_id: string;
  /** The exact name of the workspace, to be sure. */
  readonly name: string;
  /** Archive it with what is in it? */
  readonly force_delete?: boolean | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type DeleteWorkspaceResponse = Readonly<Record<string, never>>;

export interface Deployment {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly organisation_id: string;
  readonly type: 'production' | 'non_production';
  readonly status: 'active' | 'archived';
  readonly deployment_config?: Readonly<Record<string, unknown>> | null;
  readonly auth_settings?: DeploymentAuthSettings | null;
  readonly is_default: boolean;
  /** With include_credentials. */
  readonly credentials?: DeploymentLogin | null;
  readonly tags?: Readonly<Record<string, unknown>> | null;
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly object: 'deployment';
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
}

/** Where a gateway is reached, and who may use it. Flags are `true` or `false`. */
export interface DeploymentAuthSettings {
  readonly gateway_base_url?: string | null;
  readonly mcp_gateway_base_url?: string | null;
  readonly private_link_endpoint?: string | null;
  readonly use_private_link_proxy?: 'true' | 'false' | null;
  readonly is_dataservice_hosted?: 'true' | 'false' | null;
  readonly is_playground_proxy_allowed?: 'true' | 'false' | null;
  readonly disable_gateway?: 'true' | 'false' | null;
  /** Workspaces by the subject of a token. */
  readonly jwt_sub_workspace_mapping?: Readonly<Record<string, unknown>> | null;
  /** Subjects of tokens that may sign in, at most 1000. */
  readonly jwt_subs_allowed: readonly string[];
  /** Workspaces that may use it: ids or slugs, at most 1000. Empty: all of them. */
  readonly workspaces_allowed: readonly string[];
}

export interface DeploymentAuthSettingsUpdate {
  /** Where model calls go. */
  readonly gateway_base_url?: string | null;
  /** Where calls of tools go. */
  readonly mcp_gateway_base_url?: string | null;
  /** Its address on a private network. */
  readonly private_link_endpoint?: string | null;
  /** Call it over the private network? */
  readonly use_private_link_proxy?: 'true' | 'false' | null;
  /** Does it keep its logs itself? */
  readonly is_dataservice_hosted?: 'true' | 'false' | null;
  /** May the console call models through it? */
  readonly is_playground_proxy_allowed?: 'true' | 'false' | null;
  /** Turn it off? */
  readonly disable_gateway?: 'true' | 'false' | null;
  /** Workspaces by the subject of a token. */
  readonly jwt_sub_workspace_mapping?: Readonly<Record<string, unknown>> | null;
  /** Subjects to add to those that are allowed, at most 1000. */
  readonly jwt_subs_allowed: readonly string[];
  /** Workspaces to add to those that are allowed: ids or slugs, at most 1000. */
  readonly workspaces_allowed: readonly string[];
  /** Let every workspace in? Not together with workspaces_allowed. */
  readonly allow_all_workspaces?: boolean | null;
  /** Workspaces to remove from those that are allowed: ids or slugs, at most 1000. One must remain, unless all are allowed. */
  readonly remove_workspaces_allowed: readonly string[];
  /** Subjects to remove from those that are allowed, at most 1000. */
  readonly remove_subs_allowed: readonly string[];
}

export interface DeploymentCredentials {
  readonly username: string;
  /** Sealed, never shown again. */
  readonly password: string;
}

export interface DeploymentLogin {
  readonly username: string;
}

/** One field that differs. */
export interface DocumentChange {
  /** Within the document: spec.config.retry.attempts. */
  readonly path: string;
  /** Absent: there was none. */
  readonly before?: unknown;
  /** Absent: it is removed. */
  readonly after?: unknown;
  /** A secret, whose values are never shown. */
  readonly secret: boolean;
}

export interface DownloadLogExportRequest {
  readonly export_id: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export interface ErrorsGraph {
  readonly summary: ErrorsSummary;
  readonly data_points: readonly ErrorsPoint[];
  readonly object: 'analytics-graph';
  readonly series: readonly ErrorsSeries[];
}

/** Errors of one status. */
export interface ErrorsOfStatus {
  readonly response_status_code: number;
  readonly count: number;
}

export interface ErrorsPoint {
  readonly timestamp: string;
  readonly total: number;
}

export interface ErrorsRateGraph {
  readonly summary: ErrorsRateSummary;
  readonly data_points: readonly ErrorsRatePoint[];
  readonly object: 'analytics-graph';
}

export interface ErrorsRatePoint {
  readonly timestamp: string;
  readonly rate: number;
}

export interface ErrorsRateSummary {
  readonly rate: number;
}

export interface ErrorsSeries {
  /** Slug, name or code; null: none; `other`: all that are not among the ten. */
  readonly group_key?: string | null;
  readonly summary: ErrorsSummary;
  readonly data_points: readonly ErrorsPoint[];
}

export interface ErrorsStacksGraph {
  readonly summary: ErrorsStacksSummary;
  readonly data_points: readonly ErrorsStacksPoint[];
  readonly object: 'analytics-graph';
}

export interface ErrorsStacksPoint {
  readonly timestamp: string;
  readonly stats: readonly ErrorsOfStatus[];
}

export interface ErrorsStacksSummary {
  readonly total: number;
}

export interface ErrorsStatusCodesGraph {
  readonly summary: ErrorsStatusCodesSummary;
  readonly data_points: readonly ErrorsStatusCodesPoint[];
  readonly object: 'analytics-graph';
}

export interface ErrorsStatusCodesPoint {
  readonly status_code: number;
  readonly count: number;
}

export interface ErrorsStatusCodesSummary {
  readonly total_errors: number;
  readonly unique_error_codes: number;
}

export interface ErrorsSummary {
  readonly total: number;
}

export interface ExplainCostRequest {
  readonly id: string;
}

export interface ExplainRequestRequest {
  /** Id or slug. A workspace's key sees its own workspace. */
  readonly workspace_id?: string | null;
  /** The request's body, as a client would send it. */
  readonly request_body: unknown;
  /** The endpoint that it would be sent to; /v1/chat/completions unless given. */
  readonly path?: string | null;
  /** Its headers, by their names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Slug of a saved config. Neither this nor `config`: that of the key, or none. */
  readonly config_slug?: string | null;
  /** A config that need not be saved. */
  readonly config?: unknown;
  /** Id of a gateway key of the workspace: its default config and metadata hold, and its sessions. */
  readonly api_key_id?: string | null;
}

export interface ExplainedCache {
  /** simple or semantic. */
  readonly mode: string;
  /** Seconds. */
  readonly max_age: number;
  readonly namespace?: string | null;
  /** Is a new answer requested even if one is cached? */
  readonly refresh: boolean;
  /** Does the worker that was asked remember an answer to the same request? */
  readonly remembered: boolean;
}

/** A limit that the request would meet, and what is left of it. */
export interface ExplainedLimit {
  /** api_key, workspace, virtual_key, integration, rate_limits_policy or usage_limits_policy. */
  readonly on: string;
  /** Of what it is set on; the id of a policy without a name. */
  readonly name: string;
  /** `rate` or `budget`. */
  readonly kind: 'rate' | 'budget';
  /** requests, tokens, concurrency or cost. */
  readonly type: string;
  /** Of a rate limit: rps, rpm, rph, rpd or rpw. */
  readonly unit?: string | null;
  /** US dollars, tokens or requests. */
  readonly value: number;
  /** Absent where it is not known. */
  readonly left?: number | null;
  /** true: it refuses nothing. */
  readonly shadow: boolean;
  /** Of a budget: when usage starts again. */
  readonly next_usage_reset_at?: string | null;
}

/** A node of the config. */
export interface ExplainedNode {
  /** config.targets[0] */
  readonly path: string;
  /** target, fallback, loadbalance or conditional. */
  readonly kind: string;
  readonly name?: string | null;
  /** Levels below the config itself; a node's children follow it. */
  readonly depth: number;
  /** The target's place among those that would be asked, from 1; 0: it would not be, or this is none. */
  readonly turn: number;
  /** Why it would be asked when it would be, or why it would not. */
  readonly reason: string;
  /** What it does besides: retries, copies, limits. */
  readonly notes: readonly string[];
  /** Of targets that would be asked. */
  readonly provider?: string | null;
  readonly model?: string | null;
  /** The body after defaults, overrides and drops, in the client's own format. */
  readonly body?: Readonly<Record<string, unknown>> | null;
  /** Why that target could not be asked. */
  readonly error?: string | null;
  /** Limits that a call of that target would meet, besides those of the request. */
  readonly limits: readonly ExplainedLimit[];
  /** Slug of the stored provider; absent where the target names one that is not stored. */
  readonly virtual_key?: string | null;
}

export interface Explanation {
  /** Always "explanation". */
  readonly object: string;
  /** Why the gateway would refuse the request before it reaches any target. */
  readonly refused?: ExplanationRefusal | null;
  /** Slug of the saved config that would hold. */
  readonly config?: string | null;
  readonly config_version_id: string;
  /** What the cache would do; absent where it has no part in it. */
  readonly cache?: ExplainedCache | null;
  /** The config as a tree, from its root. */
  readonly nodes: readonly ExplainedNode[];
  /** Rate limits, budgets and policies that the request as a whole would meet. */
  readonly limits: readonly ExplainedLimit[];
}

export interface ExplanationRefusal {
  readonly code: string;
  readonly message: string;
}

export interface ExportAuditLogsRequest {
  /** Rows from this time on. */
  readonly start_time: string;
  /** Rows before this time. */
  readonly end_time: string;
  /** `jsonl` unless given: one JSON object a line. `csv`: a cell that a spreadsheet would run is made text. */
  readonly format?: 'jsonl' | 'csv' | null;
  /** The key's own. */
  readonly organisation_id?: string | null;
  /** HTTP method. */
  readonly method?: 'POST' | 'PUT' | 'DELETE' | null;
  /** Of this user or key alone. */
  readonly user_id?: string | null;
  /** Who acted: a user, a key, or a local command on the gateway's machine, or a schedule. */
  readonly user_type?: 'user' | 'api_key' | 'local_command' | 'schedule' | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Such as config; the names are those of the rows. */
  readonly resource_type?: string | null;
  /** What was done. */
  readonly action?:
    | 'create'
    | 'update'
    | 'delete'
    | 'publish'
    | 'export'
    | 'rotate'
    | 'manage'
    | 'duplicate'
    | null;
}

export interface ExportDocumentsRequest {
  /** Id or slug: only records of this workspace. */
  readonly workspace_id?: string | null;
  /** Only records of these kinds. */
  readonly kinds: readonly string[];
  /** Include the etag of each record, so that an apply is refused if the record has changed since? */
  readonly etags?: boolean | null;
}

export interface ExportedDocuments {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly Readonly<Record<string, unknown>>[];
  /** Kinds that the caller may not read, which are left out. */
  readonly skipped: readonly string[];
}

export interface FeedbackResponse {
  /** Always "success". */
  readonly status: string;
  readonly message: string;
  /** In the order of the request. */
  readonly feedback_ids: readonly string[];
}

export interface FeedbacksAiModelsGraph {
  readonly summary: FeedbacksAiModelsSummary;
  readonly data_points: readonly FeedbacksAiModelsPoint[];
  readonly object: 'analytics-graph';
}

export interface FeedbacksAiModelsPoint {
  readonly ai_model?: string | null;
  readonly total: number;
  readonly avg_weighted_feedback?: number | null;
}

export type FeedbacksAiModelsSummary = Readonly<Record<string, never>>;

export interface FeedbacksGraph {
  readonly summary: FeedbacksSummary;
  readonly data_points: readonly FeedbacksPoint[];
  readonly object: 'analytics-graph';
}

export interface FeedbacksPoint {
  readonly timestamp: string;
  readonly total: number;
}

export interface FeedbacksScoresGraph {
  readonly summary: FeedbacksScoresSummary;
  readonly data_points: readonly FeedbacksScoresPoint[];
  readonly object: 'analytics-graph';
}

export interface FeedbacksScoresPoint {
  readonly score: number;
  readonly total: number;
}

export interface FeedbacksScoresSummary {
  readonly total: number;
}

export interface FeedbacksSummary {
  readonly total: number;
}

export interface FeedbacksWeightedGraph {
  readonly summary: FeedbacksWeightedSummary;
  readonly data_points: readonly FeedbacksWeightedPoint[];
  readonly object: 'analytics-graph';
}

export interface FeedbacksWeightedPoint {
  readonly timestamp: string;
  readonly avg?: number | null;
}

export interface FeedbacksWeightedSummary {
  readonly avg?: number | null;
}

export interface FieldRestrictions {
  readonly restricted_fields: readonly string[];
}

export interface FineTuningPrices {
  readonly pay_per_token?: Price | null;
  readonly pay_per_hour?: Price | null;
}

export interface FinishOidcRequest {
  /** As the provider sent them. */
  readonly code?: string | null;
  readonly state?: string | null;
  readonly iss?: string | null;
  readonly error?: string | null;
  /** From the answer to StartOidc; over REST from the cookie. */
  readonly flow?: string | null;
}

export interface GetApiKeyRequest {
  /** Id of the record. */
  readonly id: string;
  /** Include in usage_limits what was used? */
  readonly include_usage?: boolean | null;
}

export type GetAuthSettingsRequest = Readonly<Record<string, never>>;

export interface GetCollectionRequest {
  /** Id or slug. */
  readonly id: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export interface GetConfigRequest {
  /** Slug or id. An archived config is found by its slug while no other has it. */
  readonly slug: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export interface GetConfigVersionRequest {
  /** Slug or id of the config. */
  readonly slug: string;
  /** Of one version. */
  readonly version_id: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export interface GetDeploymentRequest {
  /** Id, slug or `self`. */
  readonly deployment_id: string;
  /** Include the user name of the credentials? */
  readonly include_credentials?: boolean | null;
  /** The key's own. */
  readonly organisation_id?: string | null;
}

export interface GetFieldRestrictionsRequest {
  /** Id or slug. Needed with an organisation's key that has several workspaces. */
  readonly workspace_id?: string | null;
}

export interface GetGuardrailRequest {
  /** Id or slug. */
  readonly id: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export interface GetIntegrationRequest {
  /** Slug or id. */
  readonly slug: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export interface GetInviteRequest {
  /** Id of the invitation. */
  readonly invite_id: string;
}

export interface GetLabelRequest {
  /** Id of the record. */
  readonly id: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** The key's own. */
  readonly organisation_id?: string | null;
}

export interface GetLogExportRequest {
  readonly export_id: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export interface GetLogRequest {
  readonly id: string;
  /** Id or slug of the workspace that it must be of. */
  readonly workspace_id?: string | null;
  /** Other services find a log by this and its time. Here its id is enough, and the answer is always the same. */
  readonly path_format?: 'v1' | 'v2' | null;
  /** Needed with path_format v2. */
  readonly created_at?: string | null;
  /** The answer has what guardrails decided in any case. */
  readonly type?: 'hooks' | null;
}

export interface GetMailRequest {
  /** Id of the mail. */
  readonly id: string;
}

export interface GetModelPricingRequest {
  /** Name of a provider's API, such as openai. */
  readonly provider: string;
  /** A slash in it is written %2F. */
  readonly model: string;
}

export type GetOrganisationDefaultsRequest = Readonly<Record<string, never>>;

export type GetOrganisationRequest = Readonly<Record<string, never>>;

export interface GetPluginRequest {
  /** Id, or the partner's. */
  readonly id: string;
  /** The key's own. */
  readonly organisation_id?: string | null;
}

export interface GetProviderRequest {
  /** Slug or id. */
  readonly slug: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export interface GetRateLimitsPolicyRequest {
  /** Id of the record. */
  readonly id: string;
  /** `active` unless given: an archived policy is found by `archived` alone. */
  readonly status?: 'active' | 'archived' | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export interface GetSavedFilterRequest {
  readonly id: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export interface GetScimGroupRequest {
  /** Id of the organisation, which is the key's own. */
  readonly organisation_id: string;
  /** Id of the group. */
  readonly group_id: string;
  /** Attributes to return, separated by commas; all unless given. */
  readonly attributes?: string | null;
  /** Attributes to leave out, separated by commas. */
  readonly excluded_attributes?: string | null;
}

export interface GetScimResourceTypeRequest {
  /** Id of the organisation, which is the key's own. */
  readonly organisation_id: string;
  /** `User` or `Group`. */
  readonly name: string;
}

export interface GetScimSchemaRequest {
  /** Id of the organisation, which is the key's own. */
  readonly organisation_id: string;
  /** Its URN. */
  readonly schema_id: string;
}

export interface GetScimServiceProviderConfigRequest {
  /** Id of the organisation, which is the key's own. */
  readonly organisation_id: string;
}

export interface GetScimUserRequest {
  /** Id of the organisation, which is the key's own. */
  readonly organisation_id: string;
  /** Id of the user. */
  readonly user_id: string;
  /** Attributes to return, separated by commas; all unless given. */
  readonly attributes?: string | null;
  /** Attributes to leave out, separated by commas. */
  readonly excluded_attributes?: string | null;
}

export interface GetSecretReferenceRequest {
  /** Id or slug. */
  readonly secret_reference_id: string;
}

export type GetSessionRequest = Readonly<Record<string, never>>;

export interface GetUnredactedTextRequest {
  /** Of the log. */
  readonly id: string;
}

export interface GetUsageLimitsPolicyRequest {
  /** Id of the record. */
  readonly id: string;
  /** `active` unless given: an archived policy is found by `archived` alone. */
  readonly status?: 'active' | 'archived' | null;
  /** Fill value_key_usage_map? */
  readonly include_usage?: boolean | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export interface GetUserRequest {
  /** Id of the user. */
  readonly user_id: string;
}

export interface GetVirtualKeyRequest {
  /** Slug or id. */
  readonly slug: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export interface GetWorkspaceMemberRequest {
  /** Id or slug. */
  readonly workspace_id: string;
  /** Id of the user. */
  readonly user_id: string;
}

export interface GetWorkspaceRequest {
  /** Id or slug. */
  readonly workspace_id: string;
  /** Include what was used? */
  readonly include_usage?: boolean | null;
  /** Of one counter, to return only its usage. */
  readonly usage_id?: string | null;
}

/** Access of all workspaces, including those created later. */
export interface GlobalWorkspaceAccess {
  readonly enabled: boolean;
  /** At most one. */
  readonly usage_limits: readonly UsageLimits[];
  /** At most one. */
  readonly rate_limits: readonly ProviderRateLimit[];
}

/** Selects the requests of a graph. */
export interface GraphRequest {
  /** Id or slug. A workspace's key sees its own workspace alone; an organisation's key sees the default one unless it names another. */
  readonly workspace_slug?: string | null;
  /** The same as workspace_slug. */
  readonly workspace_id?: string | null;
  /** From this time on, with its zone. Needed, here or in the saved filter. */
  readonly time_of_generation_min?: string | null;
  /** Up to this time. */
  readonly time_of_generation_max?: string | null;
  /** Input and output together. */
  readonly total_units_min?: number | null;
  readonly total_units_max?: number | null;
  /** Cents. */
  readonly cost_min?: number | null;
  readonly cost_max?: number | null;
  readonly prompt_token_min?: number | null;
  readonly prompt_token_max?: number | null;
  readonly completion_token_min?: number | null;
  readonly completion_token_max?: number | null;
  /** HTTP statuses, with commas between them, as in all lists here. */
  readonly status_code?: string | null;
  readonly weighted_feedback_min?: number | null;
  readonly weighted_feedback_max?: number | null;
  /** Slugs of stored providers. */
  readonly virtual_keys?: string | null;
  /** Slugs of configs. */
  readonly configs?: string | null;
  /** Ids of keys. */
  readonly api_key_ids?: string | null;
  /** JSON text of an object: each of its pairs is in the metadata. */
  readonly metadata?: string | null;
  /** provider__model */
  readonly ai_org_model?: string | null;
  /** Models that answered. */
  readonly ai_model?: string | null;
  readonly trace_id?: string | null;
  readonly span_id?: string | null;
  readonly prompt_slug?: string | null;
  /** DISABLED, HIT, MISS, REFRESH, SEMANTIC HIT, SEMANTIC MISS. */
  readonly cache_status?: string | null;
  /** A saved filter. What the request gives besides takes the place of its values. */
  readonly filter_id?: string | null;
  /** One of ai_service, model, status_code, api_key, config, workspace, provider, prompt: the ten with the most requests are added
   * as `series`, and `other`. Of requests, cost, tokens, latency, ttft and errors. */
  readonly group_by?: string | null;
  /** Clients send these, of which a graph has none: they change nothing. */
  readonly order_by?: string | null;
  readonly order_by_type?: string | null;
  readonly page_size?: number | null;
  readonly current_page?: number | null;
}

export interface Group {
  readonly group_key?: string | null;
  readonly requests: number;
  readonly cost?: number | null;
  readonly total_tokens?: number | null;
  readonly avg_tokens?: number | null;
  readonly avg_input_tokens?: number | null;
  readonly avg_output_tokens?: number | null;
  readonly avg_latency?: number | null;
  readonly p95_latency?: number | null;
  readonly p99_latency?: number | null;
  readonly success_rate?: number | null;
  readonly error_count?: number | null;
  readonly cache_hit_rate?: number | null;
  readonly last_seen?: string | null;
  readonly first_seen?: string | null;
  readonly object: 'analytics-group';
}

/** The same, of one of ai_service, model, status_code, api_key, config, workspace, provider and prompt. */
export interface GroupByRequest {
  /** Id or slug. A workspace's key sees its own workspace alone; an organisation's key sees the default one unless it names another. */
  readonly workspace_slug?: string | null;
  /** The same as workspace_slug. */
  readonly workspace_id?: string | null;
  /** From this time on, with its zone. Needed, here or in the saved filter. */
  readonly time_of_generation_min?: string | null;
  /** Up to this time. */
  readonly time_of_generation_max?: string | null;
  /** Input and output together. */
  readonly total_units_min?: number | null;
  readonly total_units_max?: number | null;
  /** Cents. */
  readonly cost_min?: number | null;
  readonly cost_max?: number | null;
  readonly prompt_token_min?: number | null;
  readonly prompt_token_max?: number | null;
  readonly completion_token_min?: number | null;
  readonly completion_token_max?: number | null;
  /** HTTP statuses, with commas between them, as in all lists here. */
  readonly status_code?: string | null;
  readonly weighted_feedback_min?: number | null;
  readonly weighted_feedback_max?: number | null;
  /** Slugs of stored providers. */
  readonly virtual_keys?: string | null;
  /** Slugs of configs. */
  readonly configs?: string | null;
  /** Ids of keys. */
  readonly api_key_ids?: string | null;
  /** JSON text of an object: each of its pairs is in the metadata. */
  readonly metadata?: string | null;
  /** provider__model */
  readonly ai_org_model?: string | null;
  /** Models that answered. */
  readonly ai_model?: string | null;
  readonly trace_id?: string | null;
  readonly span_id?: string | null;
  readonly prompt_slug?: string | null;
  /** DISABLED, HIT, MISS, REFRESH, SEMANTIC HIT, SEMANTIC MISS. */
  readonly cache_status?: string | null;
  /** A saved filter. What the request gives besides takes the place of its values. */
  readonly filter_id?: string | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** One of the columns. */
  readonly order_by?: string | null;
  readonly order_by_type?: 'asc' | 'desc' | null;
  /** Count the groups? true unless given. */
  readonly include_total?: boolean | null;
  readonly group_by: string;
  /** Columns of the answer beside the number of requests, with commas between them. */
  readonly columns?: string | null;
}

/** The same, of one name of metadata. */
export interface GroupMetadataRequest {
  /** Id or slug. A workspace's key sees its own workspace alone; an organisation's key sees the default one unless it names another. */
  readonly workspace_slug?: string | null;
  /** The same as workspace_slug. */
  readonly workspace_id?: string | null;
  /** From this time on, with its zone. Needed, here or in the saved filter. */
  readonly time_of_generation_min?: string | null;
  /** Up to this time. */
  readonly time_of_generation_max?: string | null;
  /** Input and output together. */
  readonly total_units_min?: number | null;
  readonly total_units_max?: number | null;
  /** Cents. */
  readonly cost_min?: number | null;
  readonly cost_max?: number | null;
  readonly prompt_token_min?: number | null;
  readonly prompt_token_max?: number | null;
  readonly completion_token_min?: number | null;
  readonly completion_token_max?: number | null;
  /** HTTP statuses, with commas between them, as in all lists here. */
  readonly status_code?: string | null;
  readonly weighted_feedback_min?: number | null;
  readonly weighted_feedback_max?: number | null;
  /** Slugs of stored providers. */
  readonly virtual_keys?: string | null;
  /** Slugs of configs. */
  readonly configs?: string | null;
  /** Ids of keys. */
  readonly api_key_ids?: string | null;
  /** JSON text of an object: each of its pairs is in the metadata. */
  readonly metadata?: string | null;
  /** provider__model */
  readonly ai_org_model?: string | null;
  /** Models that answered. */
  readonly ai_model?: string | null;
  readonly trace_id?: string | null;
  readonly span_id?: string | null;
  readonly prompt_slug?: string | null;
  /** DISABLED, HIT, MISS, REFRESH, SEMANTIC HIT, SEMANTIC MISS. */
  readonly cache_status?: string | null;
  /** A saved filter. What the request gives besides takes the place of its values. */
  readonly filter_id?: string | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** requests, cost, avg_tokens, avg_weighted_feedback, requests_with_feedback, last_seen or metadata_value. */
  readonly order_by?: string | null;
  readonly order_by_type?: 'asc' | 'desc' | null;
  /** Count the groups? true unless given. */
  readonly include_total?: boolean | null;
  readonly metadata_key: string;
}

export interface Groups {
  readonly object: 'list';
  /** Groups in all. */
  readonly total?: number | null;
  readonly data: readonly Group[];
}

/** Selects the requests that are grouped, and a page of the groups. */
export interface GroupsRequest {
  /** Id or slug. A workspace's key sees its own workspace alone; an organisation's key sees the default one unless it names another. */
  readonly workspace_slug?: string | null;
  /** The same as workspace_slug. */
  readonly workspace_id?: string | null;
  /** From this time on, with its zone. Needed, here or in the saved filter. */
  readonly time_of_generation_min?: string | null;
  /** Up to this time. */
  readonly time_of_generation_max?: string | null;
  /** Input and output together. */
  readonly total_units_min?: number | null;
  readonly total_units_max?: number | null;
  /** Cents. */
  readonly cost_min?: number | null;
  readonly cost_max?: number | null;
  readonly prompt_token_min?: number | null;
  readonly prompt_token_max?: number | null;
  readonly completion_token_min?: number | null;
  readonly completion_token_max?: number | null;
  /** HTTP statuses, with commas between them, as in all lists here. */
  readonly status_code?: string | null;
  readonly weighted_feedback_min?: number | null;
  readonly weighted_feedback_max?: number | null;
  /** Slugs of stored providers. */
  readonly virtual_keys?: string | null;
  /** Slugs of configs. */
  readonly configs?: string | null;
  /** Ids of keys. */
  readonly api_key_ids?: string | null;
  /** JSON text of an object: each of its pairs is in the metadata. */
  readonly metadata?: string | null;
  /** provider__model */
  readonly ai_org_model?: string | null;
  /** Models that answered. */
  readonly ai_model?: string | null;
  readonly trace_id?: string | null;
  readonly span_id?: string | null;
  readonly prompt_slug?: string | null;
  /** DISABLED, HIT, MISS, REFRESH, SEMANTIC HIT, SEMANTIC MISS. */
  readonly cache_status?: string | null;
  /** A saved filter. What the request gives besides takes the place of its values. */
  readonly filter_id?: string | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** requests, or cost where groups have it. */
  readonly order_by?: string | null;
  readonly order_by_type?: 'asc' | 'desc' | null;
  /** Count the groups? true unless given. */
  readonly include_total?: boolean | null;
}

export interface Guardrail {
  readonly id: string;
  readonly name: string;
  /** Begins with `pg-`. */
  readonly slug: string;
  readonly organisation_id: string;
  /** Absent: a guardrail of the organisation. */
  readonly workspace_id?: string | null;
  readonly status: 'active' | 'archived';
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly owner_id?: string | null;
  readonly updated_by?: string | null;
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
  readonly checks: readonly GuardrailCheck[];
  readonly actions: GuardrailActions;
  readonly version_id: string;
}

export interface GuardrailActions {
  /** Refuse with 446 what does not pass? Else it goes on with 246. */
  readonly deny: boolean;
  /** Run beside the request, never holding it up and never denying it? */
  readonly async: boolean;
  /** Run one check after another? false unless given. */
  readonly sequential?: boolean | null;
  /** When all checks pass. */
  readonly on_success: GuardrailReaction;
  /** When a check does not pass. */
  readonly on_fail: GuardrailReaction;
  /** Answer what is denied with 200 and a refusal in place of 446? false unless given. */
  readonly soft_deny_200?: boolean | null;
  /** Calls to paths that are passed through, where passthrough_paths does not name the places of their texts: `refuse` where
   * deny is true, the default, or `allow`. */
  readonly passthrough?: 'refuse' | 'allow' | null;
  /** Where the texts of bodies that are passed through are, as in messages[*].content. */
  readonly passthrough_paths: readonly string[];
  /** When the answer of a stream is judged: `end`, the default, or `incremental`, while it arrives, so that it can be redacted and
   * ended. Checks that need the whole text judge it at the end. */
  readonly stream?: 'end' | 'incremental' | null;
}

export interface GuardrailCheck {
  /** Such as default.wordCount. */
  readonly id: string;
  /** What the check takes, by its own rules. */
  readonly parameters?: Readonly<Record<string, unknown>> | null;
  readonly name?: string | null;
  /** true unless given. */
  readonly is_enabled?: boolean | null;
}

/** Feedback that is stored on the trace. */
export interface GuardrailFeedback {
  /** 5 after success, -5 after failure, unless given. */
  readonly value?: number | null;
  /** 1 unless given. */
  readonly weight?: number | null;
  /** Free text. */
  readonly metadata?: string | null;
}

export interface GuardrailReaction {
  readonly feedback: GuardrailFeedback;
}

export interface GuardrailReference {
  readonly id: string;
  readonly slug: string;
}

export interface GuardrailSummary {
  readonly id: string;
  readonly name: string;
  /** Begins with `pg-`. */
  readonly slug: string;
  readonly organisation_id: string;
  /** Absent: a guardrail of the organisation. */
  readonly workspace_id?: string | null;
  readonly status: 'active' | 'archived';
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly owner_id?: string | null;
  readonly updated_by?: string | null;
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
}

export interface GuardrailTestResult {
  readonly verdict: boolean;
  /** Status that a request would get: 200, 246 or 446. */
  readonly status: number;
  readonly ms: number;
  /** What the guardrail made of the text; absent: it stays. */
  readonly transformed?: string | null;
  /** As in hook_results. */
  readonly hook?: Readonly<Record<string, unknown>> | null;
}

/** What was found of the labelled texts. A finding is a verdict of false. */
export interface GuardrailTestScore {
  readonly labelled: number;
  /** Share of the findings that have the label `fail`; absent: there is no finding. */
  readonly precision?: number | null;
  /** Share of the texts with the label `fail` that were found; absent: none has it. */
  readonly recall?: number | null;
}

export interface GuardrailTestText {
  readonly text: string;
  /** What the guardrail should find: `pass` or `fail`. */
  readonly label?: 'pass' | 'fail' | null;
}

/** An answer that is no JSON: a file, a table. */
export interface HttpBody {
  readonly content_type: string;
  readonly data: Uint8Array;
}

export interface ImagePriceMultiplier {
  readonly default?: number | null;
}

export interface ImportLogsRequest {
  /** Lines of JSON, 3 MiB at most. */
  readonly lines: Uint8Array;
  /** Number of the first of them, for refusals; 1 unless given. */
  readonly first_line?: number | null;
}

export interface ImportLogsResponse {
  /** Rows that were not there. */
  readonly imported: number;
  /** Rows whose id was there. */
  readonly skipped: number;
}

export interface Integration {
  readonly id: string;
  readonly organisation_id: string;
  /** Such as openai. */
  readonly ai_provider_id: string;
  readonly name: string;
  readonly status: 'active' | 'archived';
  readonly created_at: string;
  readonly last_updated_at?: string | null;
  readonly slug: string;
  readonly description?: string | null;
  readonly object: 'integration';
  /** Absent: an integration of the organisation. */
  readonly workspace_id?: string | null;
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
}

/** What a provider needs in addition to its key. Each provider takes its own fields, and any provider custom_host,
 * custom_headers and send_trace_context; the others are refused. */
export interface IntegrationConfigurations {
  /** Any provider: its address, version segment included. Given by a key of a workspace, it must be one that the network
   * rules let callers choose. */
  readonly custom_host?: string | null;
  /** Any provider: sent with every request. */
  readonly custom_headers: Readonly<Record<string, string>>;
  /** openai. */
  readonly openai_organization?: string | null;
  /** openai. */
  readonly openai_project?: string | null;
  /** azure-openai and azure-ai: needed. */
  readonly azure_auth_mode?: 'default' | 'entra' | 'managed' | 'workload' | null;
  /** azure-openai: needed. */
  readonly azure_resource_name?: string | null;
  /** azure-openai: needed, 1 to 100. */
  readonly azure_deployment_config: readonly AzureDeployment[];
  /** azure-openai and azure-ai with entra. */
  readonly azure_entra_tenant_id?: string | null;
  /** azure-openai and azure-ai with entra. */
  readonly azure_entra_client_id?: string | null;
  /** azure-openai and azure-ai with entra. */
  readonly azure_entra_client_secret?: string | null;
  /** azure-openai and azure-ai with managed. */
  readonly azure_managed_client_id?: string | null;
  /** azure-openai and azure-ai with workload. */
  readonly azure_workload_client_id?: string | null;
  /** azure-ai: needed. */
  readonly azure_foundry_url?: string | null;
  /** azure-ai: at most 30 characters. */
  readonly azure_api_version?: string | null;
  /** azure-ai. */
  readonly azure_deployment_name?: string | null;
  /** bedrock and sagemaker: needed. */
  readonly aws_auth_type?: 'accessKey' | 'assumedRole' | null;
  /** bedrock and sagemaker: needed. */
  readonly aws_region?: string | null;
  /** bedrock and sagemaker with accessKey. */
  readonly aws_access_key_id?: string | null;
  /** bedrock and sagemaker with accessKey. */
  readonly aws_secret_access_key?: string | null;
  /** bedrock and sagemaker with assumedRole. */
  readonly aws_role_arn?: string | null;
  /** bedrock and sagemaker with assumedRole. */
  readonly aws_external_id?: string | null;
  /** sagemaker. */
  readonly amzn_sagemaker_custom_attributes?: string | null;
  /** sagemaker. */
  readonly amzn_sagemaker_target_model?: string | null;
  /** sagemaker. */
  readonly amzn_sagemaker_target_variant?: string | null;
  /** sagemaker. */
  readonly amzn_sagemaker_target_container_hostname?: string | null;
  /** sagemaker. */
  readonly amzn_sagemaker_inference_id?: string | null;
  /** sagemaker. */
  readonly amzn_sagemaker_enable_explanations?: string | null;
  /** sagemaker. */
  readonly amzn_sagemaker_inference_component?: string | null;
  /** sagemaker. */
  readonly amzn_sagemaker_session_id?: string | null;
  /** sagemaker. */
  readonly amzn_sagemaker_model_name?: string | null;
  /** vertex-ai: needed. */
  readonly vertex_auth_type?: 'basic' | 'serviceAccount' | 'workloadIdentity' | null;
  /** vertex-ai: needed. */
  readonly vertex_region?: string | null;
  /** vertex-ai with basic or workloadIdentity. */
  readonly vertex_project_id?: string | null;
  /** vertex-ai with serviceAccount. */
  readonly vertex_service_account_json?: Readonly<Record<string, unknown>> | null;
  /** workers-ai: needed. */
  readonly workers_ai_account_id?: string | null;
  /** huggingface. */
  readonly huggingface_base_url?: string | null;
  /** cortex: needed. */
  readonly snowflake_account?: string | null;
  /** Any provider: if false, traceparent and tracestate are not sent to it. true unless given. */
  readonly send_trace_context?: boolean | null;
}

export interface IntegrationDetail {
  readonly id: string;
  readonly organisation_id: string;
  /** Such as openai. */
  readonly ai_provider_id: string;
  readonly name: string;
  readonly status: 'active' | 'archived';
  readonly created_at: string;
  readonly last_updated_at?: string | null;
  readonly slug: string;
  readonly description?: string | null;
  readonly object: 'integration';
  /** Absent: an integration of the organisation. */
  readonly workspace_id?: string | null;
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
  /** 2 first characters, *****, 3 last; absent where there is no credential. */
  readonly masked_key?: string | null;
  /** As given; for each secret `masked_<field>` in its place. */
  readonly configurations?: Readonly<Record<string, unknown>> | null;
  readonly global_workspace_access_settings?: GlobalWorkspaceAccess | null;
  readonly allow_all_models: boolean;
  /** Workspaces that may use it. */
  readonly workspace_count: number;
  readonly secret_mappings: readonly SecretMapping[];
  readonly pricing_adjustments?: PricingAdjustments | null;
  readonly last_reset_at?: string | null;
}

export interface IntegrationModel {
  readonly slug: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly is_custom?: boolean | null;
  readonly is_finetune?: boolean | null;
  /** The model that a fine-tuned one was made from. */
  readonly base_model_slug?: string | null;
  readonly pricing_config?: ModelPricingConfig | null;
  readonly configurations?: ModelConfigurations | null;
}

export interface IntegrationModelUpdate {
  /** Name of the model. */
  readonly slug: string;
  /** Is it on? */
  readonly enabled: boolean;
  /** A model that the catalogue does not have? */
  readonly is_custom?: boolean | null;
  /** Was it made from another model? */
  readonly is_finetune?: boolean | null;
  /** Needed for fine-tuned models. */
  readonly base_model_slug?: string | null;
  /** Where this model alone is reached; set by keys of the organisation. */
  readonly configurations?: ModelConfigurations | null;
  /** Its prices, in place of those of the catalogue. */
  readonly pricing_config?: ModelPricingConfig | null;
}

export interface IntegrationWorkspace {
  /** Of the workspace. */
  readonly id: string;
  readonly enabled: boolean;
  readonly usage_limits: readonly UsageLimitsState[];
  readonly rate_limits: readonly ProviderRateLimit[];
}

export interface IntegrationWorkspaceUpdate {
  /** Id or slug of the workspace. */
  readonly id: string;
  /** Is it on? */
  readonly enabled: boolean;
  /** At most one. The limits of global_workspace_access, unless given; with reset_usage the workspace's own stay. */
  readonly usage_limits: readonly UsageLimits[];
  /** At most one. */
  readonly rate_limits: readonly ProviderRateLimit[];
  /** Set the usage to 0, and what was exhausted active? */
  readonly reset_usage?: boolean | null;
  /** As the field of the request, for this workspace. */
  readonly create_default_provider?: boolean | null;
  /** As the field of the request, for this workspace. */
  readonly default_provider_slug?: string | null;
}

export interface Invite {
  readonly object: 'invite';
  readonly id: string;
  readonly email: string;
  readonly role: 'admin' | 'member';
  readonly created_at: string;
  readonly expires_at: string;
  readonly accepted_at?: string | null;
  readonly status: 'pending' | 'cancelled' | 'accepted' | 'expired';
  /** User, or key, that made it. */
  readonly invited_by: string;
}

/** A key made with the user. Its text is in this answer and nowhere else. */
export interface InviteKey {
  readonly id: string;
  readonly workspace_id: string;
  readonly key: string;
  readonly object: 'api-key';
}

export interface InviteKeyDefaults {
  /** Values of at most 128 characters. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** A key for the new user in each workspace of the invitation. */
export interface InviteKeyDetails {
  readonly scopes: readonly string[];
  readonly defaults?: InviteKeyDefaults | null;
  /** Made from the workspace's name, unless given. */
  readonly name?: string | null;
  /** The keys end then. Must be in the future. */
  readonly expiry?: string | null;
  /** The same as defaults.metadata. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** A secret that stays as it is stored. */
export interface KeptSecret {
  /** Within the document: spec.key. */
  readonly path: string;
  /** Of the variable that is not set; `-` is standard input. */
  readonly name: string;
}

export interface Label {
  readonly id: string;
  readonly name: string;
  readonly description?: string | null;
  readonly color_code?: string | null;
  readonly organisation_id: string;
  /** Absent: a label of every workspace. */
  readonly workspace_id?: string | null;
  /** Built in, and the same for all: production, staging, development. */
  readonly is_universal: boolean;
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly status: 'active' | 'archived';
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
}

export interface LatencyGraph {
  readonly summary: LatencySummary;
  readonly data_points: readonly LatencyPoint[];
  readonly object: 'analytics-graph';
  readonly series: readonly LatencySeries[];
}

export interface LatencyPoint {
  readonly timestamp: string;
  readonly avg?: number | null;
  readonly p50?: number | null;
  readonly p90?: number | null;
  readonly p99?: number | null;
}

export interface LatencySeries {
  /** Slug, name or code; null: none; `other`: all that are not among the ten. */
  readonly group_key?: string | null;
  readonly summary: LatencySummary;
  readonly data_points: readonly LatencyPoint[];
}

export interface LatencySummary {
  readonly avg?: number | null;
  readonly p50?: number | null;
  readonly p90?: number | null;
  readonly p99?: number | null;
}

export interface LinkUserRequest {
  /** Id or e-mail address of the user. The first owner, unless given. */
  readonly user_id?: string | null;
}

export interface ListAlertsRequest {
  /** Alerts of this kind alone. */
  readonly event?: 'threshold' | 'exhausted' | 'reset' | 'anomaly' | null;
  /** What the budget is set on. */
  readonly holder_type?:
    | 'api_key'
    | 'workspace'
    | 'virtual_key'
    | 'integration'
    | 'usage_limits_policy'
    | null;
  /** Id of the key, workspace, provider, integration or policy. */
  readonly holder_id?: string | null;
  /** Alerts at this time and later. */
  readonly since?: string | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** 50 unless given, 0 to 100. */
  readonly page_size?: number | null;
}

export interface ListAlertsResponse {
  readonly object: 'list';
  readonly data: readonly Alert[];
  readonly total: number;
}

export interface ListAnomaliesRequest {
  /** Id or slug. A workspace's key only sees its own workspace; an organisation's key sees every workspace that it may see, unless
   * it names one. */
  readonly workspace_slug?: string | null;
  readonly workspace_id?: string | null;
  /** Only anomalies of this figure. */
  readonly metric?: 'cost' | 'errors' | 'latency' | 'traffic' | null;
  /** Those found at this time and later. */
  readonly since?: string | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
}

export interface ListAnomaliesResponse {
  readonly object: 'list';
  readonly data: readonly Anomaly[];
  readonly total: number;
}

export interface ListApiKeysRequest {
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** All, unless given. */
  readonly status: readonly ('active' | 'exhausted' | 'expired')[];
  /** The calling key's own. */
  readonly organisation_id?: string | null;
}

export interface ListApiKeysResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly ApiKey[];
}

export interface ListAuditLogsRequest {
  /** Rows from this time on. */
  readonly start_time: string;
  /** Rows before this time. */
  readonly end_time: string;
  /** The key's own. */
  readonly organisation_id?: string | null;
  /** HTTP method. */
  readonly method?: 'POST' | 'PUT' | 'DELETE' | null;
  /** The whole path. */
  readonly uri?: string | null;
  /** The request's id. */
  readonly request_id?: string | null;
  /** Of this user or key alone. */
  readonly user_id?: string | null;
  /** Who acted: a user, a key, or a local command on the gateway's machine, or a schedule. */
  readonly user_type?: 'user' | 'api_key' | 'local_command' | 'schedule' | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** HTTP status of the answer. */
  readonly response_status_code?: number | null;
  /** Such as config; the names are those of the rows. */
  readonly resource_type?: string | null;
  /** What was done. */
  readonly action?:
    | 'create'
    | 'update'
    | 'delete'
    | 'publish'
    | 'export'
    | 'rotate'
    | 'manage'
    | 'duplicate'
    | null;
  /** Address of the caller. */
  readonly client_ip?: string | null;
  /** Two letters. */
  readonly country?: string | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** 50 unless given, 0 to 100. */
  readonly page_size?: number | null;
}

export interface ListAuditLogsResponse {
  readonly records: readonly AuditLog[];
  readonly total: number;
  readonly object: 'analytics-graph';
}

export interface ListCircuitBreakersRequest {
  /** Id or slug. A workspace's key sees its own workspace. */
  readonly workspace_id?: string | null;
}

export interface ListCircuitBreakersResponse {
  readonly object: string;
  readonly data: readonly CircuitBreaker[];
  readonly total: number;
}

export interface ListCollectionsRequest {
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** Id or slug. Needed with an organisation's key that has several workspaces. */
  readonly workspace_id?: string | null;
  /** Part of the name. */
  readonly search?: string | null;
}

export interface ListCollectionsResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly CollectionRow[];
}

export interface ListConfigVersionsRequest {
  /** Slug or id. */
  readonly slug: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
}

export interface ListConfigVersionsResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly Config[];
}

export interface ListConfigsRequest {
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Id or slug. Needed with an organisation's key that has several workspaces. */
  readonly workspace_id?: string | null;
  /** Fill last_used_at? */
  readonly return_last_used?: boolean | null;
}

export interface ListConfigsResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly ConfigRow[];
}

export interface ListDeploymentsRequest {
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** The key's own. */
  readonly organisation_id?: string | null;
  /** Of this status alone. */
  readonly status?: 'active' | 'archived' | null;
  /** Of this type alone. */
  readonly type?: 'production' | 'non_production' | null;
  /** Deployments that this workspace may use. */
  readonly workspace_slug?: string | null;
  /** Part of the name. */
  readonly search?: string | null;
}

export interface ListDeploymentsResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly Deployment[];
}

export interface ListGuardrailsRequest {
  /** 100 unless given, 1 to 1000. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Without workspace_id: the guardrails of the organisation alone. */
  readonly organisation_id?: string | null;
}

export interface ListGuardrailsResponse {
  readonly total: number;
  readonly data: readonly GuardrailSummary[];
}

export interface ListIntegrationModelsRequest {
  /** Slug or id. */
  readonly slug: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export interface ListIntegrationModelsResponse {
  readonly total: number;
  readonly allow_all_models?: boolean | null;
  readonly models: readonly IntegrationModel[];
}

export interface ListIntegrationWorkspacesRequest {
  /** Slug or id. */
  readonly slug: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export interface ListIntegrationWorkspacesResponse {
  readonly total: number;
  readonly workspaces: readonly IntegrationWorkspace[];
}

export interface ListIntegrationsRequest {
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** Id or slug: integrations that this workspace may use. */
  readonly workspace_id?: string | null;
  /** `all` unless given. */
  readonly type?: 'workspace' | 'organisation' | 'all' | null;
}

export interface ListIntegrationsResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly Integration[];
}

export interface ListInvitesRequest {
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** Of this role alone. */
  readonly role?: 'admin' | 'member' | null;
  /** The whole address, in any case. */
  readonly email?: string | null;
  /** Part of the address. */
  readonly search?: string | null;
  /** Of this status alone. */
  readonly status?: 'pending' | 'cancelled' | 'accepted' | 'expired' | null;
}

export interface ListInvitesResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly Invite[];
}

export interface ListLabelsRequest {
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** The key's own. Without workspace_id, and with an organisation's key: the labels of every workspace alone. */
  readonly organisation_id?: string | null;
  /** Part of the name. */
  readonly search?: string | null;
}

export interface ListLabelsResponse {
  readonly total: number;
  readonly data: readonly Label[];
}

export interface ListLogExportsRequest {
  /** Id or slug. Needed with an organisation's key that has several workspaces. */
  readonly workspace_id?: string | null;
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
}

export interface ListLogExportsResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly LogExport[];
}

export interface ListLogsRequest {
  /** Id or slug. A workspace's key sees its own workspace. */
  readonly workspace_id?: string | null;
  /** One or several, with commas between them. */
  readonly trace_id?: string | null;
  /** Cursor of an earlier answer: returns the rows that arrived since. */
  readonly after?: string | null;
  /** 50 unless given, 1000 at most. */
  readonly limit?: number | null;
  /** As workspace_id. */
  readonly workspace_slug?: string | null;
  /** When the request arrived, both times included: 2026-05-01T00:00:00Z. */
  readonly time_of_generation_min?: string | null;
  readonly time_of_generation_max?: string | null;
  /** Input and output together. */
  readonly total_units_min?: number | null;
  readonly total_units_max?: number | null;
  /** Of the input. */
  readonly prompt_token_min?: number | null;
  readonly prompt_token_max?: number | null;
  /** Of the output. */
  readonly completion_token_min?: number | null;
  readonly completion_token_max?: number | null;
  /** Cents. A request whose cost is not known does not match. */
  readonly cost_min?: number | null;
  readonly cost_max?: number | null;
  /** Of the feedback that counts at a request: the sum of value times weight, by the sum of weights. */
  readonly weighted_feedback_min?: number | null;
  readonly weighted_feedback_max?: number | null;
  /** This and the following: several have commas between them. */
  readonly status_code?: string | null;
  /** The model that answered, else the requested one. */
  readonly ai_model?: string | null;
  /** Of the form provider__model. */
  readonly ai_org_model?: string | null;
  /** Slugs. */
  readonly virtual_keys?: string | null;
  /** Slugs. */
  readonly configs?: string | null;
  /** Slugs. */
  readonly prompt_slug?: string | null;
  /** Ids. */
  readonly api_key_ids?: string | null;
  /** Ids. */
  readonly span_id?: string | null;
  /** DISABLED, HIT, MISS, REFRESH, SEMANTIC HIT, SEMANTIC MISS. */
  readonly cache_status?: string | null;
  /** JSON text of an object: each of its pairs is in the request's metadata. */
  readonly metadata?: string | null;
  /** From 0. Not with `after`. */
  readonly current_page?: number | null;
  /** In place of `limit`. With it, or with current_page, `total` is returned. */
  readonly page_size?: number | null;
  readonly order_by?: 'created_at' | 'cost' | 'total_units' | 'response_time' | null;
  /** desc unless given. */
  readonly order_by_type?: 'asc' | 'desc' | null;
  /** A saved filter. What the request gives besides takes the place of its values. */
  readonly filter_id?: string | null;
}

export interface ListLogsResponse {
  /** Always "list". */
  readonly object: string;
  readonly data: readonly LogMetrics[];
  /** For `after`. */
  readonly cursor: string;
  /** All that match; absent unless a page is requested. */
  readonly total?: number | null;
}

export interface ListMailsRequest {
  /** Only mails with this status. */
  readonly status?: 'pending' | 'sent' | 'failed' | null;
  /** Only mails of this kind. */
  readonly kind?:
    | 'budget_threshold'
    | 'budget_exhausted'
    | 'budget_reset'
    | 'anomaly'
    | 'key_rotated'
    | 'rotation_ahead'
    | 'old_secret_ending'
    | 'key_expiring'
    | 'key_expired'
    | 'invite'
    | 'test'
    | null;
  /** The whole address, in upper or lower case. */
  readonly recipient?: string | null;
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
}

export interface ListMailsResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly MailMessage[];
}

/** Selects the requests whose metadata is listed. Without times: all requests. */
export interface ListMetadataValuesRequest {
  /** Id or slug. A workspace's key sees its own workspace alone; an organisation's key sees the default one unless it names another. */
  readonly workspace_slug?: string | null;
  /** The same as workspace_slug. */
  readonly workspace_id?: string | null;
  /** From this time on, with its zone. Needed, here or in the saved filter. */
  readonly time_of_generation_min?: string | null;
  /** Up to this time. */
  readonly time_of_generation_max?: string | null;
  /** Input and output together. */
  readonly total_units_min?: number | null;
  readonly total_units_max?: number | null;
  /** Cents. */
  readonly cost_min?: number | null;
  readonly cost_max?: number | null;
  readonly prompt_token_min?: number | null;
  readonly prompt_token_max?: number | null;
  readonly completion_token_min?: number | null;
  readonly completion_token_max?: number | null;
  /** HTTP statuses, with commas between them, as in all lists here. */
  readonly status_code?: string | null;
  readonly weighted_feedback_min?: number | null;
  readonly weighted_feedback_max?: number | null;
  /** Slugs of stored providers. */
  readonly virtual_keys?: string | null;
  /** Slugs of configs. */
  readonly configs?: string | null;
  /** Ids of keys. */
  readonly api_key_ids?: string | null;
  /** JSON text of an object: each of its pairs is in the metadata. */
  readonly metadata?: string | null;
  /** provider__model */
  readonly ai_org_model?: string | null;
  /** Models that answered. */
  readonly ai_model?: string | null;
  readonly trace_id?: string | null;
  readonly span_id?: string | null;
  readonly prompt_slug?: string | null;
  /** DISABLED, HIT, MISS, REFRESH, SEMANTIC HIT, SEMANTIC MISS. */
  readonly cache_status?: string | null;
  /** A saved filter. What the request gives besides takes the place of its values. */
  readonly filter_id?: string | null;
  readonly metadata_key: string;
}

export interface ListModelPricesRequest {
  /** Only those of this provider. */
  readonly provider?: string | null;
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
}

export interface ListModelPricesResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly ModelPrice[];
}

export interface ListModelsRequest {
  /** Name of a provider's API, such as openai. */
  readonly ai_service?: string | null;
  /** Slug of a provider of the workspace. */
  readonly provider?: string | null;
  /** 50 unless given, 1000 at most. */
  readonly limit?: number | null;
  /** Models to pass over. */
  readonly offset?: number | null;
  /** `name` unless given. */
  readonly sort?: 'name' | 'provider' | 'ai_service' | null;
  /** `asc` unless given. */
  readonly order?: 'asc' | 'desc' | null;
  /** Id or slug. Needed with an organisation's key that has several workspaces. */
  readonly workspace_id?: string | null;
}

export interface ListModelsResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly Model[];
}

export type ListNodesRequest = Readonly<Record<string, never>>;

export interface ListNodesResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly Node[];
}

export interface ListOrganisationMembersRequest {
  /** Id of the organisation, which is the key's own. */
  readonly organisation_id: string;
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** Only users with this role. */
  readonly role?: 'owner' | 'admin' | 'member' | null;
  /** The whole address, in upper or lower case. */
  readonly email?: string | null;
}

export interface ListOrganisationMembersResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly User[];
}

export interface ListPluginsRequest {
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** The key's own. */
  readonly organisation_id?: string | null;
}

export interface ListPluginsResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly PartnerPlugin[];
}

export interface ListProvidersRequest {
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Id or slug. Needed with an organisation's key that has several workspaces. */
  readonly workspace_id?: string | null;
  /** Has no effect yet: when a provider was used last is not kept. */
  readonly return_last_used?: boolean | null;
  /** Each `name` or `name:value` that tags must have. */
  readonly tags: readonly string[];
}

export interface ListProvidersResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly Provider[];
}

export interface ListRateLimitsPoliciesRequest {
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** The key's own. */
  readonly organisation_id?: string | null;
  /** Part of the name. */
  readonly search?: string | null;
  /** `active` unless given. */
  readonly status?: 'active' | 'archived' | null;
  /** Of this type alone. */
  readonly type?: 'requests' | 'tokens' | null;
  /** Per minute, hour, day or week. */
  readonly unit?: 'rpm' | 'rph' | 'rpd' | 'rpw' | null;
}

export interface ListRateLimitsPoliciesResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly RateLimitsPolicy[];
}

export interface ListSavedFiltersRequest {
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** Id or slug. Needed with an organisation's key that has several workspaces. */
  readonly workspace_id?: string | null;
}

export interface ListSavedFiltersResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly SavedFilter[];
}

export interface ListScheduleRunsRequest {
  readonly name: string;
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
}

export interface ListScheduleRunsResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly ScheduleRun[];
}

export type ListSchedulesRequest = Readonly<Record<string, never>>;

export interface ListSchedulesResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly Schedule[];
}

export interface ListScimGroupsRequest {
  /** Id of the organisation, which is the key's own. */
  readonly organisation_id: string;
  /** For example `displayName eq "Engineers"`; see RFC 7644, section 3.4.2.2. At most 2048 characters. */
  readonly filter?: string | null;
  /** Counts from 1. */
  readonly start_index?: number | null;
  /** 100 unless given, and at most. Fewer are returned if the groups are large. */
  readonly count?: number | null;
  /** Attributes to return, separated by commas; all unless given. */
  readonly attributes?: string | null;
  /** Attributes to leave out, separated by commas. */
  readonly excluded_attributes?: string | null;
  /** An attribute that a filter can name. Oldest first, unless given. */
  readonly sort_by?: string | null;
  /** `ascending` unless given. */
  readonly sort_order?: 'ascending' | 'descending' | null;
}

export interface ListScimGroupsResponse {
  readonly schemas: readonly string[];
  readonly total_results: number;
  readonly resources: readonly Readonly<Record<string, unknown>>[];
  readonly start_index: number;
  readonly items_per_page: number;
}

export interface ListScimMappingGroupsRequest {
  /** Part of the name, in upper or lower case. */
  readonly search?: string | null;
  /** Counts from 0. */
  readonly page?: number | null;
  /** 100 unless given, 1000 at most. */
  readonly page_size?: number | null;
}

export interface ListScimMappingGroupsResponse {
  readonly groups: readonly ScimGroupName[];
  readonly total_count: number;
}

export interface ListScimMappingsRequest {
  /** Id or slug. */
  readonly workspace_id?: string | null;
  readonly scim_group_id?: string | null;
  readonly role?: 'admin' | 'manager' | 'member' | null;
  /** Counts from 0. */
  readonly page?: number | null;
  /** 100 unless given, 1000 at most. */
  readonly page_size?: number | null;
}

export interface ListScimMappingsResponse {
  readonly mappings: readonly ScimMapping[];
  readonly total_count: number;
}

export interface ListScimResourceTypesRequest {
  /** Id of the organisation, which is the key's own. */
  readonly organisation_id: string;
}

export interface ListScimResourceTypesResponse {
  readonly schemas: readonly string[];
  readonly total_results: number;
  readonly resources: readonly Readonly<Record<string, unknown>>[];
  readonly start_index: number;
  readonly items_per_page: number;
}

export interface ListScimSchemasRequest {
  /** Id of the organisation, which is the key's own. */
  readonly organisation_id: string;
}

export interface ListScimSchemasResponse {
  readonly schemas: readonly string[];
  readonly total_results: number;
  readonly resources: readonly Readonly<Record<string, unknown>>[];
  readonly start_index: number;
  readonly items_per_page: number;
}

export interface ListScimUsersRequest {
  /** Id of the organisation, which is the key's own. */
  readonly organisation_id: string;
  /** For example `userName eq "ada@example.com"`; see RFC 7644, section 3.4.2.2. At most 2048 characters. */
  readonly filter?: string | null;
  /** Counts from 1. */
  readonly start_index?: number | null;
  /** 100 unless given, 1000 at most. */
  readonly count?: number | null;
  /** Attributes to return, separated by commas; all unless given. */
  readonly attributes?: string | null;
  /** Attributes to leave out, separated by commas. */
  readonly excluded_attributes?: string | null;
  /** An attribute that a filter can name. Oldest first, unless given. */
  readonly sort_by?: string | null;
  /** `ascending` unless given. */
  readonly sort_order?: 'ascending' | 'descending' | null;
}

export interface ListScimUsersResponse {
  readonly schemas: readonly string[];
  readonly total_results: number;
  readonly resources: readonly Readonly<Record<string, unknown>>[];
  readonly start_index: number;
  readonly items_per_page: number;
}

export interface ListSecretReferencesRequest {
  /** 20 unless given, 100 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** Only those of this manager. */
  readonly manager_type?: 'aws_sm' | 'azure_kv' | 'hashicorp_vault' | 'env' | 'file' | null;
  /** JSON text of an object: those that have all of these tags, as in {"team":"search"}. */
  readonly tags?: string | null;
  /** Part of the name, slug or description. */
  readonly search?: string | null;
  /** That of the key. */
  readonly organisation_id?: string | null;
}

export interface ListSecretReferencesResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly SecretReference[];
}

export interface ListSessionsRequest {
  /** Id of another user, for admins of the organisation. The caller, unless given. */
  readonly user_id?: string | null;
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
}

export interface ListSessionsResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly Session[];
}

export interface ListUsageLimitsEntitiesRequest {
  /** Id of the record. */
  readonly id: string;
  /** Of this status alone. */
  readonly status?: 'active' | 'exhausted' | null;
  /** Part of the value key. */
  readonly search?: string | null;
  /** 50 unless given, 1 to 100. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export interface ListUsageLimitsEntitiesResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly UsageLimitsEntity[];
}

export interface ListUsageLimitsPoliciesRequest {
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** The key's own. */
  readonly organisation_id?: string | null;
  /** Part of the name. */
  readonly search?: string | null;
  /** `active` unless given. */
  readonly status?: 'active' | 'archived' | null;
  /** Of this type alone. */
  readonly type?: 'cost' | 'tokens' | 'requests' | null;
}

export interface ListUsageLimitsPoliciesResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly UsageLimitsPolicy[];
}

export interface ListUsersRequest {
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** Only users with this role. */
  readonly role?: 'owner' | 'admin' | 'member' | null;
  /** The whole address, in upper or lower case. */
  readonly email?: string | null;
}

export interface ListUsersResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly User[];
}

export interface ListVirtualKeysRequest {
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Has no effect yet: when a virtual key was used last is not kept. */
  readonly return_last_used?: boolean | null;
}

export interface ListVirtualKeysResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly VirtualKey[];
}

export interface ListWorkspaceExclusionsRequest {
  /** Which guardrails: those of requests, or those of answers. */
  readonly kind: 'input-guardrails' | 'output-guardrails';
  /** The key's own. */
  readonly organisation_id?: string | null;
}

export interface ListWorkspaceMembersRequest {
  /** Id or slug. */
  readonly workspace_id: string;
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** In the workspace. */
  readonly role?: 'admin' | 'manager' | 'member' | null;
  /** The whole address, in any case. */
  readonly email?: string | null;
}

export interface ListWorkspaceMembersResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly WorkspaceMember[];
}

export interface ListWorkspacesRequest {
  /** 50 unless given, 1000 at most. */
  readonly page_size?: number | null;
  /** Counts from 0. */
  readonly current_page?: number | null;
  /** Part of the name, its case included. */
  readonly name?: string | null;
  /** The whole name. */
  readonly exact_name?: string | null;
  /** `active` unless given. */
  readonly status: readonly ('active' | 'archived')[];
  /** The key's own. */
  readonly organisation_id?: string | null;
}

export interface ListWorkspacesResponse {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly Workspace[];
}

export interface Log {
  readonly id: string;
  readonly request?: LogRequest | null;
  readonly response?: LogResponse | null;
  readonly organisation_id: string;
  readonly created_at: string;
  readonly metrics?: LogMetrics | null;
  /** Were the bodies too long to be kept whole? */
  readonly bodies_cut: boolean;
  /** As `id`. */
  readonly log_id: string;
  /** Of its trace, oldest first. */
  readonly feedbacks: readonly LogFeedback[];
  /** The request in the client's format, with the changes of its target (`override_params`), before it was converted: url, method,
   * headers, body. This field and the following ones need logged bodies, and are absent if no provider was called. */
  readonly final_untransformed_request?: Readonly<Record<string, unknown>> | null;
  /** The provider's answer: status, url, method, headers, body. No body if a guardrail or a plugin changed it. No headers if
   * request and answer were passed on unchanged: see those of `response`. */
  readonly original_response?: Readonly<Record<string, unknown>> | null;
  /** The request to the provider: url (without its query), method, headers, body. */
  readonly transformed_request?: Readonly<Record<string, unknown>> | null;
}

/** One try of one target. */
export interface LogAttempt {
  readonly target: string;
  readonly provider: string;
  readonly model?: string | null;
  /** 0: no answer arrived. */
  readonly status: number;
  readonly error?: string | null;
  readonly started_at_ms: number;
  readonly duration_ms: number;
  /** Its own tokens and their cost in US dollars; absent where it used none, or the cost is unknown. The log's `cost` is the
   * sum, its `req_units` and `res_units` are those of the attempt that answered. */
  readonly req_units?: number | null;
  readonly res_units?: number | null;
  readonly cost?: number | null;
  /** provider or counted. */
  readonly usage_source?: string | null;
}

/** One thing that was decided on a request's way through its config. */
export interface LogDecision {
  /** branch, pick, open, probe, all_open, moved_on, retry, no_retry, hedge, no_hedge, first, waited or mirror. */
  readonly decision: string;
  /** The path of what it is about: config.targets[0]. */
  readonly target: string;
  /** In words. */
  readonly reason: string;
}

export interface LogExport {
  readonly id: string;
  readonly organisation_id: string;
  readonly workspace_id: string;
  /** As a query of logs has them: `{"status_code": "429,500"}`. */
  readonly filters: Readonly<Record<string, unknown>>;
  /** What a line of the file has. */
  readonly requested_data: readonly string[];
  readonly status: 'draft' | 'in_progress' | 'success' | 'failed' | 'stopped';
  readonly description?: string | null;
  readonly created_at: string;
  readonly last_updated_at: string;
  /** Id of a user or key. */
  readonly created_by: string;
  readonly object: 'export';
  /** Rows that were written so far; of a draft, those that matched when it was made: absent where they were too many to count. */
  readonly total_records?: number | null;
  readonly format: 'jsonl' | 'csv';
  /** Fields that are left out, because who started it may not see them. */
  readonly restricted_fields: readonly string[];
  /** Why it failed. */
  readonly error?: string | null;
}

export interface LogExportAnswer {
  readonly id: string;
  /** Requests that match by now; absent where they were too many to count. */
  readonly total?: number | null;
  readonly object: 'export';
}

export interface LogExportDownload {
  /** Valid for an hour. */
  readonly signed_url: string;
}

export interface LogExportMessage {
  readonly message: string;
  readonly object: 'export';
}

/** What was thought of a trace. */
export interface LogFeedback {
  readonly id: string;
  /** -10 to 10. */
  readonly value: number;
  /** 0 to 1. */
  readonly weight: number;
  readonly metadata?: Readonly<Record<string, unknown>> | null;
  readonly created_at: string;
  readonly last_updated_at: string;
  /** The guardrail whose verdict it follows from; absent: it was sent. */
  readonly guardrail_id?: string | null;
  /** The key that sent it. */
  readonly api_key_id?: string | null;
}

export interface LogMetrics {
  readonly id: string;
  readonly organisation_id: string;
  readonly workspace_id?: string | null;
  readonly api_key_id?: string | null;
  readonly created_at: string;
  readonly is_success: boolean;
  /** The provider that answered. */
  readonly ai_org?: string | null;
  /** The model that answered, else the requested one. */
  readonly ai_model?: string | null;
  readonly req_units: number;
  readonly res_units: number;
  readonly total_units: number;
  /** US dollars; absent where no price is known. */
  readonly cost?: number | null;
  readonly cost_currency: string;
  readonly request_url: string;
  readonly request_method: string;
  readonly response_status_code: number;
  /** Milliseconds, as whole numbers: this and all other times that `exact_times` has. */
  readonly response_time: number;
  readonly upstream_response_time: number;
  readonly cache_status: string;
  /** 0 or 1. */
  readonly stream_mode: number;
  readonly retry_success_count: number;
  readonly trace_id: string;
  readonly span_id?: string | null;
  readonly parent_span_id?: string | null;
  readonly span_name?: string | null;
  readonly config?: string | null;
  readonly config_version_id?: string | null;
  readonly mode: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** settled, or unknown where its outcome was lost. */
  readonly state: string;
  readonly error?: string | null;
  readonly error_message?: string | null;
  readonly attempts: readonly LogAttempt[];
  readonly model_asked?: string | null;
  readonly target?: string | null;
  readonly cached_units: number;
  readonly reasoning_units: number;
  /** Milliseconds. */
  readonly first_byte_time?: number | null;
  /** Where the units come from: provider, counted (by the gateway) or none. */
  readonly usage_source: string;
  /** US dollars and milliseconds that a hit of the cache spared; absent for other requests, and where no price is known. */
  readonly cost_saved?: number | null;
  readonly time_saved?: number | null;
  /** What was decided on its way through the config, in its order; none where there was nothing to decide. */
  readonly decisions: readonly LogDecision[];
  /** Slug of the stored provider that answered, or was asked last; absent for a provider that the call named itself, for
   * hits of the cache, and in rows of earlier versions. */
  readonly virtual_key?: string | null;
  /** Paths of what was neither kept nor sent on: fields of the body, `metadata.<name>`. */
  readonly dropped_fields: readonly string[];
  /** What stages of the gateway and custom plugins recorded in fields of their own: an object for each stage, by its name. */
  readonly stage_fields?: Readonly<Record<string, unknown>> | null;
  /** Node that served it; null: an earlier version recorded it. */
  readonly node_id?: string | null;
  readonly organisation_name?: string | null;
  readonly workspace_slug?: string | null;
  /** simple or semantic; absent: no cache was used. */
  readonly cache_type?: string | null;
  /** Slug of the stored prompt. */
  readonly prompt_slug?: string | null;
  /** As config_version_id for `config`; absent: it used no stored config. */
  readonly config_id?: string | null;
  /** Was it passed on to a path of the provider's that the gateway does not convert? */
  readonly is_proxy_call: boolean;
  /** The trace id. */
  readonly internal_trace_id: string;
  /** Of the target that answered, in its config; absent: there are no targets. */
  readonly last_used_option_index?: number | null;
  /** Milliseconds that are not the provider's. */
  readonly gateway_processing_time: number;
  /** Names and values of the metadata, each in its place. */
  readonly metadata_keys: readonly string[];
  readonly metadata_values: readonly string[];
  /** Always absent in this version, like all fields up to log_store_file_path_format. */
  readonly prompt_id?: string | null;
  readonly prompt_version_id?: string | null;
  readonly source?: string | null;
  readonly runtime?: string | null;
  readonly runtime_version?: string | null;
  readonly sdk_version?: string | null;
  readonly log_store_file_path_format?: string | null;
  /** Milliseconds for reading the request's body. Absent, like the three below, if the step did not run or an earlier version
   * recorded the request. */
  readonly request_parsing_time?: number | null;
  /** Milliseconds for everything else before the first call to a provider: access, limits, guardrails. */
  readonly pre_processing_time?: number | null;
  /** Milliseconds for the cache lookup. */
  readonly cache_processing_time?: number | null;
  /** Milliseconds for reading an answer, and converting it if formats differ; absent for streams. */
  readonly response_parsing_time?: number | null;
  /** The same times with their fractions, in milliseconds, by the names of their fields. */
  readonly exact_times: Readonly<Record<string, number>>;
}

export interface LogRequest {
  readonly url: string;
  readonly method: string;
  readonly body?: string | null;
  /** As they were sent; credentials, and what x-gateway-sensitive-headers names, are masked. */
  readonly headers: Readonly<Record<string, string>>;
  /** Those of them that are for the gateway. */
  readonly gateway_headers: Readonly<Record<string, string>>;
}

export interface LogResponse {
  readonly status: number;
  readonly body?: string | null;
  /** Milliseconds, a whole number. */
  readonly response_time: number;
  readonly last_used_option_json_path?: string | null;
  /** As response_time, and as last_used_option_json_path. */
  readonly response_time_ms: number;
  readonly last_used_option?: string | null;
  /** As they were sent, with credentials masked; without the gateway's own headers, whose values are in `metrics`. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface MadeUserLink {
  /** Ends in `#token=` and the token with which the password is set. */
  readonly link: string;
  readonly expires_at: string;
}

/** A mail to one recipient. */
export interface MailMessage {
  readonly id: string;
  readonly object: 'mail';
  /** What it reports. */
  readonly kind:
    | 'budget_threshold'
    | 'budget_exhausted'
    | 'budget_reset'
    | 'anomaly'
    | 'key_rotated'
    | 'rotation_ahead'
    | 'old_secret_ending'
    | 'key_expiring'
    | 'key_expired'
    | 'invite'
    | 'test';
  readonly recipient: string;
  readonly subject: string;
  /** failed: the server refused the recipient or the mail, or did not accept it within 24 hours. */
  readonly status: 'pending' | 'sent' | 'failed';
  /** Number of attempts to send it; a manual retry resets it. */
  readonly attempts: number;
  /** Why the last attempt failed. */
  readonly error?: string | null;
  readonly created_at: string;
  /** Time of the next attempt; absent after it was sent or has failed. */
  readonly next_attempt_at?: string | null;
  readonly sent_at?: string | null;
  readonly workspace_id?: string | null;
  /** Id of the key, invitation or alert that it is about. */
  readonly resource_id: string;
}

export interface MetadataGroup {
  readonly metadata_value: string;
  readonly requests: number;
  readonly cost: number;
  readonly avg_tokens: number;
  readonly avg_weighted_feedback?: number | null;
  readonly requests_with_feedback: number;
  readonly last_seen: string;
  readonly object: 'analytics-group';
}

export interface MetadataGroups {
  readonly object: 'list';
  /** Groups in all. */
  readonly total?: number | null;
  readonly data: readonly MetadataGroup[];
}

export interface MetadataValues {
  readonly object: 'list';
  readonly total: number;
  readonly data: readonly string[];
}

export interface MigrateVirtualKeyRequest {
  /** Id or slug. */
  readonly virtual_key_id: string;
  /** The key's own. */
  readonly organisation_id?: string | null;
}

export interface MigrateVirtualKeyResponse {
  readonly success: boolean;
  readonly data: MigratedVirtualKey;
}

export interface MigratedVirtualKey {
  readonly slug: string;
  /** Slug of the integration made. */
  readonly integration_id: string;
}

export interface Model {
  /** @slug/model */
  readonly id: string;
  /** Unix seconds; 0 where it is not known. */
  readonly created: number;
  readonly object: 'model';
  /** The provider whose API is called. */
  readonly owned_by: string;
}

export interface ModelConfigurations {
  /** Address of this model alone, version segment included. */
  readonly custom_host?: string | null;
}

export interface ModelPrice {
  /** Name of a provider's API, such as openai. */
  readonly provider: string;
  readonly model: string;
  /** In US cents for one unit. */
  readonly pay_as_you_go?: ModelTokenPrices | null;
  /** The day from which on it holds (UTC); absent: always, until another one's day. */
  readonly since?: string | null;
  /** Where it is from, such as the number of a contract, and when it was read there. */
  readonly source?: string | null;
  readonly read_on?: string | null;
  readonly last_updated_at: string;
}

export interface ModelPricing {
  readonly pay_as_you_go: PayAsYouGo;
  readonly calculate?: PriceCalculation | null;
  readonly currency: 'USD';
  readonly finetune_config?: FineTuningPrices | null;
}

export interface ModelPricingConfig {
  readonly type: 'static';
  readonly pay_as_you_go: ModelTokenPrices;
}

/** Each is provider__model. */
export interface ModelReplacement {
  /** The provider and the model that answered. */
  readonly from: string;
  readonly to: string;
}

/** A unit that is left out has the price of the unit that it is part of: cached input that of input. */
export interface ModelTokenPrices {
  readonly request_token?: TokenPrice | null;
  readonly response_token?: TokenPrice | null;
  readonly cache_write_input_token?: TokenPrice | null;
  readonly cache_read_input_token?: TokenPrice | null;
  readonly request_audio_token?: TokenPrice | null;
  readonly response_audio_token?: TokenPrice | null;
  readonly cache_read_audio_input_token?: TokenPrice | null;
  /** thinking_token, cache_write_1h_input_token, input_image, cache_read_image_input_token, response_image_token (each a token),
   * character, second or request. */
  readonly additional_units: Readonly<Record<string, TokenPrice>>;
}

export interface NewFeedback {
  readonly trace_id: string;
  /** A whole number. */
  readonly value: number;
  /** 0 to 1; any other counts as 1, and so does none. */
  readonly weight?: number | null;
  readonly metadata?: Readonly<Record<string, unknown>> | null;
}

export interface NewWorkspaceDefaults {
  /** Added to every request, in place of the values of its key and of the request. Values of at most 128 characters. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Ids or slugs of guardrails that every request passes. */
  readonly input_guardrails: readonly string[];
  /** Ids or slugs of guardrails that every answer passes. */
  readonly output_guardrails: readonly string[];
  /** Id or slug of the config of new keys of users. null: none. In updates alone. */
  readonly user_api_key_config?: string | null;
}

export interface NewWorkspaceMember {
  /** Of a user of the organisation. */
  readonly id: string;
  readonly role: 'admin' | 'manager' | 'member';
}

export interface Node {
  /** Of its data directory. */
  readonly id: string;
  /** HEADGATE_NODE_NAME. */
  readonly name: string;
  /** Of its program. */
  readonly version: string;
  /** all, or data: model calls alone. */
  readonly role: 'all' | 'data';
  /** up; draining, while it ends what it has; left, when it has ended in order; lost, when it has not reported for 10 s. */
  readonly state: 'up' | 'draining' | 'left' | 'lost';
  /** By the database's clock. */
  readonly started_at: string;
  readonly last_seen_at: string;
  /** Data workers that serve. */
  readonly workers: number;
  /** Age of the oldest record of a request that is not in the ledger yet, in seconds. */
  readonly journal_behind_s: number;
}

/** How people sign in through an OpenID Connect provider. */
export interface OidcSettings {
  /** The provider's address, as its tokens name it. */
  readonly issuer?: string | null;
  readonly client_id?: string | null;
  /** Encrypted, and masked in answers. If it is absent or the mask is sent, it stays as it is. */
  readonly client_secret?: string | null;
  /** Only people with an e-mail address of one of these domains may sign in; empty: any domain. At most 100. */
  readonly allowed_email_domains: readonly string[];
  /** Claim of the provider's token that the role is taken from. */
  readonly role_claim?: string | null;
  /** `admin` or `member`, by value of that claim; at most 100. */
  readonly role_mapping: Readonly<Record<string, 'admin' | 'member'>>;
}

export interface Organisation {
  readonly id: string;
  readonly name: string;
  readonly settings: OrganisationSettings;
  /** Every flag, whether set or not. */
  readonly security_settings: SecuritySettings;
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly object: 'organisation';
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
}

export interface OrganisationDefaults {
  readonly input_guardrails: readonly GuardrailReference[];
  readonly output_guardrails: readonly GuardrailReference[];
}

export interface OrganisationSettings {
  /** Refuse configs, providers and hosts that a request carries itself, so that saved ones alone are used?
   * false unless set. */
  readonly block_inline_configs?: boolean | null;
  /** JSON Schema (draft 7) of an object of texts, which the metadata of keys and workspaces must satisfy. */
  readonly metadata_schema?: Readonly<Record<string, unknown>> | null;
  /** Life of a user's new key in seconds; 0 and unless set: without end. */
  readonly user_api_key_ttl?: number | null;
  /** Longest life of a user's key in seconds; 0 and unless set: any. */
  readonly user_api_key_max_ttl?: number | null;
  /** Keys that each user may have; -1 and unless set: any number. */
  readonly user_api_key_count?: number | null;
  /** Days between rotations of users' keys, 1 to 365; unless set: no rotation. */
  readonly user_api_key_rotation_period?: number | null;
  /** Make a key for each user who joins a workspace? false unless set. */
  readonly default_workspace_user_api_key_auto_create?: boolean | null;
  /** Keep what guardrails have changed in requests and answers as it was, sealed, for 30 days? false unless set. */
  readonly keep_unredacted_text?: boolean | null;
}

export interface PartnerPlugin {
  readonly id: string;
  readonly organisation_id: string;
  /** The partner: what precedes the point in the ids of its checks, such as azure or patronus. */
  readonly plugin_provider_id: string;
  /** Slug of the integration that lends its credential; absent: none does. */
  readonly integration_id?: string | null;
  readonly name: string;
  /** `archived`: its checks cannot run. */
  readonly status: 'active' | 'archived';
  /** Secrets are masked. */
  readonly credentials?: Readonly<Record<string, unknown>> | null;
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly object: 'plugin';
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
  /** Credentials that are taken from secret references. */
  readonly secret_mappings: readonly SecretMapping[];
}

export interface PatchScimGroupRequest {
  /** Id of the organisation, which is the key's own. */
  readonly organisation_id: string;
  /** Id of the group. */
  readonly group_id: string;
  /** `schemas` and `Operations`. */
  readonly patch: Readonly<Record<string, unknown>>;
  /** Refused with 412 if the record has another etag. */
  readonly etag?: string | null;
}

export interface PatchScimUserRequest {
  /** Id of the organisation, which is the key's own. */
  readonly organisation_id: string;
  /** Id of the user. */
  readonly user_id: string;
  /** `schemas` and `Operations`. */
  readonly patch: Readonly<Record<string, unknown>>;
  /** Refused with 412 if the record has another etag. */
  readonly etag?: string | null;
}

export interface PayAsYouGo {
  readonly request_token?: Price | null;
  readonly response_token?: Price | null;
  readonly cache_write_input_token?: Price | null;
  readonly cache_read_input_token?: Price | null;
  readonly request_audio_token?: Price | null;
  readonly response_audio_token?: Price | null;
  readonly cache_read_audio_input_token?: Price | null;
  /** web_search, file_search, thinking_token, input_image, input_video_standard, … */
  readonly additional_units: Readonly<Record<string, Price>>;
  /** By quality, then size: { price }. */
  readonly image?: Readonly<Record<string, unknown>> | null;
}

export interface PingDeploymentRequest {
  /** Id, slug or `self`. */
  readonly deployment_id: string;
}

export interface PingDeploymentResponse {
  /** Is it there? */
  readonly success: boolean;
  readonly status: 'active' | 'archived';
  readonly last_seen_at?: string | null;
}

/** Which requests a policy counts. All conditions of a policy must hold. */
export interface PolicyCondition {
  /** api_key, workspace_id, organisation_id, metadata.<name>, virtual_key, provider, config, prompt or model;
   * endpoint_type in rate limits; mcp_server and mcp_tool in rate limits of mcp_tools. */
  readonly key: string;
  /** Text, or a list of texts of which one must match. `*`: any value. One of value and excludes is needed. */
  readonly value?: unknown;
  /** Text, or a list of texts of which none may match. */
  readonly excludes?: unknown;
}

/** What a policy counts apart: every value of the key has a counter of its own. */
export interface PolicyGroup {
  /** Any key of a condition but endpoint_type. A request without it is not counted. */
  readonly key: string;
}

export interface Price {
  /** US cents per unit. */
  readonly price: number;
}

/** How a cost is computed: { operation: sum or multiply, operands: [more of these, or { value }] }. Values are
 * names such as input_tokens, output_tokens and rates.request_token. */
export interface PriceCalculation {
  readonly request?: Readonly<Record<string, unknown>> | null;
  readonly response?: Readonly<Record<string, unknown>> | null;
}

export interface PricingAdjustments {
  readonly multiplier?: PricingMultiplier | null;
}

/** Factors for the provider's prices: 1 leaves a price as it is. What is absent takes `default`; without that, 1. */
export interface PricingMultiplier {
  readonly default?: number | null;
  readonly request_token?: number | null;
  readonly response_token?: number | null;
  readonly cache_read_input_token?: number | null;
  readonly cache_write_input_token?: number | null;
  readonly cache_read_audio_input_token?: number | null;
  readonly request_audio_token?: number | null;
  readonly response_audio_token?: number | null;
  readonly reasoning_token?: number | null;
  readonly prediction_accepted_token?: number | null;
  readonly prediction_rejected_token?: number | null;
  readonly request_image_token?: number | null;
  readonly response_image_token?: number | null;
  readonly request_text_token?: number | null;
  readonly response_text_token?: number | null;
  readonly cache_read_image_input_token?: number | null;
  readonly cache_read_text_input_token?: number | null;
  readonly cache_write_text_input_token?: number | null;
  readonly cache_write_image_input_token?: number | null;
  readonly image?: ImagePriceMultiplier | null;
  /** By the name of the unit, such as web_search. */
  readonly additional_units: Readonly<Record<string, number>>;
}

export interface Provider {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly note?: string | null;
  /** Name of the provider whose API it speaks: openai, anthropic, … */
  readonly provider: string;
  /** 2 first characters, *****, 3 last; absent where there is no credential. */
  readonly masked_api_key?: string | null;
  /** Base URL of its own, version segment included. */
  readonly custom_host?: string | null;
  readonly status: 'active' | 'exhausted' | 'expired';
  readonly workspace_id: string;
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly object: 'provider';
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
  /** Slug of the integration whose credential it uses; absent where it has its own. */
  readonly integration_id?: string | null;
  readonly usage_limits?: UsageLimitsState | null;
  readonly rate_limits: readonly ProviderRateLimit[];
  readonly reset_usage?: number | null;
  readonly expires_at?: string | null;
  readonly last_reset_at?: string | null;
  /** Not kept yet. */
  readonly last_used_at?: string | null;
  readonly tags?: Readonly<Record<string, unknown>> | null;
  /** Credentials that are taken from secret references. */
  readonly secret_mappings: readonly SecretMapping[];
}

/** A rate limit of a provider: the shortest unit is a minute. */
export interface ProviderRateLimit {
  /** The unit that is counted; `concurrency`: requests at the same time. */
  readonly type: 'requests' | 'tokens' | 'concurrency';
  /** Per minute, hour, day or week; required unless the type is `concurrency`, which has none. */
  readonly unit?: 'rpm' | 'rph' | 'rpd' | 'rpw' | null;
  readonly value: number;
  /** true: what is beyond it is counted and reported, and nothing is refused. */
  readonly shadow?: boolean | null;
}

/** How many requests or tokens may pass in a second, minute, hour, day or week. */
export interface RateLimit {
  /** The unit that is counted; `concurrency`: requests at the same time. */
  readonly type: 'requests' | 'tokens' | 'concurrency';
  /** Per second, minute, hour, day or week; required unless the type is `concurrency`, which has none. */
  readonly unit?: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw' | null;
  readonly value: number;
  /** true: what is beyond it is counted and reported, and nothing is refused. */
  readonly shadow?: boolean | null;
}

export interface RateLimitsPolicy {
  readonly id: string;
  readonly name?: string | null;
  readonly description?: string | null;
  readonly conditions: readonly PolicyCondition[];
  readonly group_by: readonly PolicyGroup[];
  readonly type: 'requests' | 'tokens';
  /** Per minute, hour, day or week. */
  readonly unit: 'rpm' | 'rph' | 'rpd' | 'rpw';
  readonly value: number;
  /** What is limited: calls of models, or of tools. */
  readonly target: 'llm' | 'mcp_tools';
  readonly status: 'active' | 'archived';
  readonly workspace_id: string;
  readonly organisation_id: string;
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly object: 'policy_rate_limits';
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
  /** true: what is beyond it is counted and reported, and nothing is refused. */
  readonly shadow: boolean;
}

export interface ReadLogExportFileRequest {
  readonly export_id: string;
  /** These are parts of the signed address. */
  readonly organisation_id: string;
  /** Unix seconds. */
  readonly expires: number;
  readonly signature: string;
}

export interface ReconcileUsageRequest {
  /** Whose columns the export has. */
  readonly provider: 'openai' | 'anthropic' | 'generic';
  /** The export: comma-separated values with a line of names, or JSON, a value on each line. All of a day has to be in it. */
  readonly file: string;
  /** Providers whose calls are compared: openai and anthropic for their exports, all for the generic shape, unless given. */
  readonly providers: readonly string[];
  /** Slugs of integrations or stored providers, by the names that keys have in the export. */
  readonly key_map: Readonly<Record<string, string>>;
  /** Models as answers name them, by the names of the export. */
  readonly model_map: Readonly<Record<string, string>>;
  /** Compare all keys together? */
  readonly ignore_keys?: boolean | null;
  /** First and last day to compare, as 2026-10-07; those of the export unless given. At most 400 days. */
  readonly from?: string | null;
  readonly to?: string | null;
  /** Beyond so many percent of what the export has, differences are an alarm. Decimal text, as the two below. */
  readonly threshold_percent?: string | null;
  /** Beyond so many US dollars. */
  readonly threshold_usd?: string | null;
  /** Differences of a day's cost of a key and model up to so many US dollars are none; 0 unless given. */
  readonly tolerance_usd?: string | null;
  /** What is compared. Default: the figures in the export; both, if the export has no usage. */
  readonly compare: readonly ('tokens' | 'costs')[];
  /** Other keys of the whole export, where it is sent in several parts. */
  readonly keys: readonly string[];
}

export interface Reconciliation {
  readonly object: 'reconciliation';
  readonly provider: string;
  readonly from: string;
  readonly to: string;
  /** Combinations of a day, a key and a model that were compared. */
  readonly groups: number;
  readonly differences: readonly ReconciliationDifference[];
  /** Sums of all that was compared. */
  readonly ledger_tokens: number;
  readonly export_tokens: number;
  readonly ledger_usd: string;
  readonly export_usd: string;
  /** Sums of the differences, each without its sign. */
  readonly token_difference: number;
  readonly difference_usd: string;
  readonly alarm: boolean;
  /** Why it is an alarm. */
  readonly alarm_reason?: string | null;
}

export interface ReconciliationDifference {
  /** UTC: 2026-10-07. */
  readonly day: string;
  /** Absent: keys are not compared. */
  readonly key?: string | null;
  readonly model?: string | null;
  /** missing_in_ledger, missing_in_export or different. */
  readonly kind: 'missing_in_ledger' | 'missing_in_export' | 'different';
  /** Absent: the export has none. */
  readonly input_tokens?: TokenSides | null;
  readonly output_tokens?: TokenSides | null;
  readonly cost_usd?: CostSides | null;
  /** Calls of it that the ledger has no cost of. */
  readonly unpriced_calls: number;
  /** Requests of it whose outcome was lost: the ledger has not what they used. */
  readonly lost_requests: number;
}

export type RefreshAuthSettingsRequest = Readonly<Record<string, never>>;

export interface RefreshAuthSettingsResponse {
  /** The keys that tokens are checked with from now on. */
  readonly keys: readonly TokenKey[];
  /** When the key set of jwks_url was fetched; absent without one. */
  readonly fetched_at?: string | null;
}

export interface RemoveWorkspaceMemberRequest {
  /** Id or slug. */
  readonly workspace_id: string;
  /** Id of the user. */
  readonly user_id: string;
}

export type RemoveWorkspaceMemberResponse = Readonly<Record<string, never>>;

export interface ReplaceScimGroupRequest {
  /** Id of the organisation, which is the key's own. */
  readonly organisation_id: string;
  /** Id of the group. */
  readonly group_id: string;
  /** The whole group: what is absent is cleared. */
  readonly resource: Readonly<Record<string, unknown>>;
  /** Refused with 412 if the record has another etag. */
  readonly etag?: string | null;
}

export interface ReplaceScimUserRequest {
  /** Id of the organisation, which is the key's own. */
  readonly organisation_id: string;
  /** Id of the user. */
  readonly user_id: string;
  /** The whole user: what is absent is cleared. */
  readonly resource: Readonly<Record<string, unknown>>;
  /** Refused with 412 if the record has another etag. */
  readonly etag?: string | null;
}

export interface Replay {
  /** Always "replay". */
  readonly object: string;
  /** Requests that were taken. */
  readonly requests: number;
  /** Of them, those whose body was logged; for the others, only the model is known. */
  readonly with_body: number;
  /** Requests that were left out, because the gateway does not read their bodies. */
  readonly skipped: number;
  /** Requests whose cost is not known in both columns. */
  readonly without_cost: number;
  readonly oldest?: string | null;
  readonly newest?: string | null;
  readonly before: ReplayTotals;
  readonly after: ReplayTotals;
  /** The most frequent first. */
  readonly moves: readonly ReplayMove[];
  readonly refusals: readonly ReplayRefusal[];
}

/** Requests that went one way and would go another. */
export interface ReplayMove {
  /** @slug/model, `cache` or `refused`. */
  readonly before: string;
  readonly after: string;
  /** A fraction if targets are chosen by their weights. */
  readonly requests: number;
}

export interface ReplayRefusal {
  readonly code: string;
  readonly message: string;
  readonly requests: number;
}

export interface ReplayRequestsRequest {
  /** Id or slug. A workspace's key sees its own workspace. */
  readonly workspace_id?: string | null;
  /** The config to try. */
  readonly config: unknown;
  /** How many of the newest requests; 1000 unless given. */
  readonly last?: number | null;
}

export interface ReplayTotals {
  /** US dollars, of the requests whose cost is known in both columns. */
  readonly cost: number;
  /** Requests that the gateway refused. */
  readonly refused: number;
  /** Requests that the cache answered. */
  readonly cache_hits: number;
}

export interface RequestsGraph {
  readonly summary: RequestsSummary;
  readonly data_points: readonly RequestsPoint[];
  readonly object: 'analytics-graph';
  readonly series: readonly RequestsSeries[];
}

export interface RequestsPoint {
  readonly timestamp: string;
  readonly total: number;
}

export interface RequestsRescuedGraph {
  readonly summary: RequestsRescuedSummary;
  readonly data_points: readonly RequestsRescuedPoint[];
  readonly object: 'analytics-graph';
}

export interface RequestsRescuedPoint {
  readonly timestamp: string;
  readonly retry: readonly RescuedByRetry[];
  readonly fallback: number;
}

export interface RequestsRescuedSummary {
  readonly retry: number;
  readonly fallback: number;
}

export interface RequestsSeries {
  /** Slug, name or code; null: none; `other`: all that are not among the ten. */
  readonly group_key?: string | null;
  readonly summary: RequestsSummary;
  readonly data_points: readonly RequestsPoint[];
}

export interface RequestsSummary {
  readonly total: number;
}

/** Requests that succeeded after so many retries. */
export interface RescuedByRetry {
  readonly retry_success_count: number;
  readonly count: number;
}

export interface ResendInviteRequest {
  /** Id of the invitation. */
  readonly invite_id: string;
}

export interface ResendInviteResponse {
  /** Carries the token with which the invitation is accepted. */
  readonly invite_link: string;
}

export interface ResetUsageLimitsEntityRequest {
  /** The policy. */
  readonly id: string;
  /** The counter. */
  readonly entity_id: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export type ResetUsageLimitsEntityResponse = Readonly<Record<string, never>>;

export interface RetryMailRequest {
  /** Id of the mail. */
  readonly id: string;
}

export interface RevealRotatedApiKeyRequest {
  /** Id of the record. */
  readonly id: string;
}

export interface RevealedApiKey {
  readonly id: string;
  /** The key's secret since its last rotation. */
  readonly key: string;
}

export interface RotateApiKeyRequest {
  /** Id of the record. */
  readonly id: string;
  /** Milliseconds for which the old text stays good: at least 1800000, which it is unless given. */
  readonly key_transition_period_ms?: number | null;
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

export interface RotatedApiKey {
  readonly id: string;
  /** The key's new text. */
  readonly key: string;
  /** Until when the old text is good. */
  readonly key_transition_expires_at: string;
}

/** When a key gets a new text by itself. One of the first three is needed. */
export interface RotationPolicy {
  /** On Mondays or on the first of the month, at 00:00 UTC. Not together with rotation_period_days. */
  readonly rotation_period?: 'weekly' | 'monthly' | null;
  /** Days between rotations, 1 to 365. */
  readonly rotation_period_days?: number | null;
  /** First rotation, cut to 00:00 UTC of its day; wins over the period for that one. */
  readonly next_rotation_at?: string | null;
  /** Milliseconds for which the old text stays good: at least 1800000, which it is unless given, and less than the
   * period. */
  readonly key_transition_period_ms?: number | null;
}

/** A rotation policy and its state. */
export interface RotationPolicyState {
  readonly rotation_period?: 'weekly' | 'monthly' | null;
  readonly rotation_period_days?: number | null;
  readonly next_rotation_at?: string | null;
  /** Milliseconds. */
  readonly key_transition_period_ms: number;
  readonly status: 'ACTIVE';
}

export interface SavedFilter {
  readonly id: string;
  readonly name: string;
  /** By the names that a query has: `{"status_code": "429,500", "metadata": {"team": "search"}}`. */
  readonly filters: Readonly<Record<string, unknown>>;
  readonly workspace_id: string;
  readonly organisation_id: string;
  /** Id of a user or key. */
  readonly created_by: string;
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly object: 'analytics-filter';
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
}

export interface SavedGuardrail {
  readonly id: string;
  readonly slug: string;
  /** Absent where checks and actions stayed the same. */
  readonly version_id?: string | null;
}

export interface Schedule {
  readonly name: string;
  /** Seconds between two due times (HEADGATE_SCHEDULES). */
  readonly interval_s: number;
  readonly next_due_at: string;
  readonly last_run?: ScheduleRun | null;
}

export interface ScheduleRun {
  readonly due_at: string;
  /** The node that did it. */
  readonly node_id: string;
  /** By the database's clock. */
  readonly started_at: string;
  readonly ended_at?: string | null;
  /** running; done; failed; lost, where its node gave no sign of life: the next due time does its work. */
  readonly outcome: 'running' | 'done' | 'failed' | 'lost';
}

export interface ScimGroupName {
  readonly id: string;
  readonly name: string;
}

export interface ScimMapping {
  readonly id: string;
  readonly workspace_id: string;
  /** Its name. */
  readonly scim_group: string;
  readonly scim_group_id: string;
  readonly role: 'admin' | 'manager' | 'member';
}

export interface ScimResource {
  /** In the form of RFC 7643. Absent after a change of a group with more than 1000 members. */
  readonly resource?: Readonly<Record<string, unknown>> | null;
  /** Names this state of it; for If-Match and the etag of a change. Empty: it never changes. */
  readonly etag: string;
}

/** Takes a credential from a secret reference. */
export interface SecretMapping {
  /** `key`, or `configurations.<field>` of an integration, `model_config.<field>` of a provider or virtual key,
   * `credentials.<field>` of a plugin. Each once. */
  readonly target_field: string;
  /** Id or slug of a secret reference that the workspace may use. */
  readonly secret_reference_id: string;
  /** Picks one key of a secret with several values; wins over the reference's own. */
  readonly secret_key?: string | null;
  /** `json`: the value is parsed before use. `string` unless given. */
  readonly value_format?: 'json' | 'string' | null;
}

export interface SecretReference {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly manager_type: 'aws_sm' | 'azure_kv' | 'hashicorp_vault' | 'env' | 'file';
  readonly status: 'ACTIVE';
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly object: 'secret-reference';
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
}

/** How the gateway signs in to a secret manager; {} for env and file. */
export interface SecretReferenceAuth {
  /** aws_sm: keys, a role that the gateway assumes, or the gateway's own identity. */
  readonly aws_auth_type?: 'accessKey' | 'assumedRole' | 'serviceRole' | null;
  /** aws_sm with accessKey. */
  readonly aws_access_key_id?: string | null;
  /** aws_sm with accessKey. Encrypted, and masked in answers. */
  readonly aws_secret_access_key?: string | null;
  /** aws_sm. With serviceRole, the region of the environment, unless given. */
  readonly aws_region?: string | null;
  /** aws_sm with assumedRole. */
  readonly aws_role_arn?: string | null;
  /** aws_sm with assumedRole. */
  readonly aws_external_id?: string | null;
  /** azure_kv: an application, a managed identity, or what the gateway's environment has. */
  readonly azure_auth_mode?: 'entra' | 'managed' | 'default' | null;
  /** azure_kv with entra. */
  readonly azure_entra_tenant_id?: string | null;
  /** azure_kv with entra. */
  readonly azure_entra_client_id?: string | null;
  /** azure_kv with entra. Encrypted, and masked in answers. */
  readonly azure_entra_client_secret?: string | null;
  /** azure_kv with managed: of a user-assigned identity. */
  readonly azure_managed_client_id?: string | null;
  /** azure_kv: address of the vault, such as https://my-vault.vault.azure.net. */
  readonly azure_vault_url?: string | null;
  /** hashicorp_vault: a token, an AppRole, or the service account of the gateway's pod. */
  readonly vault_auth_type?: 'token' | 'approle' | 'kubernetes' | null;
  /** hashicorp_vault: address of Vault, such as https://vault.example.com:8200. */
  readonly vault_addr?: string | null;
  /** hashicorp_vault with token. Encrypted, and masked in answers. */
  readonly vault_token?: string | null;
  /** hashicorp_vault with approle. */
  readonly vault_role_id?: string | null;
  /** hashicorp_vault with approle. Encrypted, and masked in answers. */
  readonly vault_secret_id?: string | null;
  /** hashicorp_vault with kubernetes. */
  readonly vault_role?: string | null;
  /** hashicorp_vault. */
  readonly vault_namespace?: string | null;
}

export interface SecretReferenceDetail {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly manager_type: 'aws_sm' | 'azure_kv' | 'hashicorp_vault' | 'env' | 'file';
  readonly status: 'ACTIVE';
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly object: 'secret-reference';
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
  readonly organisation_id: string;
  readonly description?: string | null;
  readonly secret_path: string;
  readonly secret_key?: string | null;
  readonly allow_all_workspaces: boolean;
  /** Ids, if not all workspaces may use it. */
  readonly allowed_workspaces: readonly string[];
  readonly tags?: Readonly<Record<string, unknown>> | null;
  /** Id of a user or key. */
  readonly created_by: string;
  /** Credentials are masked. */
  readonly auth_config: Readonly<Record<string, unknown>>;
}

/** What members and managers of a workspace may see and change. Owners and admins of the organisation may do all of it,
 * save where a flag names them. Every flag is true unless its comment names another default; a workspace may set its own. */
export interface SecuritySettings {
  readonly members_view_logs?: boolean | null;
  readonly managers_view_logs?: boolean | null;
  readonly organisation_admins_view_logs?: boolean | null;
  readonly members_view_log_metadata?: boolean | null;
  readonly managers_view_log_metadata?: boolean | null;
  readonly organisation_admins_view_log_metadata?: boolean | null;
  /** Logs and analytics of all keys, or of their own alone? */
  readonly members_view_all_data?: boolean | null;
  /** Logs and analytics of all keys, or of their own alone? */
  readonly managers_view_all_data?: boolean | null;
  readonly members_view_analytics?: boolean | null;
  readonly managers_view_analytics?: boolean | null;
  readonly members_view_api_keys?: boolean | null;
  readonly managers_view_api_keys?: boolean | null;
  /** false unless set. */
  readonly members_write_api_keys?: boolean | null;
  readonly managers_write_api_keys?: boolean | null;
  readonly members_view_configs?: boolean | null;
  readonly managers_view_configs?: boolean | null;
  /** false unless set. */
  readonly members_write_configs?: boolean | null;
  readonly managers_write_configs?: boolean | null;
  readonly members_view_prompts?: boolean | null;
  readonly managers_view_prompts?: boolean | null;
  /** false unless set. */
  readonly members_write_prompts?: boolean | null;
  readonly managers_write_prompts?: boolean | null;
  readonly members_view_guardrails?: boolean | null;
  readonly managers_view_guardrails?: boolean | null;
  /** false unless set. */
  readonly members_write_guardrails?: boolean | null;
  readonly managers_write_guardrails?: boolean | null;
  /** Providers too. */
  readonly members_view_virtual_keys?: boolean | null;
  /** Providers too. */
  readonly managers_view_virtual_keys?: boolean | null;
  /** Providers too. false unless set. */
  readonly members_write_virtual_keys?: boolean | null;
  /** Providers too. */
  readonly managers_write_virtual_keys?: boolean | null;
  /** The workspace itself. */
  readonly managers_update_ws?: boolean | null;
  /** Members of the workspace. */
  readonly managers_write_ws_users?: boolean | null;
  /** Integrations of the workspace. */
  readonly managers_write_ws_integrations?: boolean | null;
  /** MCP integrations of the workspace. */
  readonly managers_write_ws_mcp_integrations?: boolean | null;
  readonly managers_write_mcp_servers?: boolean | null;
  /** In requests: the flags of this category. Of a flag that is there twice, the one in here counts. */
  readonly data_visibility?: DataVisibility | null;
}

export interface Session {
  readonly object: 'session';
  readonly id: string;
  readonly user_id: string;
  /** IP address that it was last used from; accurate to a minute, as is last_seen_at. */
  readonly address: string;
  readonly user_agent: string;
  readonly created_at: string;
  readonly last_seen_at: string;
  readonly expires_at: string;
  /** Is it the session of this call? */
  readonly current: boolean;
}

export interface SessionSettings {
  /** Seconds after which a user has to sign in again, at least 900; unless set: no limit. */
  readonly max_session_ttl?: number | null;
}

export interface SessionUser {
  readonly id: string;
  readonly email: string;
  readonly role: 'owner' | 'admin' | 'member';
}

export interface SignInRequest {
  /** E-mail address of the user, in upper or lower case. */
  readonly email: string;
  readonly password: string;
  /** Needed if users of several organisations have this address. Unless given: the first organisation that has it. */
  readonly organisation_id?: string | null;
}

export type SignOutRequest = Readonly<Record<string, never>>;

export type SignOutResponse = Readonly<Record<string, never>>;

export interface SignedIn {
  readonly id: string;
  readonly user: SessionUser;
  /** Sent as x-gateway-csrf-token with every request that changes something, if the cookie signs it in. */
  readonly csrf_token: string;
  readonly created_at: string;
  readonly expires_at: string;
  /** Only in the answer to a sign-in over gRPC: sent as x-gateway-api-key or as a bearer token. */
  readonly session_token?: string | null;
}

export interface StartLogExportRequest {
  readonly export_id: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export interface StartOidcRequest {
  /** The first organisation of the gateway, unless given. */
  readonly organisation_id?: string | null;
}

export interface StartedOidc {
  /** The provider's page. */
  readonly url: string;
  /** To be sent with FinishOidc; over REST it is in a cookie. Valid for 10 minutes and one use. */
  readonly flow: string;
}

export interface TestGuardrailRequest {
  /** Id or slug. */
  readonly id: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  readonly texts: readonly GuardrailTestText[];
  /** `before`, unless given: the texts are requests. `after`: answers. */
  readonly phase?: 'before' | 'after' | null;
}

export interface TestGuardrailResponse {
  /** Of the texts, in their order. */
  readonly results: readonly GuardrailTestResult[];
  /** Absent: no text has a label. */
  readonly score?: GuardrailTestScore | null;
}

export interface TestMailRequest {
  /** Where the mail goes. */
  readonly address: string;
  /** A repeat with the same request_id and body within 24 hours gets the first answer again. */
  readonly request_id?: string | null;
}

/** A public key that checks JSON web tokens. */
export interface TokenKey {
  readonly kid: string;
  readonly alg: 'RS256' | 'ES256' | 'EdDSA';
}

export interface TokenPrice {
  /** US cents per token. */
  readonly price: number;
}

/** Tokens on both sides, and how many more the export has. */
export interface TokenSides {
  readonly ledger: number;
  readonly export: number;
  readonly difference: number;
}

export interface TokensGraph {
  readonly summary: TokensSummary;
  readonly data_points: readonly TokensPoint[];
  readonly object: 'analytics-graph';
  readonly series: readonly TokensSeries[];
}

export interface TokensPoint {
  readonly timestamp: string;
  readonly total: number;
  readonly avg?: number | null;
}

export interface TokensSeries {
  /** Slug, name or code; null: none; `other`: all that are not among the ten. */
  readonly group_key?: string | null;
  readonly summary: TokensSummary;
  readonly data_points: readonly TokensPoint[];
}

export interface TokensSummary {
  readonly total: number;
  readonly avg?: number | null;
}

export interface TtftGraph {
  readonly summary: TtftSummary;
  readonly data_points: readonly TtftPoint[];
  readonly object: 'analytics-graph';
  readonly series: readonly TtftSeries[];
}

export interface TtftPoint {
  readonly timestamp: string;
  readonly avg?: number | null;
  readonly p50?: number | null;
  readonly p90?: number | null;
  readonly p99?: number | null;
}

export interface TtftSeries {
  /** Slug, name or code; null: none; `other`: all that are not among the ten. */
  readonly group_key?: string | null;
  readonly summary: TtftSummary;
  readonly data_points: readonly TtftPoint[];
}

export interface TtftSummary {
  readonly avg?: number | null;
  readonly p50?: number | null;
  readonly p90?: number | null;
  readonly p99?: number | null;
}

export interface UnredactedText {
  /** Of the log. */
  readonly id: string;
  /** Body of the request; absent: it was not changed. */
  readonly request?: string | null;
  /** Body of the answer; absent: it was not changed. */
  readonly response?: string | null;
  /** Longer ones are kept up to 256 KiB. */
  readonly cut: boolean;
}

export interface UpdateApiKeyRequest {
  /** Id of the record. */
  readonly id: string;
  /** For people; at most 255 characters. */
  readonly name?: string | null;
  /** At most 1024 characters. */
  readonly description?: string | null;
  /** Cannot be changed. */
  readonly workspace_id?: string | null;
  /** Cannot be changed. */
  readonly user_id?: string | null;
  /** Replaces all scopes: at least one. None that the calling key cannot grant. */
  readonly scopes: readonly string[];
  /** Its fields that are absent stay as they are. */
  readonly defaults?: ApiKeyDefaults | null;
  /** Must be in the future. null: without end. An expired key becomes active. */
  readonly expires_at?: string | null;
  /** Replaces all; one of each type. */
  readonly rate_limits: readonly RateLimit[];
  /** Replaces the budget; what was used stays. */
  readonly usage_limits?: UsageLimits | null;
  /** Replaces all; at most 50 addresses. */
  readonly alert_emails: readonly string[];
  /** Replaces the policy. */
  readonly rotation_policy?: RotationPolicy | null;
  /** Set the usage to 0, and an exhausted key active? */
  readonly reset_usage?: boolean | null;
  /** Fields to change. A field that is listed here and absent from the request is cleared. Default: all fields in the request. */
  readonly update_mask?: readonly string[] | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type UpdateApiKeyResponse = Readonly<Record<string, never>>;

export interface UpdateAuthSettingsRequest {
  /** Its fields that are absent stay as they are. */
  readonly session_settings?: SessionSettings | null;
  /** Where the public keys of JSON web tokens are fetched from: https, unless egress_allow names the host. */
  readonly jwks_url?: string | null;
  /** The public keys of JSON web tokens themselves, as a JSON Web Key Set: `{"keys": [...]}`. */
  readonly jwks?: Readonly<Record<string, unknown>> | null;
  /** `iss` of every token; unless set: any. */
  readonly issuer?: string | null;
  /** `aud` of every token, or one of them; unless set: any. */
  readonly audience?: string | null;
  /** Algorithms that tokens may be signed with; RS256 unless set. */
  readonly algorithms: readonly ('RS256' | 'ES256' | 'EdDSA')[];
  /** The first of these claims that a token has names its user; email_id, sub and uid unless set. At most 10. */
  readonly user_id_claims: readonly string[];
  /** Its fields that are absent stay as they are; null removes it whole. */
  readonly oidc?: OidcSettings | null;
  /** Fields to change; one that is named and absent is cleared. Unless given: the fields that are present. */
  readonly update_mask?: readonly string[] | null;
}

export interface UpdateCollectionRequest {
  /** Id or slug. */
  readonly id: string;
  /** For people; at most 255 characters. */
  readonly name?: string | null;
  /** Id or slug; never the collection itself or one inside it. null: to the top. */
  readonly parent_collection_id?: string | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Fields to change. A field that is listed here and absent from the request is cleared. Default: all fields in the request. */
  readonly update_mask?: readonly string[] | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type UpdateCollectionResponse = Readonly<Record<string, never>>;

export interface UpdateConfigRequest {
  /** Slug or id. */
  readonly slug: string;
  /** For people; at most 255 characters. */
  readonly name?: string | null;
  /** An object, or its JSON text; 262144 bytes at most. Secrets in it must be given in full: masks are refused. */
  readonly config?: unknown;
  /** `active` brings back what was archived. */
  readonly status?: 'active' | 'archived' | null;
  /** Id or slug. Needed with an organisation's key where several workspaces have a config of that name. */
  readonly workspace_id?: string | null;
  /** 1 makes it the workspace's default, in place of the one there is. */
  readonly is_default?: number | null;
  readonly update_mask?: readonly string[] | null;
  /** Of the version that the change was made from; another one is refused with AB07. */
  readonly etag?: string | null;
}

export interface UpdateConfigResponse {
  readonly success: boolean;
  readonly data: UpdatedConfig;
}

export interface UpdateDeploymentRequest {
  /** Id, slug or `self`. */
  readonly deployment_id: string;
  /** For people; at most 255 characters. */
  readonly name?: string | null;
  /** Does production run on it? */
  readonly type?: 'production' | 'non_production' | null;
  /** `active` brings back what was archived. */
  readonly status?: 'active' | 'archived' | null;
  /** Settings of free choice. */
  readonly deployment_config?: Readonly<Record<string, unknown>> | null;
  /** Where it is reached, and who may use it. */
  readonly auth_settings?: DeploymentAuthSettingsUpdate | null;
  /** Takes the place of the default there is. */
  readonly is_default?: boolean | null;
  /** With which the gateway is called, where it asks for them. */
  readonly credentials?: DeploymentCredentials | null;
  /** Make a new secret? The old one ends at once. */
  readonly rotate_auth?: boolean | null;
  /** Replace deployment_config and auth_settings? Else what is given is added to what is there. */
  readonly override_existing?: boolean | null;
  /** For people and searches. */
  readonly tags?: Readonly<Record<string, unknown>> | null;
  /** The key's own. */
  readonly organisation_id?: string | null;
  /** Fields to change. A field that is listed here and absent from the request is cleared. Default: all fields in the request. */
  readonly update_mask?: readonly string[] | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export interface UpdateDeploymentResponse {
  /** The new secret, with rotate_auth. */
  readonly auth_secret?: string | null;
}

export interface UpdateFeedbackRequest {
  readonly id: string;
  /** A whole number. */
  readonly value: number;
  /** 0 to 1; any other counts as 1. Absent: stays. */
  readonly weight?: number | null;
  /** Absent: stays. */
  readonly metadata?: Readonly<Record<string, unknown>> | null;
}

export interface UpdateGuardrailRequest {
  /** Id or slug. */
  readonly id: string;
  /** For people; at most 255 characters. */
  readonly name?: string | null;
  /** Replaces all checks: 1 to 100. */
  readonly checks: readonly GuardrailCheck[];
  /** What follows from the verdict. */
  readonly actions?: GuardrailActions | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Fields to change. A field that is listed here and absent from the request is cleared. Default: all fields in the request. */
  readonly update_mask?: readonly string[] | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export interface UpdateIntegrationModelsRequest {
  /** Slug or id. */
  readonly slug: string;
  /** At most 1000; each slug once. */
  readonly models: readonly IntegrationModelUpdate[];
  /** Allow every model, including models that are added later? */
  readonly allow_all_models?: boolean | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
}

export type UpdateIntegrationModelsResponse = Readonly<Record<string, never>>;

export interface UpdateIntegrationRequest {
  /** Slug or id. */
  readonly slug: string;
  /** At most 255 characters. */
  readonly name?: string | null;
  /** The provider's credential. Sealed, never shown again. */
  readonly key?: string | null;
  /** At most 1024 characters. */
  readonly description?: string | null;
  /** Replaces them all; a secret that is absent stays. */
  readonly configurations?: IntegrationConfigurations | null;
  /** Replaces them all; at most 100. */
  readonly secret_mappings: readonly SecretMapping[];
  /** Factors for the provider's prices. */
  readonly pricing_adjustments?: PricingAdjustments | null;
  /** Cannot be changed. */
  readonly ai_provider_id?: string | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Fields to change. A field that is listed here and absent from the request is cleared. Default: all fields in the request. */
  readonly update_mask?: readonly string[] | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type UpdateIntegrationResponse = Readonly<Record<string, never>>;

export interface UpdateIntegrationWorkspacesRequest {
  /** Slug or id. */
  readonly slug: string;
  /** At most 1000; each workspace once. */
  readonly workspaces: readonly IntegrationWorkspaceUpdate[];
  /** Access of all workspaces, including those created later. Unchanged, unless given. */
  readonly global_workspace_access?: GlobalWorkspaceAccess | null;
  /** Give global_workspace_access to workspaces that have their own access too? */
  readonly override_existing_workspace_access?: boolean | null;
  /** Make a provider in each workspace that gains access? true unless given. */
  readonly create_default_provider?: boolean | null;
  /** Slug of those providers. Made from the integration's, unless given. */
  readonly default_provider_slug?: string | null;
}

export type UpdateIntegrationWorkspacesResponse = Readonly<Record<string, never>>;

export interface UpdateLabelRequest {
  /** Id of the record. */
  readonly id: string;
  /** Letters, digits, dashes and underscores, at most 255; not `latest`, `default` or a number. */
  readonly name?: string | null;
  /** At most 500 characters. */
  readonly description?: string | null;
  /** Such as #ff8800. */
  readonly color_code?: string | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Fields to change. A field that is listed here and absent from the request is cleared. Default: all fields in the request. */
  readonly update_mask?: readonly string[] | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type UpdateLabelResponse = Readonly<Record<string, never>>;

export interface UpdateLogExportRequest {
  readonly export_id: string;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  readonly filters?: Readonly<Record<string, unknown>> | null;
  /** As in CreateLogExport. */
  readonly requested_data: readonly (
    | 'id'
    | 'trace_id'
    | 'created_at'
    | 'request'
    | 'response'
    | 'is_success'
    | 'ai_org'
    | 'ai_model'
    | 'req_units'
    | 'res_units'
    | 'total_units'
    | 'request_url'
    | 'cost'
    | 'cost_currency'
    | 'response_time'
    | 'response_status_code'
    | 'mode'
    | 'config'
    | 'prompt_slug'
    | 'metadata'
  )[];
  readonly description?: string | null;
  readonly format?: 'jsonl' | 'csv' | null;
}

export interface UpdateModelPriceRequest {
  /** Name of a provider's API, such as openai. */
  readonly provider: string;
  /** A slash in it is written %2F. */
  readonly model: string;
  /** In US cents for one unit; request_token and response_token are needed. */
  readonly pay_as_you_go: ModelTokenPrices;
  /** The day from which on it holds (UTC), as 2026-10-07; always unless given. It takes the place of the price of that day. */
  readonly since?: string | null;
  /** Where it is from, such as the number of a contract, and the day on which it was read there. */
  readonly source?: string | null;
  readonly read_on?: string | null;
}

export type UpdateModelPriceResponse = Readonly<Record<string, never>>;

export interface UpdateOrganisationDefaultsRequest {
  /** Ids or slugs of the organisation's guardrails, at most 100. */
  readonly input_guardrails: readonly string[];
  /** Ids or slugs of the organisation's guardrails, at most 100. */
  readonly output_guardrails: readonly string[];
  /** Fields to change. A field that is listed here and absent from the request is cleared. Default: all fields in the request. */
  readonly update_mask?: readonly string[] | null;
}

export type UpdateOrganisationDefaultsResponse = Readonly<Record<string, never>>;

export interface UpdateOrganisationRequest {
  /** For people; at most 255 characters. */
  readonly name?: string | null;
  /** Its fields that are absent stay as they are. */
  readonly settings?: OrganisationSettings | null;
  /** Its fields that are absent stay as they are. */
  readonly security_settings?: SecuritySettings | null;
  /** Fields to change. A field that is listed here and absent from the request is cleared. Default: all fields in the request. */
  readonly update_mask?: readonly string[] | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type UpdateOrganisationResponse = Readonly<Record<string, never>>;

export interface UpdatePasswordRequest {
  readonly current_password: string;
  /** 12 to 128 characters. */
  readonly new_password: string;
}

export type UpdatePasswordResponse = Readonly<Record<string, never>>;

export interface UpdatePluginRequest {
  /** Id, or the partner's. */
  readonly id: string;
  /** For people; at most 255 characters. */
  readonly name?: string | null;
  /** `archived`: its checks cannot run until it is active again. */
  readonly status?: 'active' | 'archived' | null;
  /** Replaces all of them; the mask of a secret that is stored keeps it. */
  readonly credentials?: Readonly<Record<string, unknown>> | null;
  /** The key's own. */
  readonly organisation_id?: string | null;
  /** Replaces them all; at most 100. */
  readonly secret_mappings: readonly SecretMapping[];
  /** Fields to change. A field that is listed here and absent from the request is cleared. Default: all fields in the request. */
  readonly update_mask?: readonly string[] | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type UpdatePluginResponse = Readonly<Record<string, never>>;

export interface UpdateProviderRequest {
  /** Slug or id. */
  readonly slug: string;
  /** At most 255 characters. */
  readonly name?: string | null;
  /** At most 1024 characters. */
  readonly note?: string | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Cannot be changed. */
  readonly provider?: string | null;
  /** The provider's credential, of one that has its own. Sealed, never shown again. */
  readonly key?: string | null;
  /** Its address, version segment included. Given by a key of a workspace, it must be one that the network rules let
   * callers choose. */
  readonly custom_host?: string | null;
  /** Cannot be changed. */
  readonly integration_id?: string | null;
  /** Replaces the budget; what was used stays. */
  readonly usage_limits?: UsageLimits | null;
  /** Replaces all; one of each type. */
  readonly rate_limits: readonly ProviderRateLimit[];
  /** Must be in the future. null: without end. */
  readonly expires_at?: string | null;
  /** Set the usage to 0, and what was exhausted active? */
  readonly reset_usage?: boolean | null;
  /** Sent with every request. */
  readonly custom_headers: Readonly<Record<string, string>>;
  /** If false, traceparent and tracestate are not sent. true unless given. */
  readonly send_trace_context?: boolean | null;
  /** Azure OpenAI: at most 30 characters. */
  readonly api_version?: string | null;
  /** Azure OpenAI. */
  readonly deployment_name?: string | null;
  /** Azure OpenAI. */
  readonly resource_name?: string | null;
  /** Azure. */
  readonly azure_auth_mode?: 'entra' | 'managed' | 'workload' | null;
  /** Azure. */
  readonly azure_foundry_url?: string | null;
  /** Azure: at most 30 characters. */
  readonly azure_api_version?: string | null;
  /** Azure. */
  readonly azure_region?: string | null;
  /** Azure. */
  readonly azure_deployment_type?: 'serverless' | 'managed' | null;
  /** Azure. */
  readonly azure_deployment_name?: string | null;
  /** Azure. */
  readonly azure_endpoint_name?: string | null;
  /** Azure with entra. */
  readonly azure_entra_tenant_id?: string | null;
  /** Azure with entra. */
  readonly azure_entra_client_id?: string | null;
  /** Azure with entra. */
  readonly azure_entra_client_secret?: string | null;
  /** Azure with managed. */
  readonly azure_managed_client_id?: string | null;
  /** Azure with workload. */
  readonly azure_workload_client_id?: string | null;
  /** AWS. */
  readonly aws_auth_type?: 'accessKey' | 'assumedRole' | null;
  /** AWS. */
  readonly aws_region?: string | null;
  /** AWS with accessKey. */
  readonly aws_access_key_id?: string | null;
  /** AWS with accessKey. */
  readonly aws_secret_access_key?: string | null;
  /** AWS with assumedRole. */
  readonly aws_role_arn?: string | null;
  /** AWS with assumedRole. */
  readonly aws_external_id?: string | null;
  /** Vertex AI. */
  readonly vertex_project_id?: string | null;
  /** Vertex AI. */
  readonly vertex_region?: string | null;
  /** Vertex AI. */
  readonly vertex_auth_type?: 'serviceAccount' | 'workloadIdentity' | null;
  /** Vertex AI. */
  readonly vertex_service_account_json?: Readonly<Record<string, unknown>> | null;
  /** Vertex AI. */
  readonly vertex_skip_ptu_cost_attribution?: boolean | null;
  /** Hugging Face. */
  readonly huggingface_base_url?: string | null;
  /** Workers AI. */
  readonly workers_ai_account_id?: string | null;
  /** OpenAI. */
  readonly openai_organization?: string | null;
  /** OpenAI. */
  readonly openai_project?: string | null;
  /** Oracle. */
  readonly oracle_region?: string | null;
  /** Oracle. */
  readonly oracle_version?: string | null;
  /** Oracle. */
  readonly oracle_compartment_id?: string | null;
  /** Oracle. */
  readonly oracle_tenancy?: string | null;
  /** Oracle. */
  readonly oracle_user?: string | null;
  /** Oracle. */
  readonly oracle_fingerprint?: string | null;
  /** Oracle. */
  readonly oracle_private_key?: string | null;
  /** Texts by name, at most 64, for people and searches. */
  readonly tags?: Readonly<Record<string, unknown>> | null;
  /** Replaces them all; at most 100. */
  readonly secret_mappings: readonly SecretMapping[];
  /** Fields to change. A field that is listed here and absent from the request is cleared. Default: all fields in the request. */
  readonly update_mask?: readonly string[] | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export interface UpdateRateLimitsPolicyRequest {
  /** Id of the record. */
  readonly id: string;
  /** For people; at most 255 characters. */
  readonly name?: string | null;
  /** At most 500 characters. */
  readonly description?: string | null;
  /** Replaces all conditions: 1 to 100. */
  readonly conditions: readonly PolicyCondition[];
  /** Cannot be changed. */
  readonly group_by: readonly PolicyGroup[];
  /** Cannot be changed. */
  readonly type?: string | null;
  /** Cannot be changed. */
  readonly target?: string | null;
  /** Per minute, hour, day or week. */
  readonly unit?: 'rpm' | 'rph' | 'rpd' | 'rpw' | null;
  /** At least 1. */
  readonly value?: number | null;
  /** `active` brings back what was archived. */
  readonly status?: 'active' | 'archived' | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** true: what is beyond it is counted and reported, and nothing is refused. */
  readonly shadow?: boolean | null;
  /** Fields to change. A field that is listed here and absent from the request is cleared. Default: all fields in the request. */
  readonly update_mask?: readonly string[] | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type UpdateRateLimitsPolicyResponse = Readonly<Record<string, never>>;

export interface UpdateSavedFilterRequest {
  readonly id: string;
  /** For people; at most 255 characters. */
  readonly name?: string | null;
  readonly filters?: Readonly<Record<string, unknown>> | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Fields to change. A field that is listed here and absent from the request is cleared. Default: all fields in the request. */
  readonly update_mask?: readonly string[] | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type UpdateSavedFilterResponse = Readonly<Record<string, never>>;

export interface UpdateSecretReferenceRequest {
  /** Id or slug. */
  readonly secret_reference_id: string;
  /** For people; at most 255 characters. */
  readonly name?: string | null;
  /** At most 1024 characters. */
  readonly description?: string | null;
  /** Merged with what is stored: a field that is absent stays. */
  readonly auth_config?: SecretReferenceAuth | null;
  /** Where the secret is stored, as in the request that creates it. */
  readonly secret_path?: string | null;
  /** Picks one value of a secret with several. */
  readonly secret_key?: string | null;
  /** true: every workspace may use it, and allowed_workspaces is emptied. */
  readonly allow_all_workspaces?: boolean | null;
  /** Replaces the workspaces that may use it, ids or slugs, and sets allow_all_workspaces to false. May be empty only
   * together with allow_all_workspaces. */
  readonly allowed_workspaces: readonly string[];
  /** Replaces all tags. */
  readonly tags: Readonly<Record<string, string>>;
  /** Cannot be changed. */
  readonly manager_type?: string | null;
  /** Cannot be changed. */
  readonly slug?: string | null;
  /** That of the key. */
  readonly organisation_id?: string | null;
  /** Fields to change; one that is named and absent is cleared. Unless given: the fields that are present. */
  readonly update_mask?: readonly string[] | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type UpdateSecretReferenceResponse = Readonly<Record<string, never>>;

export interface UpdateUsageLimitsPolicyRequest {
  /** Id of the record. */
  readonly id: string;
  /** For people; at most 255 characters. */
  readonly name?: string | null;
  /** At most 500 characters. */
  readonly description?: string | null;
  /** Replaces all conditions: 1 to 100. */
  readonly conditions: readonly PolicyCondition[];
  /** Cannot be changed. */
  readonly group_by: readonly PolicyGroup[];
  /** Cannot be changed. */
  readonly type?: string | null;
  /** US dollars, tokens or requests: at least 1, of tokens 100. */
  readonly credit_limit?: number | null;
  /** Usage at which an alert goes out; below credit_limit. */
  readonly alert_threshold?: number | null;
  /** Usage starts again on Mondays or on the first of the month, at 00:00 UTC. */
  readonly periodic_reset?: 'monthly' | 'weekly' | null;
  /** Days between resets, 1 to 365. Not together with periodic_reset. */
  readonly periodic_reset_days?: number | null;
  /** First reset. */
  readonly next_usage_reset_at?: string | null;
  /** `active` brings back what was archived. */
  readonly status?: 'active' | 'archived' | null;
  /** Value key whose counter is set to 0. */
  readonly reset_usage_for_value?: string | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** true: what is beyond it is counted and reported, and nothing is refused. */
  readonly shadow?: boolean | null;
  /** Fields to change. A field that is listed here and absent from the request is cleared. Default: all fields in the request. */
  readonly update_mask?: readonly string[] | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type UpdateUsageLimitsPolicyResponse = Readonly<Record<string, never>>;

export interface UpdateUserRequest {
  /** Id of the user. */
  readonly user_id: string;
  /** Only an owner makes another owner; while there is none, every caller who may change users. */
  readonly role?: 'owner' | 'admin' | 'member' | null;
  /** Joins these workspaces, or changes the role there; other workspaces stay. */
  readonly workspaces: readonly WorkspaceRole[];
  /** Fields to change. A field that is listed here and absent from the request is cleared. Default: all fields in the request. */
  readonly update_mask?: readonly string[] | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type UpdateUserResponse = Readonly<Record<string, never>>;

export interface UpdateVirtualKeyRequest {
  /** Slug or id. */
  readonly slug: string;
  /** At most 255 characters. */
  readonly name?: string | null;
  /** The provider's credential. Sealed, never shown again. */
  readonly key?: string | null;
  /** At most 1024 characters. */
  readonly note?: string | null;
  /** Cannot be changed. */
  readonly provider?: string | null;
  /** Id or slug. */
  readonly workspace_id?: string | null;
  /** Its budget. None, unless given. */
  readonly usage_limits?: UsageLimits | null;
  /** One of each type. */
  readonly rate_limits: readonly ProviderRateLimit[];
  /** Must be in the future. */
  readonly expires_at?: string | null;
  /** Replaces them all; at most 100. */
  readonly secret_mappings: readonly SecretMapping[];
  /** Azure OpenAI: replaces them all; at most 100. */
  readonly deployment_config: readonly VirtualKeyDeployment[];
  /** Set the usage to 0, and what was exhausted active? */
  readonly reset_usage?: boolean | null;
  /** Its address, version segment included. Given by a key of a workspace, it must be one that the network rules let
   * callers choose. */
  readonly custom_host?: string | null;
  /** Sent with every request. */
  readonly custom_headers: Readonly<Record<string, string>>;
  /** If false, traceparent and tracestate are not sent. true unless given. */
  readonly send_trace_context?: boolean | null;
  /** Azure OpenAI: at most 30 characters. */
  readonly api_version?: string | null;
  /** Azure OpenAI. */
  readonly deployment_name?: string | null;
  /** Azure OpenAI. */
  readonly resource_name?: string | null;
  /** Azure. */
  readonly azure_auth_mode?: 'entra' | 'managed' | 'workload' | null;
  /** Azure. */
  readonly azure_foundry_url?: string | null;
  /** Azure: at most 30 characters. */
  readonly azure_api_version?: string | null;
  /** Azure. */
  readonly azure_region?: string | null;
  /** Azure. */
  readonly azure_deployment_type?: 'serverless' | 'managed' | null;
  /** Azure. */
  readonly azure_deployment_name?: string | null;
  /** Azure. */
  readonly azure_endpoint_name?: string | null;
  /** Azure with entra. */
  readonly azure_entra_tenant_id?: string | null;
  /** Azure with entra. */
  readonly azure_entra_client_id?: string | null;
  /** Azure with entra. */
  readonly azure_entra_client_secret?: string | null;
  /** Azure with managed. */
  readonly azure_managed_client_id?: string | null;
  /** Azure with workload. */
  readonly azure_workload_client_id?: string | null;
  /** AWS. */
  readonly aws_auth_type?: 'accessKey' | 'assumedRole' | null;
  /** AWS. */
  readonly aws_region?: string | null;
  /** AWS with accessKey. */
  readonly aws_access_key_id?: string | null;
  /** AWS with accessKey. */
  readonly aws_secret_access_key?: string | null;
  /** AWS with assumedRole. */
  readonly aws_role_arn?: string | null;
  /** AWS with assumedRole. */
  readonly aws_external_id?: string | null;
  /** Vertex AI. */
  readonly vertex_project_id?: string | null;
  /** Vertex AI. */
  readonly vertex_region?: string | null;
  /** Vertex AI. */
  readonly vertex_auth_type?: 'serviceAccount' | 'workloadIdentity' | null;
  /** Vertex AI. */
  readonly vertex_service_account_json?: Readonly<Record<string, unknown>> | null;
  /** Vertex AI. */
  readonly vertex_skip_ptu_cost_attribution?: boolean | null;
  /** Hugging Face. */
  readonly huggingface_base_url?: string | null;
  /** Workers AI. */
  readonly workers_ai_account_id?: string | null;
  /** OpenAI. */
  readonly openai_organization?: string | null;
  /** OpenAI. */
  readonly openai_project?: string | null;
  /** Oracle. */
  readonly oracle_region?: string | null;
  /** Oracle. */
  readonly oracle_version?: string | null;
  /** Oracle. */
  readonly oracle_compartment_id?: string | null;
  /** Oracle. */
  readonly oracle_tenancy?: string | null;
  /** Oracle. */
  readonly oracle_user?: string | null;
  /** Oracle. */
  readonly oracle_fingerprint?: string | null;
  /** Oracle. */
  readonly oracle_private_key?: string | null;
  /** Texts by name, at most 64, for people and searches. */
  readonly tags?: Readonly<Record<string, unknown>> | null;
  /** Fields to change. A field that is listed here and absent from the request is cleared. Default: all fields in the request. */
  readonly update_mask?: readonly string[] | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type UpdateVirtualKeyResponse = Readonly<Record<string, never>>;

export interface UpdateWorkspaceExclusionsRequest {
  /** Which guardrails: those of requests, or those of answers. */
  readonly kind: 'input-guardrails' | 'output-guardrails';
  /** The key's own. */
  readonly organisation_id?: string | null;
  /** At most 1000. */
  readonly workspaces: readonly WorkspaceExclusion[];
  /** Take in every workspace that is not named? Else those stay as they are. */
  readonly override_existing?: boolean | null;
}

export interface UpdateWorkspaceMemberRequest {
  /** Id or slug. */
  readonly workspace_id: string;
  /** Id of the user. */
  readonly user_id: string;
  /** In the workspace. */
  readonly role: 'admin' | 'manager' | 'member';
}

export type UpdateWorkspaceMemberResponse = Readonly<Record<string, never>>;

export interface UpdateWorkspaceRequest {
  /** Id or slug. */
  readonly workspace_id: string;
  /** At most 128 characters. */
  readonly name?: string | null;
  /** At most 500 characters. */
  readonly description?: string | null;
  /** Of free choice; at most 255 characters. */
  readonly icon?: string | null;
  /** Cannot be changed. */
  readonly slug?: string | null;
  /** Its fields that are absent stay as they are. */
  readonly defaults?: NewWorkspaceDefaults | null;
  /** One; null clears it. */
  readonly usage_limits: readonly WorkspaceUsageLimits[];
  /** One of each type. */
  readonly rate_limits: readonly RateLimit[];
  /** Its fields that are absent stay as they are. */
  readonly security_settings?: SecuritySettings | null;
  /** Its fields that are absent stay as they are. */
  readonly settings?: WorkspaceSettings | null;
  /** Set the usage to 0? */
  readonly reset_usage?: boolean | null;
  /** Fields to change. A field that is listed here and absent from the request is cleared. Default: all fields in the request. */
  readonly update_mask?: readonly string[] | null;
  /** Refused with 409 if the record has another etag. */
  readonly etag?: string | null;
}

export type UpdateWorkspaceResponse = Readonly<Record<string, never>>;

export interface UpdatedConfig {
  readonly version_id: string;
}

export interface UpdatedProvider {
  readonly id: string;
  readonly slug: string;
}

/** A budget. */
export interface UsageLimits {
  /** `cost` unless given. Fixed once anything was used. */
  readonly type?: 'cost' | 'tokens' | 'requests' | null;
  /** US dollars, tokens or requests. At least 1. */
  readonly credit_limit: number;
  /** Usage at which an alert goes out, in the unit of credit_limit and below it. At least 1. */
  readonly alert_threshold?: number | null;
  /** Usage starts again on Mondays or on the first of the month, at 00:00 UTC. Never, unless given. */
  readonly periodic_reset?: 'monthly' | 'weekly' | null;
  /** Days between resets, 1 to 365. Not together with periodic_reset. */
  readonly periodic_reset_days?: number | null;
  /** First reset. Computed, unless given. */
  readonly next_usage_reset_at?: string | null;
  /** true: what is beyond it is counted and reported, and nothing is refused. */
  readonly shadow?: boolean | null;
}

/** The state of one counter of a policy. */
export interface UsageLimitsCounter {
  readonly current_usage: number;
  readonly status: 'active' | 'exhausted';
  readonly is_threshold_alerts_sent: boolean;
  readonly is_exhausted_alerts_sent: boolean;
  /** Usage at the end of the period, if it goes on as before; absent where that is not known. */
  readonly projected_usage?: number | null;
  /** When the limit will be reached; absent: not in this period, or it is not known. */
  readonly projected_exhausted_at?: string | null;
}

export interface UsageLimitsEntity {
  readonly id: string;
  /** Parts `key:value`, joined by dashes. */
  readonly value_key: string;
  /** US dollars, tokens or requests since the last reset. */
  readonly current_usage: number;
  readonly status: 'active' | 'exhausted';
  /** Usage at the end of the period, if it goes on as before; absent where that is not known. */
  readonly projected_usage?: number | null;
  /** When the limit will be reached; absent: not in this period, or it is not known. */
  readonly projected_exhausted_at?: string | null;
}

export interface UsageLimitsPolicy {
  readonly id: string;
  readonly name?: string | null;
  readonly description?: string | null;
  readonly conditions: readonly PolicyCondition[];
  readonly group_by: readonly PolicyGroup[];
  readonly type: 'cost' | 'tokens' | 'requests';
  /** US dollars, tokens or requests. */
  readonly credit_limit: number;
  readonly alert_threshold?: number | null;
  readonly periodic_reset?: 'monthly' | 'weekly' | null;
  readonly periodic_reset_days?: number | null;
  readonly next_usage_reset_at?: string | null;
  readonly last_reset_at?: string | null;
  readonly status: 'active' | 'archived';
  readonly workspace_id: string;
  readonly organisation_id: string;
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly object: 'policy_usage_limits';
  /** Counters of this period by value key, such as `api_key:<id>`: the first 1000, with include_usage. */
  readonly value_key_usage_map: Readonly<Record<string, UsageLimitsCounter>>;
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
  /** Is it counted and reported only, and refuses nothing? */
  readonly shadow: boolean;
}

/** A budget and its state. */
export interface UsageLimitsState {
  readonly type: 'cost' | 'tokens' | 'requests';
  /** US dollars, tokens or requests. */
  readonly credit_limit: number;
  readonly alert_threshold?: number | null;
  readonly periodic_reset?: 'monthly' | 'weekly' | null;
  readonly periodic_reset_days?: number | null;
  readonly next_usage_reset_at?: string | null;
  /** Used since the last reset, in the unit of credit_limit. */
  readonly current_usage?: number | null;
  readonly last_reset_at?: string | null;
  readonly status?: 'active' | 'exhausted' | null;
  readonly is_threshold_alerts_sent?: boolean | null;
  readonly is_exhausted_alerts_sent?: boolean | null;
  /** true: what is beyond it is counted and reported, and nothing is refused. */
  readonly shadow?: boolean | null;
  /** Usage at the end of the period, if it goes on as before; absent where that is not known. */
  readonly projected_usage?: number | null;
  /** When the limit will be reached; absent: not in this period, or it is not known. */
  readonly projected_exhausted_at?: string | null;
}

export interface User {
  readonly object: 'user';
  readonly id: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly role: 'owner' | 'admin' | 'member';
  readonly email: string;
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly workspace_ids: readonly string[];
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
  /** false: the user was deactivated through SCIM, and the user's keys and sessions are refused. Absent: active. */
  readonly active?: boolean | null;
}

export interface UserGroup {
  readonly user: string;
  readonly requests: number;
  readonly cost: number;
  readonly object: 'analytics-group';
}

export interface UserGroups {
  readonly object: 'list';
  /** Groups in all. */
  readonly total?: number | null;
  readonly data: readonly UserGroup[];
}

export interface UsersGraph {
  readonly summary: UsersSummary;
  readonly data_points: readonly UsersPoint[];
  readonly object: 'analytics-graph';
}

export interface UsersPoint {
  readonly timestamp: string;
  readonly total: number;
}

export interface UsersRequestsGraph {
  readonly summary: UsersRequestsSummary;
  readonly data_points: readonly UsersRequestsPoint[];
  readonly object: 'analytics-graph';
}

export interface UsersRequestsPoint {
  readonly timestamp: string;
  readonly avg?: number | null;
}

export interface UsersRequestsSummary {
  readonly total: number;
  readonly unique: number;
  readonly avg?: number | null;
}

export interface UsersSummary {
  readonly total: number;
}

export interface VirtualKey {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly note?: string | null;
  readonly status: 'active' | 'exhausted' | 'expired';
  /** Name of the provider whose API it speaks. */
  readonly provider: string;
  /** The same as provider. */
  readonly ai_provider_name: string;
  readonly organisation_id: string;
  readonly workspace_id: string;
  readonly workspace_name: string;
  /** Slug of the integration whose credential it uses. */
  readonly integration_id?: string | null;
  /** 2 first characters, *****, 3 last; absent where there is no credential. */
  readonly masked_api_key?: string | null;
  /** Always empty. */
  readonly key: string;
  /** What the provider needs beside its key; for each secret `masked_<field>` in its place. Absent in lists. */
  readonly model_config?: Readonly<Record<string, unknown>> | null;
  readonly usage_limits?: UsageLimitsState | null;
  readonly rate_limits: readonly ProviderRateLimit[];
  readonly reset_usage?: number | null;
  readonly expires_at?: string | null;
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly last_reset_at?: string | null;
  /** Not kept yet. */
  readonly last_used_at?: string | null;
  readonly secret_mappings: readonly SecretMapping[];
  readonly tags?: Readonly<Record<string, unknown>> | null;
  readonly object: 'virtual-key';
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
}

/** One deployment of a model on Azure OpenAI. */
export interface VirtualKeyDeployment {
  /** At most 30 characters. */
  readonly api_version: string;
  /** What calls name it by. Needed where it is not the default. */
  readonly alias?: string | null;
  /** false unless given. */
  readonly is_default?: boolean | null;
  readonly deployment_name: string;
}

export interface WatchConfigRequest {
  /** Of the last event that was received: later ones are sent. Absent: from now on. */
  readonly token?: string | null;
}

/** Costs are in cents. */
export interface WhatIfAnswer {
  readonly object: 'analytics-what-if';
  readonly requests: number;
  /** As the ledger has it. */
  readonly cost: number;
  /** With the replaced models; other requests keep their cost. */
  readonly what_if_cost: number;
  /** Requests that what_if_cost counts as 0, because no price is known. */
  readonly unpriced: number;
  /** The most expensive first. */
  readonly by_model: readonly WhatIfModel[];
}

export interface WhatIfModel {
  /** provider__model; absent: no provider answered. */
  readonly model?: string | null;
  /** Absent: it is not replaced. */
  readonly replaced_by?: string | null;
  readonly requests: number;
  readonly cost: number;
  readonly what_if_cost: number;
  readonly unpriced: number;
}

/** Which requests are counted, and which models are replaced. */
export interface WhatIfRequest {
  /** With the names of the query parameters of graphs. time_of_generation_min and time_of_generation_max are required, here or in the
   * saved filter that filter_id names. */
  readonly filters: Readonly<Record<string, unknown>>;
  /** At most 100, each model once. */
  readonly replace: readonly ModelReplacement[];
}

export interface Workspace {
  readonly id: string;
  /** Begins with `ws-`, unless it was given. */
  readonly slug: string;
  readonly name: string;
  readonly description?: string | null;
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly defaults?: WorkspaceDefaults | null;
  readonly usage_limits: readonly WorkspaceUsageLimitsState[];
  readonly rate_limits: readonly RateLimit[];
  readonly status: 'active' | 'archived';
  /** Those that hold: the workspace's own, else the organisation's. */
  readonly security_settings: SecuritySettings;
  readonly settings: WorkspaceSettings;
  readonly last_reset_at?: string | null;
  readonly object: 'workspace';
  readonly icon?: string | null;
  /** 1: the first workspace, which cannot be deleted. */
  readonly is_default: number;
  readonly organisation_id: string;
  readonly created_by?: string | null;
  /** `default` for the first workspace. */
  readonly creation_source?: string | null;
  readonly scim_source_id?: string | null;
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
}

export interface WorkspaceDefaults {
  readonly metadata: Readonly<Record<string, string>>;
  readonly input_guardrails: readonly string[];
  readonly output_guardrails: readonly string[];
  readonly user_api_key_config?: string | null;
  /** 0 or 1. */
  readonly is_default: number;
  readonly object: 'workspace';
}

/** A workspace with its members. */
export interface WorkspaceDetail {
  readonly id: string;
  /** Begins with `ws-`, unless it was given. */
  readonly slug: string;
  readonly name: string;
  readonly description?: string | null;
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly defaults?: WorkspaceDefaults | null;
  readonly usage_limits: readonly WorkspaceUsageLimitsState[];
  readonly rate_limits: readonly RateLimit[];
  readonly status: 'active' | 'archived';
  /** Those that hold: the workspace's own, else the organisation's. */
  readonly security_settings: SecuritySettings;
  readonly settings: WorkspaceSettings;
  readonly last_reset_at?: string | null;
  readonly object: 'workspace';
  readonly icon?: string | null;
  /** 1: the first workspace, which cannot be deleted. */
  readonly is_default: number;
  readonly organisation_id: string;
  readonly created_by?: string | null;
  /** `default` for the first workspace. */
  readonly creation_source?: string | null;
  readonly scim_source_id?: string | null;
  /** Names this state of it; for If-Match and the etag of a change. */
  readonly etag: string;
  readonly users: readonly WorkspaceMember[];
}

export interface WorkspaceExclusion {
  /** Id or slug. */
  readonly workspace_id: string;
  /** Do the organisation's guardrails pass by this workspace? */
  readonly excluded: boolean;
}

export interface WorkspaceExclusions {
  readonly workspaces: readonly WorkspaceExclusion[];
}

export interface WorkspaceGroup {
  readonly workspace?: string | null;
  readonly requests: number;
  readonly cost: number;
  readonly object: 'analytics-group';
}

export interface WorkspaceGroups {
  readonly object: 'list';
  /** Groups in all. */
  readonly total?: number | null;
  readonly data: readonly WorkspaceGroup[];
}

export interface WorkspaceMember {
  readonly object: 'workspace-user';
  /** Of the user. */
  readonly id: string;
  readonly first_name: string;
  readonly last_name: string;
  /** In the organisation. */
  readonly org_role: 'owner' | 'admin' | 'member';
  /** In the workspace. */
  readonly role: 'admin' | 'manager' | 'member';
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly status: 'active';
  readonly workspace_id: string;
  readonly email: string;
  /** What the role allows in the workspace, by its security settings. */
  readonly scopes: readonly string[];
  readonly settings?: Readonly<Record<string, unknown>> | null;
}

/** A user's place in a workspace. */
export interface WorkspaceRole {
  /** Id or slug of the workspace. */
  readonly id: string;
  readonly role: 'admin' | 'manager' | 'member';
}

export interface WorkspaceSettings {
  /** Life of a user's new key in seconds; 0: without end. */
  readonly user_api_key_ttl?: number | null;
  /** Longest lifetime that may be requested, in seconds; 0: any. */
  readonly user_api_key_max_ttl?: number | null;
  /** Keys that each user may have; -1: any number. */
  readonly user_api_key_count?: number | null;
  /** 1: keep the bodies of requests in the log. 0: do not. */
  readonly debug_log?: number | null;
  /** 1: requests of a user's key have the user's e-mail address as metadata `_user`. */
  readonly user_key_metadata?: number | null;
  /** 1: a user that the request names itself is kept. 0: the owner of the key takes precedence. */
  readonly user_key_metadata_override?: number | null;
  /** `weekly`, `monthly` or a number of days, 1 to 365. Empty text: no rotation. null: what the organisation has set. */
  readonly user_api_key_rotation_period?: unknown;
  /** Make a key for each user who joins? */
  readonly user_api_key_auto_create?: boolean | null;
  /** Days for which logs are kept, where the gateway keeps them longer. 0: as long as the gateway. */
  readonly log_retention_days?: number | null;
  /** The same for the bodies of requests and answers. */
  readonly log_body_retention_days?: number | null;
}

/** A budget of a workspace. */
export interface WorkspaceUsageLimits {
  /** `cost` unless given. Fixed once anything was used. */
  readonly type?: 'cost' | 'tokens' | 'requests' | null;
  /** US dollars, tokens or requests. At least 1. */
  readonly credit_limit: number;
  /** Usage at which an alert goes out, in the unit of credit_limit and below it. At least 1. */
  readonly alert_threshold?: number | null;
  /** Usage starts again on Mondays or on the first of the month, at 00:00 UTC. Never, unless given. */
  readonly periodic_reset?: 'monthly' | 'weekly' | null;
  /** Days between resets, 1 to 365. Not together with periodic_reset. */
  readonly periodic_reset_days?: number | null;
  /** First reset. Computed, unless given. */
  readonly next_usage_reset_at?: string | null;
  /** Counts only requests with this metadata. Values of at most 100 characters. */
  readonly metadata: Readonly<Record<string, string>>;
  /** true: what is beyond it is counted and reported, and nothing is refused. */
  readonly shadow?: boolean | null;
}

/** A budget of a workspace and its state. */
export interface WorkspaceUsageLimitsState {
  readonly type: 'cost' | 'tokens' | 'requests';
  /** US dollars, tokens or requests. */
  readonly credit_limit: number;
  readonly alert_threshold?: number | null;
  readonly periodic_reset?: 'monthly' | 'weekly' | null;
  readonly periodic_reset_days?: number | null;
  readonly next_usage_reset_at?: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** Used since the last reset, in the unit of credit_limit. With include_usage. */
  readonly current_usage?: number | null;
  readonly last_reset_at?: string | null;
  readonly status?: 'active' | 'exhausted' | null;
  readonly is_threshold_alerts_sent?: boolean | null;
  readonly is_exhausted_alerts_sent?: boolean | null;
  /** true: what is beyond it is counted and reported, and nothing is refused. */
  readonly shadow?: boolean | null;
  /** Usage at the end of the period, if it goes on as before; absent where that is not known. With include_usage. */
  readonly projected_usage?: number | null;
  /** When the limit will be reached; absent: not in this period, or it is not known. With include_usage. */
  readonly projected_exhausted_at?: string | null;
}

/** Every method: what it takes and what it gives. */
export interface AdminServices {
  /** Alerts of budgets and anomalies. */
  Alerts: {
    /** Lists alerts, newest first. */
    ListAlerts: [ListAlertsRequest, ListAlertsResponse];
  };
  /** Figures of the requests that passed through the gateway: graphs, groups and values of metadata. */
  Analytics: {
    /** Requests over time. */
    GraphRequests: [GraphRequest, RequestsGraph];
    /** Cost over time, in cents, and its average a request. */
    GraphCost: [GraphRequest, CostGraph];
    /** Milliseconds from the request to the end of its answer, over time. */
    GraphLatency: [GraphRequest, LatencyGraph];
    /** Milliseconds to the first byte of streams, over time. */
    GraphTtft: [GraphRequest, TtftGraph];
    /** Input and output tokens over time, and their average a request. */
    GraphTokens: [GraphRequest, TokensGraph];
    /** Users over time, as metadata `_user` names them. */
    GraphUsers: [GraphRequest, UsersGraph];
    /** Requests of users over time, and how many each made on average. */
    GraphUsersRequests: [GraphRequest, UsersRequestsGraph];
    /** Requests that did not succeed, over time. */
    GraphErrors: [GraphRequest, ErrorsGraph];
    /** Percent of requests that did not succeed, over time. */
    GraphErrorsRate: [GraphRequest, ErrorsRateGraph];
    /** Errors over time, by status. */
    GraphErrorsStacks: [GraphRequest, ErrorsStacksGraph];
    /** Errors by status. */
    GraphErrorsStatusCodes: [GraphRequest, ErrorsStatusCodesGraph];
    /** Requests that succeeded after a retry, or by a later target, over time. */
    GraphRequestsRescued: [GraphRequest, RequestsRescuedGraph];
    /** Hits of the cache over time, in percent of the requests that could be cached, and what they saved in cents so far. */
    GraphCacheHitRate: [GraphRequest, CacheHitRateGraph];
    /** Milliseconds that hits of the cache took, over time. */
    GraphCacheLatency: [GraphRequest, CacheLatencyGraph];
    /** Feedback over time, counted at the request it is about. */
    GraphFeedbacks: [GraphRequest, FeedbacksGraph];
    /** Feedback by value. */
    GraphFeedbacksScores: [GraphRequest, FeedbacksScoresGraph];
    /** Weighted average of feedback over time. */
    GraphFeedbacksWeighted: [GraphRequest, FeedbacksWeightedGraph];
    /** Feedback by model. */
    GraphFeedbacksAiModels: [GraphRequest, FeedbacksAiModelsGraph];
    /** What the cache did. */
    SummarizeCache: [GraphRequest, CacheSummaryAnswer];
    /** Users, with their requests and cost, most requests first. */
    GroupUsers: [GroupsRequest, UserGroups];
    /** Models, with their requests, most requests first. */
    GroupAiModels: [GroupsRequest, AiModelGroups];
    /** Workspaces, with their requests and cost, most requests first. */
    GroupWorkspaces: [GroupsRequest, WorkspaceGroups];
    /** Values of one name of metadata, with their requests, most requests first. */
    GroupMetadata: [GroupMetadataRequest, MetadataGroups];
    /** Requests by what they have in common, most requests first unless another order is requested. */
    GroupBy: [GroupByRequest, Groups];
    /** What requests would have cost if other models had answered them, by today's prices. Changes nothing. */
    WhatIf: [WhatIfRequest, WhatIfAnswer];
    /** Lists periods in which cost, errors, latency or traffic of a workspace differed from the same hours of past weeks, newest first. */
    ListAnomalies: [ListAnomaliesRequest, ListAnomaliesResponse];
    /** Values of one name of metadata, commonest first. */
    ListMetadataValues: [ListMetadataValuesRequest, MetadataValues];
  };
  /** Gateway keys. */
  ApiKeys: {
    /** Makes a key. Its text is in this answer and nowhere else. */
    CreateApiKey: [CreateApiKeyRequest, CreatedApiKey];
    /** Lists the keys of those types that the caller may list. */
    ListApiKeys: [ListApiKeysRequest, ListApiKeysResponse];
    /** Returns a key without its text. */
    GetApiKey: [GetApiKeyRequest, ApiKey];
    /** Changes a key. Absent fields stay as they are. After the answer, every worker of this node uses the change. */
    UpdateApiKey: [UpdateApiKeyRequest, UpdateApiKeyResponse];
    /** Deletes a key. When this has answered, no worker of this node serves it. */
    DeleteApiKey: [DeleteApiKeyRequest, DeleteApiKeyResponse];
    /** Gives a key a new text, which is in this answer and nowhere else. The old one is good until the transition ends. */
    RotateApiKey: [RotateApiKeyRequest, RotatedApiKey];
    /** Returns the new secret of a key that was rotated by schedule, once. For callers who may rotate the key. */
    RevealRotatedApiKey: [RevealRotatedApiKeyRequest, RevealedApiKey];
  };
  /** Who changed what, and when. Rows are never changed or deleted. */
  AuditLogs: {
    /** Lists rows, newest first. */
    ListAuditLogs: [ListAuditLogsRequest, ListAuditLogsResponse];
    /** Gives rows as a file for another program, oldest first. */
    ExportAuditLogs: [ExportAuditLogsRequest, AsyncIterable<HttpBody>];
  };
  /** Sign-in of people, and their sessions. */
  Auth: {
    /** Signs a person in. Over REST the session's token is in a cookie; over gRPC it is in the answer, and is
     * sent as a key from then on. */
    SignIn: [SignInRequest, SignedIn];
    /** Begins to sign a person in by the organisation's OpenID Connect provider. Over REST it answers 302 to the provider's
     * page and binds the sign-in to the browser by a cookie; over gRPC both are in the answer. */
    StartOidc: [StartOidcRequest, StartedOidc];
    /** The address that the provider sends the browser back to. Signs the person in; if no user has the verified e-mail
     * address, one is created. */
    FinishOidc: [FinishOidcRequest, SignedIn];
    /** Ends the session of this call. */
    SignOut: [SignOutRequest, SignOutResponse];
    /** Returns the session of this call. */
    GetSession: [GetSessionRequest, SignedIn];
    /** Lists the caller's sessions, newest first. Admins of the organisation can list those of other users. */
    ListSessions: [ListSessionsRequest, ListSessionsResponse];
    /** Ends a session of the caller. Admins of the organisation can end those of other users. */
    DeleteSession: [DeleteSessionRequest, DeleteSessionResponse];
    /** Changes the caller's password. All sessions of the caller end, including this one. */
    UpdatePassword: [UpdatePasswordRequest, UpdatePasswordResponse];
  };
  /** Targets that are not called, since they failed too often (`cb_config`). */
  CircuitBreakers: {
    /** Lists those that are not closed, the one that opened first at the head. */
    ListCircuitBreakers: [ListCircuitBreakersRequest, ListCircuitBreakersResponse];
  };
  /** Folders of prompts. */
  Collections: {
    /** Makes a collection. */
    CreateCollection: [CreateCollectionRequest, CreatedCollection];
    /** Lists the collections of the workspace, and what is in each. */
    ListCollections: [ListCollectionsRequest, ListCollectionsResponse];
    /** Returns a collection and the collections in it. */
    GetCollection: [GetCollectionRequest, Collection];
    /** Changes a collection. Absent fields stay as they are. Without a parent a collection is at the top. */
    UpdateCollection: [UpdateCollectionRequest, UpdateCollectionResponse];
    /** Deletes an empty collection; one with something in it needs cascade. The default collection stays. */
    DeleteCollection: [DeleteCollectionRequest, DeleteCollectionResponse];
  };
  /** Routing configs. */
  Configs: {
    /** Checks and stores a routing config. */
    CreateConfig: [CreateConfigRequest, CreateConfigResponse];
    /** Lists routing configs, without their content. */
    ListConfigs: [ListConfigsRequest, ListConfigsResponse];
    /** Returns a config with its content. */
    GetConfig: [GetConfigRequest, Config];
    /** Changes a config. Absent fields stay as they are. A config makes a new version under the same slug. */
    UpdateConfig: [UpdateConfigRequest, UpdateConfigResponse];
    /** Archives a config: no call finds it any more, and its slug is free again. */
    DeleteConfig: [DeleteConfigRequest, DeleteConfigResponse];
    /** Lists every version of a config with its content, newest first. */
    ListConfigVersions: [ListConfigVersionsRequest, ListConfigVersionsResponse];
    /** Returns one version of a config. */
    GetConfigVersion: [GetConfigVersionRequest, Config];
  };
  /** Gateways that belong to the organisation, and how they sign in. In place of an id, `self` names the default one. */
  Deployments: {
    /** Registers a gateway. Its secret is in this answer and nowhere else. */
    CreateDeployment: [CreateDeploymentRequest, CreatedDeployment];
    /** Lists the gateways of the organisation. */
    ListDeployments: [ListDeploymentsRequest, ListDeploymentsResponse];
    /** Returns a gateway without its secrets. */
    GetDeployment: [GetDeploymentRequest, Deployment];
    /** Changes what a gateway is registered as. Absent fields stay as they are. With rotate_auth the answer holds the new
     * secret. */
    UpdateDeployment: [UpdateDeploymentRequest, UpdateDeploymentResponse];
    /** Archives a gateway's record; its secret ends at once. */
    DeleteDeployment: [DeleteDeploymentRequest, DeleteDeploymentResponse];
    /** Returns when the gateway last reported. */
    PingDeployment: [PingDeploymentRequest, PingDeploymentResponse];
  };
  /** Configuration as documents, one for each record, which can be kept in files. */
  Documents: {
    /** Creates and updates records as the documents describe them, all of them or none. Each record that is changed has its own row in
     * the audit log; a record that is already as described is not changed. */
    ApplyDocuments: [ApplyDocumentsRequest, AppliedDocuments];
    /** Returns the records that the caller may read, as documents for ApplyDocuments, in a fixed order. */
    ExportDocuments: [ExportDocumentsRequest, ExportedDocuments];
  };
  /** What users think of answers. For keys of a workspace alone. */
  Feedback: {
    /** Adds feedback to a trace, or a list of at most 1000 to several. A trace may have any number. */
    CreateFeedback: [CreateFeedbackRequest, FeedbackResponse];
    /** Changes feedback of the workspace. */
    UpdateFeedback: [UpdateFeedbackRequest, FeedbackResponse];
  };
  /** Checks that requests and answers must pass, and what follows from the verdict. */
  Guardrails: {
    /** Makes a guardrail of a workspace, or of the organisation. */
    CreateGuardrail: [CreateGuardrailRequest, SavedGuardrail];
    /** Lists guardrails, without their checks. */
    ListGuardrails: [ListGuardrailsRequest, ListGuardrailsResponse];
    /** Returns a guardrail with its checks. */
    GetGuardrail: [GetGuardrailRequest, Guardrail];
    /** Changes a guardrail. Absent fields stay as they are. Other checks or actions make a new version. */
    UpdateGuardrail: [UpdateGuardrailRequest, SavedGuardrail];
    /** Runs a guardrail over texts, and lists what it finds. Nothing is sent to a provider, and nothing is recorded; checks that ask
     * other services do so. */
    TestGuardrail: [TestGuardrailRequest, TestGuardrailResponse];
    /** Archives a guardrail. It is refused while a default or an active config names it. */
    DeleteGuardrail: [DeleteGuardrailRequest, DeleteGuardrailResponse];
  };
  /** Credentials of a provider, kept once and lent to workspaces, where providers are made from them. Those with a
   * workspace_id belong to that workspace alone (workspace_integrations.*), the others to the organisation
   * (organisation_integrations.*). */
  Integrations: {
    /** Stores the credential of a provider, and what else it needs. */
    CreateIntegration: [CreateIntegrationRequest, CreatedIntegration];
    /** Lists integrations, without their configurations. */
    ListIntegrations: [ListIntegrationsRequest, ListIntegrationsResponse];
    /** Returns an integration without its secrets. */
    GetIntegration: [GetIntegrationRequest, IntegrationDetail];
    /** Changes an integration. Absent fields stay as they are. */
    UpdateIntegration: [UpdateIntegrationRequest, UpdateIntegrationResponse];
    /** Archives an integration: it is read by its id from now on, and its slug is free. Refused with 409 while providers
     * use it, those that were made with it too. */
    DeleteIntegration: [DeleteIntegrationRequest, DeleteIntegrationResponse];
    /** Lists the models of an integration, and which of them are on. */
    ListIntegrationModels: [ListIntegrationModelsRequest, ListIntegrationModelsResponse];
    /** Turns models on and off, and adds models of one's own. Models that are not named stay as they are. */
    UpdateIntegrationModels: [UpdateIntegrationModelsRequest, UpdateIntegrationModelsResponse];
    /** Deletes models of one's own. */
    DeleteIntegrationModels: [DeleteIntegrationModelsRequest, DeleteIntegrationModelsResponse];
    /** Lists the workspaces that have access, and their limits. */
    ListIntegrationWorkspaces: [ListIntegrationWorkspacesRequest, ListIntegrationWorkspacesResponse];
    /** Sets which workspaces may use it, and how much. Workspaces that are not named stay as they are. */
    UpdateIntegrationWorkspaces: [UpdateIntegrationWorkspacesRequest, UpdateIntegrationWorkspacesResponse];
  };
  /** Invitations to the organisation. They last 7 days. */
  Invites: {
    /** Invites a person. The link is in this answer and, if mail is set up, in a mail to the person. */
    CreateInvite: [CreateInviteRequest, CreatedInvite];
    /** Lists invitations. */
    ListInvites: [ListInvitesRequest, ListInvitesResponse];
    /** Returns an invitation without its link. */
    GetInvite: [GetInviteRequest, Invite];
    /** Cancels a pending invitation. */
    DeleteInvite: [DeleteInviteRequest, DeleteInviteResponse];
    /** Makes a new link for a pending or expired invitation, good for 7 days; the old link ends. */
    ResendInvite: [ResendInviteRequest, ResendInviteResponse];
    /** Creates the invited user or the first owner; with the token of a link for a new password, sets that password.
     * Needs no key: the token of the link is enough, once. */
    AcceptInvite: [AcceptInviteRequest, AcceptInviteResponse];
  };
  /** The people of the organisation. */
  Users: {
    /** Makes a user at once, without an invitation. */
    CreateUser: [CreateUserRequest, User];
    /** Lists the users of the organisation. */
    ListUsers: [ListUsersRequest, ListUsersResponse];
    /** Lists the people of an organisation, in the form of users. */
    ListOrganisationMembers: [ListOrganisationMembersRequest, ListOrganisationMembersResponse];
    /** Returns a user and the user's workspaces. */
    GetUser: [GetUserRequest, User];
    /** Changes a user's role, or the workspaces they are in. An owner is changed by owners alone, and the last one stays. */
    UpdateUser: [UpdateUserRequest, UpdateUserResponse];
    /** Removes a user from the organisation and its workspaces; the user's keys end at once. An owner is
     * removed by owners alone, and the last one stays. */
    DeleteUser: [DeleteUserRequest, DeleteUserResponse];
    /** Creates a link with which a user sets a new password, once and within a day; earlier links of the user become invalid.
     * Without a user_id the link is for the first owner, as long as there is no owner. Needs every scope of the organisation;
     * of signed-in people, only owners can create links for owners. */
    LinkUser: [LinkUserRequest, MadeUserLink];
  };
  /** Names for versions of prompts: production, staging, … */
  Labels: {
    /** Makes a label of a workspace. */
    CreateLabel: [CreateLabelRequest, CreatedLabel];
    /** Lists the labels of the workspace, and the universal ones. */
    ListLabels: [ListLabelsRequest, ListLabelsResponse];
    /** Returns a label. */
    GetLabel: [GetLabelRequest, Label];
    /** Changes a label. Absent fields stay as they are. */
    UpdateLabel: [UpdateLabelRequest, UpdateLabelResponse];
    /** Deletes a label permanently. production, staging and development stay. */
    DeleteLabel: [DeleteLabelRequest, DeleteLabelResponse];
  };
  /** Logs of a workspace, written to a file. */
  LogExports: {
    /** Drafts an export: nothing is written before it is started. */
    CreateLogExport: [CreateLogExportRequest, LogExportAnswer];
    /** Lists the exports of the workspace, newest first. */
    ListLogExports: [ListLogExportsRequest, ListLogExportsResponse];
    /** Returns the fields of logs that the caller's exports leave out. */
    GetFieldRestrictions: [GetFieldRestrictionsRequest, FieldRestrictions];
    /** Returns an export. */
    GetLogExport: [GetLogExportRequest, LogExport];
    /** Changes a draft. Fields that are not given do not change; `filters` is replaced as a whole. */
    UpdateLogExport: [UpdateLogExportRequest, LogExportAnswer];
    /** Starts a draft: its file is written, with what the caller may see by then. */
    StartLogExport: [StartLogExportRequest, LogExportMessage];
    /** Stops an export that has not ended. What was written is removed. */
    CancelLogExport: [CancelLogExportRequest, LogExportMessage];
    /** Returns an address from which the file can be read for an hour, without a key. */
    DownloadLogExport: [DownloadLogExportRequest, LogExportDownload];
    /** Returns the file. The address that DownloadLogExport returns takes the place of a key. */
    ReadLogExportFile: [ReadLogExportFileRequest, AsyncIterable<HttpBody>];
  };
  /** Requests that passed through the gateway, with their answers and costs. */
  Logs: {
    /** Lists requests, newest first unless `order_by` is given; with `after` in the order of their arrival. */
    ListLogs: [ListLogsRequest, ListLogsResponse];
    /** Returns one request, with its attempts and, where they were kept, its bodies. */
    GetLog: [GetLogRequest, Log];
    /** Returns a request and its answer as they were before guardrails changed them, where the organisation keeps that. */
    GetUnredactedText: [GetUnredactedTextRequest, UnredactedText];
    /** Keeps requests that went another way than through the gateway: one, or a list of at most 1000. The model and the usage are
     * read from the bodies. The answer is the text ok. */
    CreateLogs: [CreateLogsRequest, HttpBody];
    /** Stores model calls that OpenTelemetry spans of an application describe (gen_ai.*) as logs of the workspace. The body is
     * an OTLP request in JSON or protobuf, optionally compressed with gzip, and the answer is that of OTLP. Other spans are ignored, and a
     * span that is stored already is skipped. */
    CreateTraces: [CreateTracesRequest, HttpBody];
    /** Takes lines of `ListLogs` back in, whole batches or none: each a JSON object with created_at and workspace_id. A row whose id
     * is there is skipped. */
    ImportLogs: [ImportLogsRequest, ImportLogsResponse];
    /** Explains the cost of one request: what was used, times what it costs, line by line. */
    ExplainCost: [ExplainCostRequest, CostExplanation];
  };
  /** Mails that the gateway sends. */
  Mail: {
    /** Lists mails, newest first. They are kept for 30 days. */
    ListMails: [ListMailsRequest, ListMailsResponse];
    /** Returns a mail without its text. */
    GetMail: [GetMailRequest, MailMessage];
    /** Sends a mail that has failed again, now and for another 24 hours. */
    RetryMail: [RetryMailRequest, MailMessage];
    /** Sends a test mail. It is sent after the answer; see its status for the result. */
    TestMail: [TestMailRequest, MailMessage];
  };
  /** Prices of an organisation's own. */
  ModelPrices: {
    /** Lists the prices that the organisation has set, by provider and model. */
    ListModelPrices: [ListModelPricesRequest, ListModelPricesResponse];
    /** Sets what a model of a provider costs in calls through the organisation's stored providers, from a day on. */
    UpdateModelPrice: [UpdateModelPriceRequest, UpdateModelPriceResponse];
    /** Removes such a price. What was counted with it stays. */
    DeleteModelPrice: [DeleteModelPriceRequest, DeleteModelPriceResponse];
  };
  /** Models that workspaces can call, and what they cost. */
  Models: {
    /** Lists the models of the workspace's providers, each as calls name it: @slug/model. */
    ListModels: [ListModelsRequest, ListModelsResponse];
    /** Prices of a model, as the gateway counts them. Needs no key. */
    GetModelPricing: [GetModelPricingRequest, ModelPricing];
  };
  /** The gateways that share this deployment's records. */
  Nodes: {
    /** Lists them by name. One that is gone for a week is no longer listed. */
    ListNodes: [ListNodesRequest, ListNodesResponse];
  };
  /** The organisation of the caller, and what holds in all its workspaces. */
  Organisations: {
    /** Returns the organisation and its settings. */
    GetOrganisation: [GetOrganisationRequest, Organisation];
    /** Changes its name, settings and security settings. Absent fields stay as they are. */
    UpdateOrganisation: [UpdateOrganisationRequest, UpdateOrganisationResponse];
    /** Returns the guardrails that every workspace's requests pass. */
    GetOrganisationDefaults: [GetOrganisationDefaultsRequest, OrganisationDefaults];
    /** Changes what every workspace's requests pass. Absent fields stay as they are. */
    UpdateOrganisationDefaults: [UpdateOrganisationDefaultsRequest, UpdateOrganisationDefaultsResponse];
    /** Returns how people sign in, and which JSON web tokens are accepted. */
    GetAuthSettings: [GetAuthSettingsRequest, AuthSettings];
    /** Changes how people sign in, and which JSON web tokens are accepted. Absent fields stay as they are; null clears one. */
    UpdateAuthSettings: [UpdateAuthSettingsRequest, AuthSettings];
    /** Fetches the key set of JSON web tokens now: from then on, tokens signed by keys that it no longer has are refused. */
    RefreshAuthSettings: [RefreshAuthSettingsRequest, RefreshAuthSettingsResponse];
    /** Returns the workspaces that are exempt from the organisation's guardrails. */
    ListWorkspaceExclusions: [ListWorkspaceExclusionsRequest, WorkspaceExclusions];
    /** Lets the organisation's guardrails pass workspaces by, or run in them again. */
    UpdateWorkspaceExclusions: [UpdateWorkspaceExclusionsRequest, WorkspaceExclusions];
  };
  /** Credentials of partners whose services guardrails call. */
  Plugins: {
    /** Stores the organisation's credentials of a partner. Each partner has at most one entry. */
    CreatePlugin: [CreatePluginRequest, CreatedPlugin];
    /** Lists the partners whose credentials are stored; secrets are masked. */
    ListPlugins: [ListPluginsRequest, ListPluginsResponse];
    /** Returns one of them; secrets are masked. */
    GetPlugin: [GetPluginRequest, PartnerPlugin];
    /** Changes name, status or credentials. Absent fields stay as they are. */
    UpdatePlugin: [UpdatePluginRequest, UpdatePluginResponse];
    /** Removes the credentials: checks of the partner cannot run any more. */
    DeletePlugin: [DeletePluginRequest, DeletePluginResponse];
  };
  /** Provider credentials kept by the gateway, of their own or of an integration; calls name them `@slug`. */
  Providers: {
    /** Makes a provider from an integration, or from the credential given with it. */
    CreateProvider: [CreateProviderRequest, CreatedProvider];
    /** Lists the providers of the workspace. */
    ListProviders: [ListProvidersRequest, ListProvidersResponse];
    /** Returns a provider without its credential. */
    GetProvider: [GetProviderRequest, Provider];
    /** Changes a provider. Absent fields stay as they are. */
    UpdateProvider: [UpdateProviderRequest, UpdatedProvider];
    /** Deletes a provider permanently, including its own credential. */
    DeleteProvider: [DeleteProviderRequest, DeleteProviderResponse];
  };
  /** Rate limits over requests that share something: a key, a model, a metadata value. */
  RateLimitsPolicies: {
    /** Makes a policy. It holds from the next request on. */
    CreateRateLimitsPolicy: [CreateRateLimitsPolicyRequest, CreatedRateLimitsPolicy];
    /** Lists the active policies, unless another status is requested. */
    ListRateLimitsPolicies: [ListRateLimitsPoliciesRequest, ListRateLimitsPoliciesResponse];
    /** Returns a policy. */
    GetRateLimitsPolicy: [GetRateLimitsPolicyRequest, RateLimitsPolicy];
    /** Changes a policy. Absent fields stay as they are. */
    UpdateRateLimitsPolicy: [UpdateRateLimitsPolicyRequest, UpdateRateLimitsPolicyResponse];
    /** Archives a policy. */
    DeleteRateLimitsPolicy: [DeleteRateLimitsPolicyRequest, DeleteRateLimitsPolicyResponse];
  };
  /** Comparisons of providers' usage with the ledger. */
  Reconciliations: {
    /** Compares a provider's export with the ledger, by day (UTC), key and model, and names what differs. Nothing is stored. */
    ReconcileUsage: [ReconcileUsageRequest, Reconciliation];
  };
  /** Explains where requests would go. Nothing is sent to a provider, counted, or written to the log. */
  Requests: {
    /** Explains which targets a request would be sent to, in which order and why, and with which body. */
    ExplainRequest: [ExplainRequestRequest, Explanation];
    /** Tries a config, which need not be saved, on recorded requests, and compares where they would have gone, what they
     * would have cost and what the cache would have answered. An organisation can run one replay at a time. */
    ReplayRequests: [ReplayRequestsRequest, Replay];
  };
  /** Filters of logs and analytics, kept under a name. */
  SavedFilters: {
    /** Keeps filters under a name. */
    CreateSavedFilter: [CreateSavedFilterRequest, SavedFilter];
    /** Lists the saved filters of the workspace, by name. */
    ListSavedFilters: [ListSavedFiltersRequest, ListSavedFiltersResponse];
    /** Returns a saved filter. */
    GetSavedFilter: [GetSavedFilterRequest, SavedFilter];
    /** Changes a saved filter. Absent fields stay as they are; `filters` is replaced as a whole. */
    UpdateSavedFilter: [UpdateSavedFilterRequest, UpdateSavedFilterResponse];
    /** Deletes a saved filter. */
    DeleteSavedFilter: [DeleteSavedFilterRequest, DeleteSavedFilterResponse];
  };
  /** Work that one node does for all of them when it is due. */
  Schedules: {
    /** Lists them by name, each with its last run. */
    ListSchedules: [ListSchedulesRequest, ListSchedulesResponse];
    /** Lists the runs of a schedule, newest first. They are kept for a week. */
    ListScheduleRuns: [ListScheduleRunsRequest, ListScheduleRunsResponse];
  };
  /** SCIM 2.0 (RFC 7643, RFC 7644): an identity provider keeps users and groups up to date.
   * Over REST, bodies and errors have the forms of the RFC. */
  Scim: {
    /** Lists the users of the organisation, however they joined it. */
    ListScimUsers: [ListScimUsersRequest, ListScimUsersResponse];
    /** Creates a user, without a password and without an invitation. */
    CreateScimUser: [CreateScimUserRequest, ScimResource];
    /** Returns a user. */
    GetScimUser: [GetScimUserRequest, ScimResource];
    /** Replaces the attributes of a user. `active: false` blocks the user's keys and ends the user's sessions at once. */
    ReplaceScimUser: [ReplaceScimUserRequest, ScimResource];
    /** Changes a user by the operations of RFC 7644, section 3.5.2. */
    PatchScimUser: [PatchScimUserRequest, ScimResource];
    /** Removes a user from the organisation, with the user's keys. Owners cannot be removed. */
    DeleteScimUser: [DeleteScimUserRequest, DeleteScimUserResponse];
    /** Lists the groups of the organisation. */
    ListScimGroups: [ListScimGroupsRequest, ListScimGroupsResponse];
    /** Creates a group. */
    CreateScimGroup: [CreateScimGroupRequest, ScimResource];
    /** Returns a group with its members. */
    GetScimGroup: [GetScimGroupRequest, ScimResource];
    /** Replaces the name and the members of a group. */
    ReplaceScimGroup: [ReplaceScimGroupRequest, ScimResource];
    /** Changes a group by the operations of RFC 7644, section 3.5.2. */
    PatchScimGroup: [PatchScimGroupRequest, ScimResource];
    /** Removes a group. Users who are in a workspace only by this group lose that membership. */
    DeleteScimGroup: [DeleteScimGroupRequest, DeleteScimGroupResponse];
    /** Returns which parts of SCIM the gateway supports. */
    GetScimServiceProviderConfig: [GetScimServiceProviderConfigRequest, ScimResource];
    /** Lists the kinds of resources: users and groups. */
    ListScimResourceTypes: [ListScimResourceTypesRequest, ListScimResourceTypesResponse];
    /** Returns a kind of resource. */
    GetScimResourceType: [GetScimResourceTypeRequest, ScimResource];
    /** Lists the schemas of users and groups. */
    ListScimSchemas: [ListScimSchemasRequest, ListScimSchemasResponse];
    /** Returns a schema. */
    GetScimSchema: [GetScimSchemaRequest, ScimResource];
  };
  /** Which workspaces the members of SCIM groups are in, and in which role. */
  ScimMappings: {
    /** Lists the mappings in force. */
    ListScimMappings: [ListScimMappingsRequest, ListScimMappingsResponse];
    /** Maps a group to a workspace: its members are members of the workspace, with the role.
     * With several roles in a workspace, the highest applies. */
    CreateScimMapping: [CreateScimMappingRequest, ScimMapping];
    /** Archives a mapping. Users who are in the workspace only by it lose that membership; group and workspace stay. */
    DeleteScimMapping: [DeleteScimMappingRequest, DeleteScimMappingResponse];
    /** Lists the names of the groups, to choose one for a mapping. */
    ListScimMappingGroups: [ListScimMappingGroupsRequest, ListScimMappingGroupsResponse];
  };
  /** References to secrets in a secret manager, the gateway's environment or a folder. `secret_mappings` of
   * integrations, virtual keys and plugins take credentials from them. */
  SecretReferences: {
    /** Stores where a secret is, and how the gateway signs in there. The secret itself is not stored. */
    CreateSecretReference: [CreateSecretReferenceRequest, CreatedSecretReference];
    /** Lists the secret references of the organisation, newest first. */
    ListSecretReferences: [ListSecretReferencesRequest, ListSecretReferencesResponse];
    /** Returns a secret reference; credentials of auth_config are masked. */
    GetSecretReference: [GetSecretReferenceRequest, SecretReferenceDetail];
    /** Changes a secret reference. Absent fields stay as they are, those of auth_config too. Calls use it at once. */
    UpdateSecretReference: [UpdateSecretReferenceRequest, UpdateSecretReferenceResponse];
    /** Deletes a secret reference. Refused with 400 while something is mapped to it. */
    DeleteSecretReference: [DeleteSecretReferenceRequest, DeleteSecretReferenceResponse];
  };
  /** Budgets over requests that share something: a key, a model, a metadata value. */
  UsageLimitsPolicies: {
    /** Makes a policy. It counts from the next request on. */
    CreateUsageLimitsPolicy: [CreateUsageLimitsPolicyRequest, CreatedUsageLimitsPolicy];
    /** Lists the active policies, unless another status is requested. */
    ListUsageLimitsPolicies: [ListUsageLimitsPoliciesRequest, ListUsageLimitsPoliciesResponse];
    /** Returns a policy and, on request, the state of its counters. */
    GetUsageLimitsPolicy: [GetUsageLimitsPolicyRequest, UsageLimitsPolicy];
    /** Changes a policy. Absent fields stay as they are. A higher limit makes exhausted counters active again. */
    UpdateUsageLimitsPolicy: [UpdateUsageLimitsPolicyRequest, UpdateUsageLimitsPolicyResponse];
    /** Archives a policy. */
    DeleteUsageLimitsPolicy: [DeleteUsageLimitsPolicyRequest, DeleteUsageLimitsPolicyResponse];
    /** Lists the counters of a policy. */
    ListUsageLimitsEntities: [ListUsageLimitsEntitiesRequest, ListUsageLimitsEntitiesResponse];
    /** Sets a counter to 0 and makes it active. */
    ResetUsageLimitsEntity: [ResetUsageLimitsEntityRequest, ResetUsageLimitsEntityResponse];
  };
  /** The older API of providers: what is made here is a provider, and the other way round. */
  VirtualKeys: {
    /** Stores a provider's credential. */
    CreateVirtualKey: [CreateVirtualKeyRequest, CreateVirtualKeyResponse];
    /** Lists the virtual keys of the workspace. */
    ListVirtualKeys: [ListVirtualKeysRequest, ListVirtualKeysResponse];
    /** Returns a virtual key without its credential. */
    GetVirtualKey: [GetVirtualKeyRequest, VirtualKey];
    /** Changes a virtual key. Absent fields stay as they are. */
    UpdateVirtualKey: [UpdateVirtualKeyRequest, UpdateVirtualKeyResponse];
    /** Deletes it permanently, including its credential. */
    DeleteVirtualKey: [DeleteVirtualKeyRequest, DeleteVirtualKeyResponse];
    /** Makes an integration of its credential; calls go on as before. */
    MigrateVirtualKey: [MigrateVirtualKeyRequest, MigrateVirtualKeyResponse];
  };
  /** Reports the changes of administrators to services. */
  Watch: {
    /** Streams every change that the key may see, in the order in which they were made, until the client disconnects. The
     * first event is `start`: what is listed after it and changed by the events that follow is complete. The stream ends
     * after a quarter of an hour at most, when the gateway stops, and when the rights of its key may have changed; who
     * opens it again with the last token misses nothing. It ends with an error (AB05, AB03) when its key is no longer
     * valid or may no longer read this. Changes are kept for a week. */
    WatchConfig: [WatchConfigRequest, AsyncIterable<ConfigEvent>];
  };
  /** Who is in a workspace, and as what. */
  WorkspaceMembers: {
    /** Adds users of the organisation to the workspace. No caller gives a role above their own; a key of the
     * workspace itself gives none above manager. */
    AddWorkspaceMembers: [AddWorkspaceMembersRequest, AddWorkspaceMembersResponse];
    /** Lists the members of the workspace. */
    ListWorkspaceMembers: [ListWorkspaceMembersRequest, ListWorkspaceMembersResponse];
    /** Returns a member with the role. */
    GetWorkspaceMember: [GetWorkspaceMemberRequest, WorkspaceMember];
    /** Gives a member another role. */
    UpdateWorkspaceMember: [UpdateWorkspaceMemberRequest, UpdateWorkspaceMemberResponse];
    /** Takes a user out of the workspace; the user's keys there end at once. */
    RemoveWorkspaceMember: [RemoveWorkspaceMemberRequest, RemoveWorkspaceMemberResponse];
  };
  /** Parts of the organisation, each with its own keys, configs, providers, members and limits. */
  Workspaces: {
    /** Makes a workspace. A key of the organisation is needed. */
    CreateWorkspace: [CreateWorkspaceRequest, Workspace];
    /** Lists the workspaces that the caller may see. Only owners, admins and the organisation's keys see archived ones. */
    ListWorkspaces: [ListWorkspacesRequest, ListWorkspacesResponse];
    /** Returns a workspace with its members. */
    GetWorkspace: [GetWorkspaceRequest, WorkspaceDetail];
    /** Changes a workspace. Absent fields stay as they are. A higher limit makes an exhausted budget active again. Settings
     * and security settings are for the organisation's keys and for admins of the workspace. */
    UpdateWorkspace: [UpdateWorkspaceRequest, UpdateWorkspaceResponse];
    /** Archives a workspace: its keys end at once. With anything in use in it
     * (keys, providers, configs, guardrails, integrations, policies) it needs force_delete. */
    DeleteWorkspace: [DeleteWorkspaceRequest, DeleteWorkspaceResponse];
  };
}
