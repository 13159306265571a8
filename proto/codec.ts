import { isUtf8 } from 'node:buffer';
import protobuf from 'protobufjs';
import { fromStruct, fromValue, setOwn, toStruct, toValue } from './json.js';
import type { FieldShape, Shape } from './shape.js';

/**
 * Messages in memory, as services and clients see them: plain objects by the names of the proto file; times are ISO
 * text, free JSON is itself, masks are lists of paths. What is optional and absent is left out.
 */
export type Message = Readonly<Record<string, unknown>>;

/** A time that cannot be represented on the wire or in JSON. */
export class BadTime extends Error {
  override readonly name = 'BadTime';
}

/** Text on the wire that is not UTF-8. */
export class BadText extends Error {
  override readonly name = 'BadText';
}

/** A message with more values than it may have. */
export class TooMany extends Error {
  override readonly name = 'TooMany';
}

/** Tags and lengths of an entry of a Struct, which has the most of them for a value. */
const readsForValue = 7;

/**
 * Refuses text that is not UTF-8, for which protobufjs would put U+FFFD, and messages of too many values: the time to
 * read a request depends on these more than on its size.
 */
class TextReader extends protobuf.BufferReader {
  #left: number;

  constructor(bytes: Buffer, mostValues: number) {
    super(bytes);
    this.#left = mostValues * readsForValue;
  }

  override uint32(): number {
    if (--this.#left < 0) throw new TooMany();
    return super.uint32();
  }

  override string(): string {
    const bytes = this.bytes();
    if (!isUtf8(bytes)) throw new BadText();
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  }
}

interface Stamp {
  seconds?: { toNumber(): number } | number;
  nanos?: number;
}

/** 0001-01-01 to the end of 9999, as the wire's definition has it. Milliseconds. */
export const firstTime = -62_135_596_800_000;
export const lastTime = 253_402_300_799_999;

function fromStamp({ seconds = 0, nanos = 0 }: Stamp): string {
  const whole = typeof seconds === 'number' ? seconds : seconds.toNumber();
  const ms = whole * 1000 + Math.floor(nanos / 1_000_000);
  if (!(ms >= firstTime && ms <= lastTime) || nanos < 0 || nanos > 999_999_999) throw new BadTime();
  return new Date(ms).toISOString();
}

function toStamp(text: string): Stamp {
  const ms = Date.parse(text);
  if (!(ms >= firstTime && ms <= lastTime)) throw new BadTime();
  const seconds = Math.floor(ms / 1000);
  return { seconds, nanos: (ms - seconds * 1000) * 1_000_000 };
}

function read(field: FieldShape, value: unknown): unknown {
  switch (field.kind) {
    case 'timestamp':
      return fromStamp(value as Stamp);
    case 'value':
      return fromValue(value as object);
    case 'struct':
      return fromStruct(value as object);
    case 'mask':
      return (value as { paths?: string[] }).paths ?? [];
    case 'message':
      return fromMessage(field.message!, value as Message);
    default:
      return value;
  }
}

function write(field: FieldShape, value: unknown): unknown {
  switch (field.kind) {
    case 'timestamp':
      return toStamp(String(value));
    case 'value':
      return toValue(value);
    case 'struct':
      return toStruct(value as object);
    case 'mask':
      return { paths: value };
    case 'message':
      return toMessage(field.message!, value as Message);
    default:
      return value;
  }
}

function mapEntries(entries: object, change: (value: unknown) => unknown): object {
  const mapped = {};
  for (const [name, value] of Object.entries(entries)) setOwn(mapped, name, change(value));
  return mapped;
}

function fromMessage(shape: Shape, message: Message): Message {
  const object: Record<string, unknown> = {};
  for (const field of shape.fields) {
    const value = message[field.name];
    if (field.list) object[field.name] = ((value ?? []) as unknown[]).map((item) => read(field, item));
    else if (field.map) object[field.name] = mapEntries((value ?? {}) as object, (item) => read(field, item));
    // Absent fields have their defaults on the prototype.
    else if (!field.optional || (Object.hasOwn(message, field.name) && value != null))
      object[field.name] = read(field, value);
  }
  return object;
}

function toMessage(shape: Shape, object: Message): Message {
  const message: Record<string, unknown> = {};
  for (const field of shape.fields) {
    const value = object[field.name];
    // A Value may hold null; everything else that is null is absent.
    if (value === undefined || (value === null && field.kind !== 'value')) continue;
    if (field.list) message[field.name] = (value as unknown[]).map((item) => write(field, item));
    else if (field.map) message[field.name] = mapEntries(value as object, (item) => write(field, item));
    else message[field.name] = write(field, value);
  }
  return message;
}

/**
 * From the wire, with so many values at most. Throws where the bytes are no such message, for text that is not UTF-8, a time out
 * of range and JSON too deep.
 */
export function decode(shape: Shape, bytes: Uint8Array, mostValues = Number.POSITIVE_INFINITY): Message {
  const reader = new TextReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), mostValues);
  return fromMessage(shape, shape.type.decode(reader) as unknown as Message);
}

/** To the wire. Throws for a value of the wrong type. */
export function encode(shape: Shape, object: Message): Buffer {
  return Buffer.from(shape.type.encode(shape.type.fromObject(toMessage(shape, object))).finish());
}
