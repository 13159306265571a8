import { createContext, Script } from 'node:vm';
import { Ajv, type ValidateFunction } from 'ajv';
import { LRUCache } from 'lru-cache';
import { AdminError } from './admin-error.js';

/**
 * The JSON Schema (draft 7) that an organisation may set for the metadata of its keys and workspaces. It is somebody's
 * input that is run as code: small, by itself (no reference leads out of it), and stopped when it takes its time, as
 * a pattern of the wrong kind or references that multiply would.
 */

type Schema = Readonly<Record<string, unknown>>;
type Validate = ValidateFunction;

const largestSchema = 16 * 1024;
/** Of the clock, not of the processor: a busy machine must not make a good schema a bad one. */
const longestCompileMs = 2000;
const longestCheckMs = 250;

const box = createContext({ work: () => {} });
const script = new Script('work()');

/** Runs `work`, for so long. Throws what it throws, and where it took too long. */
function bounded<T>(timeout: number, work: () => T): T {
  box['work'] = work;
  return script.runInContext(box, { timeout }) as T;
}

const compiled = new LRUCache<string, Validate>({ max: 100 });

function compile(schema: Schema): Validate {
  const text = JSON.stringify(schema);
  let validate = compiled.get(text);
  if (validate === undefined) {
    // An instance each: a schema's $id is its own affair. Formats are notes for people, as draft 7 allows.
    const ajv = new Ajv({ strict: false, validateFormats: false, logger: false });
    validate = bounded(longestCompileMs, () => ajv.compile(JSON.parse(text)));
    compiled.set(text, validate);
  }
  return validate;
}

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Metadata is an object of texts: a schema that asks for something else could never be satisfied. */
function checkTypes(schema: Schema, path: string): void {
  const { type = 'object', properties = {} } = schema;
  if (type !== 'object') throw AdminError.field(`${path}.type`, 'must be object.');
  if (!isObject(properties)) throw AdminError.field(`${path}.properties`, 'must be an object.');
  for (const [name, property] of Object.entries(properties)) {
    if (isObject(property) && property['type'] !== undefined && property['type'] !== 'string')
      throw AdminError.field(`${path}.properties.${name}.type`, 'must be string: metadata is text.');
  }
}

/** Throws AB01 for what is no schema that metadata could be checked by. */
export function checkSchema(schema: Schema, path: string): void {
  if (Buffer.byteLength(JSON.stringify(schema)) > largestSchema)
    throw AdminError.field(path, `must be at most ${largestSchema} bytes long.`);
  checkTypes(schema, path);
  try {
    // Once run, so that one that cannot be (it contains itself, say) is refused here.
    const validate = compile(schema);
    bounded(longestCheckMs, () => validate({}));
  } catch (cause) {
    const why = isTimeout(cause) ? 'takes too long to check.' : `cannot be used: ${wordsOf(cause)}.`;
    throw AdminError.field(path, why);
  }
}

/** Throws AB01 for metadata that does not satisfy the organisation's schema; `null`: there is none. */
export function checkMetadata(
  schema: Schema | null,
  metadata: Readonly<Record<string, string>>,
  path: string,
): void {
  if (schema === null) return;
  let wrong: { readonly instancePath: string; readonly message?: string } | undefined;
  try {
    const validate = compile(schema);
    wrong = bounded(longestCheckMs, () => (validate(metadata) ? undefined : validate.errors?.[0]));
  } catch (cause) {
    throw AdminError.field(
      path,
      `cannot be checked by the organisation's metadata schema: ${wordsOf(cause)}.`,
    );
  }
  if (wrong !== undefined)
    throw AdminError.field(
      `${path}${wrong.instancePath.replaceAll('/', '.')}`,
      `${wrong.message ?? 'is wrong'}, by the organisation's metadata schema.`,
    );
}

/** Made in the script's own realm, where Error is another. */
const isTimeout = (error: unknown): boolean =>
  (error as { code?: unknown } | null)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';

const wordsOf = (error: unknown): string =>
  isTimeout(error) ? 'it takes too long' : error instanceof Error ? error.message.slice(0, 200) : 'no schema';
