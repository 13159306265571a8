import type { ErrorObject, ValidateFunction } from 'ajv';
import { lazyAjv } from '../core/ajv.js';
import type { JsonObject } from '../core/exchange.js';
import type { ProviderField } from '../core/provider-fields.js';
import { providerFields } from '../core/provider-fields.js';
import { childPath, type Findings } from './findings.js';

/** `conditional` is known, and refused by name for now. */
export type Mode = 'single' | 'fallback' | 'loadbalance' | 'conditional';

/** One config or target as its author wrote it, keys in snake case, checked key by key. `targets` stands apart. */
export interface NodeFields extends Readonly<Partial<Record<ProviderField, string | JsonObject>>> {
  readonly strategy?: { readonly mode: Mode; readonly on_status_codes?: readonly number[] };
  readonly name?: string;
  readonly provider?: string;
  readonly virtual_key?: string;
  readonly api_key?: string;
  readonly custom_host?: string;
  readonly weight?: number;
  readonly override_params?: Readonly<Record<string, unknown>>;
  readonly forward_headers?: readonly string[];
  readonly request_timeout?: number;
  readonly retry?: {
    readonly attempts: number;
    readonly on_status_codes?: readonly number[];
    readonly use_retry_after_header?: boolean;
  };
  readonly strict_open_ai_compliance?: boolean;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** A config or target that was read and checked by itself. */
export interface Draft {
  readonly path: string;
  readonly fields: NodeFields;
  /** null: it has no `targets`. Empty: it has some, but not all of them could be read. */
  readonly children: readonly Draft[] | null;
}

/** Longest list of status codes or header names. */
export const maxListLength = 100;

// `description` is what the author reads when a rule is broken: it completes the sentence "<path> …".
const text = (maxLength: number, description: string) => ({
  type: 'string',
  minLength: 1,
  maxLength,
  description,
});

const statusCodes = {
  type: 'array',
  maxItems: maxListLength,
  description: `must be a list of at most ${maxListLength} HTTP statuses`,
  items: { type: 'integer', minimum: 100, maximum: 599, description: 'must be an HTTP status, 100 to 599' },
};

const headerValue = {
  ...text(1024, 'must be text that fits in a header: 1 to 1024 visible ASCII characters'),
  pattern: '^[\\x20-\\x7e]+$',
};

const nodeSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    strategy: {
      type: 'object',
      description: 'must be an object with a mode',
      additionalProperties: false,
      required: ['mode'],
      properties: {
        mode: {
          type: 'string',
          enum: ['single', 'fallback', 'loadbalance', 'conditional'],
          description: 'must be single, fallback or loadbalance',
        },
        on_status_codes: statusCodes,
      },
    },
    name: text(256, 'must be text of 1 to 256 characters'),
    provider: text(128, 'must be the name of a provider, or @slug of a stored one'),
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
    override_params: { type: 'object', description: 'must be an object of body parameters' },
    forward_headers: {
      type: 'array',
      maxItems: maxListLength,
      description: `must be a list of at most ${maxListLength} header names`,
      items: text(256, 'must be a header name'),
    },
    request_timeout: {
      type: 'integer',
      minimum: 1,
      maximum: 86_400_000,
      description: 'must be a whole number of milliseconds, 1 to 86400000',
    },
    retry: {
      type: 'object',
      description: 'must be an object with attempts',
      additionalProperties: false,
      required: ['attempts'],
      properties: {
        attempts: {
          type: 'integer',
          minimum: 0,
          maximum: 5,
          description: 'must be a whole number from 0 to 5',
        },
        on_status_codes: statusCodes,
        use_retry_after_header: { type: 'boolean', description: 'must be true or false' },
      },
    },
    strict_open_ai_compliance: { type: 'boolean', description: 'must be true or false' },
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

/** Keys that this version understands, by the object in which they stand. */
export const knownKeys = {
  node: new Set([...Object.keys(nodeSchema.properties), 'targets']),
  strategy: new Set(Object.keys(nodeSchema.properties.strategy.properties)),
  retry: new Set(Object.keys(nodeSchema.properties.retry.properties)),
} as const;

/**
 * Keys of the specification's schema that this version does not act on yet. They are refused by name: a guardrail or
 * a cache rule that is silently passed over would be worse than an error.
 */
export const laterKeys = {
  node: new Set([
    'prompt_id',
    'on_status_codes',
    'default_params',
    'drop_params',
    'cache',
    'passthrough',
    'fetch_integrated_models',
    'input_guardrails',
    'output_guardrails',
    'default_input_guardrails',
    'default_output_guardrails',
    'before_request_hooks',
    'after_request_hooks',
    'cb_config',
    'vertex_storage_bucket_name',
    'vertex_skip_ptu_cost_attribution',
    ...['aws_s3_bucket', 'aws_s3_object_key'],
    ...['amz_server_side_encryption', 'amz_server_side_encryption_aws_kms_key_id'],
    ...['amzn_sagemaker_custom_attributes', 'amzn_sagemaker_target_model', 'amzn_sagemaker_target_variant'],
    ...['amzn_sagemaker_target_container_hostname', 'amzn_sagemaker_inference_id'],
    ...[
      'amzn_sagemaker_enable_explanations',
      'amzn_sagemaker_inference_component',
      'amzn_sagemaker_session_id',
    ],
    ...['amzn_sagemaker_model_name', 'provider_file_name', 'provider_model', 'provider_batch_endpoint'],
    ...['file_upload_size', 'workers_ai_account_id', 'huggingface_base_url', 'fireworks_account_id'],
    ...[
      'snowflake_account',
      'oracle_api_version',
      'oracle_version',
      'oracle_region',
      'oracle_compartment_id',
    ],
    ...['oracle_serving_mode', 'oracle_tenancy', 'oracle_user', 'oracle_fingerprint', 'oracle_private_key'],
    ...[
      'oracle_key_passphrase',
      'stability_client_id',
      'stability_client_user_id',
      'stability_client_version',
    ],
  ]),
  strategy: new Set(['conditions', 'default', 'sticky', 'sticky_session', 'cb_config']),
  retry: new Set<string>(),
} as const;

/** Other spellings of a key that mean the same. */
export const keyAliases: Readonly<Record<keyof typeof knownKeys, ReadonlyMap<string, string>>> = {
  node: new Map(),
  strategy: new Map(),
  retry: new Map([['use_retry_after_headers', 'use_retry_after_header']]),
};

// `verbose` gives an error its schema, whose description is the message; the value it carries too is never shown.
const ajv = lazyAjv({ allErrors: true, verbose: true, strict: true, strictTypes: false });
let validate: ValidateFunction<NodeFields> | null = null;

/** Checks one config or target against the schema; what is wrong goes into `findings`. */
export function isNode(candidate: unknown, path: string, findings: Findings): candidate is NodeFields {
  validate ??= ajv().compile<NodeFields>(nodeSchema);
  if (validate(candidate)) return true;
  for (const error of validate.errors ?? []) report(error, path, findings);
  return false;
}

function report(error: ErrorObject, path: string, findings: Findings): void {
  // The name that broke `propertyNames` is reported by the rule inside it; this one only says that it did.
  if (error.keyword === 'propertyNames') return;
  const at = pathOf(path, error.instancePath);
  if (error.keyword === 'required') {
    findings.add(childPath(at, (error.params as { missingProperty: string }).missingProperty), 'is required');
    return;
  }
  const schema = error.parentSchema as { description?: string } | undefined;
  findings.add(at, schema?.description ?? error.message ?? 'is not valid');
}

/** A JSON pointer below `path` as the path that an author reads: `/retry/on_status_codes/0` → `.retry.on_status_codes[0]`. */
function pathOf(path: string, pointer: string): string {
  let at = path;
  if (pointer === '') return at;
  for (const part of pointer.slice(1).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    at = /^\d+$/.test(key) ? `${at}[${key}]` : childPath(at, key);
  }
  return at;
}
