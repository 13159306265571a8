import type { Duplex } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { joinInTurns } from '../../../common/bytes/copy-in-turns.js';
import { Pieces } from '../../../common/bytes/pieces.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { getHeader, type HeaderList } from '../../../common/http/headers.js';
import { isJsonObject } from '../../../common/json/json.js';
import { answerText } from '../../endpoints/read-body.js';
import type { Outgoing } from '../outgoing/outgoing.js';

/** Rejects a body that does not decode, or becomes longer than `maxBytes`. */
type Decode = (bytes: Buffer, maxBytes: number) => Promise<Buffer>;

/** Decoded in one turn of the event loop. Bytes. */
const chunkSize = 64 * 1024;

const decoders: ReadonlyMap<string, Decode> = new Map(
  (
    [
      ['gzip', () => createGunzip({ chunkSize })],
      ['deflate', () => createInflate({ chunkSize })],
      ['br', () => createBrotliDecompress({ chunkSize })],
    ] as const
  ).map(([coding, start]) => [coding, (bytes, maxBytes) => decoded(start(), bytes, maxBytes)]),
);

/** zlib's functions for whole bodies would join the pieces in one turn: for 30 MB that takes up to 90 ms. */
async function decoded(decoder: Duplex, bytes: Buffer, maxBytes: number): Promise<Buffer> {
  const pieces = new Pieces();
  decoder.end(bytes);
  for await (const piece of decoder) {
    // Leaving the loop ends the decoder.
    if (pieces.length + (piece as Buffer).length > maxBytes)
      throw new Error(`more than ${maxBytes} bytes when decoded`);
    pieces.add(piece as Buffer);
  }
  return joinInTurns(pieces.take());
}

/** Values that storage servers and careless ones send with bodies that are not compressed. */
const notCompressed = new Set(['', 'identity', 'utf-8', 'utf8', 'aws-chunked']);

/** The compression of a body; null: none. */
export function compressionOf(headers: HeaderList): string | null {
  const coding = getHeader(headers, 'content-encoding');
  return coding === undefined || notCompressed.has(coding.toLowerCase()) ? null : coding.toLowerCase();
}

/** For a `content-encoding`; undefined: one that was not requested and cannot be decoded here. */
export const decoderOf = (coding: string): Decode | undefined => decoders.get(coding);

/** The JSON object in a body; null: there is none. */
export function parseObject(bytes: Buffer, parse: (text: string) => unknown): JsonObject | null {
  try {
    const value = parse(answerText(bytes));
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** `maxBytes`: of an answer. */
export const tooLarge = ({ call }: Outgoing, maxBytes: number): GatewayError =>
  new GatewayError('upstream_too_large', `${call.provider} answered with more than ${maxBytes} bytes.`);

/** The error for an answer whose status is a redirect's. */
export const redirected = ({ call }: Outgoing, status: number): GatewayError =>
  new GatewayError(
    'upstream_redirect',
    `${call.provider} answered with a redirect (${status}), which is not followed.`,
  );

/** The error for a body in a coding that was not requested, in which a repeated credential could not be found. */
export const unsearchable = (outgoing: Outgoing, coding: string): GatewayError =>
  invalidAnswer(
    outgoing,
    `a body in the coding ${JSON.stringify(coding.slice(0, 40))}, which was not requested and in which the credential cannot be searched for`,
  );

/** The error for an invalid answer; `what`: what the provider sent instead. */
export function invalidAnswer({ call }: Outgoing, what: string, cause?: unknown): GatewayError {
  return new GatewayError('upstream_invalid_response', `${call.provider} answered with ${what}.`, { cause });
}
