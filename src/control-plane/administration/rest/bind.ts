import type { Message } from '../../../../proto/codec.js';
import type { FieldShape, Shape } from '../../../../proto/shape.js';
import type { AdminMethod, Binding } from '../../../../proto/tree.js';
import { scanJson } from '../../../common/json/json-scan.js';
import { AdminError } from '../admin-error.js';
import { checkedMask, maskOfJson } from '../audit/mask.js';
import { empty, fieldOf, put, readField, readGiven, readValid } from '../shape/json.js';
import { mostValuesOf } from '../shape/values.js';
import { type RestRequest, valuesOf } from './request.js';

/**
 * A REST request as the message of its method. Path, query and body must not contradict each other.
 * Headers carry what is no field of the body: `If-Match`, `Idempotency-Key`.
 */

const utf8 = new TextDecoder('utf-8', { fatal: true });

function unescaped(text: string, path: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw AdminError.field(path, 'has a broken percent-encoding.');
  }
}

const truths: Readonly<Record<string, boolean>> = { true: true, 1: true, false: false, 0: false };

/** A query's text as a JSON value; where it is none, the text, which is then refused. */
function fromText(field: FieldShape, text: string): unknown {
  if (field.kind === 'bool') return truths[text] ?? text;
  if (field.kind === 'int32' || field.kind === 'double')
    return /^-?\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : text;
  return text;
}

function fromQuery(field: FieldShape, texts: readonly string[]): unknown {
  const path = field.jsonName;
  if (field.map || field.kind === 'message' || field.kind === 'struct' || field.kind === 'value')
    throw AdminError.field(path, 'cannot be given in a query.');
  if (field.list) {
    const items = texts.flatMap((text) => text.split(',')).filter((item) => item !== '');
    return readField(
      field,
      items.map((item) => fromText(field, item)),
      path,
    );
  }
  if (new Set(texts).size > 1) throw AdminError.field(path, 'is given twice, and differently.');
  return readField(field, fromText(field, texts[0] ?? ''), path);
}

function bindQuery(shape: Shape, query: string, message: Record<string, unknown>): void {
  const texts = new Map<FieldShape, string[]>();
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const [name = '', value = ''] = pair.replaceAll('+', ' ').split(/=(.*)/s);
    // `status[]=a`, as some clients write lists.
    const field = fieldOf(shape, unescaped(name, 'The query').replace(/\[\d*\]$/, ''), '');
    const values = texts.get(field) ?? [];
    values.push(unescaped(value, field.jsonName));
    texts.set(field, values);
  }
  for (const [field, values] of texts) {
    // `?workspace_id=` means absent.
    if (values.every((value) => value === '')) continue;
    put(message, field.name, fromQuery(field, values), field.jsonName);
  }
}

/** An object of 150,000 members took 0.5 s to parse and to check. */
const bodyCaps = { maxDepth: 1000, maxMembers: 10_000 };

function bodyOf({ headers, body }: RestRequest, maxTokens: number): unknown {
  const [type = 'application/json'] = valuesOf(headers, 'content-type');
  const [media = '', ...parameters] = type
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const charset = parameters
    .find((part) => part.startsWith('charset='))
    ?.slice(8)
    .replaceAll('"', '');
  if (valuesOf(headers, 'content-encoding').some((coding) => coding !== 'identity'))
    throw AdminError.http(415, 'The body must not be compressed.');
  if (body.length === 0) return undefined;
  if (!/^application\/(?:[a-z0-9.-]+\+)?json$/.test(media) || (charset ?? 'utf-8') !== 'utf-8')
    throw new AdminError('AB01', 'The body must be application/json in UTF-8.');
  const { problem } = scanJson(body, { ...bodyCaps, maxTokens });
  if (problem !== null) throw new AdminError('AB01', `The body cannot be read: it ${problem}.`);
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    throw new AdminError('AB01', 'The body is not valid UTF-8.');
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new AdminError('AB01', 'The body is not JSON.');
  }
}

/** The organisation of the key. Any request may name it, as clients of the specification do: `admit` compares it. */
const organisation: FieldShape = {
  name: 'organisation_id',
  jsonName: 'organisation_id',
  spellings: ['organisation_id'],
  kind: 'string',
  message: null,
  list: false,
  map: false,
  optional: true,
  apart: false,
  rules: {},
  comment: '',
};

/** The shape of the request, with the organisation where its method has no such field. */
function nameable({ request, access }: AdminMethod): Shape {
  if (access.scopes.length === 0 || request.spelt(organisation.name) !== undefined) return request;
  const { name, type, fields, comment } = request;
  return {
    ...{ name, type, fields, comment },
    spelt: (one) => (one === organisation.name ? organisation : request.spelt(one)),
    field: (one) => request.field(one),
  };
}

