import { retainedBytes } from '../bytes/retained-bytes.js';
import { isObject, type ReadSchema, readSchema, type Schema } from './json-schema-read.js';

/** Checking a value by a schema would take too long. */
export class SchemaTooSlow extends Error {}

/** Where a value breaks its schema. */
export interface Broken {
  /** From the value's root: `.team`, `.list[2]`, or ''. */
  readonly path: string;
  /** Completes the sentence "<path> …". */
  readonly message: string;
}

/**
 * What checking a value may cost, in steps of about 25 ns (one character tried on one instruction of a pattern at the
 * worst): 6 ms.
 */
const maxSteps = 240_000;
/** A part of a schema that is looked at. */
const partSteps = 32;
/** A comparison of two values. */
const equalSteps = 4;
/** Parts within each other, references included. */
const maxDepth = 200;

/** A JSON Schema (draft 7) that was read and found usable. */
export class SchemaValidator {
  readonly #schema: ReadSchema;
  /** Bytes of heap that it keeps, at most. */
  readonly bytes: number;

  /** Throws SchemaRefused. */
  constructor(schema: unknown) {
    this.#schema = readSchema(schema);
    this.bytes = retainedBytes(schema) + this.#schema.patternBytes;
  }

  /** The first thing that is wrong with a JSON value; null: nothing. Throws SchemaTooSlow before 20 ms are over. */
  check(value: unknown): Broken | null {
    return new SchemaCheck(this.#schema).part(this.#schema.root, value, '');
  }
}

const ok = null;

class SchemaCheck {
  #steps = 0;
  #depth = 0;

  constructor(readonly schema: ReadSchema) {}

  #take(steps: number): void {
    this.#steps += steps;
    if (this.#steps > maxSteps) throw new SchemaTooSlow('it takes too long');
  }

