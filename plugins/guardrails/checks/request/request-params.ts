import type { RequestCheck } from '../../check.js';
import { isPlain } from './values.js';

interface ToolRules {
  readonly blockedTypes?: readonly string[];
  readonly allowedTypes?: readonly string[];
  readonly blockedFunctionNames?: readonly string[];
  readonly allowedFunctionNames?: readonly string[];
}

interface ParamRules {
  readonly blockedKeys?: readonly string[];
  readonly allowedKeys?: readonly string[];
  readonly values?: Readonly<
    Record<
      string,
      { readonly blockedValues?: readonly unknown[]; readonly allowedValues?: readonly unknown[] }
    >
  >;
}

interface Tool {
  readonly type: string;
  readonly name: string | null;
}

/** Tools that a request may have where any are blocked or allowed, and violations that are listed. */
const maxTools = 1000;
const maxViolations = 20;

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** The tools of a request, in the formats of OpenAI (and its older `functions`), Anthropic and Gemini: `maxTools` and one more at most. */
function toolsOf(body: Readonly<Record<string, unknown>>): Tool[] {
  const found: Tool[] = [];
  for (const tool of listIn(body['functions']))
    if (isPlain(tool)) found.push({ type: 'function', name: textOf(tool['name']) });
  for (const tool of listIn(body['tools'])) {
    if (!isPlain(tool)) continue;
    const declared = tool['functionDeclarations'] ?? tool['function_declarations'];
    if (!Array.isArray(declared)) found.push(toolOf(tool));
    else {
      for (const each of listIn(declared))
        if (isPlain(each)) found.push({ type: 'function', name: textOf(each['name']) });
      // An object of Gemini may have several tools, by their keys.
      for (const key of Object.keys(tool)) if (tool[key] !== declared) found.push({ type: key, name: null });
    }
    if (found.length > maxTools) break;
  }
  return found.slice(0, maxTools + 1);
}

const listIn = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value.slice(0, maxTools + 1) : [];

function toolOf(tool: Readonly<Record<string, unknown>>): Tool {
  const inner = [tool['function'], tool['custom']].find(isPlain) ?? tool;
  const name = textOf(inner['name']);
  // Anthropic's own tools have a type, functions of the client may have none; Gemini's are keys.
  const [key = 'unknown'] = Object.keys(tool);
  const type = textOf(tool['type']) ?? (name === null ? key : 'function');
  return { type: type === 'custom' && isPlain(tool['input_schema']) ? 'function' : type, name };
}

/** Why a value is refused by two lists; null: it is not. */
const refusal = (
  value: unknown,
  blocked: readonly unknown[] = [],
  allowed: readonly unknown[] = [],
): string | null => {
  if (blocked.includes(value)) return 'is blocked';
  return allowed.length > 0 && !allowed.includes(value) ? 'is not among the allowed ones' : null;
};

/** The first ones. */
function violationsOf(
  body: Readonly<Record<string, unknown>>,
  tools: ToolRules,
  params: ParamRules,
): string[] {
  const found: string[] = [];
  const add = (violation: string): void => {
    if (found.length < maxViolations) found.push(violation);
  };
  const all = Object.keys(tools).length === 0 ? [] : toolsOf(body);
  if (all.length > maxTools) add(`The request has more than ${maxTools} tools.`);
  for (const { type, name } of all) {
    const byType = refusal(type, tools.blockedTypes, tools.allowedTypes);
    if (byType !== null) add(`The tool type ${type.slice(0, 100)} ${byType}.`);
    const byName =
      name === null ? null : refusal(name, tools.blockedFunctionNames, tools.allowedFunctionNames);
    if (byName !== null) add(`The function ${name!.slice(0, 100)} ${byName}.`);
  }
  for (const key of Object.keys(body)) {
    const byKey = refusal(key, params.blockedKeys, params.allowedKeys);
    if (byKey !== null) add(`The parameter ${key.slice(0, 100)} ${byKey}.`);
  }
  for (const [key, { blockedValues, allowedValues }] of Object.entries(params.values ?? {})) {
    if (!Object.hasOwn(body, key)) continue;
    const byValue = refusal(body[key], blockedValues, allowedValues);
    if (byValue !== null) add(`The value of ${key.slice(0, 100)} ${byValue}.`);
  }
  return found;
}

/** Are the tools and parameters of the request allowed? */
export const requestParams: RequestCheck = {
  id: 'default.requestParams',
  runs: 'request',
  run({ body }, parameters) {
    const { tools = {}, params = {} } = parameters as {
      readonly tools?: ToolRules;
      readonly params?: ParamRules;
    };
    const violations = violationsOf(body ?? {}, tools, params);
    const data = () => ({
      explanation: violations[0] ?? 'All tools and parameters are allowed.',
      violations,
    });
    return { verdict: violations.length === 0, data };
  },
};
