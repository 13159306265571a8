import type { JsonObject } from '../../common/core/exchange.js';
import type { ProviderField } from '../../common/vocabulary/provider-fields.js';
import { providerFields } from '../../common/vocabulary/provider-fields.js';
import type { Findings } from './findings.js';
import { type GuardrailLists, guardrailLists, maxListLength } from './guardrails/lists.js';
import { type ConfigSchema, checkSchema } from './schema-check.js';

/** How a config with several targets chooses among them. */
export const modes = [
  'single',
  'fallback',
  'loadbalance',
  'conditional',
  'least_latency',
  'least_cost',
  'least_busy',
  'priority',
] as const;

export type Mode = (typeof modes)[number];

/** One `if` of a conditional strategy; the query is read by conditions.ts. */
export interface Condition {
  readonly query: JsonObject;
  readonly then: string;
}

export interface BreakerFields {
  readonly failure_threshold?: number;
  readonly failure_threshold_percentage?: number;
  readonly minimum_requests?: number;
  readonly cooldown_interval: number;
  readonly failure_status_codes?: readonly number[];
}

export interface StrategyFields {
  readonly mode: Mode;
  readonly on_status_codes?: readonly number[];
  readonly conditions?: readonly Condition[];
  readonly default?: string;
  readonly sticky?: {
    readonly enabled: boolean;
    readonly hash_fields?: readonly string[];
    readonly ttl?: number;
  };
  readonly affinity?: { readonly enabled: boolean; readonly ttl?: number };
  readonly hedge?: {
    readonly percentile?: number;
    readonly min_delay?: number;
    readonly max_extra?: number;
  };
  readonly cb_config?: BreakerFields;
}

/** One config or target as its author wrote it, keys in snake case, checked key by key. `targets` and the mirror's target are checked separately. */
export interface NodeFields
  extends Readonly<Partial<Record<ProviderField, string | JsonObject>>>,
    GuardrailLists {
  readonly strategy?: StrategyFields;
  readonly name?: string;
  readonly provider?: string;
  readonly virtual_key?: string;
  readonly api_key?: string;
  readonly custom_host?: string;
  readonly weight?: number;
  readonly priority?: number;
  readonly default_params?: Readonly<Record<string, unknown>>;
  readonly override_params?: Readonly<Record<string, unknown>>;
  readonly drop_params?: readonly string[];
  readonly forward_headers?: readonly string[];
  readonly request_timeout?: number;
  readonly deadline?: number;
  readonly retry?: {
    readonly attempts: number;
    readonly on_status_codes?: readonly number[];
    readonly use_retry_after_header?: boolean;
  };
  readonly on_status_codes?: readonly number[];
  readonly cb_config?: BreakerFields;
  readonly cache?: {
    readonly mode: 'simple' | 'semantic';
    readonly max_age?: number;
    readonly similarity?: number;
    readonly embedding?: { readonly provider: string; readonly model: string };
  };
  readonly concurrency?: {
    readonly min?: number;
    readonly max?: number;
    readonly queue?: number;
    readonly max_wait?: number;
    readonly priority?: 'high' | 'normal' | 'low';
  };
  readonly mirror?: { readonly share: number };
  readonly passthrough?: boolean;
  readonly strict_open_ai_compliance?: boolean;
  /** Another name of the same. */
  readonly strict_standard_compliance?: boolean;
  readonly fetch_integrated_models?: boolean;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly plugins?: readonly string[];
}

/** A config or target that was read and checked by itself. */
export interface Draft {
  readonly path: string;
  readonly fields: NodeFields;
  /** null: it has no `targets`. Empty: it has some, but not all of them could be read. */
  readonly children: readonly Draft[] | null;
  /** What a mirror sends to. */
  readonly mirror: Draft | null;
}

const text = (maxLength: number, description: string): ConfigSchema => ({
  type: 'string',
  minLength: 1,
  maxLength,
  description,
});

const statusCodes: ConfigSchema = {
  type: 'array',
  maxItems: maxListLength,
  description: `must be a list of at most ${maxListLength} HTTP statuses`,
  items: { type: 'integer', minimum: 100, maximum: 599, description: 'must be an HTTP status, 100 to 599' },
};

const headerValue: ConfigSchema = {
  ...text(1024, 'must be text that fits in a header: 1 to 1024 visible ASCII characters'),
  pattern: '^[\\x20-\\x7e]+$',
};

const wholeNumber = (minimum: number, maximum: number, what = ''): ConfigSchema => ({
  type: 'integer',
  minimum,
  maximum,
  description: `must be a whole number${what} from ${minimum} to ${maximum}`,
});