/** The field that is the body as it came, and no JSON of the method; null: it has none. */
export function rawField({ request }: AdminMethod, { body }: Binding): string | null {
  return request.field(body)?.message?.name === 'HttpBody' ? body : null;
}

/** What gzip has compressed is left so. */
function rawBody({ headers, body }: RestRequest): Message {
  if (valuesOf(headers, 'content-encoding').some((coding) => coding !== 'identity' && coding !== 'gzip'))
    throw AdminError.http(415, 'The body must not be compressed, except by gzip.');
  return { content_type: valuesOf(headers, 'content-type')[0] ?? '', data: body };
}

function single(headers: RestRequest['headers'], name: string): string | undefined {
  const values = valuesOf(headers, name);
  if (values.length > 1) throw AdminError.field(name, 'is sent twice.');
  return values[0];
}

function bindHeaders(shape: Shape, { headers }: RestRequest, message: Record<string, unknown>): void {
  const etag = single(headers, 'if-match');
  if (shape.field('etag')?.apart === true && etag !== undefined && etag !== '*') {
    if (etag.includes(',')) throw AdminError.field('if-match', 'names several versions: send one.');
    message['etag'] = etag.replace(/^W\//, '').replace(/^"(.*)"$/, '$1');
  }
  const repeat = single(headers, 'idempotency-key');
  if (shape.field('request_id')?.apart === true && repeat !== undefined) message['request_id'] = repeat;
}

/** Throws AB01, with the path, for a request that is no message of the method. */
export function bind(
  method: AdminMethod,
  binding: Binding,
  captured: readonly string[],
  request: RestRequest,
): Message {
  const shape = nameable(method);
  const raw = rawField(method, binding);
  if (raw !== null) return { ...empty(shape), [raw]: rawBody(request) };
  const json = bodyOf(request, mostValuesOf(method));
  // Some clients send a body with every DELETE; its fields must still be those of the method.
  if (json !== undefined && binding.verb === 'GET') throw new AdminError('AB01', 'GET takes no body.');
  const given = json === undefined ? {} : readGiven(shape, wholeBody(shape, binding, json));
  namesInPath(binding).forEach((name, i) => {
    const value = unescaped(captured[i] ?? '', name);
    if (value === '') throw AdminError.field(name, 'is required: the path has an empty segment.');
    put(given, name, value, name);
  });
  bindQuery(shape, request.query, given);
  bindHeaders(shape, request, given);
  if (shape.field('update_mask')?.apart === true)
    given['update_mask'] = maskOf(method.request, json, binding);
  return { ...empty(shape), ...given };
}

/**
 * The fields of a refused request that can be read, for the audit log: those of its path and its body. null: it cannot be
 * read at all.
 */
export function bindValid(
  method: AdminMethod,
  binding: Binding,
  captured: readonly string[],
  request: RestRequest,
): Message | null {
  if (rawField(method, binding) !== null) return null;
  try {
    const json = bodyOf(request, mostValuesOf(method));
    const named = namesInPath(binding).map((name, i) => [name, unescaped(captured[i] ?? '', name)]);
    const given =
      json === undefined ? {} : readValid(method.request, wholeBody(method.request, binding, json));
    return { ...empty(method.request), ...given, ...Object.fromEntries(named) };
  } catch {
    return null;
  }
}

const namesInPath = ({ path }: Binding): string[] =>
  [...path.matchAll(/\{([^}]*)\}/g)].map(([, name = '']) => name);

/**
 * The body may be one field of the request: an object, or a list. In place of a list it may be the one item that it has, or
 * an object with the list.
 */
function wholeBody(shape: Shape, { body }: Binding, json: unknown): unknown {
  if (body === '' || body === '*') return json;
  if (shape.field(body)?.kind === 'struct') return { [body]: json };
  if (Array.isArray(json)) return { [body]: json };
  return isWhole(json, body) ? json : { [body]: [json] };
}

const isWhole = (json: unknown, name: string): boolean =>
  typeof json === 'object' && json !== null && Object.keys(json).length === 1 && Object.hasOwn(json, name);

/** A field that identifies the record is no change, neither in the path nor in the body. */
function maskOf(shape: Shape, json: unknown, { path }: Binding): string[] {
  const named = maskOfJson(shape, json).filter((name) => !path.includes(`{${name}}`));
  return checkedMask(shape, named);
}
