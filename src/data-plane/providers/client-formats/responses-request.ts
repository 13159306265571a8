import type { JsonObject } from '../../../common/core/exchange.js';
import { invalid, unsupported } from '../formats/anthropic-content.js';
import { asArray, asObject, shortJson } from '../formats/json-shape.js';
import type { InnerJson } from '../inner-json.js';
import type { CallOptions, CanonicalIn } from './client-format.js';
import { hosted, type InputMessage, readInput } from './responses-input.js';
import { thinkingWanted } from './sealed-thinking.js';

/** Read below, one by one, or answered without the provider (`metadata`). */
const read = new Set([
  'model',
  'input',
  'instructions',
  'max_output_tokens',
  'stream',
  'stream_options',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'text',
  'reasoning',
  'include',
  'top_logprobs',
  'metadata',
  'store',
  'truncation',
  // Of tools that a provider runs, which are refused.
  'max_tool_calls',
]);

/** Without a counterpart in chat, or chat's own for what is in `input`. */
const without = new Set(['context_management', 'moderation', 'prompt_cache_options', 'messages']);

/** What needs a provider that keeps answers. */
const kept: Readonly<Record<string, string>> = {
  previous_response_id: 'send the conversation so far in input instead.',
  conversation: 'send the conversation so far in input instead.',
  prompt: 'send what it says in instructions and input instead.',
};

/**
 * The body of `POST /v1/responses` → an OpenAI chat request. Fields that are of neither go on under their own names:
 * a config may add them for its target.
 */
export function readResponsesRequest(body: JsonObject, _asked: CallOptions, inner: InnerJson): CanonicalIn {
  for (const field in kept) {
    if (body[field] === undefined || body[field] === null) continue;
    throw unsupported(field, `this provider keeps no answers: ${kept[field]}`);
  }
  if (body['background'] === true) {
    throw unsupported('background', 'this provider keeps no answers: leave it out, and wait or stream.');
  }
  const dropped: string[] = [];
  const conversation = readInput(body['input'], dropped, inner);
  const { instructions } = body;
  if (typeof instructions === 'string' && instructions !== '') {
    const message = { role: 'system', content: instructions };
    conversation.unshift({ message, path: 'instructions', parts: [], calls: [] });
  }
  const request: JsonObject = {
    model: body['model'],
    messages: conversation.map(({ message }) => message),
  };
  for (const key in body) {
    const value = body[key];
    if (read.has(key) || key in kept || key === 'background' || value === null || value === undefined)
      continue;
    if (without.has(key)) dropped.push(key);
    else request[key] = value;
  }
  const limit = body['max_output_tokens'];
  if (limit !== undefined && limit !== null) request['max_tokens'] = limit;
  readStream(body, request, dropped);
  readTools(body, request, dropped);
  readText(body, request, dropped);
  readReasoning(body, request, dropped);
  readLogprobs(body, request, dropped);
  if (body['store'] === true) dropped.push('store');
  if (body['truncation'] === 'auto') dropped.push('truncation');
  return { request, dropped, clientPath: (path) => clientPath(path, conversation) };
}

function readStream(body: JsonObject, request: JsonObject, dropped: string[]): void {
  if (asObject(body['stream_options'])?.['include_obfuscation'] === true) {
    dropped.push('stream_options.include_obfuscation');
  }
  // Usage is part of every answer in this format, and chat streams report it only on request.
  if (body['stream'] === true) {
    Object.assign(request, { stream: true, stream_options: { include_usage: true } });
  }
}

const toolFields = new Set(['type', 'name', 'description', 'parameters', 'strict']);

function readTools(body: JsonObject, request: JsonObject, dropped: string[]): void {
  const given = asArray(body['tools']);
  if (given === null || given.length === 0) return;
  let tools = given.map((value, i) => readTool(value, `tools[${i}]`, dropped));
  const { tool_choice: choice, parallel_tool_calls: parallel } = body;
  const chosen = asObject(choice);
  if (chosen === null) {
    if (choice !== undefined && choice !== null) request['tool_choice'] = choice;
  } else if (chosen['type'] === 'function') {
    request['tool_choice'] = { type: 'function', function: { name: chosen['name'] } };
  } else if (chosen['type'] === 'allowed_tools') {
    tools = allowedTools(chosen, tools);
    request['tool_choice'] = chosen['mode'] ?? 'auto';
  } else {
    throw hosted('tool_choice.type', `a tool_choice of type ${shortJson(chosen['type'])}`);
  }
  request['tools'] = tools;
  if (typeof parallel === 'boolean') request['parallel_tool_calls'] = parallel;
}

