import type { JsonObject } from '../../../common/core/exchange.js';
import { invalid, unsupported, withCacheControl } from '../formats/anthropic-content.js';
import { asArray, asObject, asString, shortJson } from '../formats/json-shape.js';
import { type ReadMessage, readAssistant, readUser } from './anthropic-blocks.js';
import type { CanonicalIn } from './client-format.js';

/** Read below, one by one. */
const read = new Set([
  'model',
  'messages',
  'system',
  'max_tokens',
  'stop_sequences',
  'stream',
  'tools',
  'tool_choice',
  'output_config',
  'output_format',
  'metadata',
  'service_tier',
]);

/** Under the same name in the canonical shape, where providers that know them find them. */
const same = new Set(['temperature', 'top_p', 'top_k', 'thinking', 'cache_control']);

/** The body of `POST /v1/messages` → an OpenAI chat request. */
export function readMessagesRequest(body: JsonObject): CanonicalIn {
  const dropped: string[] = [];
  if ((asArray(body['mcp_servers']) ?? []).length > 0) {
    throw unsupported('mcp_servers', 'can only be sent to a provider with this endpoint.');
  }
  // Later requests of a thread bring only their new messages: without it the model would not know the others.
  if (asObject(body['thread']) !== null) {
    throw unsupported(
      'thread',
      'this provider holds no conversations: send the whole conversation in messages, without thread.',
    );
  }
  const conversation = readConversation(body, dropped);
  const request: JsonObject = {
    model: body['model'],
    messages: conversation.map(({ message }) => message),
  };
  for (const key in body) {
    const value = body[key];
    if (read.has(key) || value === null || value === undefined) continue;
    if (same.has(key)) request[key] = value;
    else dropped.push(key);
  }
  if (body['max_tokens'] !== undefined) request['max_tokens'] = body['max_tokens'];
  if ((asArray(body['stop_sequences']) ?? []).length > 0) request['stop'] = body['stop_sequences'];
  // Input tokens are part of every answer in this format, and OpenAI's streams report them only on request.
  if (body['stream'] === true)
    Object.assign(request, { stream: true, stream_options: { include_usage: true } });
  readTools(body, request, dropped);
  readOutputConfig(body, request, dropped);
  readMetadata(body, request, dropped);
  const tier = body['service_tier'];
  if (tier === 'standard_only') request['service_tier'] = 'default';
  else if (tier !== undefined && tier !== null) request['service_tier'] = tier;
  return { request, dropped, clientPath: (path) => clientPath(path, conversation) };
}

function readConversation(body: JsonObject, dropped: string[]): ReadMessage[] {
  const out: ReadMessage[] = [];
  const system = body['system'];
  if (system !== undefined && system !== null && system !== '') out.push(readSystem(system, 'system'));
  const messages = asArray(body['messages']);
  if (messages === null) throw invalid('messages', 'must be a list of messages.');
  messages.forEach((value, i) => {
    const path = `messages[${i}]`;
    const message = asObject(value);
    const content = message?.['content'];
    switch (message?.['role']) {
      case 'user':
        out.push(...readUser(content, path, dropped));
        break;
      case 'assistant':
        out.push(readAssistant(content, path, dropped));
        break;
      case 'system':
        out.push(readSystem(content, path));
        break;
      default:
        throw invalid(`${path}.role`, 'must be user, assistant or system.');
    }
  });
  return out;
}

function readSystem(content: unknown, path: string): ReadMessage {
  if (typeof content === 'string') return { message: { role: 'system', content }, path };
  const blocks = asArray(content);
  if (blocks === null) throw invalid(path, 'must be a string or a list of text blocks.');
  const parts = blocks.map((value, j) => {
    const text = asString(asObject(value)?.['text']);
    if (text === null) throw invalid(`${path}[${j}].text`, 'must be a string.');
    return withCacheControl({ type: 'text', text }, value as JsonObject);
  });
  return { message: { role: 'system', content: parts }, path };
}

/** Of a tool's fields, these have a place in the canonical shape. */
const toolFields = new Set(['name', 'description', 'input_schema', 'type', 'strict', 'cache_control']);

function readTools(body: JsonObject, request: JsonObject, dropped: string[]): void {
  const tools = asArray(body['tools']);
  if (tools === null || tools.length === 0) return;
  request['tools'] = tools.map((value, i) => readTool(value, `tools[${i}]`, dropped));
  const choice = asObject(body['tool_choice']);
  if (choice === null) return;
  if (choice['disable_parallel_tool_use'] === true) request['parallel_tool_calls'] = false;
  switch (choice['type']) {
    case 'any':
      request['tool_choice'] = 'required';
      break;
    case 'tool':
      request['tool_choice'] = { type: 'function', function: { name: choice['name'] } };
      break;
    default:
      request['tool_choice'] = choice['type'];
  }
}

