import type { Ajv, ErrorObject, SchemaValidateFunction, ValidateFunction } from 'ajv';
import { lazyAjv } from '../json/ajv.js';
import { readSchema, SchemaRefused } from '../json/json-schema-read.js';
import { guardrailChecks } from './guardrail-checks.js';
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

const compiled = new Map<string, ValidateFunction>();

const quoted = (text: string): string => JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
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
  const rule = String(parentSchema?.['description']);
  return { path: at, message: keyword === 'jsonSchema' ? `${rule}: ${message}` : rule };
}

/**
 * What is wrong with one check of a guardrail, at most 20 findings; none: it may be kept. `path` is where the check
 * is, such as `checks[0]`; an unknown id is found at `checks[0].id`, a bad parameter at
 * `checks[0].parameters.words[2]`.
 */
export function findingsOfCheck(id: string, parameters: unknown, path: string): readonly CheckFinding[] {
  const check = guardrailChecks.get(id);
  if (check === undefined) return [{ path: `${path}.id`, message: `names no check: ${quoted(id)}` }];
  const validate = compiled.get(id) ?? ajv().compile(check.parameters);
  compiled.set(id, validate);
  if (validate(parameters ?? {})) return [];
  const found = new Map<string, CheckFinding>();
  for (const error of validate.errors ?? []) {
    const finding = findingOf(error, `${path}.parameters`);
    found.set(`${finding.path} ${finding.message}`, finding);
    if (found.size === most) break;
  }
  return [...found.values()];
}