  part(schema: Schema, value: unknown, path: string): Broken | null {
    this.#take(partSteps);
    if (typeof schema === 'boolean') return schema ? ok : { path, message: 'is not allowed' };
    if (++this.#depth > maxDepth) throw new SchemaTooSlow('it is nested, or refers to itself, too deep');
    const broken =
      this.#any(schema, value, path) ??
      this.#combined(schema, value, path) ??
      (typeof value === 'string'
        ? this.#text(schema, value, path)
        : typeof value === 'number'
          ? numeric(schema, value, path)
          : Array.isArray(value)
            ? this.#list(schema, value, path)
            : isObject(value)
              ? this.#object(schema, value, path)
              : ok);
    this.#depth--;
    return broken;
  }

  #any(schema: Exclude<Schema, boolean>, value: unknown, path: string): Broken | null {
    const { type, enum: among, $ref: reference } = schema;
    if (type !== undefined && ![type].flat().some((one) => isOf(one as string, value)))
      return { path, message: `must be ${[type].flat().join(' or ')}` };
    if (among !== undefined && !(among as unknown[]).some((one) => this.#equal(one, value)))
      return { path, message: 'must be equal to one of the allowed values' };
    if (Object.hasOwn(schema, 'const') && !this.#equal(schema['const'], value))
      return { path, message: 'must be equal to the one allowed value' };
    if (reference === undefined) return ok;
    return this.part(this.schema.references.get(reference as string)!, value, path);
  }

  #combined(schema: Exclude<Schema, boolean>, value: unknown, path: string): Broken | null {
    const {
      allOf = [],
      anyOf,
      oneOf,
      not,
      if: condition,
    } = schema as Record<string, Schema | Schema[] | undefined>;
    for (const one of allOf as Schema[]) {
      const broken = this.part(one, value, path);
      if (broken !== null) return broken;
    }
    if (anyOf !== undefined && !(anyOf as Schema[]).some((one) => this.#holds(one, value)))
      return { path, message: 'must match a schema in anyOf' };
    if (oneOf !== undefined && (oneOf as Schema[]).filter((one) => this.#holds(one, value)).length !== 1)
      return { path, message: 'must match exactly one schema in oneOf' };
    if (not !== undefined && this.#holds(not as Schema, value))
      return { path, message: 'must not match the schema in not' };
    if (condition === undefined) return ok;
    const next = schema[this.#holds(condition as Schema, value) ? 'then' : 'else'];
    return next === undefined ? ok : this.part(next as Schema, value, path);
  }

  #holds(schema: Schema, value: unknown): boolean {
    return this.part(schema, value, '') === null;
  }

  #text(schema: Exclude<Schema, boolean>, value: string, path: string): Broken | null {
    const { minLength, maxLength, pattern } = schema as Record<string, number | string | undefined>;
    if (minLength !== undefined || maxLength !== undefined) {
      this.#take(value.length);
      const length = [...value].length;
      if (minLength !== undefined && length < (minLength as number))
        return { path, message: `must not have fewer than ${minLength} characters` };
      if (maxLength !== undefined && length > (maxLength as number))
        return { path, message: `must not have more than ${maxLength} characters` };
    }
    if (pattern !== undefined && !this.#matches(pattern as string, value))
      return { path, message: `must match the pattern ${JSON.stringify(pattern)}` };
    return ok;
  }

  #matches(source: string, text: string): boolean {
    const pattern = this.schema.patterns.get(source)!;
    this.#take((pattern.size + 10) * (text.length + 1));
    return pattern.test(text);
  }

  #object(
    schema: Exclude<Schema, boolean>,
    value: Readonly<Record<string, unknown>>,
    path: string,
  ): Broken | null {
    const names = Object.keys(value);
    this.#take(names.length);
    const { minProperties, maxProperties, required = [] } = schema;
    if (minProperties !== undefined && names.length < (minProperties as number))
      return { path, message: `must not have fewer than ${minProperties} properties` };
    if (maxProperties !== undefined && names.length > (maxProperties as number))
      return { path, message: `must not have more than ${maxProperties} properties` };
    for (const name of required as string[]) {
      this.#take(1);
      if (!Object.hasOwn(value, name)) return { path, message: `must have required property '${name}'` };
    }
    for (const name of names) {
      const broken = this.#member(schema, name, value[name], childOf(path, name));
      if (broken !== null) return broken;
    }
    return this.#dependencies(schema, value, path);
  }

  #member(schema: Exclude<Schema, boolean>, name: string, value: unknown, path: string): Broken | null {
    const { properties = {}, patternProperties = {}, additionalProperties, propertyNames } = schema;
    if (propertyNames !== undefined && !this.#holds(propertyNames as Schema, name))
      return { path, message: 'has a name that is not allowed' };
    let isNamed = Object.hasOwn(properties as object, name);
    if (isNamed) {
      const broken = this.part((properties as Record<string, Schema>)[name]!, value, path);
      if (broken !== null) return broken;
    }
    for (const [source, own] of Object.entries(patternProperties as Record<string, Schema>)) {
      if (!this.#matches(source, name)) continue;
      isNamed = true;
      const broken = this.part(own, value, path);
      if (broken !== null) return broken;
    }
    if (isNamed || additionalProperties === undefined) return ok;
    if (additionalProperties === false) return { path, message: 'is not a known property' };
    return this.part(additionalProperties as Schema, value, path);
  }

  #dependencies(
    schema: Exclude<Schema, boolean>,
    value: Readonly<Record<string, unknown>>,
    path: string,
  ): Broken | null {
    const { dependencies = {} } = schema;
    for (const [name, needed] of Object.entries(dependencies as Record<string, Schema | string[]>)) {
      this.#take(1);
      if (!Object.hasOwn(value, name)) continue;
      if (!Array.isArray(needed)) {
        const broken = this.part(needed, value, path);
        if (broken !== null) return broken;
        continue;
      }
      for (const other of needed) {
        this.#take(1);
        if (!Object.hasOwn(value, other))
          return { path, message: `must have property '${other}' where it has '${name}'` };
      }
    }
    return ok;
  }

  #list(schema: Exclude<Schema, boolean>, value: readonly unknown[], path: string): Broken | null {
    const { minItems, maxItems, uniqueItems, items, additionalItems, contains } = schema;
    if (minItems !== undefined && value.length < (minItems as number))
      return { path, message: `must not have fewer than ${minItems} items` };
    if (maxItems !== undefined && value.length > (maxItems as number))
      return { path, message: `must not have more than ${maxItems} items` };
    for (const [i, item] of value.entries()) {
      this.#take(1);
      const own = Array.isArray(items) ? (i < items.length ? items[i] : additionalItems) : items;
      const broken = own === undefined ? ok : this.part(own as Schema, item, `${path}[${i}]`);
      if (broken !== null) return broken;
      if (uniqueItems === true && value.slice(0, i).some((other) => this.#equal(other, item)))
        return { path: `${path}[${i}]`, message: 'is in the list before' };
    }
    if (contains !== undefined && !value.some((item) => this.#holds(contains as Schema, item)))
      return { path, message: 'must contain an item that matches the schema in contains' };
    return ok;
  }

  #equal(a: unknown, b: unknown): boolean {
    this.#take(equalSteps);
    if (a === b) return true;
    if (Array.isArray(a)) {
      return Array.isArray(b) && a.length === b.length && a.every((item, i) => this.#equal(item, b[i]));
    }
    if (!isObject(a) || !isObject(b)) return false;
    const names = Object.keys(a);
    this.#take(names.length);
    return (
      names.length === Object.keys(b).length &&
      names.every((name) => Object.hasOwn(b, name) && this.#equal(a[name], b[name]))
    );
  }
}

function numeric(schema: Exclude<Schema, boolean>, value: number, path: string): Broken | null {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema as Record<
    string,
    number | undefined
  >;
  if (minimum !== undefined && value < minimum) return { path, message: `must be ${minimum} or more` };
  if (maximum !== undefined && value > maximum) return { path, message: `must be ${maximum} or less` };
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum)
    return { path, message: `must be more than ${exclusiveMinimum}` };
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum)
    return { path, message: `must be less than ${exclusiveMaximum}` };
  if (multipleOf !== undefined && !Number.isInteger(value / multipleOf))
    return { path, message: `must be a multiple of ${multipleOf}` };
  return ok;
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

const childOf = (path: string, name: string): string => `${path}.${name.slice(0, 64)}`;
