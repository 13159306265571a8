/**
 * The messages of proto/headgate/admin/v1 as grpc-js gives and takes them: snake case, an absent optional field
 * undefined, an absent message null.
 */

export interface Timestamp {
  readonly seconds: number;
  readonly nanos: number;
}

/** google.protobuf.Value: exactly one of them. */
export interface Value {
  readonly nullValue?: number | string;
  readonly numberValue?: number;
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly structValue?: { readonly fields?: Readonly<Record<string, Value>> };
  readonly listValue?: { readonly values?: readonly Value[] };
}

type Maybe<T> = T | null | undefined;

export interface PageRequest {
  readonly page_size?: number;
  readonly current_page?: number;
}

export interface ApiKeyDefaultsMessage {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly config_id?: string;
  readonly allow_config_override?: boolean;
}

export interface ApiKeyMessage {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly description?: string;
  readonly type: string;
  readonly organisation_id: string;
  readonly workspace_id?: string;
  readonly user_id?: string;
  readonly status: string;
  readonly created_at: Timestamp;
  readonly last_updated_at: Timestamp;
  readonly creation_mode: string;
  readonly scopes: readonly string[];
  readonly defaults: ApiKeyDefaultsMessage;
  readonly expires_at: Timestamp | null;
  readonly object: string;
}

export interface CreateApiKeyRequest {
  readonly type: string;
  readonly sub_type: string;
  readonly name: string;
  readonly description?: string;
  readonly workspace_id?: string;
  readonly user_id?: string;
  readonly scopes: readonly string[];
  readonly defaults?: Maybe<ApiKeyDefaultsMessage>;
  readonly expires_at?: Maybe<Timestamp>;
}

export interface CreatedApiKey {
  readonly id: string;
  readonly key: string;
  readonly object: string;
}

export interface ListApiKeysRequest extends PageRequest {
  readonly workspace_id?: string;
  readonly status: readonly string[];
}

export interface ListMessage<Row> {
  readonly object: string;
  readonly total: number;
  readonly data: readonly Row[];
}

export type Empty = Readonly<Record<never, never>>;

export interface ProviderMessage {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly note?: string;
  readonly provider: string;
  readonly masked_api_key?: string;
  readonly custom_host?: string;
  readonly status: string;
  readonly workspace_id: string;
  readonly created_at: Timestamp;
  readonly last_updated_at: Timestamp;
  readonly object: string;
}

export interface CreateProviderRequest {
  readonly name: string;
  readonly slug?: string;
  readonly note?: string;
  readonly workspace_id?: string;
  readonly provider: string;
  readonly key?: string;
  readonly custom_host?: string;
}

export interface CreatedProvider {
  readonly id: string;
  readonly slug: string;
}

export interface ListInWorkspaceRequest extends PageRequest {
  readonly workspace_id?: string;
}

export interface OneInWorkspaceRequest {
  readonly slug: string;
  readonly workspace_id?: string;
}

export interface ConfigRowMessage {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly organisation_id: string;
  readonly workspace_id: string;
  readonly is_default: number;
  readonly status: string;
  readonly owner_id?: string;
  readonly updated_by?: string;
  readonly created_at: Timestamp;
  readonly last_updated_at: Timestamp;
  readonly object: string;
}

export interface ConfigMessage extends ConfigRowMessage {
  readonly config: string;
  readonly format: string;
  readonly type: string;
  readonly version_id: string;
}

export interface CreateConfigRequest {
  readonly name: string;
  readonly config?: Maybe<Value>;
  readonly is_default?: number;
  readonly workspace_id?: string;
  readonly slug?: string;
}

export interface CreateConfigResponse {
  readonly success: boolean;
  readonly data: {
    readonly id: string;
    readonly version_id: string;
    readonly slug: string;
    readonly object: string;
  };
}

export interface UpdateConfigRequest {
  readonly slug: string;
  readonly name?: string;
  readonly config?: Maybe<Value>;
  readonly status?: string;
  readonly workspace_id?: string;
}

export interface UpdateConfigResponse {
  readonly success: boolean;
  readonly data: { readonly version_id: string };
}

export interface LogAttemptMessage {
  readonly target: string;
  readonly provider: string;
  readonly model?: string;
  readonly status: number;
  readonly error?: string;
  readonly started_at_ms: number;
  readonly duration_ms: number;
}

export interface LogMetricsMessage {
  readonly id: string;
  readonly organisation_id: string;
  readonly workspace_id?: string;
  readonly api_key_id?: string;
  readonly created_at: Timestamp;
  readonly is_success: boolean;
  readonly ai_org?: string;
  readonly ai_model?: string;
  readonly req_units: number;
  readonly res_units: number;
  readonly total_units: number;
  readonly cost?: number;
  readonly cost_currency: string;
  readonly request_url: string;
  readonly request_method: string;
  readonly response_status_code: number;
  readonly response_time: number;
  readonly upstream_response_time: number;
  readonly cache_status: string;
  readonly stream_mode: number;
  readonly retry_success_count: number;
  readonly trace_id: string;
  readonly span_id?: string;
  readonly parent_span_id?: string;
  readonly span_name?: string;
  readonly config?: string;
  readonly config_version_id?: string;
  readonly mode: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly state: string;
  readonly error?: string;
  readonly error_message?: string;
  readonly attempts: readonly LogAttemptMessage[];
  readonly model_asked?: string;
  readonly target?: string;
  readonly cached_units: number;
  readonly reasoning_units: number;
  readonly first_byte_time?: number;
  readonly usage_source: string;
}

export interface LogMessage {
  readonly id: string;
  readonly request: { readonly url: string; readonly method: string; readonly body?: string };
  readonly response: {
    readonly status: number;
    readonly body?: string;
    readonly response_time: number;
    readonly last_used_option_json_path?: string;
  };
  readonly organisation_id: string;
  readonly created_at: Timestamp;
  readonly metrics: LogMetricsMessage;
  readonly bodies_cut: boolean;
}

export interface ListLogsRequest {
  readonly workspace_id?: string;
  readonly trace_id?: string;
  readonly after?: string;
  readonly limit?: number;
}

export interface ListLogsResponse {
  readonly object: string;
  readonly data: readonly LogMetricsMessage[];
  readonly cursor: string;
}

/** Every method: what it takes and what it gives. */
export interface AdminServices {
  ApiKeys: {
    CreateApiKey: [CreateApiKeyRequest, CreatedApiKey];
    ListApiKeys: [ListApiKeysRequest, ListMessage<ApiKeyMessage>];
    DeleteApiKey: [{ readonly id: string }, Empty];
  };
  Providers: {
    CreateProvider: [CreateProviderRequest, CreatedProvider];
    ListProviders: [ListInWorkspaceRequest, ListMessage<ProviderMessage>];
    DeleteProvider: [OneInWorkspaceRequest, Empty];
  };
  Configs: {
    CreateConfig: [CreateConfigRequest, CreateConfigResponse];
    ListConfigs: [ListInWorkspaceRequest, ListMessage<ConfigRowMessage>];
    GetConfig: [OneInWorkspaceRequest, ConfigMessage];
    UpdateConfig: [UpdateConfigRequest, UpdateConfigResponse];
    DeleteConfig: [OneInWorkspaceRequest, Empty];
  };
  Logs: {
    ListLogs: [ListLogsRequest, ListLogsResponse];
    GetLog: [{ readonly id: string }, LogMessage];
  };
}
