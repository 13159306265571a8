import { type FileHandle, open } from 'node:fs/promises';
import { formatOf, type JournalFormat } from '../../common/ledger/journal-format.js';
import { kinds } from '../../common/ledger/journal-line.js';
import type { Intent, LedgerRow } from '../../common/ledger/record.js';
import { RowPacker } from '../../common/ledger/row-packer.js';
import type { RowBatch } from '../ledger/ledger.js';

/** Bytes read at a time: several hundred exchanges. */
const firstChunkBytes = 1024 * 1024;
const newline = 0x0a;
const quote = 0x22;
const opening = 0x5b;
const closing = 0x5d;
const comma = 0x2c;
const zero = 0x30;
const nine = 0x39;

/** Receives the parsed lines, in the order of the file. */
export interface LineSink {
  /** `offset`: of the line in its file. */
  intent(id: string, offset: number): void;
  settlement(id: string): void;
  /** An invalid line: a torn end followed by another write, or bytes corrupted by the disk. */
  garbage(offset: number, bytes: number): void;
}

/** The settlements of one chunk, and access to the text of its intents. */
export interface Chunk {
  /** Valid until the next chunk is read. */
  readonly settled: RowBatch;
  /** The JSON array of the line at this offset of the file; valid until the next chunk is read. */
  textAt(offset: number): string;
}

/** What the first line of a file has. */
export interface JournalHeader {
  /** null: a later program wrote it. */
  readonly format: JournalFormat | null;
  /** Of the process that wrote it. */
  readonly identity: string;
  /** Id of the node that wrote it; null: an earlier version did. */
  readonly node: string | null;
}

type HeaderLine = [version: number, identity: string, node?: string | null];

/** The buffers for reading files, one after the other. */
export class ReadBuffers {
  bytes = Buffer.allocUnsafe(firstChunkBytes);
  readonly packer = new RowPacker();
  /** Parse every line? Set after a batch was refused, to find the wrong line. */
  careful = false;

  grow(): void {
    this.bytes = Buffer.allocUnsafe(this.bytes.length * 2);
  }
}

/** Tails one journal file. */
export class JournalFile {
  #handle: FileHandle | null = null;
  #format: JournalFormat | null = null;
  #node: string | null = null;

  constructor(
    readonly path: string,
    readonly name: string,
    /** Where reading continues: the end of the last complete line. */
    public offset: number,
  ) {}

  /** null: it has none yet. */
  async header(): Promise<JournalHeader | null> {
    const handle = await this.#open();
    const head = Buffer.alloc(512);
    const { bytesRead } = await handle.read(head, 0, head.length, 0);
    const end = head.subarray(0, bytesRead).indexOf(newline);
    if (end < 0 || head[0] !== kinds.header) return null;
    try {
      const [version, identity, node] = JSON.parse(head.toString('latin1', 1, end)) as HeaderLine;
      this.#format = formatOf(version);
      this.#node = node ?? null;
      return { format: this.#format, identity, node: this.#node };
    } catch {
      return null;
    }
  }

  /** An intent from its text. Throws for an invalid one. */
  intent(text: string): Intent {
    return this.#formatted.intent(text);
  }

  get #formatted(): JournalFormat {
    if (this.#format === null) throw new Error(`The header of ${this.path} was not read.`);
    return this.#format;
  }

  async #open(): Promise<FileHandle> {
    this.#handle ??= await open(this.path, 'r');
    return this.#handle;
  }

