import { crc32 } from 'node:zlib';
import { EventStreamCodec } from '@smithy/core/event-streams';
import { GatewayError } from '../core/errors.js';
import { stringifyJson } from '../core/json.js';
import { maxEventBytes } from './sse.js';

/** Total length, length of the headers, and a checksum over both. */
const preludeBytes = 12;
/** The prelude, no headers, no payload, and the checksum of the whole. */
const leastBytes = preludeBytes + 4;

const none = Buffer.alloc(0);
const utf8 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
const codec = new EventStreamCodec(utf8, (text) => Buffer.from(text));

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

  /** A frame that was cut off says nothing: the reader of events knows that its end did not come. */
  end(): void {
    this.#restLength = 0;
  }

  #keep(chunk: Buffer, from: number, to: number, room: number): void {
    if (this.#rest.length < room) {
      const larger = Buffer.allocUnsafeSlow(Math.max(512, room));
      this.#rest.copy(larger, 0, 0, this.#restLength);
      this.#rest = larger;
    }
    chunk.copy(this.#rest, this.#restLength, from, to);
    this.#restLength += to - from;
  }

  #frame(frame: Buffer): void {
    const { headers, body } = decode(frame);
    const text = (name: string): string => {
      const header = headers[name];
      return header?.type === 'string' ? header.value : '';
    };
    switch (text(':message-type')) {
      case 'event':
        return this.onEvent(text(':event-type'), utf8(body));
      case 'exception':
        return this.onEvent(text(':exception-type'), utf8(body));
      case 'error':
        return this.onEvent(
          'error',
          stringifyJson({ code: text(':error-code'), message: text(':error-message') }),
        );
      default:
        // Kinds that do not exist yet.
        return;
    }
  }
}

/** Can a body that begins with these bytes be such a stream? null: too few bytes to tell. */
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

function decode(frame: Buffer): ReturnType<EventStreamCodec['decode']> {
  try {
    return codec.decode(frame);
  } catch (cause) {
    throw damaged(cause);
  }
}

function damaged(cause?: unknown): GatewayError {
  return new GatewayError(
    'upstream_stream_error',
    'The provider sent a stream event that is damaged: its checksum or its length is wrong.',
    { cause },
  );
}
