import { childPath, type Findings } from './findings.js';

type Type = 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null';

/**
 * The part of JSON Schema in which a config is described. A `description` is shown to the author if its rule is
 * broken: it completes the sentence "<path> …".
 */
export interface ConfigSchema {
  readonly type?: Type | readonly Type[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: ConfigSchema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, ConfigSchema>>;
  /** Of members that `properties` does not name. */
  readonly additionalProperties?: false | ConfigSchema;
  readonly maxProperties?: number;
  readonly propertyNames?: ConfigSchema;
}

/**
 * Checks a value against a schema; broken rules are added to `findings`. The schema is interpreted, since a validator
 * compiled by a library would take a data worker 150 ms, during a call.
 */
export function checkSchema(value: unknown, schema: ConfigSchema, path: string, findings: Findings): void {
  if (!isSound(value, schema)) findings.add(path, schema.description ?? 'is not valid');
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return;
    for (const [i, item] of value.entries()) checkSchema(item, items, `${path}[${i}]`, findings);
  } else if (isObject(value)) {
    checkMembers(value, schema, path, findings);
  }
}

function checkMembers(
  value: Readonly<Record<string, unknown>>,
  { properties = {}, additionalProperties, propertyNames, required = [] }: ConfigSchema,
  path: string,
  findings: Findings,
): void {
  for (const name of required) {
    if (value[name] === undefined) findings.add(childPath(path, name), 'is required');
  }
  for (const name of Object.keys(value)) {
    if (propertyNames !== undefined) checkSchema(name, propertyNames, path, findings);
    const member = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    if (member === false) findings.add(childPath(path, name), 'is not a known key');
    else if (member !== undefined) checkSchema(value[name], member, childPath(path, name), findings);
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Does the value itself, without its members, keep every rule? */
function isSound(value: unknown, schema: ConfigSchema): boolean {
  const { type } = schema;
  if (typeof type === 'string' ? !isOf(type, value) : type?.every((one) => !isOf(one, value)) === true) {
    return false;
  }
  if (schema.enum?.includes(value) === false) return false;
  if (typeof value === 'string') {
    const { minLength = 0, maxLength = Infinity, pattern } = schema;
    // JSON Schema counts characters, not halves of them; there are never more.
    if (value.length < minLength || (value.length > maxLength && [...value].length > maxLength)) return false;
    return pattern === undefined || regExpOf(pattern).test(value);
  }
  if (typeof value === 'number') {
    const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity } = schema;
    return value >= minimum && value <= maximum && value > exclusiveMinimum;
  }
  if (Array.isArray(value)) {
    const { minItems = 0, maxItems = Infinity } = schema;
    return value.length >= minItems && value.length <= maxItems;
  }
  return !(
    isObject(value) &&
    schema.maxProperties !== undefined &&
    Object.keys(value).length > schema.maxProperties
  );
}

function isOf(type: Type, value: unknown): boolean {
  switch (type) {
    case 'object':
      return isObject(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return Number.isFinite(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}

const regExps = new Map<string, RegExp>();

function regExpOf(pattern: string): RegExp {
  let made = regExps.get(pattern);
  if (made === undefined) {
    made = new RegExp(pattern, 'u');
    regExps.set(pattern, made);
  }
  return made;
}
