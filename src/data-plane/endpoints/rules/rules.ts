import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { isJsonInteger, isJsonObject, numberOf } from '../../../common/json/json.js';
import { longestModel } from '../../../common/vocabulary/model-name.js';

/** Throws `invalid_request` if `value`, at `path`, is not valid for the field. */
export type FieldCheck = (value: unknown, path: string) => void;

/** The rules of a body: checks of its members, required members, and checks across several. */
export interface BodyRules {
  readonly fields: ReadonlyMap<string, FieldCheck>;
  readonly required: readonly string[];
  /** Are members that `fields` does not name allowed? They are passed on unchanged. */
  readonly open: boolean;
  readonly across?: (body: JsonObject) => void;
}

/** Refuses a body for the field at `path`, with a sentence that begins with its name. */
export function refuse(path: string, rule: string): never {
  throw new GatewayError('invalid_request', `${path} ${rule}.`, { param: path });
}

/** Members of a body. Its object is copied and walked through several times on its way to a provider of another format. */
const mostMembers = 1000;

/** Throws for the first rule that a body breaks; members are checked in the order of this list. */
export function checkBody(body: JsonObject, rules: BodyRules): void {
  for (const name of rules.required) {
    if (!Object.hasOwn(body, name)) refuse(name, 'is required');
  }
  let count = 0;
  for (const name in body) {
    if (++count > mostMembers)
      throw new GatewayError('invalid_request', `The body has more than ${mostMembers} members.`);
    const check = rules.fields.get(name);
    if (check !== undefined) check(body[name], name);
    else if (!rules.open) {
      const known = [...rules.fields.keys()].join(', ');
      refuse(shorten(name), `is not a field of this request: it takes ${known}`);
    }
  }
  rules.across?.(body);
}

/** A client's own name, short enough for an error message. */
const shorten = (name: string): string => (name.length > 64 ? `${name.slice(0, 64)}…` : name);

export const orNull =
  (check: FieldCheck): FieldCheck =>
  (value, path) => {
    if (value !== null) check(value, path);
  };

export const string: FieldCheck = (value, path) => {
  if (typeof value !== 'string') refuse(path, 'must be a string');
};

export const boolean: FieldCheck = (value, path) => {
  if (typeof value !== 'boolean') refuse(path, 'must be true or false');
};

export const object: FieldCheck = (value, path) => {
  if (!isJsonObject(value)) refuse(path, 'must be an object');
};

export const number =
  (min: number, max: number): FieldCheck =>
  (value, path) => {
    const double = numberOf(value);
    if (double === null) refuse(path, `must be a number from ${min} to ${max}`);
    if (double < min || double > max) refuse(path, `must be from ${min} to ${max}`);
  };

export const integer = (min: number, max = Number.MAX_SAFE_INTEGER): FieldCheck => {
  const range = max === Number.MAX_SAFE_INTEGER ? `${min} or more` : `from ${min} to ${max}`;
  return (value, path) => {
    if (!isJsonInteger(value)) refuse(path, `must be an integer, ${range}`);
    const double = numberOf(value)!;
    if (double < min) refuse(path, `must be ${range}`);
    if (double > max) refuse(path, `must be at most ${max}`);
  };
};

/** A list of `min` to `max` items; the caller checks the items. */
export function list(value: unknown, path: string, min: number, max: number): asserts value is unknown[] {
  if (!Array.isArray(value)) refuse(path, 'must be a list');
  if (value.length < min) refuse(path, `must have at least ${min === 1 ? 'one item' : `${min} items`}`);
  if (value.length > max) refuse(path, `must have at most ${max} items`);
}

/** A non-empty string of limited length without control characters: a model's name also goes into logs and headers. */
export const model: FieldCheck = (value, path) => {
  if (typeof value !== 'string') refuse(path, 'must be a string');
  if (value.length === 0) refuse(path, 'must not be empty');
  if (value.length > longestModel) refuse(path, `must have at most ${longestModel} characters`);
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if (code < 0x20 || code === 0x7f) refuse(path, 'must not hold control characters');
  }
};

/** One stop sequence or up to four; null: clients send it for none. */
export const stop: FieldCheck = (value, path) => {
  if (typeof value === 'string' || value === null) return;
  if (!Array.isArray(value)) refuse(path, 'must be a string or a list of strings');
  list(value, path, 0, 4);
  for (let i = 0; i < value.length; i++) {
    if (typeof value[i] !== 'string') refuse(`${path}[${i}]`, 'must be a string');
  }
};

export const logitBias: FieldCheck = (value, path) => {
  if (!isJsonObject(value)) refuse(path, 'must be an object of token ids and biases');
  for (const token in value) {
    const bias = numberOf(value[token]);
    if (bias === null || bias < -100 || bias > 100) {
      refuse(`${path}.${shorten(token)}`, 'must be a number from -100 to 100');
    }
  }
};

export const streamOptions: FieldCheck = (value, path) => {
  if (!isJsonObject(value)) refuse(path, 'must be an object');
  if (Object.hasOwn(value, 'include_usage')) boolean(value['include_usage'], `${path}.include_usage`);
};

/** `stream_options` is only valid with `stream`. */
export function streamOptionsNeedStream(body: JsonObject): void {
  if (isJsonObject(body['stream_options']) && body['stream'] !== true) {
    refuse('stream_options', 'is only allowed when stream is true');
  }
}

/** Best-effort determinism: any 64-bit integer. */
export const seed: FieldCheck = integer(-(2 ** 63), 2 ** 63);
