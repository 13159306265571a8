import type { JsonObject } from '../../../common/core/exchange.js';
import { stringifyJson } from '../../../common/json/json.js';
import { asArray, asObject, asString } from './json-shape.js';

/** Limits that structured output refuses: they are written into the description, as Anthropic's own clients write them. */
const limits = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'uniqueItems',
]);

/** String formats that structured output supports. */
const formats = new Set<unknown>([
  ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'],
]);

/** Keywords that cannot be removed without changing what the schema accepts. */
const inexpressible = new Set([
  ...['allOf', 'not', 'if', 'then', 'else', 'patternProperties', 'propertyNames', 'dependentSchemas'],
  ...['dependentRequired', 'minProperties', 'maxProperties', 'prefixItems', 'contains', '$dynamicRef'],
]);

const localRef = /^#\/(?:\$defs|definitions)\/([^/]+)$/;

/**
 * A JSON schema as Claude's structured output takes it (platform.claude.com/docs/en/build-with-claude/structured-outputs,
 * "JSON Schema limitations"; Bedrock's has the same): every object is closed, and limits, which are named in `dropped`,
 * are part of the descriptions. null: that is not possible, as for an object with any members, or a schema that
 * contains itself.
 */
export function toStructuredSchema(schema: JsonObject, path: string, dropped: string[]): JsonObject | null {
  const writer = new SchemaWriter();
  const written = writer.write(schema, path);
  if (!writer.fits || isRecursive(schema)) return null;
  for (const lost of writer.lost) dropped.push(lost);
  return written;
}

/** Can a tool with this schema be strict, which has the same limitations? */
export function fitsStrictTool(schema: JsonObject): boolean {
  const writer = new SchemaWriter();
  writer.write(schema, '');
  return writer.fits && writer.lost.length === 0 && !writer.hasClosed && !isRecursive(schema);
}

class SchemaWriter {
  fits = true;
  /** Did an object lack `additionalProperties: false`? */
  hasClosed = false;
  readonly lost: string[] = [];

  write(node: JsonObject, path: string): JsonObject {
    const out: JsonObject = {};
    const hints: string[] = [];
    for (const key in node) {
      const value = node[key];
      const at = `${path}.${key}`;
      if (inexpressible.has(key)) this.fits = false;
      else if (key === 'properties' || key === '$defs' || key === 'definitions')
        out[key] = this.#members(asObject(value) ?? {}, at);
      else if (key === 'items') out[key] = this.#schema(value, at);
      else if (key === 'anyOf' || key === 'oneOf')
        out['anyOf'] = (asArray(value) ?? []).map((each, i) => this.#schema(each, `${at}[${i}]`));
      else if (this.#isLimit(key, value)) {
        this.lost.push(at);
        hints.push(`${key}: ${stringifyJson(value)}`);
      } else out[key] = value;
    }
    if (node['anyOf'] !== undefined && node['oneOf'] !== undefined) this.fits = false;
    const ref = node['$ref'];
    if (ref !== undefined && !localRef.test(asString(ref) ?? '')) this.fits = false;
    if (hints.length > 0) {
      const described = asString(node['description']);
      out['description'] = `${described === null ? '' : `${described}\n\n`}{${hints.join(', ')}}`;
    }
    if (isObject(node)) this.#close(node, out);
    return out;
  }

  #close(node: JsonObject, out: JsonObject): void {
    const more = node['additionalProperties'];
    const isOpen =
      more === undefined ? Object.keys(asObject(node['properties']) ?? {}).length === 0 : more !== false;
    if (isOpen) this.fits = false;
    if (more === undefined) this.hasClosed = true;
    out['additionalProperties'] = false;
  }

  #members(members: JsonObject, path: string): JsonObject {
    return Object.fromEntries(
      Object.entries(members).map(([name, value]) => [name, this.#schema(value, `${path}.${name}`)]),
    );
  }

  #schema(value: unknown, path: string): unknown {
    const node = asObject(value);
    if (node !== null) return this.write(node, path);
    // `true` is a schema of anything, `false` of nothing.
    this.fits = false;
    return value;
  }

  #isLimit(key: string, value: unknown): boolean {
    if (key === 'minItems') return value !== 0 && value !== 1;
    return key === 'format' ? !formats.has(value) : limits.has(key);
  }
}

function isObject(node: JsonObject): boolean {
  const { type, properties } = node;
  return type === 'object' || asArray(type)?.includes('object') === true || asObject(properties) !== null;
}

/** Does a definition, or the schema itself, contain itself? */
function isRecursive(schema: JsonObject): boolean {
  const definitions = { ...asObject(schema['definitions']), ...asObject(schema['$defs']) };
  const done = new Set<string>();
  const open = new Set<string>();
  const contains = (value: unknown): boolean => {
    if (Array.isArray(value)) return value.some(contains);
    const node = asObject(value);
    if (node === null) return false;
    const name = localRef.exec(asString(node['$ref']) ?? '')?.[1];
    if (name !== undefined && reaches(name)) return true;
    return Object.entries(node).some(([key, member]) => !isDefinitions(key) && contains(member));
  };
  const reaches = (name: string): boolean => {
    if (open.has(name)) return true;
    if (done.has(name)) return false;
    open.add(name);
    const found = contains(definitions[name]);
    open.delete(name);
    done.add(name);
    return found;
  };
  return Object.keys(definitions).some(reaches) || contains(schema);
}

const isDefinitions = (key: string): boolean => key === '$defs' || key === 'definitions';