function readTool(value: unknown, path: string, dropped: string[]): JsonObject {
  const tool = asObject(value);
  const name = asString(tool?.['name']);
  if (tool === null || name === null) throw invalid(`${path}.name`, 'must be a string.');
  const { type, description, input_schema: schema, strict } = tool;
  if (type !== undefined && type !== null && type !== 'custom') {
    throw unsupported(
      `${path}.type`,
      `a tool of type ${shortJson(type)} runs at a provider with this endpoint alone: describe it by an input_schema and run it yourself.`,
    );
  }
  const fn: JsonObject = { name };
  if (description !== undefined && description !== null) fn['description'] = description;
  fn['parameters'] = schema ?? { type: 'object', properties: {} };
  if (strict !== undefined && strict !== null) fn['strict'] = strict;
  for (const field in tool) {
    if (!toolFields.has(field) && tool[field] !== null && tool[field] !== false)
      dropped.push(`${path}.${field}`);
  }
  return withCacheControl({ type: 'function', function: fn }, tool);
}

function readOutputConfig(body: JsonObject, request: JsonObject, dropped: string[]): void {
  const config = asObject(body['output_config']);
  const format = asObject(config?.['format']) ?? asObject(body['output_format']);
  for (const key in config) {
    if (key !== 'format' && key !== 'effort' && config[key] !== null) dropped.push(`output_config.${key}`);
  }
  const effort = config?.['effort'];
  if (effort !== undefined && effort !== null) request['reasoning_effort'] = effort;
  if (format === null) return;
  const schema = asObject(format['schema']);
  if (format['type'] !== 'json_schema' || schema === null) {
    throw invalid('output_config.format', 'must be {type: "json_schema", schema: …}.');
  }
  request['response_format'] = {
    type: 'json_schema',
    json_schema: { name: 'answer', schema, strict: fitsStrict(schema) },
  };
}

/** OpenAI's strict schemas close every object and require every property; of another it would refuse the request. */
function fitsStrict(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(fitsStrict);
  const node = asObject(schema);
  if (node === null) return true;
  const properties = asObject(node['properties']);
  if (properties !== null || node['type'] === 'object') {
    const required = asArray(node['required']) ?? [];
    if (node['additionalProperties'] !== false) return false;
    if (!Object.keys(properties ?? {}).every((name) => required.includes(name))) return false;
  }
  return (
    Object.values(properties ?? {}).every(fitsStrict) &&
    ['items', 'anyOf', '$defs', 'definitions'].every((key) => fitsStrictUnder(node[key]))
  );
}

function fitsStrictUnder(value: unknown): boolean {
  const node = asObject(value);
  if (node === null) return fitsStrict(value);
  const isSchema = 'type' in node || '$ref' in node || 'anyOf' in node || 'properties' in node;
  return isSchema ? fitsStrict(node) : Object.values(node).every(fitsStrict);
}

function readMetadata(body: JsonObject, request: JsonObject, dropped: string[]): void {
  const metadata = asObject(body['metadata']);
  for (const key in metadata) {
    if (key !== 'user_id') dropped.push(`metadata.${key}`);
    else if (metadata[key] !== null) request['user'] = metadata[key];
  }
}

const inMessage = /^messages\[(\d+)\](?:\.(content|content_blocks|tool_calls)\[(\d+)\])?(.*)$/s;
const inTool = /^(tools\[\d+\])\.function(.*)$/s;

/** Fields whose names here and in the canonical shape differ. */
const named: Readonly<Record<string, string>> = {
  stop: 'stop_sequences',
  stream_options: 'stream',
  parallel_tool_calls: 'tool_choice.disable_parallel_tool_use',
  reasoning_effort: 'output_config.effort',
  response_format: 'output_config.format',
  user: 'metadata.user_id',
};

function clientPath(path: string, conversation: readonly ReadMessage[]): string {
  const message = inMessage.exec(path);
  const from = message === null ? undefined : conversation[Number(message[1])];
  if (message !== null && from !== undefined) return placeOf(from, message);
  const tool = inTool.exec(path);
  if (tool !== null) return `${tool[1]}${tool[2]!.replace(/^\.parameters/, '.input_schema')}`;
  const end = path.search(/[.[]/);
  const field = end < 0 ? path : path.slice(0, end);
  return Object.hasOwn(named, field) ? named[field]! : path;
}

function placeOf(from: ReadMessage, [, , list, at, rest = '']: RegExpExecArray): string {
  if (list === undefined) return from.path + rest.replace('.tool_call_id', '.tool_use_id');
  const index = Number(at);
  if (list === 'content_blocks') return `${from.path}.content[${index}]${rest}`;
  if (list === 'tool_calls') return `${from.path}.content[${from.calls?.[index] ?? index}]`;
  // A system prompt is a list itself; a part of it has its parts' own names.
  if (from.path === 'system') return `system[${index}]${rest}`;
  const block = `${from.path}.content[${from.parts?.[index] ?? index}]`;
  return rest === '.cache_control' || rest === '' ? block + rest : `${block}.source`;
}
