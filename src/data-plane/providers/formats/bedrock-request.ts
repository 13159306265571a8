import type { JsonObject } from '../../../common/core/exchange.js';
import { stringifyJson } from '../../../common/json/json.js';
import type { InnerJson } from '../inner-json.js';
import type { CanonicalRequest, WireRequest } from '../provider.js';
import { invalid, unsupported } from './anthropic-content.js';
import { jsonTool } from './anthropic-request.js';
import { type BedrockConversation, toConversation } from './bedrock-content.js';
import { addModelFields } from './bedrock-model-fields.js';
import { type BedrockTraits, bedrockTraits } from './bedrock-models.js';
import { toTools } from './bedrock-tools.js';
import { asArray, asObject, asString, shortJson } from './json-shape.js';
import { toStructuredSchema } from './structured-schema.js';

/** Read below or in bedrock-model-fields, one by one. */
const mapped = new Set([
  // In the path, not in the body.
  'model',
  'stream',
  'stream_options',
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'top_k',
  'stop',
  'user',
  'safety_identifier',
  'metadata',
  'tools',
  'functions',
  'tool_choice',
  'function_call',
  'response_format',
  'reasoning_effort',
  'thinking',
  'service_tier',
  'n',
  'modalities',
  'audio',
  'frequency_penalty',
  'presence_penalty',
  'seed',
  'anthropic_beta',
  'context_management',
  'output_config',
]);

/** Converse's own fields, under its name or as OpenAI would spell it. */
const own: Readonly<Record<string, string>> = {
  guardrail_config: 'guardrailConfig',
  performance_config: 'performanceConfig',
  request_metadata: 'requestMetadata',
  prompt_variables: 'promptVariables',
  additional_model_request_fields: 'additionalModelRequestFields',
  additional_model_response_field_paths: 'additionalModelResponseFieldPaths',
};
const ownNames = new Set([...Object.values(own), 'outputConfig', 'serviceTier']);

/** Values that ask for nothing, so that leaving them out loses nothing. */
const neutral: Readonly<Record<string, unknown>> = {
  // Read where the model shows its thinking only on request.
  show_thinking: true,
  logprobs: false,
  top_logprobs: 0,
  store: false,
  parallel_tool_calls: true,
};

/** An OpenAI chat request → the body of Converse and ConverseStream. */
export function toConverseRequest(request: CanonicalRequest, inner: InnerJson): WireRequest {
  const dropped: string[] = [];
  const traits = bedrockTraits(asString(request['model']) ?? '');
  refuseWhatChangesTheAnswer(request);
  const messages = asArray(request['messages']);
  if (messages === null) throw invalid('messages', 'must be a list of messages.');
  const conversation = toConversation(messages, traits, dropped, inner);
  // A prompt of Prompt management may bring its own.
  if (
    conversation.messages.length === 0 &&
    !('prompt_variables' in request || 'promptVariables' in request)
  ) {
    throw invalid(
      'messages',
      'must hold at least one user or assistant message with content: this provider needs one beside the system message.',
    );
  }
  const body: JsonObject = {};
  for (const key in request) {
    const value = request[key];
    if (mapped.has(key) || value === null || value === undefined) continue;
    if (ownNames.has(key)) body[key] = value;
    else if (Object.hasOwn(own, key)) body[own[key] as string] = camelKeys(key, value);
    else if (!(key in neutral && neutral[key] === value)) dropped.push(key);
  }
  body['messages'] = conversation.messages;
  const { toolConfig, vendorTools } = toTools(request, conversation.messages, traits, dropped);
  if (toolConfig !== null) body['toolConfig'] = toolConfig;
  addResponseFormat(request, body, conversation, traits, dropped);
  if (conversation.system.length > 0) body['system'] = conversation.system;
  addMetadata(request, body, dropped);
  addServiceTier(request, body, dropped);
  const inference = addModelFields(request, body, { conversation, vendorTools, traits }, dropped);
  const stop = stopSequences(request, traits, dropped);
  if (stop !== null) inference['stopSequences'] = stop;
  if (Object.keys(inference).length > 0) body['inferenceConfig'] = inference;
  return { body, dropped };
}

function refuseWhatChangesTheAnswer(request: CanonicalRequest): void {
  const n = request['n'];
  if (n !== undefined && n !== null && n !== 1)
    throw unsupported('n', 'this provider gives one answer a call: ask for n = 1.');
  if (asArray(request['modalities'])?.some((modality) => modality !== 'text'))
    throw unsupported('modalities', 'this provider answers in text only.');
  if (asObject(request['audio']) !== null) throw unsupported('audio', 'this provider answers in text only.');
}

