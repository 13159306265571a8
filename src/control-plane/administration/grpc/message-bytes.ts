import { setImmediate } from 'node:timers/promises';
import { encode, type Message } from '../../../../proto/codec.js';
import type { FieldShape, Shape } from '../../../../proto/shape.js';
import { writeMessage } from '../shape/json.js';

/**
 * Messages as they leave, in JSON and on gRPC's wire. A long list is written over several turns of the event loop: what
 * the data plane asks of this process must not wait for it.
 */

const itemsATurn = 100;

const closing = { list: Buffer.from(']'), object: Buffer.from('}') };

const itemsOf = (field: FieldShape, message: Message): readonly Message[] =>
  (message[field.name] ?? []) as readonly Message[];

/** The field that holds a long list of messages. */
const longIn = (shape: Shape, message: Message): FieldShape | undefined =>
  shape.fields.find(
    (field) => field.list && field.kind === 'message' && itemsOf(field, message).length > itemsATurn,
  );

async function slicesOf(items: readonly Message[], write: (slice: readonly Message[]) => Buffer) {
  const pieces: Buffer[] = [];
  for (let from = 0; from < items.length; from += itemsATurn) {
    if (from > 0) await setImmediate();
    pieces.push(write(items.slice(from, from + itemsATurn)));
  }
  return pieces;
}

/** What `JSON.stringify` makes of `writeMessage`. */
export async function messageJson(shape: Shape, message: Message): Promise<string | Buffer> {
  const long = longIn(shape, message);
  if (long === undefined) return JSON.stringify(writeMessage(shape, message));
  const pieces: Buffer[] = [];
  let separator = '{';
  for (const [name, value] of Object.entries(writeMessage(shape, { ...message, [long.name]: [] }))) {
    pieces.push(Buffer.from(`${separator}${JSON.stringify(name)}:`));
    if (name !== long.jsonName) pieces.push(Buffer.from(JSON.stringify(value)));
    else pieces.push(...(await listJson(long.message!, itemsOf(long, message))));
    separator = ',';
  }
  return Buffer.concat([...pieces, closing.object]);
}

async function listJson(shape: Shape, items: readonly Message[]): Promise<Buffer[]> {
  const pieces = await slicesOf(items, (slice) =>
    Buffer.from(JSON.stringify(slice.map((item) => writeMessage(shape, item)))),
  );
  // One list of all: a comma separates two slices, in place of their brackets.
  for (const piece of pieces.slice(1)) piece[0] = 0x2c;
  return [...pieces.map((piece) => piece.subarray(0, -1)), closing.list];
}

/** What `encode` makes of it, but for the order of fields: on the wire, a list may come in parts. */
export async function messageWire(shape: Shape, message: Message): Promise<Buffer> {
  const long = longIn(shape, message);
  if (long === undefined) return encode(shape, message);
  const { [long.name]: _, ...rest } = message;
  const pieces = await slicesOf(itemsOf(long, message), (slice) => encode(shape, { [long.name]: slice }));
  return Buffer.concat([encode(shape, rest), ...pieces]);
}
