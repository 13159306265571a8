import type { JsonObject } from '../../../common/core/exchange.js';
import type { InnerJson } from '../inner-json.js';
import type { CanonicalRequest, WireRequest } from '../provider.js';
import { invalid, toConversation, unsupported } from './anthropic-content.js';
import { toToolChoice, toTools } from './anthropic-tools.js';
import { type ClaudeTraits, claudeTraits } from './claude-models.js';
import { claudeSampling, claudeThinking } from './claude-thinking.js';
import { asArray, asObject, asString, shortJson } from './json-shape.js';
import { toStructuredSchema } from './structured-schema.js';

/**
 * The tool through which a model without structured output is made to answer by a schema. The answer is identified by this
 * name alone, because the reader of the reply does not have the request.
 */
export const jsonTool = 'headgate_json_answer';

/** Read below, one by one. */
const mapped = new Set([
  'model',
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'top_k',
  'stop',
  'stream',
  'stream_options',
  'user',
  'safety_identifier',
  'metadata',
  'tools',
  'functions',
  'tool_choice',
  'function_call',
  'parallel_tool_calls',
  'response_format',
  'reasoning_effort',
  'thinking',
  'service_tier',
  'output_config',
  'n',
  'modalities',
  'audio',
]);

/** Anthropic's own fields, under their own names. */
const passed = new Set([
  'stop_sequences',
  'context_management',
  'cache_control',
  'container',
  'mcp_servers',
  'inference_geo',
  'speed',
]);

/** Values that ask for nothing, so that leaving them out loses nothing. */
const neutral: Readonly<Record<string, unknown>> = {
  // Read where the model shows its thinking only on request.
  show_thinking: true,
  frequency_penalty: 0,
  presence_penalty: 0,
  logprobs: false,
  top_logprobs: 0,
  store: false,
};

/** An OpenAI chat request → the body of `POST /v1/messages`. */
export function toMessagesRequest(request: CanonicalRequest, inner: InnerJson): WireRequest {
  const dropped: string[] = [];
  const model = asString(request['model']) ?? '';
  const traits = claudeTraits(model);
  refuseWhatChangesTheAnswer(request);
  const messages = asArray(request['messages']);
  if (messages === null) throw invalid('messages', 'must be a list of messages.');
  const conversation = toConversation(messages, dropped, inner);
  if (conversation.messages.length === 0) {
    throw invalid(
      'messages',
      'must hold at least one user or assistant message with content: this provider needs one beside the system message.',
    );
  }
  const body: JsonObject = { model: request['model'] };
  if (conversation.system.length > 0) body['system'] = conversation.system;
  body['messages'] = conversation.messages;
  for (const key in request) {
    const value = request[key];
    if (mapped.has(key) || value === null || value === undefined) continue;
    if (passed.has(key)) body[key] = value;
    else if (!(key in neutral && neutral[key] === value)) dropped.push(key);
  }
  addTools(request, body, dropped);
  addResponseFormat(request, body, traits, dropped);
  addThinking(request, body, traits, dropped);
  addSampling(request, body, traits, dropped);
  addStop(request, body, dropped);
  addUser(request, body, dropped);
  addServiceTier(request, body, dropped);
  if (request['stream'] === true) body['stream'] = true;
  return { body, dropped };
}

function refuseWhatChangesTheAnswer(request: CanonicalRequest): void {
  const n = request['n'];
  if (n !== undefined && n !== null && n !== 1)
    throw unsupported('n', 'this provider gives one answer a call: ask for n = 1.');
  const modalities = asArray(request['modalities']);
  if (modalities?.some((modality) => modality !== 'text')) {
    throw unsupported('modalities', 'this provider answers in text only.');
  }
  if (asObject(request['audio']) !== null) throw unsupported('audio', 'this provider answers in text only.');
}

function addTools(request: CanonicalRequest, body: JsonObject, dropped: string[]): void {
  const tools = toTools(request, dropped);
  // A choice among no tools is refused by the API, so it is not sent.
  if (tools === null) return;
  const chosen = toToolChoice(request, tools);
  body['tools'] = chosen.tools;
  if (chosen.choice !== null) body['tool_choice'] = chosen.choice;
}

