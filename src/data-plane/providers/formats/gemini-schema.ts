import type { JsonObject } from '../../../common/core/exchange.js';
import { asArray, asObject, asString } from './json-shape.js';

/** The keywords of the Schema object of models before 2.5 (ai.google.dev/api/caching#Schema). */
const known = new Set([
  'type',
  'format',
  'title',
  'description',
  'nullable',
  'enum',
  'maxItems',
  'minItems',
  'properties',
  'required',
  'minProperties',
  'maxProperties',
  'minLength',
  'maxLength',
  'pattern',
  'example',
  'anyOf',
  'propertyOrdering',
  'default',
  'items',
  'minimum',
  'maximum',
]);

const maxDepth = 32;

/**
 * A JSON schema as the subset of OpenAPI 3.0 that older models take: references written out, a union with null as
 * `nullable`, `const` as an `enum` of one. Other keywords are left out and named in `dropped`.
 */
export function toOpenApiSchema(schema: JsonObject, path: string, dropped: string[]): JsonObject {
  const definitions = { ...asObject(schema['definitions']), ...asObject(schema['$defs']) };
  const convert = (value: unknown, at: string, depth: number): unknown => {
    const given = asObject(value);
    if (given === null) return value;
    const name = /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(asString(given['$ref']) ?? '')?.[1];
    if (name !== undefined && definitions[name] !== undefined) {
      if (depth < maxDepth) return convert(definitions[name], at, depth + 1);
      dropped.push(`${at}.$ref`);
      return { type: 'object' };
    }
    const out: JsonObject = {};
    for (const key in given) {
      const inner = given[key];
      const inside = `${at}.${key}`;
      if (key === '$schema' || key === '$defs' || key === 'definitions' || key === '$id') continue;
      if (key === 'properties')
        out[key] = mapped(asObject(inner) ?? {}, (v, k) => convert(v, `${inside}.${k}`, depth + 1));
      else if (key === 'items') out[key] = convert(inner, inside, depth + 1);
      else if (key === 'anyOf' || key === 'oneOf')
        addUnion(out, asArray(inner) ?? [], (v, i) => convert(v, `${inside}[${i}]`, depth + 1));
      else if (key === 'type' && Array.isArray(inner)) addTypes(out, inner);
      else if (key === 'const') out['enum'] = [inner];
      else if (known.has(key)) out[key] = inner;
      else dropped.push(inside);
    }
    return out;
  };
  return convert(schema, path, 0) as JsonObject;
}

function mapped(object: JsonObject, convert: (value: unknown, key: string) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, convert(value, key)]));
}

function addUnion(
  out: JsonObject,
  members: readonly unknown[],
  convert: (value: unknown, i: number) => unknown,
): void {
  const kept = members
    .map((member, i) => ({ member, i }))
    .filter(({ member }) => asObject(member)?.['type'] !== 'null');
  if (kept.length < members.length) out['nullable'] = true;
  const converted = kept.map(({ member, i }) => convert(member, i));
  if (converted.length === 1) Object.assign(out, converted[0]);
  else if (converted.length > 1) out['anyOf'] = converted;
}

function addTypes(out: JsonObject, types: readonly unknown[]): void {
  const kept = types.filter((type) => type !== 'null');
  if (kept.length < types.length) out['nullable'] = true;
  if (kept.length === 1) out['type'] = kept[0];
  else if (kept.length > 1) out['anyOf'] = kept.map((type) => ({ type }));
}
