import type { Ajv, ErrorObject, SchemaValidateFunction, ValidateFunction } from 'ajv';
import { lazyAjv } from '../json/ajv.js';
import { readSchema, SchemaRefused } from '../json/json-schema-read.js';
import type { ParameterTable } from './guardrail-parameters.js';
import { whyNoExpression } from './written-expression.js';

/** What is wrong with a check. `message` completes the sentence "<path> …". */
export interface CheckFinding {
  readonly path: string;
  readonly message: string;
}

/** Enough to put a check right in one go, few enough that a hostile one cannot make the answer long. */
const most = 20;

// `verbose` gives an error its schema, whose description is the message; the value it carries too is never shown.
const ajv = lazyAjv({ allErrors: true, verbose: true, strict: true, allowUnionTypes: true }, prepare);

function prepare(made: Ajv): void {
  made.addFormat('regex', (text: string) => whyNoExpression(text) === null);
  made.addFormat('url', (text: string) => URL.canParse(text));
  made.addKeyword({ keyword: 'jsonSchema', type: 'object', errors: true, validate: checkJsonSchema });
  made.addKeyword('secret');
}

/** Reports what is wrong with a schema, and where in it, as the message of the one error that is passed to ajv. */
const checkJsonSchema: SchemaValidateFunction = (_wanted, schema, parentSchema) => {
  try {
    readSchema(schema);
    return true;
  } catch (thrown) {
    if (!(thrown instanceof SchemaRefused)) throw thrown;
    const { path, message } = thrown;
    checkJsonSchema.errors = [
      {
        keyword: 'jsonSchema',
        message: `${path} ${message}`.trim(),
        params: {},
        parentSchema: parentSchema as object,
      },
    ];
    return false;
  }
};

export const quoted = (text: string): string =>
  JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
/** The path of a value below `path`. */
export const child = (path: string, key: string): string =>
  /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(key) ? `${path}.${key}` : `${path}[${quoted(key)}]`;

/** A JSON pointer below `path` as people read it: `/words/0` → `.words[0]`. */
function below(path: string, pointer: string): string {
  const keys = pointer.split('/').slice(1);
  return keys
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((at, key) => (/^\d+$/.test(key) ? `${at}[${key}]` : child(at, key)), path);
}

function findingOf(
  { keyword, instancePath, params, parentSchema, message }: ErrorObject,
  path: string,
): CheckFinding {
  const at = below(path, instancePath);
  if (keyword === 'required') return { path: child(at, params['missingProperty']), message: 'is required' };
  if (keyword === 'additionalProperties') {
    return { path: child(at, params['additionalProperty']), message: 'is not a parameter of this check' };
  }
  const rule = String(parentSchema?.['description'] ?? message);
  return { path: at, message: keyword === 'jsonSchema' ? `${rule}: ${message}` : rule };
}

// Schemas of plugins may have keywords that are not of draft 7: these are ignored.
const ajvOfPlugins = lazyAjv({ allErrors: true, verbose: true, strict: false }, prepare);

const compiled = new WeakMap<ParameterTable, ValidateFunction>();

/** Why the schema of a plugin is none; null: it is one. */
export function whyNoParameters(table: ParameterTable): string | null {
  const ajv = ajvOfPlugins();
  try {
    compiled.set(table, ajv.compile(table));
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    // It would keep the schemas of all versions of a plugin.
    ajv.removeSchema(table);
  }
}

/** What is wrong with the parameters of a check, at most 20 findings. `path`: where they are. `isPlugins`: the check is a plugin's. */
export function parameterFindings(
  table: ParameterTable,
  parameters: unknown,
  path: string,
  isPlugins: boolean,
): readonly CheckFinding[] {
  if (isPlugins && !compiled.has(table)) whyNoParameters(table);
  const validate = compiled.get(table) ?? ajv().compile(table);
  compiled.set(table, validate);
  if (validate(parameters ?? {})) return [];
  const found = new Map<string, CheckFinding>();
  for (const error of validate.errors ?? []) {
    const finding = findingOf(error, path);
    found.set(`${finding.path} ${finding.message}`, finding);
    if (found.size === most) break;
  }
  return [...found.values()];
}
