import type { JsonObject } from '../../../common/core/exchange.js';
import { invalid, unsupported } from './anthropic-content.js';
import { type BedrockMessage, cachePoint } from './bedrock-content.js';
import type { BedrockTraits } from './bedrock-models.js';
import { asArray, asObject, asString, shortJson } from './json-shape.js';
import { fitsStrictTool } from './structured-schema.js';

/** `toolConfig`, and tools that a model's vendor runs itself and that Converse does not know. */
export interface BedrockTools {
  readonly toolConfig: JsonObject | null;
  readonly vendorTools: JsonObject[];
}

/** `tools`, or the deprecated `functions`, with `tool_choice`, as Converse has them. */
export function toTools(
  request: JsonObject,
  messages: readonly BedrockMessage[],
  traits: BedrockTraits,
  dropped: string[],
): BedrockTools {
  const vendorTools: JsonObject[] = [];
  let tools = (asArray(request['tools']) ?? []).flatMap((tool, i) =>
    toTool(tool, `tools[${i}]`, traits, vendorTools, dropped),
  );
  if (tools.length === 0 && vendorTools.length === 0) {
    tools = (asArray(request['functions']) ?? []).map((fn, i) =>
      functionTool({}, fn, `functions[${i}]`, traits, dropped),
    );
  }
  const called = calledTools(messages);
  if (tools.length === 0) {
    // A conversation in which tools were called is refused without tools.
    return { toolConfig: called.size === 0 ? null : { tools: [...called].map(namedTool) }, vendorTools };
  }
  const given = request['tool_choice'] ?? legacyChoice(request['function_call']);
  if (given === 'none') {
    // There is no such choice: what is not to be called is not shown, unless the conversation speaks of it.
    if (called.size === 0) return { toolConfig: null, vendorTools };
    dropped.push('tool_choice');
    return { toolConfig: { tools }, vendorTools };
  }
  const { choice, shown } = toChoice(given, tools, traits, dropped);
  return {
    toolConfig: choice === null ? { tools: shown } : { tools: shown, toolChoice: choice },
    vendorTools,
  };
}

function toTool(
  value: unknown,
  path: string,
  traits: BedrockTraits,
  vendorTools: JsonObject[],
  dropped: string[],
): JsonObject[] {
  const tool = asObject(value);
  if (tool === null) throw invalid(path, 'must be an object with a type.');
  const type = tool['type'];
  if (type === 'function' || (type === undefined && tool['function'] !== undefined)) {
    const spec = functionTool(tool, tool['function'], `${path}.function`, traits, dropped);
    return [spec, ...toolCachePoint(tool, path, traits, dropped)];
  }
  // As Converse writes them: {toolSpec: …}, {systemTool: …}, {cachePoint: …}.
  if (type === undefined && ['toolSpec', 'systemTool', 'cachePoint'].some((key) => key in tool)) {
    return [{ ...tool }];
  }
  if (typeof type === 'string' && traits.claude !== null && type !== 'custom') {
    const own = asObject(tool[type]);
    const version = asString(own?.['name']);
    // {type: "computer", computer: {name: "computer_20250124", …}}, or as Anthropic writes it.
    if (own !== null && version !== null) vendorTools.push({ ...own, name: type, type: version });
    else if (typeof tool['name'] === 'string') vendorTools.push({ ...tool });
    if (own !== null || typeof tool['name'] === 'string') return [];
  }
  throw unsupported(
    path,
    `a tool of type ${shortJson(type)} cannot be sent to this provider: only functions can.`,
  );
}

function functionTool(
  tool: JsonObject,
  value: unknown,
  path: string,
  traits: BedrockTraits,
  dropped: string[],
): JsonObject {
  const fn = asObject(value);
  const name = asString(fn?.['name']);
  if (fn === null || name === null) throw invalid(`${path}.name`, 'must be a string.');
  const spec: JsonObject = { name };
  const description = asString(fn['description']);
  // An empty one is refused.
  if (description !== null && description !== '') spec['description'] = description;
  const schema = inputSchema(fn['parameters'], `${path}.parameters`);
  spec['inputSchema'] = { json: schema };
  if ((fn['strict'] ?? tool['strict']) === true) {
    if (traits.structuredOutput && fitsStrictTool(schema)) spec['strict'] = true;
    else dropped.push(`${path}.strict`);
  }
  return { toolSpec: spec };
}

