import type { JsonObject } from '../../../common/core/exchange.js';
import { asArray, asObject, asString } from '../formats/json-shape.js';
import { camel } from './gemini-names.js';

/** Counts, which protobuf's JSON writes as text. */
const counts = new Set(['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties']);

/**
 * Gemini's Schema, a dialect of OpenAPI's (ai.google.dev/api/caching#Schema) → JSON Schema: types in lower case,
 * `nullable` as a type, counts as numbers. What has no counterpart is noted in `dropped`.
 */
export function toJsonSchema(value: unknown, path: string, dropped: string[]): unknown {
  const schema = asObject(value);
  if (schema === null) return value;
  const out: JsonObject = {};
  for (const given in schema) {
    const key = camel(given);
    const inner = schema[given];
    const at = `${path}.${given}`;
    if (key === 'type') out['type'] = (asString(inner) ?? '').toLowerCase();
    else if (key === 'properties' || key === '$defs') out[key] = each(inner, at, dropped);
    else if (key === 'items') out[key] = toJsonSchema(inner, at, dropped);
    else if (key === 'anyOf') {
      out[key] = (asArray(inner) ?? []).map((option, i) => toJsonSchema(option, `${at}[${i}]`, dropped));
    } else if (key === 'propertyOrdering') dropped.push(at);
    else if (key === 'example') out['examples'] = [inner];
    else if (counts.has(key)) out[key] = Number(inner);
    // OpenAPI's formats of enumerations and numbers repeat `enum` and `type`.
    else if (key !== 'nullable' && !(key === 'format' && inner === 'enum')) out[key] = inner;
  }
  if (schema['nullable'] !== true) return out;
  if (Array.isArray(out['anyOf'])) out['anyOf'] = [...out['anyOf'], { type: 'null' }];
  else if (typeof out['type'] === 'string') out['type'] = [out['type'], 'null'];
  if (Array.isArray(out['enum'])) out['enum'] = [...out['enum'], null];
  return out;
}

function each(value: unknown, path: string, dropped: string[]): JsonObject {
  const properties = asObject(value) ?? {};
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name,
      toJsonSchema(schema, `${path}.${name}`, dropped),
    ]),
  );
}
