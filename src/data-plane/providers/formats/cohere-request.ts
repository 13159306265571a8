import type { JsonObject } from '../../../common/core/exchange.js';
import { numberOf } from '../../../common/json/json.js';
import type { CanonicalRequest, WireRequest } from '../provider.js';
import { invalid, unsupported } from './anthropic-content.js';
import { toCohereMessages } from './cohere-messages.js';
import { addCohereTools } from './cohere-tools.js';
import { asArray, asObject, shortJson } from './json-shape.js';

/** Read below, one by one. */
const mapped = new Set([
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'top_p',
  'top_k',
  'stop',
  'stream',
  'stream_options',
  'tools',
  'functions',
  'tool_choice',
  'function_call',
  'response_format',
  'reasoning_effort',
  'thinking',
  'n',
  'modalities',
  'audio',
]);

/** The same by name and meaning, and Cohere's own fields under their own names. */
const passed = new Set([
  'model',
  'temperature',
  'seed',
  'frequency_penalty',
  'presence_penalty',
  'logprobs',
  'k',
  'p',
  'stop_sequences',
  'documents',
  'citation_options',
  'safety_mode',
  'strict_tools',
  'priority',
]);

/** Values that ask for nothing, so that leaving them out loses nothing. */
const neutral: Readonly<Record<string, unknown>> = {
  show_thinking: true,
  logprobs: false,
  top_logprobs: 0,
  parallel_tool_calls: true,
  store: false,
};

/** An OpenAI chat request → the body of `POST /v2/chat`. */
export function toCohereRequest(request: CanonicalRequest): WireRequest {
  const dropped: string[] = [];
  refuseWhatChangesTheAnswer(request);
  const messages = asArray(request['messages']);
  if (messages === null) throw invalid('messages', 'must be a list of messages.');
  const body: JsonObject = {};
  for (const key in request) {
    const value = request[key];
    if (key === 'messages') body['messages'] = toCohereMessages(messages, dropped);
    if (mapped.has(key) || value === null || value === undefined) continue;
    if (key in neutral && neutral[key] === value) continue;
    if (passed.has(key)) body[key] = value;
    else dropped.push(key);
  }
  const maxTokens = request['max_completion_tokens'] ?? request['max_tokens'] ?? null;
  if (maxTokens !== null) body['max_tokens'] = maxTokens;
  addSampling(request, body, dropped);
  addCohereTools(request, body);
  addResponseFormat(request, body, dropped);
  addThinking(request, body, dropped);
  if (request['stream'] === true) body['stream'] = true;
  return { body, dropped };
}

function refuseWhatChangesTheAnswer(request: CanonicalRequest): void {
  const n = request['n'] ?? 1;
  if (n !== 1) throw unsupported('n', 'this provider gives one answer a call: ask for n = 1.');
  if (asArray(request['modalities'])?.some((modality) => modality !== 'text'))
    throw unsupported('modalities', 'this provider answers in text only.');
  if (asObject(request['audio']) !== null) throw unsupported('audio', 'this provider answers in text only.');
}

function addSampling(request: CanonicalRequest, body: JsonObject, dropped: string[]): void {
  say(request, 'top_p', 'p', clamped, body, dropped);
  say(request, 'top_k', 'k', (value) => value, body, dropped);
  say(request, 'stop', 'stop_sequences', stopList, body, dropped);
}

/** Under Cohere's name for it, unless that one is given too. */
function say(
  request: CanonicalRequest,
  from: string,
  to: string,
  write: (value: unknown) => unknown,
  body: JsonObject,
  dropped: string[],
): void {
  const value = request[from] ?? null;
  if (value === null) return;
  if (body[to] === undefined) body[to] = write(value);
  else dropped.push(from);
}

/** 0.01 to 0.99 is taken; clients send 1 where they mean all tokens, which 0.99 comes nearest to. */
function clamped(topP: unknown): unknown {
  const number = numberOf(topP) ?? 1;
  return number > 0.99 ? 0.99 : number < 0.01 ? 0.01 : topP;
}

/** docs.cohere.com/reference/chat. */
const mostStops = 5;

function stopList(stop: unknown): readonly unknown[] | undefined {
  const list = typeof stop === 'string' ? [stop] : asArray(stop);
  if (list === null) throw invalid('stop', 'must be a string or a list of strings.');
  if (list.length > mostStops) throw unsupported('stop', `this provider takes at most ${mostStops}.`);
  return list.length === 0 ? undefined : list;
}

function addResponseFormat(request: CanonicalRequest, body: JsonObject, dropped: string[]): void {
  const format = asObject(request['response_format']);
  if (format === null || format['type'] === 'text') return;
  if (format['type'] === 'json_object') {
    // Cohere's own field for a schema is passed on.
    body['response_format'] = format;
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
  if (schema === null) throw invalid('response_format.json_schema.schema', 'must be a JSON schema.');
  if (named?.['description'] !== undefined) dropped.push('response_format.json_schema.description');
  body['response_format'] = { type: 'json_object', json_schema: schema };
}

/** Models that can reason do so unless disabled; the effort is theirs to choose, except for a budget. */
function addThinking(request: CanonicalRequest, body: JsonObject, dropped: string[]): void {
  const thinking = asObject(request['thinking']);
  if (thinking !== null) {
    const budget = thinking['token_budget'] ?? thinking['budget_tokens'] ?? null;
    const type = thinking['type'] === 'disabled' ? 'disabled' : 'enabled';
    body['thinking'] = budget === null || type === 'disabled' ? { type } : { type, token_budget: budget };
  }
  const effort = request['reasoning_effort'] ?? null;
  if (effort === null) return;
  if (effort === 'none' && thinking === null) body['thinking'] = { type: 'disabled' };
  else dropped.push('reasoning_effort');
}
