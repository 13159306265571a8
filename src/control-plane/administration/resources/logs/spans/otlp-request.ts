import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { scanJson } from '../../../../../common/json/json-scan.js';
import { AdminError } from '../../../admin-error.js';
import { decodedRequest, decodedSpan, TooManyFields } from './otlp-proto.js';

/** A span as OTLP has it, with what the gateway reads of it. */
export interface OtlpSpan {
  /** Hexadecimal digits, lower case; what was sent in their place where they are none. */
  readonly traceId: string;
  readonly spanId: string;
  /** null: it is the first of its trace. */
  readonly parentSpanId: string | null;
  readonly name: string;
  /** Unix milliseconds; NaN: none. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly events: readonly { readonly name: string; readonly attributes: Attributes }[];
  readonly failed: boolean;
  readonly statusMessage: string | null;
  readonly scope: string;
  readonly resource: Attributes;
}

/** Values as JSON has them, lists and objects included. */
export type Attributes = ReadonlyMap<string, unknown>;

/** Bytes of a request, uncompressed. */
const longestRequest = 8 * 1024 * 1024;
/** Names and values of a request in JSON; half of the tags and lengths of its spans in protobuf. */
const mostValues = 1_000_000;
/** Tags and lengths of a request in protobuf without those of its spans, which are read in one turn; of one span. */
const mostFields = { around: 400_000, span: 50_000 };
/** Of spans that are read in one turn. */
const turnFields = 20_000;
const caps = { maxDepth: 1000, maxTokens: mostValues, maxMembers: 10_000 };
/** Spans of a request, whatever they are about. */
const mostSpans = 20_000;
/** Spans that are read before other work of the process has its turn. */
const turnSpans = 100;
/** Attributes of a span, a resource or an event; lists and objects in a value. */
const mostAttributes = 512;
const deepestValue = 16;

type Fields = Readonly<Record<string, unknown>>;

const unzip = promisify(gunzip);

export type OtlpEncoding = 'json' | 'protobuf';

/** Throws for a type that OTLP does not have. */
export function encodingOf(contentType: string): OtlpEncoding {
  const [media = ''] = contentType.toLowerCase().split(';');
  if (media.trim() === 'application/json') return 'json';
  if (media.trim() === 'application/x-protobuf') return 'protobuf';
  throw AdminError.http(415, 'The body must be application/json or application/x-protobuf.');
}

/** The spans of a request, which may be compressed. Throws AB01, with the path, for what is no request of OTLP. */
export async function readSpans(data: Uint8Array, encoding: OtlpEncoding): Promise<OtlpSpan[]> {
  const bytes = await uncompressed(Buffer.from(data.buffer, data.byteOffset, data.length));
  const request =
    encoding === 'json' ? parsed(bytes) : decoded(() => decodedRequest(bytes, { left: mostFields.around }));
  const spans: OtlpSpan[] = [];
  let leftFields = 2 * mostValues;
  let nextPause = leftFields - turnFields;
  for (const [i, resourceSpans] of listOf(request, 'resourceSpans', '').entries()) {
    const at = `resourceSpans[${i}]`;
    const resource = attributesOf(fieldsOf(resourceSpans, at)['resource'], `${at}.resource`);
    for (const [j, scopeSpans] of listOf(resourceSpans, 'scopeSpans', at).entries()) {
      const inner = `${at}.scopeSpans[${j}]`;
      const scope = textOf(fieldsOf(fieldsOf(scopeSpans, inner)['scope'] ?? {}, `${inner}.scope`)['name']);
      for (const [k, span] of listOf(scopeSpans, 'spans', inner).entries()) {
        if (spans.length === mostSpans)
          throw AdminError.http(413, `A request may have at most ${mostSpans} spans: send them in several.`);
        if (spans.length % turnSpans === turnSpans - 1 || leftFields < nextPause) {
          await nextTurn();
          nextPause = leftFields - turnFields;
        }
        const budget = { left: Math.min(leftFields, mostFields.span) };
        const before = budget.left;
        const given = encoding === 'json' ? span : decoded(() => decodedSpan(span as Uint8Array, budget));
        leftFields -= before - budget.left;
        spans.push(spanOf(given, `${inner}.spans[${k}]`, scope, resource));
      }
    }
  }
  return spans;
}

/** By its first two bytes, with which neither JSON nor protobuf of this form can begin. */
async function uncompressed(bytes: Buffer): Promise<Buffer> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return await unzip(bytes, { maxOutputLength: longestRequest });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw AdminError.http(413, `The body has more than ${longestRequest} bytes uncompressed.`);
    throw new AdminError('AB01', 'The body is not valid gzip.');
  }
}