const share = (minimum: number, maximum: number): ConfigSchema => ({
  type: 'number',
  minimum,
  maximum,
  description: `must be a number from ${minimum} to ${maximum}`,
});

const flag: ConfigSchema = { type: 'boolean', description: 'must be true or false' };

type Group = ConfigSchema & { readonly properties: object };

/** An object of settings. `required` are named one by one where they are missing. */
const group = (properties: Record<string, ConfigSchema>, required: readonly string[] = []): Group => ({
  type: 'object',
  description:
    required.length === 0 ? 'must be an object' : `must be an object with ${required.join(' and ')}`,
  additionalProperties: false,
  required,
  properties,
});

const seconds: ConfigSchema = {
  type: 'number',
  exclusiveMinimum: 0,
  maximum: 31_536_000,
  description: 'must be a number of seconds above 0 and up to 31536000',
};

const cbConfig = group(
  {
    failure_threshold: wholeNumber(1, 1_000_000),
    failure_threshold_percentage: {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: 100,
      description: 'must be a number above 0 and up to 100',
    },
    minimum_requests: wholeNumber(1, 1_000_000),
    cooldown_interval: wholeNumber(0, 86_400_000, ' of milliseconds'),
    failure_status_codes: statusCodes,
  },
  ['cooldown_interval'],
);

const providerName = text(128, 'must be the name of a provider, or @slug of a stored one');

/** The schema of each group of keys, by the name under which draft.ts reads it. */
const groups = {
  strategy: group(
    {
      mode: { type: 'string', enum: modes, description: `must be one of ${modes.join(', ')}` },
      on_status_codes: statusCodes,
      conditions: {
        type: 'array',
        minItems: 1,
        maxItems: maxListLength,
        description: `must be a list of 1 to ${maxListLength} conditions`,
        items: group(
          {
            query: { type: 'object', description: 'must be an object of conditions' },
            // biome-ignore lint/suspicious/noThenProperty: the key is the specification's, of a schema; no promise is involved.
            then: text(256, 'must be the name of a target'),
          },
          ['query', 'then'],
        ),
      },
      default: text(256, 'must be the name of a target'),
      sticky: group(
        {
          enabled: flag,
          hash_fields: {
            type: 'array',
            maxItems: 16,
            description: 'must be a list of at most 16 fields',
            items: {
              ...text(256, 'must begin with metadata., params. or headers.'),
              pattern: '^(metadata|params|headers)\\..+$',
            },
          },
          ttl: seconds,
        },
        ['enabled'],
      ),
      affinity: group({ enabled: flag, ttl: seconds }, ['enabled']),
      hedge: group({
        percentile: share(50, 99.9),
        min_delay: wholeNumber(0, 600_000, ' of milliseconds'),
        max_extra: share(0, 1),
      }),
      cb_config: cbConfig,
    },
    ['mode'],
  ),
  retry: group({ attempts: wholeNumber(0, 5), on_status_codes: statusCodes, use_retry_after_header: flag }, [
    'attempts',
  ]),
  cb_config: cbConfig,
  cache: group(
    {
      mode: { type: 'string', enum: ['simple', 'semantic'], description: 'must be simple or semantic' },
      max_age: wholeNumber(60, 7_776_000, ' of seconds'),
      similarity: share(0.5, 1),
      embedding: group(
        { provider: providerName, model: text(256, 'must be the name of an embedding model') },
        ['provider', 'model'],
      ),
    },
    ['mode'],
  ),
  concurrency: group({
    min: wholeNumber(1, 100_000),
    max: wholeNumber(1, 100_000),
    queue: wholeNumber(0, 100_000),
    max_wait: wholeNumber(0, 600_000, ' of milliseconds'),
    priority: {
      type: 'string',
      enum: ['high', 'normal', 'low'],
      description: 'must be high, normal or low',
    },
  }),
  mirror: group({ share: share(0, 1) }, ['share']),
};

