import { LRUCache } from 'lru-cache';
import { SchemaTooSlow, SchemaValidator } from '../../../common/json/json-schema.js';
import { SchemaRefused } from '../../../common/json/json-schema-read.js';
import { AdminError } from '../admin-error.js';

/**
 * The JSON Schema (draft 7) that an organisation may set for the metadata of its keys and workspaces. It is input that
 * is evaluated in the control process: small, without references that lead out of it, patterns in RE2's syntax, and
 * each check ends after a bounded number of steps. The same rules apply to schemas that were stored before, when they are used.
 */

type MetadataSchema = Readonly<Record<string, unknown>>;

const largestSchema = 16 * 1024;
/** Bytes of heap of schemas that were read, by estimate. */
const maxKeptBytes = 8 * 1024 * 1024;

const known = new LRUCache<string, SchemaValidator>({
  max: 1000,
  maxSize: maxKeptBytes,
  sizeCalculation: (schema, text) => 512 + 2 * text.length + schema.bytes,
});

/** Throws SchemaRefused. */
function read(schema: MetadataSchema): SchemaValidator {
  const text = JSON.stringify(schema);
  let found = known.get(text);
  if (found === undefined) {
    if (Buffer.byteLength(text) > largestSchema)
      throw new SchemaRefused('', `must be at most ${largestSchema} bytes long`);
    found = new SchemaValidator(JSON.parse(text));
    known.set(text, found);
  }
  return found;
}

const isObject = (value: unknown): value is MetadataSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Metadata is an object of texts: a schema that asks for something else could never be satisfied. */
function checkTypes(schema: MetadataSchema, path: string): void {
  const { type = 'object', properties = {} } = schema;
  if (type !== 'object') throw AdminError.field(`${path}.type`, 'must be object.');
  if (!isObject(properties)) throw AdminError.field(`${path}.properties`, 'must be an object.');
  for (const [name, property] of Object.entries(properties)) {
    if (isObject(property) && property['type'] !== undefined && property['type'] !== 'string')
      throw AdminError.field(`${path}.properties.${name}.type`, 'must be string: metadata is text.');
  }
}

/** Throws AB01 for what is no schema that metadata could be checked by. */
export function checkSchema(schema: MetadataSchema, path: string): void {
  checkTypes(schema, path);
  try {
    // Checked once, so that one that cannot be used (it contains itself, for instance) is refused here.
    read(schema).check({});
  } catch (cause) {
    if (cause instanceof SchemaRefused) throw AdminError.field(path + cause.path, `${cause.message}.`);
    if (cause instanceof SchemaTooSlow) throw AdminError.field(path, `cannot be used: ${cause.message}.`);
    throw cause;
  }
}

/** Throws AB01 for metadata that does not satisfy the organisation's schema; `null`: there is none. */
export function checkMetadata(
  schema: MetadataSchema | null,
  metadata: Readonly<Record<string, string>>,
  path: string,
): void {
  if (schema === null) return;
  const broken = brokenBy(schema, metadata, path);
  if (broken !== null)
    throw AdminError.field(path + broken.path, `${broken.message}, by the organisation's metadata schema.`);
}

function brokenBy(schema: MetadataSchema, metadata: Readonly<Record<string, string>>, path: string) {
  try {
    return read(schema).check(metadata);
  } catch (cause) {
    const cannot = "cannot be checked by the organisation's metadata schema";
    if (cause instanceof SchemaTooSlow) throw AdminError.field(path, `${cannot}: ${cause.message}.`);
    if (!(cause instanceof SchemaRefused)) throw cause;
    throw AdminError.field(
      path,
      `${cannot}, whose settings.metadata_schema${cause.path} ${cause.message}: have the organisation's schema changed.`,
    );
  }
}
