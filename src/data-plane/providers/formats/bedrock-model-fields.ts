import type { JsonObject } from '../../../common/core/exchange.js';
import { numberOf } from '../../../common/json/json.js';
import type { CanonicalRequest } from '../provider.js';
import { invalid } from './anthropic-content.js';
import type { BedrockConversation, BedrockMessage } from './bedrock-content.js';
import type { BedrockTraits } from './bedrock-models.js';
import { claudeSampling, claudeThinking } from './claude-thinking.js';
import { asArray, asObject } from './json-shape.js';

/** What of the request is written already. */
interface Written {
  readonly conversation: BedrockConversation;
  readonly vendorTools: readonly JsonObject[];
  readonly traits: BedrockTraits;
}

/**
 * Fields that Converse leaves to each vendor, in `additionalModelRequestFields`: OpenAI's name → the vendor's
 * (userguide/model-parameters-cohere-command-r-plus.html, -jamba.html, -mistral-text-completion.html,
 * nova/latest/userguide/using-converse-api.html; `reasoning_effort` of gpt-oss as OpenAI has it).
 */
const vendorFields: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  cohere: {
    top_k: 'k',
    frequency_penalty: 'frequency_penalty',
    presence_penalty: 'presence_penalty',
    seed: 'seed',
  },
  ai21: { frequency_penalty: 'frequency_penalty', presence_penalty: 'presence_penalty' },
  mistral: { top_k: 'top_k' },
  openai: { reasoning_effort: 'reasoning_effort' },
};

/** For a model of unknown vendor, the most usual spelling. */
const unknownFields: Readonly<Record<string, string>> = { top_k: 'top_k', thinking: 'thinking' };

const optional = [
  'top_k',
  'thinking',
  'reasoning_effort',
  'frequency_penalty',
  'presence_penalty',
  'seed',
] as const;

/** Writes `additionalModelRequestFields`; gives `inferenceConfig`, its stop sequences left out. */
export function addModelFields(
  request: CanonicalRequest,
  body: JsonObject,
  written: Written,
  dropped: string[],
): JsonObject {
  const { traits } = written;
  const fields: JsonObject = {};
  const inference =
    traits.claude === null
      ? otherFields(request, fields, traits, dropped)
      : claudeFields(request, body, fields, written, dropped);
  // Explicit fields of the caller take precedence.
  const given = asObject(body['additionalModelRequestFields']);
  if (Object.keys(fields).length > 0 || given !== null) {
    body['additionalModelRequestFields'] = { ...fields, ...given };
  }
  return inference;
}

function claudeFields(
  request: CanonicalRequest,
  body: JsonObject,
  fields: JsonObject,
  { conversation, vendorTools, traits }: Written,
  dropped: string[],
): JsonObject {
  const claude = traits.claude!;
  const asked = request['max_completion_tokens'] ?? request['max_tokens'] ?? null;
  const turn = {
    // Left out, an answer may be as long as the model can write.
    maxTokens: asked ?? Number.POSITIVE_INFINITY,
    forcesTool: forcesTool(body),
    answersUnthoughtTools: () => answersUnthoughtTools(conversation.messages),
  };
  const { thinking, effort } = claudeThinking(request, claude, turn, dropped);
  const { temperature, topP, topK } = claudeSampling(request, claude, thinking, dropped);
  if (thinking !== null) fields['thinking'] = thinking;
  if (topK !== null) fields['top_k'] = topK;
  const config = asObject(request['output_config']);
  if (config !== null || effort !== null) {
    fields['output_config'] = effort === null ? config : { effort, ...config };
  }
  const beta = request['anthropic_beta'];
  if (typeof beta === 'string') fields['anthropic_beta'] = beta.split(',').map((name) => name.trim());
  else if (asArray(beta) !== null) fields['anthropic_beta'] = beta;
  if (asObject(request['context_management']) !== null)
    fields['context_management'] = request['context_management'];
  if (vendorTools.length > 0) fields['tools'] = vendorTools;
  const user = userOf(request);
  if (user !== null) fields['metadata'] = { user_id: user };
  for (const key of ['frequency_penalty', 'presence_penalty', 'seed'] as const)
    dropUnlessZero(request, key, dropped);
  return inferenceOf(asked, temperature, topP);
}

