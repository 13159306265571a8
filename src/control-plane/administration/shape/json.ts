import { firstTime, lastTime, type Message } from '../../../../proto/codec.js';
import { deepestJson, setOwn } from '../../../../proto/json.js';
import type { FieldShape, Shape } from '../../../../proto/shape.js';
import { nearest } from '../../../common/text/nearest.js';
import { AdminError } from '../admin-error.js';

/**
 * JSON to messages and back, by the descriptors. In: unknown fields, wrong types and values that the wire has no place
 * for are refused with their path. Out: snake case, `null` for what is absent, lists and maps always there
 * unless their rules differ.
 */

const wrong = AdminError.field;
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const named = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);
/** A name from outside, as far as a message should repeat it. */
const quoted = (name: string): string => JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);

/** Names that mean something to JavaScript objects and have no other use. */
const strange = new Set(['__proto__', 'constructor', 'prototype']);

/** Throws AB01 for such a name. */
export function checkName(name: string, path: string): void {
  if (strange.has(name)) throw wrong(path, `must not have a field ${name}.`);
}

/** Free JSON, as deep as allowed and without names that would reach into objects. */
export function checkFree(value: unknown, path: string, depth = 0): void {
  if (depth > deepestJson) throw wrong(path, `is nested deeper than ${deepestJson} levels.`);
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) checkFree(item, `${path}[${i}]`, depth + 1);
  } else if (isObject(value)) {
    for (const [name, item] of Object.entries(value)) {
      checkName(name, path);
      checkFree(item, named(path, name), depth + 1);
    }
  } else if (typeof value === 'number' && !Number.isFinite(value)) {
    throw wrong(path, 'is a number too large to be kept.');
  }
}

/** RFC 3339: a date and time with its zone. */
const time = /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/** A time as RFC 3339 has it, in UTC. Throws AB01 for any other value. */
export function readTime(value: unknown, path: string): string {
  const parts = typeof value === 'string' ? time.exec(value) : null;
  const at = parts === null ? Number.NaN : Date.parse(String(value).replace(' ', 'T'));
  const [year, month, day] = (parts ?? []).slice(1, 4).map(Number);
  // The 30th of February is no day, though JavaScript would make it one of March.
  const isDay = day !== undefined && new Date(Date.UTC(year!, month! - 1, day)).getUTCDate() === day;
  // Its zone may move it out of the years that the wire has a place for.
  if (Number.isNaN(at) || !isDay || year === 0 || at < firstTime || at > lastTime)
    throw wrong(path, 'must be a time with its zone, as in 2030-01-31T00:00:00Z.');
  return new Date(at).toISOString();
}

function numberOf(value: unknown, path: string, kind: 'int32' | 'double'): number {
  if (typeof value !== 'number') throw wrong(path, 'must be a number.');
  if (!Number.isFinite(value)) throw wrong(path, 'is a number too large to be kept.');
  if (kind === 'double') return value;
  if (!Number.isInteger(value)) throw wrong(path, 'must be a whole number.');
  if (value < -2_147_483_648 || value > 2_147_483_647)
    throw wrong(path, 'must lie between -2147483648 and 2147483647.');
  return value === 0 ? 0 : value;
}

function single(field: FieldShape, value: unknown, path: string): unknown {
  switch (field.kind) {
    case 'string':
      if (typeof value !== 'string') throw wrong(path, 'must be text.');
      return value;
    case 'bool':
      if (typeof value !== 'boolean') throw wrong(path, 'must be true or false.');
      return value;
    case 'int32':
    case 'double':
      return numberOf(value, path, field.kind);
    case 'bytes':
      if (typeof value !== 'string' || !/^[A-Za-z0-9+/_-]*={0,2}$/.test(value))
        throw wrong(path, 'must be base64.');
      return new Uint8Array(Buffer.from(value, 'base64'));
    case 'timestamp':
      return readTime(value, path);
    case 'value':
      checkFree(value, path);
      return value;
    case 'struct':
      if (!isObject(value)) throw wrong(path, 'must be an object.');
      checkFree(value, path);
      return value;
    case 'mask':
      if (!Array.isArray(value) || !value.every((item) => typeof item === 'string'))
        throw wrong(path, 'must be a list of fields.');
      return value;
    case 'message':
      return readMessage(field.message!, value, path);
  }
}

/** One field's value as JSON has it. */
export function readField(field: FieldShape, value: unknown, path: string): unknown {
  if (field.list) {
    if (!Array.isArray(value)) throw wrong(path, 'must be a list.');
    // Once it is a message, a list that is empty cannot be distinguished from an absent one.
    if (value.length === 0 && field.rules.min_items !== undefined && field.rules.required !== true)
      throw wrong(path, 'must not be an empty list.');
    return value.map((item, i) => single(field, item, `${path}[${i}]`));
  }
  if (!field.map) return single(field, value, path);
  if (!isObject(value)) throw wrong(path, 'must be an object.');
  const entries = {};
  for (const [name, item] of Object.entries(value)) {
    setOwn(entries, name, single(field, item, named(path, name)));
  }
  return entries;
}

