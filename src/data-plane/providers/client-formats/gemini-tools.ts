import type { JsonObject } from '../../../common/core/exchange.js';
import { invalid, unsupported } from '../formats/anthropic-content.js';
import { asArray, asObject, asString } from '../formats/json-shape.js';
import { camel, member } from './gemini-names.js';
import { toJsonSchema } from './gemini-schema.js';

/** Canonical tools, and where in the client's body each stood. */
export interface ToolsIn {
  readonly tools: JsonObject[];
  readonly paths: readonly string[];
}

const read = new Set(['name', 'description', 'parameters', 'parametersJsonSchema']);

/** Functions that the client runs; a tool that Google runs is refused by its name. */
export function readTools(value: unknown, dropped: string[]): ToolsIn {
  const tools: JsonObject[] = [];
  const paths: string[] = [];
  (asArray(value) ?? []).forEach((given, i) => {
    const tool = asObject(given);
    if (tool === null) throw invalid(`tools[${i}]`, 'must be an object.');
    for (const key in tool) {
      if (camel(key) === 'functionDeclarations' || tool[key] === null) continue;
      throw unsupported(
        `tools[${i}].${key}`,
        'a tool that Google runs can only be asked of a provider with this endpoint.',
      );
    }
    (asArray(member(tool, 'functionDeclarations')) ?? []).forEach((declaration, j) => {
      const path = `tools[${i}].functionDeclarations[${j}]`;
      tools.push({ type: 'function', function: readFunction(declaration, path, dropped) });
      paths.push(path);
    });
  });
  return { tools, paths };
}

function readFunction(value: unknown, path: string, dropped: string[]): JsonObject {
  const declaration = asObject(value);
  const name = asString(declaration?.['name']);
  if (declaration === null || name === null) throw invalid(`${path}.name`, 'must be a string.');
  const fn: JsonObject = { name };
  if (typeof declaration['description'] === 'string') fn['description'] = declaration['description'];
  const schema = member(declaration, 'parametersJsonSchema');
  if (schema !== undefined) fn['parameters'] = schema;
  else if (asObject(declaration['parameters']) !== null) {
    fn['parameters'] = toJsonSchema(declaration['parameters'], `${path}.parameters`, dropped);
  }
  for (const key in declaration) {
    if (!read.has(camel(key)) && declaration[key] !== null) dropped.push(`${path}.${key}`);
  }
  return fn;
}

const modes: Readonly<Record<string, string>> = {
  AUTO: 'auto',
  VALIDATED: 'auto',
  NONE: 'none',
  ANY: 'required',
};

/** `toolConfig`: how functions are called, and which. The others are not sent: no chat API has a field for it. */
export function readToolConfig(value: unknown, tools: JsonObject[], request: JsonObject): void {
  if (tools.length === 0) return;
  request['tools'] = tools;
  const config = asObject(member(asObject(value), 'functionCallingConfig'));
  const mode = asString(config?.['mode']);
  if (config === null || mode === null || mode === 'MODE_UNSPECIFIED') return;
  const choice = modes[mode];
  if (choice === undefined) {
    throw invalid(
      'toolConfig.functionCallingConfig.mode',
      `must be one of ${Object.keys(modes).join(', ')}.`,
    );
  }
  request['tool_choice'] = choice;
  const names = asArray(member(config, 'allowedFunctionNames')) ?? [];
  if (names.length === 0) return;
  const allowed = tools.filter((tool) => names.includes(asObject(tool['function'])?.['name']));
  if (allowed.length === 0) {
    throw invalid('toolConfig.functionCallingConfig.allowedFunctionNames', 'names none of the functions.');
  }
  request['tools'] = allowed;
}