function toolCachePoint(
  tool: JsonObject,
  path: string,
  traits: BedrockTraits,
  dropped: string[],
): JsonObject[] {
  const point = cachePoint(tool['cache_control'] === undefined ? (asObject(tool['function']) ?? {}) : tool);
  if (point.length === 0 || traits.cachedTools) return point;
  dropped.push(`${path}.cache_control`);
  return [];
}

/** The whole schema; only its mandatory `type` is added where it is missing. */
function inputSchema(value: unknown, path: string): JsonObject {
  if (value === undefined || value === null) return { type: 'object', properties: {} };
  const schema = asObject(value);
  if (schema === null) throw invalid(path, 'must be a JSON schema.');
  return schema['type'] === undefined ? { type: 'object', ...schema } : schema;
}

function calledTools(messages: readonly BedrockMessage[]): Set<string> {
  const names = new Set<string>();
  for (const { content } of messages) {
    for (const block of content) {
      const name = asString(asObject(block['toolUse'])?.['name']);
      if (name !== null) names.add(name);
    }
  }
  return names;
}

const namedTool = (name: string): JsonObject => ({
  toolSpec: { name, inputSchema: { json: { type: 'object', properties: {} } } },
});

interface BedrockToolChoice {
  /** null: leave it out. */
  readonly choice: JsonObject | null;
  readonly shown: JsonObject[];
}

function toChoice(
  given: unknown,
  tools: JsonObject[],
  traits: BedrockTraits,
  dropped: string[],
): BedrockToolChoice {
  if (given === undefined || given === null || given === 'auto') return { choice: null, shown: tools };
  if (given === 'required') return forced({ any: {} }, tools, traits, dropped);
  const object = asObject(given);
  if (object === null) throw invalid('tool_choice', 'must be none, auto, required or a named function.');
  if (object['type'] === 'function') {
    const name = asString(asObject(object['function'])?.['name']) ?? asString(object['name']);
    if (name === null) throw invalid('tool_choice.function.name', 'must be a string.');
    if (traits.namedTool) return { choice: { tool: { name } }, shown: tools };
    return forced({ any: {} }, only(new Set([name]), tools, 'tool_choice.function.name'), traits, dropped);
  }
  if (object['type'] === 'allowed_tools') {
    const list = asObject(object['allowed_tools']);
    const path = 'tool_choice.allowed_tools.tools';
    const allowed = asArray(list?.['tools']);
    if (allowed === null) throw invalid(path, 'must be a list of tools.');
    const names = new Set(allowed.map((tool) => asString(asObject(asObject(tool)?.['function'])?.['name'])));
    const shown = only(names, tools, path);
    return list?.['mode'] === 'required'
      ? forced({ any: {} }, shown, traits, dropped)
      : { choice: null, shown };
  }
  throw unsupported(
    'tool_choice',
    `a tool_choice of type ${shortJson(object['type'])} cannot be sent to this provider.`,
  );
}

function forced(
  choice: JsonObject,
  shown: JsonObject[],
  traits: BedrockTraits,
  dropped: string[],
): BedrockToolChoice {
  if (traits.forcedTool) return { choice, shown };
  dropped.push('tool_choice');
  return { choice: null, shown };
}

function only(names: ReadonlySet<string | null>, tools: JsonObject[], path: string): JsonObject[] {
  const kept = tools.filter((tool) => names.has(asString(asObject(tool['toolSpec'])?.['name'])));
  if (kept.length === 0) throw invalid(path, 'names none of the tools.');
  return kept;
}

function legacyChoice(value: unknown): unknown {
  const name = asObject(value)?.['name'];
  return name === undefined ? value : { type: 'function', function: { name } };
}