  /** Continues reading; null: no further whole line so far. No chunk goes beyond `end`, the end of a line, unless it begins there. */
  async read(sink: LineSink, buffers: ReadBuffers, end = 0): Promise<Chunk | null> {
    const handle = await this.#open();
    const before = end > this.offset ? end - this.offset : Number.POSITIVE_INFINITY;
    const most = Math.min(buffers.bytes.length, before);
    const { bytesRead } = await handle.read(buffers.bytes, 0, most, this.offset);
    if (bytesRead === 0) return null;
    const { bytes } = buffers;
    const last = bytes.lastIndexOf(newline, bytesRead - 1);
    if (last < 0) {
      if (bytesRead < bytes.length) return null;
      buffers.grow();
      return this.read(sink, buffers, end);
    }
    const start = this.offset;
    this.offset += last + 1;
    return {
      settled: takeLines(this.#formatted, buffers, last + 1, start, this.#node, sink),
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

function takeLines(
  format: JournalFormat,
  buffers: ReadBuffers,
  length: number,
  start: number,
  node: string | null,
  sink: LineSink,
): RowBatch {
  const { bytes, packer } = buffers;
  const chunk = bytes.subarray(0, length);
  // A power failure may leave a hole in a line with valid ends: then each line is parsed.
  const isPacked = format.isPacked && !buffers.careful && !chunk.includes(0);
  const rows: LedgerRow[] = [];
  packer.begin(chunk, node);
  for (let from = 0; from < length; ) {
    const end = bytes.indexOf(newline, from);
    const kind = bytes[from];
    let isRecord = false;
    if (kind === kinds.intent) {
      isRecord = isIntent(bytes, from, end);
      if (isRecord) sink.intent(idAt(bytes, from + intentId), start + from);
    } else if (kind === kinds.settlement) {
      readFoot(bytes, from, end);
      if (isPacked && foot.row > 0 && isSettlement(bytes, from)) {
        isRecord = true;
        sink.settlement(idAt(bytes, from + foot.row + 2));
        packer.add(from + 1, from + 1 + foot.row, end - foot.length);
      } else {
        const row = parsed(format, bytes, from + 1, end - foot.length, node);
        isRecord = row !== null;
        if (row !== null) {
          sink.settlement(row.id);
          rows.push(row);
        }
      }
    }
    if (!isRecord && end > from && kind !== kinds.header) sink.garbage(start + from, end - from);
    from = end + 1;
  }
  const packed = packer.end((from, end) => {
    const row = parsed(format, bytes, from, end, node);
    if (row === null) sink.garbage(start + from, end - from);
    else rows.push(row);
  });
  return { packed, rows };
}

function parsed(
  format: JournalFormat,
  bytes: Buffer,
  from: number,
  end: number,
  node: string | null,
): LedgerRow | null {
  try {
    return format.settlement(bytes.toString('latin1', from, end), node);
  } catch {
    return null;
  }
}

/** The end of the last settlement's line: the length of its array, and the position of the row's own fields. */
const foot = { length: 0, row: 0 };

/**
 * Reads `]<length>,<row>` at the line's end; of version 1, `]<length>` too. If the length is not that of the array,
 * there is no foot, and the line is invalid, since no record ends in a digit. `row`: 0: there is none.
 */
function readFoot(bytes: Buffer, from: number, end: number): void {
  foot.length = 0;
  foot.row = 0;
  let at = end;
  let value = 0;
  let row = 0;
  for (let power = 1; at > from; at--) {
    const byte = bytes[at - 1]!;
    if (byte === closing) break;
    if (byte === comma) {
      row = value;
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
  foot.row = row;
}

/** Checks only the boundaries of the parts; the length covers what is between. */
function isSettlement(bytes: Buffer, from: number): boolean {
  const row = from + 1 + foot.row;
  return (
    bytes[from + 1] === opening &&
    bytes[from + 2] === opening &&
    bytes[row - 2] === closing &&
    bytes[row - 1] === comma &&
    bytes[row] === quote &&
    bytes[row + 1 + idLength] === quote
  );
}

/** Checks only both ends: it is parsed if it stays open. */
function isIntent(bytes: Buffer, from: number, end: number): boolean {
  return bytes[from + 1] === opening && bytes[from + 2] === quote && bytes[end - 1] === closing;
}

/** Where the id of an intent begins in its line. */
const intentId = 3;
const idLength = 36;

/** The id at `from`, as JSON has it. Nearly all are UUIDs: 36 characters. */
function idAt(bytes: Buffer, from: number): string {
  const end = bytes[from + idLength] === quote ? from + idLength : bytes.indexOf(quote, from);
  return bytes.toString('latin1', from, end);
}
