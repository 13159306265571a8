import { isDeepStrictEqual } from 'node:util';
import type { FieldShape } from '../../../../../proto/shape.js';
import { isObject, type JsonFields, under } from './kinds/json.js';
import type { DocumentKind } from './kinds/kind.js';
import { specShape } from './kinds/spec-shape.js';

/** `usage_limits.0.type` → `usage_limits.*.type`. */
const pattern = (path: string): string => path.replace(/(?<=\.)\d+(?=\.|$)/g, '*');

const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0);

/** Specs in one form, so that two that mean the same are equal: without what is absent, computed or usual. */
class Canonical {
  constructor(
    readonly kind: DocumentKind,
    /** Keep what the gateway computes? */
    readonly keepsComputed: boolean,
  ) {}

  field(field: FieldShape, value: unknown, path: string): unknown {
    if (value === undefined || value === null) return undefined;
    const at = pattern(path);
    if (!this.keepsComputed && this.kind.computed?.includes(at)) return undefined;
    const usual = this.kind.usual ?? {};
    if (Object.hasOwn(usual, at) && isDeepStrictEqual(usual[at], value)) return undefined;
    const made = this.#value(field, value, path);
    return isNothing(made) && field.rules.required !== true ? undefined : made;
  }

  #value(field: FieldShape, value: unknown, path: string): unknown {
    if (field.list && Array.isArray(value))
      return value.map((item, i) => this.#single(field, item, `${path}.${i}`));
    if (field.map && isObject(value))
      return Object.fromEntries(
        Object.entries(value).map(([name, item]) => [name, this.#single(field, item, `${path}.${name}`)]),
      );
    return this.#single(field, value, path);
  }

  #single(field: FieldShape, value: unknown, path: string): unknown {
    if (field.kind !== 'message' || !isObject(value)) return value;
    const made: Record<string, unknown> = {};
    for (const inner of field.message!.fields) {
      if (inner.apart) continue;
      const kept = this.field(inner, value[inner.jsonName] ?? value[inner.name], under(path, inner.name));
      if (kept !== undefined) made[inner.jsonName] = kept;
    }
    return made;
  }
}

/**
 * The spec in its one form. What its kind has no field for is left out: a record as it is read becomes its spec.
 * `keepsComputed`: also what the gateway fills in by itself.
 */
export function canonical(kind: DocumentKind, spec: JsonFields, keepsComputed = true): JsonFields {
  const form = new Canonical(kind, keepsComputed);
  const made: Record<string, unknown> = {};
  for (const field of specShape(kind).fields) {
    const value = form.field(field, spec[field.jsonName] ?? spec[field.name], field.name);
    if (value !== undefined) made[field.jsonName] = value;
  }
  return kind.form?.(made) ?? made;
}

/** What the record has of a field, as far as the document's value is to be compared with it. */
export function comparable(kind: DocumentKind, field: string, wanted: unknown, current: unknown): unknown {
  const key = kind.keyed?.[field];
  if (key === undefined || !Array.isArray(wanted) || !Array.isArray(current))
    return withoutComputed(kind, field, wanted, current);
  const named = wanted.filter(isObject).map((item) => item[key]);
  const kept = named.flatMap((name) => current.filter((item) => isObject(item) && item[key] === name));
  return withoutComputed(kind, field, wanted, kept);
}

/** What the gateway has computed counts only where the document gives it. */
function withoutComputed(kind: DocumentKind, path: string, wanted: unknown, current: unknown): unknown {
  if (kind.computed?.includes(pattern(path)) && wanted === undefined) return undefined;
  if (Array.isArray(current))
    return current.map((item, i) =>
      withoutComputed(kind, `${path}.${i}`, Array.isArray(wanted) ? wanted[i] : undefined, item),
    );
  if (!isObject(current)) return current;
  const given = isObject(wanted) ? wanted : {};
  return Object.fromEntries(
    Object.entries(current)
      .map(([name, value]) => [name, withoutComputed(kind, `${path}.${name}`, given[name], value)] as const)
      .filter(([, value]) => value !== undefined),
  );
}

/** One place where two specs differ. Absent: there is nothing. */
export interface SpecDifference {
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Where two values differ, as deep as both have the same structure. */
export function differences(path: string, before: unknown, after: unknown): SpecDifference[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
    return names.flatMap((name) => differences(under(path, name), before[name], after[name]));
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const length = Math.max(before.length, after.length);
    return Array.from({ length }, (_, i) => differences(`${path}[${i}]`, before[i], after[i])).flat();
  }
  return [{ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
}

/** Objects with their names in order, everywhere. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name])]),
  );
}