function readTool(value: unknown, path: string, dropped: string[]): JsonObject {
  const tool = asObject(value);
  if (tool === null) throw invalid(path, 'must be an object with a type.');
  if (tool['type'] !== 'function') {
    throw hosted(`${path}.type`, `a tool of type ${shortJson(tool['type'])}`);
  }
  const { name, description, parameters, strict } = tool;
  if (typeof name !== 'string') throw invalid(`${path}.name`, 'must be a string.');
  const fn: JsonObject = { name };
  if (typeof description === 'string') fn['description'] = description;
  if (parameters !== undefined && parameters !== null) fn['parameters'] = parameters;
  if (typeof strict === 'boolean') fn['strict'] = strict;
  for (const field in tool) {
    if (!toolFields.has(field) && tool[field] !== null && tool[field] !== false)
      dropped.push(`${path}.${field}`);
  }
  return { type: 'function', function: fn };
}

/** Not every chat API has such a choice, but each can be given those tools alone. */
function allowedTools(choice: JsonObject, tools: JsonObject[]): JsonObject[] {
  const names = new Set((asArray(choice['tools']) ?? []).map((tool) => asObject(tool)?.['name']));
  const left = tools.filter((tool) => names.has(asObject(tool['function'])?.['name']));
  if (left.length === 0) throw invalid('tool_choice.tools', 'names none of the tools.');
  return left;
}

function readText(body: JsonObject, request: JsonObject, dropped: string[]): void {
  const text = asObject(body['text']);
  for (const key in text) {
    const value = text[key];
    if (value === null || key === 'format') continue;
    if (key === 'verbosity') request['verbosity'] = value;
    else dropped.push(`text.${key}`);
  }
  const format = asObject(text?.['format']);
  if (format === null || format['type'] === 'text') return;
  if (format['type'] === 'json_object') {
    request['response_format'] = { type: 'json_object' };
    return;
  }
  if (format['type'] !== 'json_schema') {
    throw hosted('text.format.type', `a format of type ${shortJson(format['type'])}`);
  }
  const { type: _, ...schema } = format;
  request['response_format'] = { type: 'json_schema', json_schema: schema };
}

function readReasoning(body: JsonObject, request: JsonObject, dropped: string[]): void {
  const reasoning = asObject(body['reasoning']);
  if (thinkingWanted(body).shown) request['show_thinking'] = true;
  for (const key in reasoning) {
    const value = reasoning[key];
    if (value === null || key === 'summary' || key === 'generate_summary') continue;
    if (key === 'effort') request['reasoning_effort'] = value;
    else dropped.push(`reasoning.${key}`);
  }
}

function readLogprobs(body: JsonObject, request: JsonObject, dropped: string[]): void {
  const top = body['top_logprobs'];
  if (top !== undefined && top !== null && top !== 0) {
    request['logprobs'] = true;
    request['top_logprobs'] = top;
  }
  (asArray(body['include']) ?? []).forEach((what, i) => {
    if (what === 'message.output_text.logprobs') request['logprobs'] = true;
    else if (what !== 'reasoning.encrypted_content') dropped.push(`include[${i}]`);
  });
}

const inMessage = /^messages\[(\d+)\](?:\.(content|content_blocks|tool_calls)\[(\d+)\])?(.*)$/s;
const inTool = /^(tools\[\d+\])\.function(.*)$/s;

/** Fields whose names here and in the canonical shape differ. */
const named: readonly (readonly [string, string])[] = [
  ['response_format.json_schema', 'text.format'],
  ['response_format', 'text.format'],
  ['max_completion_tokens', 'max_output_tokens'],
  ['max_tokens', 'max_output_tokens'],
  ['reasoning_effort', 'reasoning.effort'],
  ['verbosity', 'text.verbosity'],
  ['logprobs', 'top_logprobs'],
  ['stream_options', 'stream'],
  ['messages', 'input'],
];

function clientPath(path: string, conversation: readonly InputMessage[]): string {
  const found = inMessage.exec(path);
  const from = found === null ? undefined : conversation[Number(found[1])];
  if (found !== null && from !== undefined) {
    const [, , list, at, rest = ''] = found;
    const place = Number(at);
    if (list === 'tool_calls') return (from.calls[place] ?? from.path) + rest.replace('.function', '');
    if (list === 'content')
      return (from.parts[place] ?? from.path) + rest.replace('.image_url.url', '.image_url');
    return from.path + rest.replace('.tool_call_id', '.call_id');
  }
  const tool = inTool.exec(path);
  if (tool !== null) return `${tool[1]}${tool[2]}`;
  for (const [canonical, own] of named) {
    if (path === canonical) return own;
    if (path.startsWith(`${canonical}.`) || path.startsWith(`${canonical}[`))
      return own + path.slice(canonical.length);
  }
  return path;
}