/** `guardrail_identifier` within `guardrail_config` → `guardrailIdentifier`. What else is the caller's stays as it is. */
function camelKeys(key: string, value: unknown): unknown {
  const object = key === 'guardrail_config' ? asObject(value) : null;
  if (object === null) return value;
  return Object.fromEntries(
    Object.entries(object).map(([name, member]) => [
      name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      member,
    ]),
  );
}

function addResponseFormat(
  request: CanonicalRequest,
  body: JsonObject,
  { system }: BedrockConversation,
  traits: BedrockTraits,
  dropped: string[],
): void {
  const format = asObject(request['response_format']);
  if (format === null || format['type'] === 'text') return;
  if (format['type'] === 'json_object') {
    // There is no such mode: the model is instructed, without a guarantee.
    system.push({ text: 'Answer with one JSON object and nothing else: no prose, no code fence.' });
    dropped.push('response_format');
    return;
  }
  if (format['type'] !== 'json_schema') {
    throw unsupported(
      'response_format.type',
      `${shortJson(format['type'])} cannot be asked of this provider.`,
    );
  }
  const named = asObject(format['json_schema']);
  const schema = asObject(named?.['schema']);
  if (named === null || schema === null)
    throw invalid('response_format.json_schema.schema', 'must be a JSON schema.');
  const name = asString(named['name']);
  const description = asString(named['description']);
  const structured = traits.structuredOutput
    ? toStructuredSchema(schema, 'response_format.json_schema.schema', dropped)
    : null;
  if (structured !== null) {
    const jsonSchema: JsonObject = { schema: stringifyJson(structured) };
    if (name !== null) jsonSchema['name'] = name;
    if (description !== null) jsonSchema['description'] = description;
    body['outputConfig'] = { textFormat: { type: 'json_schema', structure: { jsonSchema } } };
    return;
  }
  if (!traits.forcedTool) {
    const text = stringifyJson(schema);
    system.push({ text: `Answer with one JSON object that follows this schema, and nothing else: ${text}` });
    dropped.push('response_format');
    return;
  }
  // Through a tool that must be called; the answer is identified by its name.
  const tool = {
    toolSpec: {
      name: jsonTool,
      description: description ?? `The answer, as ${name ?? 'JSON'}.`,
      inputSchema: { json: { type: 'object', ...schema } },
    },
  };
  const tools = asArray(asObject(body['toolConfig'])?.['tools']) ?? [];
  const alone = tools.length === 0 && traits.namedTool;
  body['toolConfig'] = {
    tools: [...tools, tool],
    toolChoice: alone ? { tool: { name: jsonTool } } : { any: {} },
  };
}

function stopSequences(
  request: CanonicalRequest,
  traits: BedrockTraits,
  dropped: string[],
): unknown[] | null {
  const stop = request['stop'] ?? null;
  if (stop === null) return null;
  const list = typeof stop === 'string' ? [stop] : asArray(stop);
  if (list === null) throw invalid('stop', 'must be a string or a list of strings.');
  const kept = list.filter((sequence, i) => {
    if (typeof sequence !== 'string') throw invalid(`stop[${i}]`, 'must be a string.');
    // Claude refuses sequences of nothing but white space, every model refuses empty ones.
    if (traits.claude === null ? sequence !== '' : sequence.trim() !== '') return true;
    dropped.push(typeof stop === 'string' ? 'stop' : `stop[${i}]`);
    return false;
  });
  return kept.length > 0 ? kept : null;
}

/** `metadata` goes where Bedrock keeps such a thing, in its log of invocations (API_runtime_Converse.html). */
function addMetadata(request: CanonicalRequest, body: JsonObject, dropped: string[]): void {
  const metadata = asObject(request['metadata']);
  if (metadata === null) return;
  const kept: JsonObject = {};
  for (const key in metadata) {
    const value = metadata[key];
    if (key === 'user_id') continue;
    if (typeof value === 'string' && allowed.test(key) && allowed.test(value)) kept[key] = value;
    else dropped.push(`metadata.${key}`);
  }
  if (Object.keys(kept).length > 0)
    body['requestMetadata'] = { ...kept, ...asObject(body['requestMetadata']) };
}

const allowed = /^[a-zA-Z0-9\s:_@$#=/+,.-]{1,256}$/;

const tiers = new Set<unknown>(['default', 'priority', 'flex', 'reserved']);

function addServiceTier(request: CanonicalRequest, body: JsonObject, dropped: string[]): void {
  const tier = request['service_tier'] ?? null;
  if (tier === null || tier === 'auto') return;
  const type = asObject(tier)?.['type'] ?? tier;
  if (tiers.has(type)) body['serviceTier'] = { type };
  else dropped.push('service_tier');
}
