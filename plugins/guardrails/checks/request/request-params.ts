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

/** What a provider may read from one entry of a list of tools. */
interface Tool {
  readonly types: readonly string[];
  readonly names: readonly string[];
}

/** Tools that a request may have where any are blocked or allowed, and violations that are listed. */
const maxTools = 1000;
const maxViolations = 20;

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const declarationKeys = ['functionDeclarations', 'function_declarations'];

/**
 * The tools of a request, in the formats of OpenAI (and its older `functions`), Anthropic and Gemini; null: they have more
 * than `maxTools` types and names.
 */
function toolsOf(body: Readonly<Record<string, unknown>>): Tool[] | null {
  const functions = listIn(body['functions']);
  const given = listIn(body['tools']);
  let count = functions.length + given.length;
  if (count > maxTools) return null;
  const tools: Tool[] = functions.map((fn) => ({ types: ['function'], names: namesIn([fn]) }));
  for (const tool of given.filter(isPlain)) {
    const declared = declarationKeys.flatMap((key) => listIn(tool[key]));
    const types = typesOf(tool);
    count += Math.max(1, types.length, declared.length) - 1;
    if (count > maxTools) return null;
    tools.push({ types, names: namesIn([tool, tool['function'], tool['custom'], ...declared]) });
  }
  return tools;
}

const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** A tool may have a name in several places: which of them counts depends on the provider. */
const namesIn = (values: readonly unknown[]): string[] =>
  values.filter(isPlain).flatMap(({ name }) => textOf(name) ?? []);

function typesOf(tool: Readonly<Record<string, unknown>>): string[] {
  const type = textOf(tool['type']);
  // Anthropic's own tools have a type, functions of the client may have none.
  if (type !== null) return [type === 'custom' && isPlain(tool['input_schema']) ? 'function' : type];
  if (tool['name'] !== undefined || tool['function'] !== undefined) return ['function'];
  // An object of Gemini may have several tools, by their keys.
  return Object.keys(tool).map((key) => (declarationKeys.includes(key) ? 'function' : key));
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
  if (all === null) add(`The request has more than ${maxTools} tools.`);
  for (const { types, names } of all ?? []) {
    for (const type of types) {
      const byType = refusal(type, tools.blockedTypes, tools.allowedTypes);
      if (byType !== null) add(`The tool type ${type.slice(0, 100)} ${byType}.`);
    }
    for (const name of names) {
      const byName = refusal(name, tools.blockedFunctionNames, tools.allowedFunctionNames);
      if (byName !== null) add(`The function ${name.slice(0, 100)} ${byName}.`);
    }
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
