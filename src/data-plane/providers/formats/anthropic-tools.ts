import type { JsonObject } from '../../../common/core/exchange.js';
import { invalid, unsupported, withCacheControl } from './anthropic-content.js';
import { asArray, asObject, asString, shortJson } from './json-shape.js';
import { fitsStrictTool } from './structured-schema.js';

/** Fields of a tool that only Anthropic has; they may be on the tool or on its function. */
const ownFields = [
  'defer_loading',
  'allowed_callers',
  'input_examples',
  'eager_input_streaming',
  'strict',
] as const;

/** `tools`, or the deprecated `functions`, as the Messages API has them; null where the request has none. */
export function toTools(request: JsonObject, dropped: string[]): JsonObject[] | null {
  const tools = asArray(request['tools']);
  if (tools !== null) return tools.length === 0 ? null : tools.map((tool, i) => toTool(tool, i, dropped));
  const functions = asArray(request['functions']);
  if (functions === null || functions.length === 0) return null;
  return functions.map((fn, i) => functionTool({}, fn, `functions[${i}]`, dropped));
}

function toTool(value: unknown, i: number, dropped: string[]): JsonObject {
  const path = `tools[${i}]`;
  const tool = asObject(value);
  if (tool === null) throw invalid(path, 'must be an object with a type.');
  const type = tool['type'];
  if (type === 'function' || (type === undefined && tool['function'] !== undefined)) {
    return functionTool(tool, tool['function'], `${path}.function`, dropped);
  }
  if (typeof type !== 'string') throw invalid(`${path}.type`, 'must be a string.');
  // A tool that Anthropic runs itself: {type: "computer", computer: {name: "computer_20250124", …}} …
  const own = asObject(tool[type]);
  const version = asString(own?.['name']);
  if (own !== null && version !== null && type !== 'custom') {
    return withCacheControl({ ...own, name: type, type: version }, tool);
  }
  // … or as Anthropic writes it.
  if (type !== 'custom' && typeof tool['name'] === 'string') return { ...tool };
  throw unsupported(
    path,
    `a tool of type ${shortJson(type)} cannot be sent to this provider: only functions can.`,
  );
}

function functionTool(tool: JsonObject, value: unknown, path: string, dropped: string[]): JsonObject {
  const fn = asObject(value);
  const name = asString(fn?.['name']);
  if (fn === null || name === null) throw invalid(`${path}.name`, 'must be a string.');
  const out: JsonObject = { name };
  if (typeof fn['description'] === 'string') out['description'] = fn['description'];
  const schema = inputSchema(fn['parameters'], `${path}.parameters`);
  out['input_schema'] = schema;
  for (const field of ownFields) {
    const given = fn[field] ?? tool[field];
    if (given === undefined || given === null) continue;
    if (field === 'strict' && given === true && !fitsStrictTool(schema)) dropped.push(`${path}.strict`);
    else out[field] = given;
  }
  return withCacheControl(withCacheControl(out, fn), tool);
}

/** The whole schema; only its mandatory `type` is added where it is missing. */
function inputSchema(value: unknown, path: string): JsonObject {
  if (value === undefined || value === null) return { type: 'object', properties: {} };
  const schema = asObject(value);
  if (schema === null) throw invalid(path, 'must be a JSON schema.');
  return schema['type'] === undefined ? { type: 'object', ...schema } : schema;
}

/** `tool_choice` with `parallel_tool_calls`. May shorten `tools` to the allowed ones. null: leave it out. */
export function toToolChoice(
  request: JsonObject,
  tools: JsonObject[],
): { choice: JsonObject | null; tools: JsonObject[] } {
  const given = request['tool_choice'] ?? legacyChoice(request['function_call']);
  const serial = request['parallel_tool_calls'] === false;
  let allowed = tools;
  let choice: JsonObject | null;
  const object = asObject(given);
  if (given === undefined || given === null) choice = null;
  else if (given === 'auto' || given === 'none') choice = { type: given };
  else if (given === 'required') choice = { type: 'any' };
  else if (object === null) throw invalid('tool_choice', 'must be none, auto, required or a named function.');
  else if (object['type'] === 'function') {
    const name = asString(asObject(object['function'])?.['name']) ?? asString(object['name']);
    if (name === null) throw invalid('tool_choice.function.name', 'must be a string.');
    choice = { type: 'tool', name };
  } else if (object['type'] === 'allowed_tools') {
    const list = asObject(object['allowed_tools']);
    allowed = allowedTools(asArray(list?.['tools']), tools);
    choice = { type: list?.['mode'] === 'required' ? 'any' : 'auto' };
  } else if (ownChoices.has(object['type'])) choice = { ...object };
  else
    throw unsupported(
      'tool_choice',
      `a tool_choice of type ${shortJson(object['type'])} cannot be sent to this provider.`,
    );
  if (serial && choice?.['type'] !== 'none')
    choice = { ...(choice ?? { type: 'auto' }), disable_parallel_tool_use: true };
  return { choice, tools: allowed };
}

const ownChoices = new Set<unknown>(['auto', 'any', 'tool', 'none']);

function legacyChoice(value: unknown): unknown {
  const name = asObject(value)?.['name'];
  return name === undefined ? value : { type: 'function', function: { name } };
}

function allowedTools(list: readonly unknown[] | null, tools: JsonObject[]): JsonObject[] {
  if (list === null) throw invalid('tool_choice.allowed_tools.tools', 'must be a list of tools.');
  const names = new Set(list.map((tool) => asObject(asObject(tool)?.['function'])?.['name']));
  const kept = tools.filter((tool) => names.has(tool['name']));
  if (kept.length === 0) throw invalid('tool_choice.allowed_tools.tools', 'names none of the tools.');
  return kept;
}