const defaults = { string: '', bool: false, int32: 0, double: 0, bytes: new Uint8Array() };

/** The default of a field; undefined: none. */
function blank({ list, map, optional, kind }: FieldShape): unknown {
  if (list) return [];
  if (map) return {};
  return optional ? undefined : defaults[kind as keyof typeof defaults];
}

/** The defaults of a message. */
export function empty(shape: Shape): Record<string, unknown> {
  const message: Record<string, unknown> = {};
  for (const field of shape.fields) {
    const value = blank(field);
    if (value !== undefined) message[field.name] = value;
  }
  return message;
}

/** A longer name gets no suggestion. Characters. */
const longestTypo = 64;

/** `: did you mean scopes?`, or a full stop. */
function hintOf(shape: Shape, spelling: string): string {
  const names = shape.fields.filter(({ apart }) => !apart).map(({ name }) => name);
  const isName = spelling.length <= longestTypo && /^\w+$/.test(spelling);
  const meant = isName ? nearest(spelling, names) : null;
  return meant === null ? '.' : `: did you mean ${meant}?`;
}

/**
 * The field with that name in JSON or a query, if the caller may use it. Throws AB01 with the path. `hints`: false where so many names are
 * wrong that comparing them all would take long.
 */
export function fieldOf(shape: Shape, spelling: string, path: string, hints = true): FieldShape {
  const field = shape.spelt(spelling);
  if (field === undefined || field.apart) {
    const where = path === '' ? 'the request' : path;
    throw wrong(
      named(path, quoted(spelling)),
      `is not a field of ${where}${hints ? hintOf(shape, spelling) : '.'}`,
    );
  }
  return field;
}

/** Sets a value that is absent; an existing value must be equal. */
export function put(message: Record<string, unknown>, name: string, value: unknown, path: string): void {
  if (Object.hasOwn(message, name) && JSON.stringify(message[name]) !== JSON.stringify(value))
    throw wrong(path, 'is given twice, and differently.');
  message[name] = value;
}

/** The fields that the JSON names, without defaults; `null` means absent. */
export function readGiven(shape: Shape, json: unknown, path = ''): Record<string, unknown> {
  if (!isObject(json)) throw wrong(path === '' ? 'The body' : path, 'must be an object.');
  const given: Record<string, unknown> = {};
  for (const [spelling, value] of Object.entries(json)) {
    const field = fieldOf(shape, spelling, path);
    const at = named(path, field.jsonName);
    if (value !== null) put(given, field.name, readField(field, value, at), at);
  }
  return given;
}

/** Of JSON that may be no message of the shape, the fields that can be read, without defaults. */
export function readValid(shape: Shape, json: unknown): Record<string, unknown> {
  const given: Record<string, unknown> = {};
  if (!isObject(json)) return given;
  for (const [spelling, value] of Object.entries(json)) {
    const field = shape.spelt(spelling);
    if (field === undefined || value === null) continue;
    try {
      given[field.name] = readField(field, value, '');
    } catch {
      const isMessage = field.kind === 'message' && !field.list && !field.map;
      if (isMessage) given[field.name] = readValid(field.message!, value);
    }
  }
  return given;
}

/** A whole message: what the JSON names, over the defaults. */
export function readMessage(shape: Shape, json: unknown, path = ''): Message {
  return { ...empty(shape), ...readGiven(shape, json, path) };
}

function writeSingle(field: FieldShape, value: unknown): unknown {
  if (field.kind === 'message') return writeMessage(field.message!, value as Message);
  return field.kind === 'bytes' ? Buffer.from(value as Uint8Array).toString('base64') : value;
}

/** The message of a JSON value. What the shape does not have is left out, whatever the object holds. */
export function writeMessage(shape: Shape, message: Message): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const field of shape.fields) {
    const isLeftOut = field.list && field.rules.omit_absent === true && message[field.name] == null;
    if (isLeftOut) continue;
    const value = message[field.name] ?? blank(field) ?? null;
    const isNothing = value === null || (field.map && Object.keys(value as object).length === 0);
    if (isNothing && field.rules.omit_absent === true) continue;
    const isAbsent = field.rules.empty_as_null === true && (value as unknown[] | null)?.length === 0;
    if (value === null || isAbsent) json[field.jsonName] = null;
    else if (field.list) json[field.jsonName] = (value as unknown[]).map((item) => writeSingle(field, item));
    else if (field.map) {
      const entries = {};
      for (const [name, item] of Object.entries(value as object))
        setOwn(entries, name, writeSingle(field, item));
      json[field.jsonName] = entries;
    } else json[field.jsonName] = writeSingle(field, value);
  }
  return json;
}
