import { Pieces } from '../../../../common/bytes/pieces.js';
import { GatewayError } from '../../../../common/core/errors.js';
import { JsonArrayWriter } from '../../../providers/client-formats/json-array.js';
import { SseReader, writeEvent } from '../../../providers/streams/sse.js';

/** One event of a stream, and its bytes. */
export interface StreamFrame {
  readonly bytes: Buffer;
  readonly name: string | null;
  /** null: it has none, as a comment. */
  readonly data: string | null;
}

/** Cuts the bytes for a client into frames, and writes others. */
export interface Frames {
  push(chunk: Buffer): readonly StreamFrame[];
  /** What is left at the end. */
  end(): readonly StreamFrame[];
  /** The bytes of a frame as it came; of one with other data. */
  same(frame: StreamFrame): Buffer;
  made(name: string | null, data: string): Buffer;
  /** The end of the stream; null: it has none of its own. */
  close(): Buffer | null;
  /** Its end in place of that, with an error; null: the writer of the stream adds it. */
  broken(error: () => string): Buffer | null;
}

/** The end of a converted answer may repeat its whole text several times. */
const maxFrameBytes = 8 * 1024 * 1024;
const lf = 0x0a;
const cr = 0x0d;

/** Collects the bytes of one frame, which may come in many chunks. */
class FrameBytes {
  readonly #pieces = new Pieces();

  add(bytes: Buffer): void {
    if (this.#pieces.length + bytes.length > maxFrameBytes)
      throw new GatewayError('upstream_stream_error', `A stream event has more than ${maxFrameBytes} bytes.`);
    if (bytes.length > 0) this.#pieces.add(bytes);
  }

  take(): Buffer {
    const bytes = this.#pieces.bytes();
    this.#pieces.take();
    return bytes;
  }

  get length(): number {
    return this.#pieces.length;
  }
}

/** Server-sent events: a frame ends with a blank line. */
export class EventFrames implements Frames {
  readonly #kept = new FrameBytes();
  /** Has the present line no bytes so far? Did the last byte end a line by CR? */
  #isBlank = true;
  #afterCr = false;

  push(chunk: Buffer): StreamFrame[] {
    const frames: StreamFrame[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      const isEnd = byte === cr || (byte === lf && !this.#afterCr);
      if (isEnd && this.#isBlank) {
        this.#kept.add(chunk.subarray(from, at + 1));
        frames.push(frameOf(this.#kept.take()));
        from = at + 1;
      }
      // The LF of a CRLF ends no line of its own.
      if (byte !== lf || !this.#afterCr) this.#isBlank = isEnd;
      this.#afterCr = byte === cr;
    }
    this.#kept.add(chunk.subarray(from));
    return frames;
  }

  end(): StreamFrame[] {
    return this.#kept.length === 0 ? [] : [frameOf(this.#kept.take())];
  }

  same({ bytes }: StreamFrame): Buffer {
    return bytes;
  }

  made(name: string | null, data: string): Buffer {
    return Buffer.from(writeEvent(name, data));
  }

  close(): null {
    return null;
  }

  broken(): null {
    return null;
  }
}

function frameOf(bytes: Buffer): StreamFrame {
  let found: Omit<StreamFrame, 'bytes'> = { name: null, data: null };
  const reader = new SseReader((name, data) => {
    found = { name: name === '' ? null : name, data };
  });
  reader.push(bytes);
  reader.end();
  return { ...found, bytes };
}

/** One JSON array: a frame is an element of it. */
export class ArrayFrames implements Frames {
  readonly #kept = new FrameBytes();
  readonly #writer = new JsonArrayWriter();
  #depth = 0;
  #inString = false;
  #escaped = false;

  push(chunk: Buffer): StreamFrame[] {
    const frames: StreamFrame[] = [];
    let from = -1;
    if (this.#depth > 0) from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === 0x5c) this.#escaped = true;
        else if (byte === 0x22) this.#inString = false;
      } else if (byte === 0x22) {
        this.#inString = this.#depth > 0;
      } else if (byte === 0x7b || (byte === 0x5b && this.#depth > 0)) {
        if (this.#depth++ === 0) from = at;
      } else if ((byte === 0x7d || byte === 0x5d) && this.#depth > 0 && --this.#depth === 0) {
        this.#kept.add(chunk.subarray(from, at + 1));
        const bytes = this.#kept.take();
        frames.push({ bytes, name: null, data: bytes.toString() });
        from = -1;
      }
    }
    if (from >= 0) this.#kept.add(chunk.subarray(from));
    return frames;
  }

  /** Half an element is of no use. */
  end(): StreamFrame[] {
    return [];
  }

  same({ bytes }: StreamFrame): Buffer {
    return Buffer.from(this.#writer.item(bytes.toString()));
  }

  made(_name: string | null, data: string): Buffer {
    return Buffer.from(this.#writer.item(data));
  }

  close(): Buffer {
    return Buffer.from(this.#writer.end());
  }

  broken(error: () => string): Buffer {
    return Buffer.from(this.#writer.item(error()) + this.#writer.end());
  }
}
