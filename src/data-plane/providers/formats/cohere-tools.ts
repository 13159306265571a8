import type { JsonObject } from '../../../common/core/exchange.js';
import type { CanonicalRequest } from '../provider.js';
import { invalid, unsupported } from './anthropic-content.js';
import { asArray, asObject, asString, shortJson } from './json-shape.js';

/** `tools` with `tool_choice`, or the deprecated `functions` with `function_call`, written into `body`. */
export function addCohereTools(request: CanonicalRequest, body: JsonObject): void {
  const given = toolsOf(request);
  if (given.length === 0) return;
  const { tools, choice } = chosen(request, given);
  body['tools'] = tools.map(({ tool }) => tool);
  if (choice !== null) body['tool_choice'] = choice;
  if (tools.some(({ strict }) => strict)) body['strict_tools'] ??= true;
}

interface Tool {
  readonly name: string;
  readonly tool: JsonObject;
  readonly strict: boolean;
}

function toolsOf(request: CanonicalRequest): Tool[] {
  const tools = asArray(request['tools']);
  if (tools === null)
    return (asArray(request['functions']) ?? []).map((fn, i) => toTool(fn, `functions[${i}]`));
  return tools.map((value, i) => {
    const tool = asObject(value);
    if (tool?.['type'] !== 'function')
      throw unsupported(`tools[${i}]`, 'only tools of type function can be sent to this provider.');
    return toTool(tool['function'], `tools[${i}].function`);
  });
}

function toTool(value: unknown, path: string): Tool {
  const given = asObject(value);
  const name = asString(given?.['name']);
  if (given === null || name === null) throw invalid(`${path}.name`, 'must be a string.');
  const { strict, ...rest } = given;
  const parameters = given['parameters'] ?? { type: 'object', properties: {} };
  return { name, tool: { type: 'function', function: { ...rest, parameters } }, strict: strict === true };
}

/** One function alone, or some, can be chosen only by leaving out the others. */
function chosen(
  request: CanonicalRequest,
  tools: readonly Tool[],
): { readonly tools: readonly Tool[]; readonly choice: string | null } {
  const choice = request['tool_choice'] ?? legacyChoice(request['function_call']) ?? null;
  if (choice === null || choice === 'auto') return { tools, choice: null };
  if (choice === 'none') return { tools, choice: 'NONE' };
  if (choice === 'required') return { tools, choice: 'REQUIRED' };
  const object = asObject(choice);
  if (object === null) throw invalid('tool_choice', 'must be none, auto, required or a named function.');
  if (object['type'] === 'function') {
    const name = asString(asObject(object['function'])?.['name']);
    return {
      tools: only(tools, [name], 'tool_choice.function.name', 'names none of the tools.'),
      choice: 'REQUIRED',
    };
  }
  if (object['type'] !== 'allowed_tools') {
    throw unsupported(
      'tool_choice',
      `a tool_choice of type ${shortJson(object['type'])} cannot be sent to this provider.`,
    );
  }
  const allowed = asObject(object['allowed_tools']);
  const names = (asArray(allowed?.['tools']) ?? []).map(
    (tool) => asObject(asObject(tool)?.['function'])?.['name'],
  );
  return {
    tools: only(tools, names, 'tool_choice.allowed_tools.tools', 'names none of the tools.'),
    choice: allowed?.['mode'] === 'required' ? 'REQUIRED' : null,
  };
}

function only(tools: readonly Tool[], names: readonly unknown[], path: string, problem: string): Tool[] {
  const kept = tools.filter(({ name }) => names.includes(name));
  if (kept.length === 0) throw invalid(path, problem);
  return kept;
}

function legacyChoice(value: unknown): unknown {
  const name = asObject(value)?.['name'];
  return name === undefined ? value : { type: 'function', function: { name } };
}
