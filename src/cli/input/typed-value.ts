import type { FieldShape, Shape } from '../../../proto/shape.js';
import { isDeeperThan } from '../../common/json/depth.js';
import { CliError } from '../cli-error.js';
import { isElsewhere, textOf } from './file-input.js';
import { isTypedTime, momentOf } from './moment.js';
import { readSecret } from './secret-input.js';

/** The JSON value of a flag's text. A text that is no value of the field is wrong usage. */

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const looksLikeJson = (text: string): boolean => /^\s*[[{]/.test(text);

/** Objects and lists in each other: more than the gateway takes. */
const maxDepth = 100;

/** The parser's message quotes the text, which may be a secret: only the position is reported. */
export function parseJson(json: string, flag: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    const [place] = /at position \d+/.exec((error as Error).message) ?? [];
    throw new CliError(`${flag} is not JSON${place === undefined ? '' : `: see ${place.slice(3)}`}.`, 2);
  }
  if (isDeeperThan(value, maxDepth))
    throw new CliError(`${flag} is nested more than ${maxDepth} levels deep.`, 2);
  return value;
}

const parsed = (text: string, flag: string): unknown => parseJson(textOf(text), flag);

/** The path of the first secret that was typed in full on the command line, or null. */
function secretIn(shape: Shape, json: unknown): string | null {
  if (Array.isArray(json))
    return json.map((item) => secretIn(shape, item)).find((path) => path !== null) ?? null;
  if (!isObject(json)) return null;
  for (const [name, value] of Object.entries(json)) {
    const field = shape.spelt(name);
    if (field?.rules.secret === true && value !== null) return name;
    const inner = field?.kind === 'message' ? secretIn(field.message!, value) : null;
    if (inner !== null) return `${name}.${inner}`;
  }
  return null;
}

/** Free JSON, where plain text needs no quotes. */
const free = (text: string, flag: string): unknown =>
  /^\s*(?:[[{"]|(?:-?\d+(?:\.\d+)?|true|false|null)\s*$)/.test(text) ? parseJson(text, flag) : text;

/** `id=u1,role=admin`, the short way to write a message. */
function pairs(shape: Shape, text: string, flag: string): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const pair of text.split(',')) {
    const [name = '', value] = pair.split(/=(.*)/s);
    const field = shape.spelt(name.trim().replaceAll('-', '_')) ?? shape.spelt(name.trim());
    if (field === undefined || field.list || field.map || value === undefined) {
      const names = shape.fields.map((one) => one.name).join(', ');
      throw new CliError(`${flag} ${pair}: write JSON, or name=value,… of ${names}.`, 2);
    }
    // `@slug/model` is a value here, and no file.
    const where = `${flag} ${name}`;
    object[field.jsonName] = field.kind === 'value' ? free(value, where) : one(field, value, where);
  }
  return object;
}

function message(shape: Shape, text: string, flag: string): unknown {
  const json = isElsewhere(text) || looksLikeJson(text) ? parsed(text, flag) : pairs(shape, text, flag);
  const secret = isElsewhere(text) ? null : secretIn(shape, json);
  if (secret !== null)
    throw new CliError(
      `${flag}: ${secret} is a secret, which other users of this machine could read here. Give the JSON as @file, or - for standard input.`,
      2,
    );
  return json;
}

/** Filters by time are texts in the API, since they have a zone. */
const timeFilters = /^time_of_generation_(min|max)$/;

/** One value of a field. */
function one(field: FieldShape, text: string, flag: string): unknown {
  switch (field.kind) {
    case 'string':
      return timeFilters.test(field.name) && isTypedTime(text) ? momentOf(text, flag) : text;
    case 'bool':
      if (text !== 'true' && text !== 'false') throw new CliError(`${flag} must be true or false.`, 2);
      return text === 'true';
    case 'int32':
    case 'double':
      if (text.trim() === '' || Number.isNaN(Number(text)))
        throw new CliError(`${flag} must be a number.`, 2);
      return Number(text);
    case 'timestamp':
      return momentOf(text, flag);
    case 'struct':
      return parsed(text, flag);
    case 'value':
      // Sent as it was written: its findings then have the places of the text.
      if (field.rules.json === true) return textOf(text);
      return isElsewhere(text) ? parsed(text, flag) : free(text, flag);
    case 'message':
      return message(field.message!, text, flag);
    default:
      throw new CliError(`${flag} can be given by --body alone.`, 2);
  }
}

function items(field: FieldShape, text: string, flag: string): unknown[] {
  const isFree = field.kind === 'value' || field.kind === 'struct' || field.kind === 'message';
  if (isFree && (isElsewhere(text) || looksLikeJson(text))) {
    const json = field.kind === 'message' ? message(field.message!, text, flag) : parsed(text, flag);
    return Array.isArray(json) ? json : [json];
  }
  if (field.kind === 'message') return [one(field, text, flag)];
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map((item) => one(field, item, flag));
}

function entries(field: FieldShape, texts: readonly string[], flag: string): object {
  return Object.assign(
    {},
    ...texts.map((text) => {
      if (isElsewhere(text) || looksLikeJson(text)) return parsed(text, flag);
      const [name = '', value] = text.split(/=(.*)/s);
      if (value === undefined) throw new CliError(`${flag} ${text}: write name=value, or JSON.`, 2);
      return { [name]: one(field, value, flag) };
    }),
  );
}

/** What commander has of a flag: its text, its texts where it may be repeated, `true` for a flag without a value. */
export type Typed = string | readonly string[] | true;

/** The JSON value of a field. Secrets are read from the place that the flag names. Throws a CliError. */
export async function fieldValue(field: FieldShape, value: Typed, flag: string): Promise<unknown> {
  if (field.rules.secret === true) {
    const secret = await readSecret(String(value), '');
    return field.kind === 'string' ? secret : parseJson(secret, flag);
  }
  if (value === true) return true;
  const texts = typeof value === 'string' ? [value] : value;
  if (field.list) return texts.flatMap((text) => items(field, text, flag));
  if (field.map) return entries(field, texts, flag);
  return one(field, texts.at(-1) ?? '', flag);
}