const tooMany = (): AdminError =>
  AdminError.http(
    413,
    `The body has more than ${mostValues} names and values: send the spans in several requests.`,
  );

function parsed(bytes: Buffer): unknown {
  const { problem, tokens } = scanJson(bytes, caps);
  if (tokens > mostValues) throw tooMany();
  if (problem !== null) throw new AdminError('AB01', `The body cannot be read: it ${problem}.`);
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new AdminError('AB01', 'The body is not JSON.');
  }
}

function decoded(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof TooManyFields) throw tooMany();
    throw new AdminError('AB01', 'The body is not a protobuf ExportTraceServiceRequest.');
  }
}

function spanOf(given: unknown, at: string, scope: string, resource: Attributes): OtlpSpan {
  const span = fieldsOf(given, at);
  const status = fieldsOf(span['status'] ?? {}, `${at}.status`);
  const parent = idOf(span['parentSpanId']);
  return {
    traceId: idOf(span['traceId']),
    spanId: idOf(span['spanId']),
    parentSpanId: parent === '' || /^0+$/.test(parent) ? null : parent,
    name: textOf(span['name']),
    startMs: msOf(span['startTimeUnixNano']),
    endMs: msOf(span['endTimeUnixNano']),
    attributes: attributesOf(span, at),
    events: listOf(span, 'events', at).map((event, i) => ({
      name: textOf(fieldsOf(event, `${at}.events[${i}]`)['name']),
      attributes: attributesOf(event, `${at}.events[${i}]`),
    })),
    failed: status['code'] === 2 || status['code'] === 'STATUS_CODE_ERROR',
    statusMessage: textOf(status['message']) || null,
    scope,
    resource,
  };
}

function fieldsOf(value: unknown, path: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw AdminError.field(path || 'The body', 'must be an object.');
}

function listOf(of: unknown, name: string, at: string): readonly unknown[] {
  const value = fieldsOf(of, at)[name];
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw AdminError.field(at === '' ? name : `${at}.${name}`, 'must be a list.');
}

/** Of what has `attributes`; nothing, where it is absent. */
function attributesOf(given: unknown, at: string): Attributes {
  if (given === undefined || given === null) return new Map();
  const list = listOf(given, 'attributes', at);
  if (list.length > mostAttributes)
    throw AdminError.field(`${at}.attributes`, `must have at most ${mostAttributes} items.`);
  return keyValues(list, `${at}.attributes`, 0);
}

function keyValues(list: readonly unknown[], at: string, depth: number): Map<string, unknown> {
  const values = new Map<string, unknown>();
  for (const [i, item] of list.entries()) {
    const { key, value } = fieldsOf(item, `${at}[${i}]`);
    if (typeof key !== 'string') throw AdminError.field(`${at}[${i}].key`, 'must be text.');
    if (value !== undefined && value !== null) values.set(key, anyValue(value, `${at}[${i}].value`, depth));
  }
  return values;
}

function anyValue(given: unknown, at: string, depth: number): unknown {
  if (depth > deepestValue) throw AdminError.field(at, `is nested deeper than ${deepestValue} levels.`);
  const value = fieldsOf(given, at);
  if (value['stringValue'] !== undefined) return textOf(value['stringValue']);
  if (value['boolValue'] !== undefined) return value['boolValue'] === true;
  if (value['intValue'] !== undefined) return Number(value['intValue']);
  if (value['doubleValue'] !== undefined) return Number(value['doubleValue']);
  if (value['arrayValue'] !== undefined)
    return listOf(value['arrayValue'], 'values', `${at}.arrayValue`).map((one, i) =>
      anyValue(one, `${at}.arrayValue.values[${i}]`, depth + 1),
    );
  if (value['kvlistValue'] !== undefined)
    return Object.fromEntries(
      keyValues(
        listOf(value['kvlistValue'], 'values', `${at}.kvlistValue`),
        `${at}.kvlistValue.values`,
        depth + 1,
      ),
    );
  return null;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const idOf = (value: unknown): string =>
  value instanceof Uint8Array
    ? Buffer.from(value.buffer, value.byteOffset, value.length).toString('hex')
    : textOf(value).toLowerCase();

/** Nanoseconds, as a number or its text, in milliseconds to the microsecond. */
function msOf(nanoseconds: unknown): number {
  if (typeof nanoseconds === 'number') return Math.round(nanoseconds / 1000) / 1000;
  if (typeof nanoseconds !== 'string' || !/^\d{1,20}$/.test(nanoseconds)) return Number.NaN;
  return Number(BigInt(nanoseconds) / 1000n) / 1000;
}
