import type { JsonObject } from '../../../common/core/exchange.js';
import { invalid, unsupported } from './anthropic-content.js';
import type { GeminiTraits } from './gemini-models.js';
import { toOpenApiSchema } from './gemini-schema.js';
import { asArray, asObject, asString, shortJson } from './json-shape.js';

/** Tools that Gemini runs itself, by either spelling of their names. */
const own: ReadonlyMap<string, string> = new Map(
  [
    'googleSearch',
    'googleSearchRetrieval',
    'googleMaps',
    'codeExecution',
    'urlContext',
    'enterpriseWebSearch',
    'computerUse',
    'fileSearch',
    'retrieval',
  ].flatMap((name) => [
    [name, name],
    [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), name],
  ]),
);

/** `tools` or the deprecated `functions`, with `tool_choice`, as members of a generateContent request. */
export function toTools(request: JsonObject, traits: GeminiTraits, dropped: string[]): JsonObject {
  const native: JsonObject[] = [];
  const declared: JsonObject[] = [];
  const given = asArray(request['tools']) ?? [];
  given.forEach((value, i) => {
    const path = `tools[${i}]`;
    const tool = asObject(value);
    if (tool === null) throw invalid(path, 'must be an object with a type.');
    const found = ownTool(tool);
    if (found !== null) native.push(found);
    else if (tool['type'] === 'function' || (tool['type'] === undefined && tool['function'] !== undefined))
      declared.push(declaration(tool, tool['function'], `${path}.function`, traits, dropped));
    else
      throw unsupported(
        path,
        `a tool of type ${shortJson(tool['type'])} cannot be sent to this provider: only functions can.`,
      );
    if (tool['cache_control'] !== undefined) dropped.push(`${path}.cache_control`);
  });
  if (given.length === 0) {
    (asArray(request['functions']) ?? []).forEach((fn, i) => {
      declared.push(declaration({}, fn, `functions[${i}]`, traits, dropped));
    });
  }
  if (request['parallel_tool_calls'] === false) dropped.push('parallel_tool_calls');
  if (declared.length + native.length === 0) return {};
  const { config, shown } = toChoice(
    request['tool_choice'] ?? legacyChoice(request['function_call']),
    declared,
  );
  const tools = shown.length === 0 ? native : [{ functionDeclarations: shown }, ...native];
  return config === null ? { tools } : { tools, toolConfig: { functionCallingConfig: config } };
}

/** `{google_search: {}}`, `{type: "google_search"}`, or a function of that name, whose parameters are its settings. */
function ownTool(tool: JsonObject): JsonObject | null {
  const fn = asObject(tool['function']);
  const named = own.get(asString(fn?.['name']) ?? asString(tool['type']) ?? '');
  if (named !== undefined) return { [named]: fn?.['parameters'] ?? tool[named] ?? {} };
  if (tool['type'] !== undefined || fn !== null) return null;
  for (const key in tool) {
    const name = own.get(key);
    if (name !== undefined) return { [name]: tool[key] };
  }
  return null;
}

function declaration(
  tool: JsonObject,
  value: unknown,
  path: string,
  traits: GeminiTraits,
  dropped: string[],
): JsonObject {
  const fn = asObject(value);
  const name = asString(fn?.['name']);
  if (fn === null || name === null) throw invalid(`${path}.name`, 'must be a string.');
  const out: JsonObject = { name };
  if (typeof fn['description'] === 'string') out['description'] = fn['description'];
  const { parameters } = fn;
  if (parameters !== undefined && parameters !== null) {
    const schema = asObject(parameters);
    if (schema === null) throw invalid(`${path}.parameters`, 'must be a JSON schema.');
    if (traits.jsonSchema) out['parametersJsonSchema'] = schema;
    // Older models refuse an object without properties.
    else if (Object.keys(asObject(schema['properties']) ?? {}).length > 0)
      out['parameters'] = toOpenApiSchema(schema, `${path}.parameters`, dropped);
  }
  if ((fn['strict'] ?? tool['strict']) === true) dropped.push(`${path}.strict`);
  return out;
}

interface GeminiToolChoice {
  readonly config: JsonObject | null;
  readonly shown: readonly JsonObject[];
}

function toChoice(given: unknown, declared: readonly JsonObject[]): GeminiToolChoice {
  const all = (mode: string): GeminiToolChoice => ({ config: { mode }, shown: declared });
  if (given === undefined || given === null) return { config: null, shown: declared };
  if (given === 'auto') return all('AUTO');
  if (given === 'none') return all('NONE');
  if (given === 'required') return all('ANY');
  const object = asObject(given);
  if (object === null) throw invalid('tool_choice', 'must be none, auto, required or a named function.');
  if (object['type'] === 'function') {
    const name = asString(asObject(object['function'])?.['name']) ?? asString(object['name']);
    if (name === null) throw invalid('tool_choice.function.name', 'must be a string.');
    return { config: { mode: 'ANY', allowedFunctionNames: [name] }, shown: declared };
  }
  if (object['type'] === 'allowed_tools') {
    const list = asObject(object['allowed_tools']);
    const path = 'tool_choice.allowed_tools.tools';
    const allowed = asArray(list?.['tools']);
    if (allowed === null) throw invalid(path, 'must be a list of tools.');
    const names = new Set(allowed.map((tool) => asObject(asObject(tool)?.['function'])?.['name']));
    const shown = declared.filter((tool) => names.has(tool['name']));
    if (shown.length === 0) throw invalid(path, 'names none of the tools.');
    return { config: { mode: list?.['mode'] === 'required' ? 'ANY' : 'AUTO' }, shown };
  }
  throw unsupported(
    'tool_choice',
    `a tool_choice of type ${shortJson(object['type'])} cannot be sent to this provider.`,
  );
}

function legacyChoice(value: unknown): unknown {
  const name = asObject(value)?.['name'];
  return name === undefined ? value : { type: 'function', function: { name } };
}
