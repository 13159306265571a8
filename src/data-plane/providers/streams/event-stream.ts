import { crc32 } from 'node:zlib';
import { GatewayError } from '../../../common/core/errors.js';
import { maxEventBytes } from './sse.js';

/** Total length, length of the headers, and a checksum over both. */
const preludeBytes = 12;
/** The prelude, no headers, no payload, and the checksum of the whole. */
const leastBytes = preludeBytes + 4;

const none = Buffer.alloc(0);

/**
 * Takes a stream in `application/vnd.amazon.eventstream` apart (smithy.io/2.0/aws/amazon-eventstream.html). An event
 * is given under its `:event-type`, an exception under its `:exception-type`, an unmodelled error as `error`; the data
 * is the payload, JSON text.
 *
 * Each byte is copied once at most: frames that lie within one chunk are read where they are.
 */
export class EventStreamReader {
  /** The start of a frame whose end has not come; only the first `#restLength` bytes count. */
  #rest: Buffer = none;
  #restLength = 0;

  constructor(readonly onEvent: (name: string, data: string) => void) {}

  /** Throws `upstream_stream_error` for a damaged frame and for one over 1 MiB. */
  push(chunk: Buffer): void {
    let from = 0;
    while (this.#restLength > 0 && from < chunk.length) {
      const wanted = this.#restLength < preludeBytes ? preludeBytes : frameLength(this.#rest, 0);
      const to = Math.min(chunk.length, from + wanted - this.#restLength);
      this.#keep(chunk, from, to, wanted);
      from = to;
      if (this.#restLength < preludeBytes || this.#restLength < frameLength(this.#rest, 0)) continue;
      const frame = this.#rest.subarray(0, this.#restLength);
      this.#restLength = 0;
      // One long frame should not hold its memory for the rest of the stream.
      if (frame.length > 64 * 1024) this.#rest = none;
      this.#frame(frame);
    }
    while (chunk.length - from >= preludeBytes) {
      const length = frameLength(chunk, from);
      if (chunk.length - from < length) break;
      this.#frame(chunk.subarray(from, from + length));
      from += length;
    }
    if (from === chunk.length) return;
    const left = chunk.length - from;
    this.#keep(chunk, from, chunk.length, left < preludeBytes ? preludeBytes : frameLength(chunk, from));
  }

  /** An incomplete frame is dropped: the reader of events detects that the end is missing. */
  end(): void {
    this.#restLength = 0;
  }

  /** `room`: bytes of the frame, if the frame declares it; memory grows only with the received bytes. */
  #keep(chunk: Buffer, from: number, to: number, room: number): void {
    const length = this.#restLength + to - from;
    if (this.#rest.length < length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(512, Math.min(room, 2 * length)));
      this.#rest.copy(larger, 0, 0, this.#restLength);
      this.#rest = larger;
    }
    chunk.copy(this.#rest, this.#restLength, from, to);
    this.#restLength += to - from;
  }

  #frame(frame: Buffer): void {
    const end = frame.length - 4;
    if (crc32(frame.subarray(0, end)) !== frame.readUInt32BE(end)) throw damaged();
    const payloadFrom = preludeBytes + frame.readUInt32BE(4);
    const headers = readHeaders(frame, preludeBytes, payloadFrom);
    const payload = (): string => frame.toString('utf8', payloadFrom, end);
    switch (headers.get(':message-type')) {
      case 'event':
        return this.onEvent(headers.get(':event-type') ?? '', payload());
      case 'exception':
        return this.onEvent(headers.get(':exception-type') ?? 'error', payload());
      case 'error':
        return this.onEvent(
          'error',
          JSON.stringify({ code: headers.get(':error-code'), message: headers.get(':error-message') }),
        );
      default:
        // Kinds that do not exist yet.
        return;
    }
  }
}

/** Bytes of a header's value by its type; -1: a length of two bytes precedes it. */
const valueBytes = [0, 0, 1, 2, 4, 8, -1, -1, 8, 16];
const stringType = 7;

/** Those that are text, as all headers that describe an event are. */
function readHeaders(frame: Buffer, start: number, end: number): Map<string, string> {
  const headers = new Map<string, string>();
  let at = start;
  while (at < end) {
    const nameTo = at + 1 + frame[at]!;
    if (nameTo >= end) throw damaged();
    const name = frame.toString('latin1', at + 1, nameTo);
    const type = frame[nameTo]!;
    const fixed = valueBytes[type];
    if (fixed === undefined || (fixed < 0 && nameTo + 3 > end)) throw damaged();
    const from = fixed < 0 ? nameTo + 3 : nameTo + 1;
    at = from + (fixed < 0 ? frame.readUInt16BE(nameTo + 1) : fixed);
    if (at > end) throw damaged();
    if (type === stringType) headers.set(name, frame.toString('utf8', from, at));
  }
  return headers;
}

/** Can a body that begins with these bytes be such a stream? null: too few bytes to decide. */
export function looksLikeEventStream(bytes: Buffer): boolean | null {
  if (bytes.length < preludeBytes) return null;
  return crc32(bytes.subarray(0, 8)) === bytes.readUInt32BE(8);
}

/** The length is believed only with its checksum: a wrong one would have us wait for bytes that never come. */
function frameLength(bytes: Buffer, from: number): number {
  if (crc32(bytes.subarray(from, from + 8)) !== bytes.readUInt32BE(from + 8)) throw damaged();
  const length = bytes.readUInt32BE(from);
  if (length > maxEventBytes) {
    throw new GatewayError('upstream_stream_error', 'The provider sent a stream event of more than 1 MiB.');
  }
  if (length < leastBytes || bytes.readUInt32BE(from + 4) > length - leastBytes) throw damaged();
  return length;
}

function damaged(): GatewayError {
  return new GatewayError(
    'upstream_stream_error',
    'The provider sent a stream event that is damaged: its checksum or its length is wrong.',
  );
}