function otherFields(
  request: CanonicalRequest,
  fields: JsonObject,
  traits: BedrockTraits,
  dropped: string[],
): JsonObject {
  const { vendor } = traits;
  const known = vendor === null ? unknownFields : (vendorFields[vendor] ?? {});
  for (const key of optional) {
    const value = request[key] ?? null;
    if (value === null) continue;
    const name = known[key];
    if (name !== undefined) fields[name] = value;
    else if (vendor === 'amazon' && key === 'top_k') fields['inferenceConfig'] = { topK: value };
    else if (vendor === 'amazon' && key === 'reasoning_effort') addNovaReasoning(request, fields, dropped);
    else dropUnlessZero(request, key, dropped);
  }
  for (const key of ['anthropic_beta', 'context_management', 'output_config'] as const) {
    if ((request[key] ?? null) !== null) dropped.push(key);
  }
  if (userOf(request) !== null) {
    for (const key of ['user', 'safety_identifier'] as const)
      if (typeof request[key] === 'string') dropped.push(key);
    if (asObject(request['metadata'])?.['user_id'] !== undefined) dropped.push('metadata.user_id');
  }
  const temperature = request['temperature'] ?? null;
  const asked = request['max_completion_tokens'] ?? request['max_tokens'] ?? null;
  return inferenceOf(asked, (numberOf(temperature) ?? 0) > 1 ? 1 : temperature, request['top_p'] ?? null);
}

const novaEfforts: Readonly<Record<string, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
};

/** Nova 2 alone reasons, and only on request (nova2-userguide/extended-thinking.html). */
function addNovaReasoning(request: CanonicalRequest, fields: JsonObject, dropped: string[]): void {
  const effort = request['reasoning_effort'];
  if (effort === 'none') return;
  const level = typeof effort === 'string' ? novaEfforts[effort] : undefined;
  if (level === undefined)
    throw invalid('reasoning_effort', `must be none or one of ${Object.keys(novaEfforts).join(', ')}.`);
  if (/nova-2/.test(String(request['model']))) {
    fields['reasoningConfig'] = { type: 'enabled', maxReasoningEffort: level };
  } else dropped.push('reasoning_effort');
}

function inferenceOf(maxTokens: unknown, temperature: unknown, topP: unknown): JsonObject {
  const inference: JsonObject = {};
  if (maxTokens !== null) inference['maxTokens'] = maxTokens;
  if (temperature !== null) inference['temperature'] = temperature;
  if (topP !== null) inference['topP'] = topP;
  return inference;
}

function dropUnlessZero(request: CanonicalRequest, key: string, dropped: string[]): void {
  const value = request[key] ?? null;
  // A penalty of 0 asks for nothing; a seed of 0 is a seed.
  if (value !== null && !(value === 0 && key !== 'seed') && value !== 'none') dropped.push(key);
}

function userOf(request: CanonicalRequest): string | null {
  const user =
    request['user'] ?? request['safety_identifier'] ?? asObject(request['metadata'])?.['user_id'] ?? null;
  return typeof user === 'string' && user !== '' ? user : null;
}

function forcesTool(body: JsonObject): boolean {
  const choice = asObject(asObject(body['toolConfig'])?.['toolChoice']);
  return choice !== null && !('auto' in choice);
}

/** With a thinking budget, the turn that called the tools whose results now follow must begin with its thinking. */
function answersUnthoughtTools(messages: readonly BedrockMessage[]): boolean {
  const last = messages.findLast(({ role }) => role === 'assistant');
  if (last === undefined) return false;
  const calls = last.content.some((block) => 'toolUse' in block);
  return calls && !('reasoningContent' in (last.content[0] as JsonObject));
}