export const nodeSchema: Group = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ...groups,
    name: text(256, 'must be text of 1 to 256 characters'),
    provider: providerName,
    virtual_key: {
      ...text(128, 'must be the slug of a stored provider'),
      pattern: '^@?[A-Za-z0-9][A-Za-z0-9._-]*$',
    },
    api_key: {
      ...text(16_384, 'must be a provider key: visible ASCII characters, no blanks'),
      pattern: '^[\\x21-\\x7e]+$',
    },
    custom_host: text(2048, 'must be an http or https URL'),
    weight: {
      type: 'number',
      minimum: 0,
      maximum: 1e9,
      description: 'must be a number from 0 to 1000000000',
    },
    priority: wholeNumber(0, 1000),
    default_params: { type: 'object', description: 'must be an object of body parameters' },
    override_params: { type: 'object', description: 'must be an object of body parameters' },
    drop_params: {
      type: 'array',
      maxItems: maxListLength,
      description: `must be a list of at most ${maxListLength} parameters`,
      items: text(256, 'must be the path of a body parameter'),
    },
    on_status_codes: statusCodes,
    deadline: wholeNumber(1, 86_400_000, ' of milliseconds'),
    passthrough: flag,
    forward_headers: {
      type: 'array',
      maxItems: maxListLength,
      description: `must be a list of at most ${maxListLength} header names`,
      items: text(256, 'must be a header name'),
    },
    plugins: {
      type: 'array',
      maxItems: 16,
      description: 'must be a list of at most 16 plugins',
      items: { ...text(64, 'must be the name of a plugin'), pattern: '^[a-z][a-z0-9-]*$' },
    },
    request_timeout: {
      type: 'integer',
      minimum: 1,
      maximum: 86_400_000,
      description: 'must be a whole number of milliseconds, 1 to 86400000',
    },
    ...guardrailLists,
    strict_open_ai_compliance: flag,
    strict_standard_compliance: flag,
    fetch_integrated_models: flag,
    metadata: {
      type: 'object',
      maxProperties: 64,
      description: 'must be an object of at most 64 texts',
      propertyNames: { maxLength: 128, description: 'must have keys of at most 128 characters' },
      additionalProperties: {
        type: 'string',
        maxLength: 128,
        description: 'must be text of at most 128 characters',
      },
    },
    ...Object.fromEntries(providerFields.map((field) => [field, headerValue])),
    // As a stored one is given: the file that Google hands out, as an object or as its text.
    vertex_service_account_json: {
      type: ['string', 'object'],
      maxLength: 16_384,
      description: 'must be the JSON of a service account: an object or its text',
    },
  },
};

const { strategy, cache } = groups;

/** Keys that this version understands, by the object that contains them. */
export const knownKeys = {
  node: new Set([...Object.keys(nodeSchema.properties), 'targets']),
  strategy: new Set(Object.keys(strategy.properties)),
  condition: new Set(['query', 'then']),
  sticky: new Set(['enabled', 'hash_fields', 'ttl']),
  affinity: new Set(['enabled', 'ttl']),
  hedge: new Set(['percentile', 'min_delay', 'max_extra']),
  retry: new Set(Object.keys(groups.retry.properties)),
  cb_config: new Set(Object.keys(cbConfig.properties)),
  cache: new Set(Object.keys(cache.properties)),
  embedding: new Set(['provider', 'model']),
  concurrency: new Set(Object.keys(groups.concurrency.properties)),
  mirror: new Set(['share', 'target']),
} as const;

export type KeySet = keyof typeof knownKeys;

/** Which keys of an object hold another object of known keys. */
export const nestedKeys: Partial<Record<KeySet, readonly KeySet[]>> = {
  node: ['strategy', 'retry', 'cb_config', 'cache', 'concurrency', 'mirror'],
  strategy: ['sticky', 'affinity', 'hedge', 'cb_config'],
  cache: ['embedding'],
};

/**
 * Keys of the specification's schema that this version does not act on yet. They are refused by name: a
 * setting that is silently passed over would be worse than an error.
 */
export const laterKeys: Partial<Record<KeySet, ReadonlySet<string>>> = {
  node: new Set([
    'prompt_id',
    'default_input_guardrails',
    'default_output_guardrails',
    'vertex_storage_bucket_name',
    'vertex_skip_ptu_cost_attribution',
    ...['aws_s3_bucket', 'aws_s3_object_key'],
    ...['amz_server_side_encryption', 'amz_server_side_encryption_aws_kms_key_id'],
    ...['amzn_sagemaker_model_name', 'provider_file_name', 'provider_model', 'provider_batch_endpoint'],
    ...['file_upload_size', 'huggingface_base_url', 'fireworks_account_id'],
    ...['snowflake_account', 'oracle_api_version'],
    ...['stability_client_id', 'stability_client_user_id', 'stability_client_version'],
  ]),
};

/** Other spellings of a key that mean the same. */
export const keyAliases: Partial<Record<KeySet, ReadonlyMap<string, string>>> = {
  strategy: new Map([['sticky_session', 'sticky']]),
  retry: new Map([['use_retry_after_headers', 'use_retry_after_header']]),
};

/** Checks one config or target against the schema; what is wrong goes into `findings`. */
export function isNode(candidate: unknown, path: string, findings: Findings): candidate is NodeFields {
  const before = findings.count;
  checkSchema(candidate, nodeSchema, path, findings);
  return findings.count === before;
}
