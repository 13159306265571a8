import { type FileHandle, open } from 'node:fs/promises';
import { at, kinds } from './record-text.js';
import { type Settlements, SettlementsBuilder } from './settlements.js';

/** Read at a time: several hundred exchanges. */
const firstChunkBytes = 1024 * 1024;
const newline = 0x0a;
const quote = 0x22;
const opening = 0x5b;
const closing = 0x5d;
const comma = 0x2c;
const zero = 0x30;
const nine = 0x39;

/** What lines come to, in the order of the file. */
export interface LineSink {
  /** `offset`: of the line in its file. */
  intent(id: string, offset: number): void;
  settlement(id: string): void;
  /** A line that is none of these: a torn end that another write followed, or bytes that a disk made up. */
  garbage(offset: number, bytes: number): void;
}

/** The settlements of one chunk, and where its intents can still be read. */
export interface Chunk {
  /** null: none. Only until the next chunk is read. */
  readonly settled: Settlements | null;
  /** The JSON array of the line at this offset of the file; only until the next chunk is read. */
  textAt(offset: number): string;
}

/** The memory that files are read in, one after the other. */
export class ReadBuffers {
  bytes = Buffer.allocUnsafe(firstChunkBytes);
  readonly settlements = new SettlementsBuilder();
  /** Is every line to be parsed before it is believed? Set after a batch was refused, to find the line to blame. */
  careful = false;

  grow(): void {
    this.bytes = Buffer.allocUnsafe(this.bytes.length * 2);
  }
}

/** Tails one journal file. */
export class JournalFile {
  #handle: FileHandle | null = null;

  constructor(
    readonly path: string,
    readonly name: string,
    /** Where reading goes on: behind the last whole line seen. */
    public offset: number,
  ) {}

  /** The identity its writer put at its head; null: not there yet. */
  async identity(): Promise<string | null> {
    const handle = await this.#open();
    const head = Buffer.alloc(512);
    const { bytesRead } = await handle.read(head, 0, head.length, 0);
    const end = head.subarray(0, bytesRead).indexOf(newline);
    if (end < 0 || head[0] !== kinds.header) return null;
    try {
      const [, identity] = JSON.parse(head.toString('latin1', 1, end)) as [number, string];
      return identity;
    } catch {
      return null;
    }
  }

  async #open(): Promise<FileHandle> {
    this.#handle ??= await open(this.path, 'r');
    return this.#handle;
  }

  /** Reads on; null: no further whole line so far. */
  async read(sink: LineSink, buffers: ReadBuffers): Promise<Chunk | null> {
    const handle = await this.#open();
    const { bytesRead } = await handle.read(buffers.bytes, 0, buffers.bytes.length, this.offset);
    if (bytesRead === 0) return null;
    const { bytes } = buffers;
    const last = bytes.lastIndexOf(newline, bytesRead - 1);
    if (last < 0) {
      if (bytesRead < bytes.length) return null;
      buffers.grow();
      return this.read(sink, buffers);
    }
    const start = this.offset;
    this.offset += last + 1;
    return {
      settled: takeLines(buffers, last + 1, start, sink),
      textAt(offset) {
        const from = offset - start;
        return bytes.toString('latin1', from + 1, bytes.indexOf(newline, from));
      },
    };
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = null;
    await handle?.close();
  }
}

function takeLines(buffers: ReadBuffers, length: number, start: number, sink: LineSink): Settlements | null {
  const { bytes, settlements, careful } = buffers;
  const chunk = bytes.subarray(0, length);
  // A power cut may leave a hole in a line whose ends are sound: the database shall parse it.
  settlements.begin(chunk, careful || chunk.includes(0));
  for (let from = 0; from < length; ) {
    const end = bytes.indexOf(newline, from);
    const kind = bytes[from];
    readFoot(bytes, from, end);
    const close = end - foot.length;
    if (isRecord(bytes, from, close) && (!careful || parses(bytes, from, close))) {
      const id = idAt(bytes, from + 3);
      if (kind === kinds.intent) {
        sink.intent(id, start + from);
      } else {
        sink.settlement(id);
        settlements.add(from + 1, close, foot.trace);
      }
    } else if (end > from && kind !== kinds.header) {
      sink.garbage(start + from, end - from);
    }
    from = end + 1;
  }
  return settlements.end();
}

/** What stands behind the array of the line read last. */
const foot = { length: 0, trace: -1 };

/**
 * Reads `]<length>` or `]<length>,<trace>` at the line's end. The length is of the array; where it is not, the line is
 * none: nothing is a foot then, and no record ends in a digit. `trace`: -1 where there is none.
 */
function readFoot(bytes: Buffer, from: number, end: number): void {
  foot.length = 0;
  foot.trace = -1;
  let at = end;
  let value = 0;
  let trace = 0;
  for (let power = 1; at > from; at--) {
    const byte = bytes[at - 1]!;
    if (byte === closing) break;
    if (byte === comma) {
      trace = value;
      value = 0;
      power = 1;
    } else if (byte >= zero && byte <= nine) {
      value += (byte - zero) * power;
      power *= 10;
    } else {
      return;
    }
  }
  if (at === end || value !== at - from - 1) return;
  foot.length = end - at;
  foot.trace = trace;
}

/** Only the ends are looked at here: what lies between is vouched for by its length, or parsed by the database. */
function isRecord(bytes: Buffer, from: number, end: number): boolean {
  const kind = bytes[from];
  return (
    (kind === kinds.settlement || kind === kinds.intent) &&
    bytes[from + 1] === opening &&
    bytes[from + 2] === quote &&
    bytes[end - 1] === closing
  );
}

function parses(bytes: Buffer, from: number, end: number): boolean {
  try {
    const fields = JSON.parse(bytes.toString('latin1', from + 1, end)) as unknown[];
    return typeof fields[at.at] === 'number' && typeof fields[at.org] === 'string';
  } catch {
    return false;
  }
}

/** The id behind the opening `["`, as JSON has it. Nearly all are UUIDs: 36 characters. */
function idAt(bytes: Buffer, from: number): string {
  const end = bytes[from + 36] === quote ? from + 36 : bytes.indexOf(quote, from);
  return bytes.toString('latin1', from, end);
}