function addResponseFormat(
  request: CanonicalRequest,
  body: JsonObject,
  traits: ClaudeTraits,
  dropped: string[],
): void {
  const own = asObject(request['output_config']);
  if (own !== null) body['output_config'] = { ...own };
  const format = asObject(request['response_format']);
  if (format === null || format['type'] === 'text') return;
  if (format['type'] === 'json_object') {
    // There is no such mode: the model is instructed, without a guarantee.
    const system = (body['system'] as JsonObject[] | undefined) ?? [];
    body['system'] = [
      ...system,
      { type: 'text', text: 'Answer with one JSON object and nothing else: no prose, no code fence.' },
    ];
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
  const structured = traits.structuredOutput
    ? toStructuredSchema(schema, 'response_format.json_schema.schema', dropped)
    : null;
  if (structured !== null) {
    body['output_config'] = { ...own, format: { type: 'json_schema', schema: structured } };
    return;
  }
  const description =
    asString(named['description']) ?? `The answer, as ${asString(named['name']) ?? 'JSON'}.`;
  const tool: JsonObject = { name: jsonTool, description, input_schema: { type: 'object', ...schema } };
  const tools = asArray(body['tools']) ?? [];
  body['tools'] = [...tools, tool];
  body['tool_choice'] = tools.length === 0 ? { type: 'tool', name: jsonTool } : { type: 'any' };
}

function addThinking(
  request: CanonicalRequest,
  body: JsonObject,
  traits: ClaudeTraits,
  dropped: string[],
): void {
  const asked = present(request['max_completion_tokens']) ?? present(request['max_tokens']);
  const maxTokens = asked ?? traits.defaultMaxTokens;
  body['max_tokens'] = maxTokens;
  const { thinking, effort } = claudeThinking(
    request,
    traits,
    { maxTokens, forcesTool: forcesTool(body), answersUnthoughtTools: () => answersUnthoughtTools(body) },
    dropped,
  );
  const budget = thinking?.['budget_tokens'];
  if (asked === null && typeof budget === 'number' && budget >= traits.defaultMaxTokens) {
    body['max_tokens'] = budget + 4096;
  }
  if (effort !== null) {
    const config = asObject(body['output_config']);
    if (config?.['effort'] === undefined) body['output_config'] = { ...config, effort };
  }
  if (thinking !== null) body['thinking'] = thinking;
}

function forcesTool(body: JsonObject): boolean {
  const type = asObject(body['tool_choice'])?.['type'];
  return type === 'any' || type === 'tool';
}

/** With a thinking budget, the turn that called the tools whose results now follow must begin with its thinking. */
function answersUnthoughtTools(body: JsonObject): boolean {
  const messages = body['messages'] as JsonObject[];
  for (let i = messages.length - 1; i >= 0; i--) {
    if (messages[i]?.['role'] !== 'assistant') continue;
    const blocks = messages[i]?.['content'] as JsonObject[];
    const first = blocks[0]?.['type'];
    return (
      blocks.some((block) => block['type'] === 'tool_use') &&
      first !== 'thinking' &&
      first !== 'redacted_thinking'
    );
  }
  return false;
}

function addSampling(
  request: CanonicalRequest,
  body: JsonObject,
  traits: ClaudeTraits,
  dropped: string[],
): void {
  const { temperature, topP, topK } = claudeSampling(request, traits, asObject(body['thinking']), dropped);
  if (temperature !== null) body['temperature'] = temperature;
  if (topP !== null) body['top_p'] = topP;
  if (topK !== null) body['top_k'] = topK;
}

function addStop(request: CanonicalRequest, body: JsonObject, dropped: string[]): void {
  const stop = present(request['stop']);
  if (stop === null) return;
  const list = typeof stop === 'string' ? [stop] : asArray(stop);
  if (list === null) throw invalid('stop', 'must be a string or a list of strings.');
  // The API refuses sequences of nothing but white space.
  const kept = list.filter((sequence, i) => {
    if (typeof sequence !== 'string') throw invalid(`stop[${i}]`, 'must be a string.');
    if (sequence.trim() !== '') return true;
    dropped.push(typeof stop === 'string' ? 'stop' : `stop[${i}]`);
    return false;
  });
  if (kept.length > 0) body['stop_sequences'] = kept;
}

function addUser(request: CanonicalRequest, body: JsonObject, dropped: string[]): void {
  const metadata = asObject(request['metadata']);
  const user =
    present(request['user']) ?? present(request['safety_identifier']) ?? present(metadata?.['user_id']);
  if (typeof user === 'string' && user !== '') body['metadata'] = { user_id: user };
  for (const key in metadata) if (key !== 'user_id') dropped.push(`metadata.${key}`);
}

/** OpenAI's tiers that have a counterpart; Anthropic's own names pass. */
const tiers: Readonly<Record<string, string>> = {
  auto: 'auto',
  default: 'standard_only',
  standard_only: 'standard_only',
};

function addServiceTier(request: CanonicalRequest, body: JsonObject, dropped: string[]): void {
  const tier = present(request['service_tier']);
  if (tier === null) return;
  const known = typeof tier === 'string' && Object.hasOwn(tiers, tier) ? tiers[tier] : undefined;
  if (known !== undefined) body['service_tier'] = known;
  else dropped.push('service_tier');
}

function present(value: unknown): unknown {
  return value === undefined ? null : value;
}
