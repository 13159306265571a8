import { GatewayError } from '../../../common/core/errors.js';

/** An event of more bytes than this is no event of a model: it ends the stream. */
export const maxEventBytes = 1024 * 1024;

/** What a data line costs beside its bytes, so that a million empty ones are not free. */
const lineCost = 32;

const lf = 0x0a;
const cr = 0x0d;
const colon = 0x3a;
const space = 0x20;
const none = Buffer.alloc(0);

/**
 * Takes a stream of server-sent events apart, by the WHATWG grammar (html.spec.whatwg.org §9.2.6): lines end in LF,
 * CRLF or CR, comments are skipped, `data` lines are joined, a leading BOM is ignored. One leniency: an event whose
 * closing blank line never came is still given at `end()`.
 *
 * Works on bytes, since a line end is never part of a UTF-8 sequence: each is looked at once, however they are
 * chunked, and only whole lines are decoded.
 */
export class SseReader {
  /** The start of a line whose end has not come; only the first `#restLength` bytes count. */
  #rest: Buffer = none;
  #restLength = 0;
  /** Did the last chunk end in CR? Then an LF at the start of the next belongs to it. */
  #afterCr = false;
  #firstLine = true;
  #name = '';
  #data = '';
  #hasData = false;
  #size = 0;

  /** `name` is the `event:` field, '' where there was none. */
  constructor(readonly onEvent: (name: string, data: string) => void) {}

  /** Throws `upstream_stream_error` for an event over 1 MiB. */
  push(chunk: Buffer): void {
    const { length } = chunk;
    if (length === 0) return;
    let from = 0;
    if (this.#afterCr) {
      this.#afterCr = false;
      if (chunk[0] === lf) from = 1;
    }
    let nextLf = chunk.indexOf(lf, from);
    let nextCr = chunk.indexOf(cr, from);
    while (nextLf >= 0 || nextCr >= 0) {
      const isCr = nextCr >= 0 && (nextLf < 0 || nextCr < nextLf);
      const at = isCr ? nextCr : nextLf;
      const start = from;
      from = at + 1;
      if (isCr) {
        if (from === length) this.#afterCr = true;
        else if (chunk[from] === lf) from++;
        nextCr = chunk.indexOf(cr, from);
      }
      if (nextLf >= 0 && nextLf < from) nextLf = chunk.indexOf(lf, from);
      if (this.#restLength === 0) {
        this.#line(chunk, start, at);
      } else {
        this.#keep(chunk, start, at);
        this.#restLine();
      }
    }
    if (from < length) this.#keep(chunk, from, length);
  }

  /** Gives what is left. */
  end(): void {
    if (this.#restLength > 0) this.#restLine();
    this.#dispatch();
  }

  #keep(chunk: Buffer, from: number, to: number): void {
    const length = this.#restLength + to - from;
    if (length + this.#size > maxEventBytes) throw tooLong();
    if (length > this.#rest.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(maxEventBytes, Math.max(512, length * 2)));
      this.#rest.copy(larger, 0, 0, this.#restLength);
      this.#rest = larger;
    }
    chunk.copy(this.#rest, this.#restLength, from, to);
    this.#restLength = length;
  }

  #restLine(): void {
    const bytes = this.#rest;
    const length = this.#restLength;
    this.#restLength = 0;
    // One long line should not hold its memory for the rest of the stream.
    if (bytes.length > 64 * 1024) this.#rest = none;
    this.#line(bytes, 0, length);
  }

  #line(bytes: Buffer, start: number, to: number): void {
    let from = start;
    if (this.#firstLine) {
      this.#firstLine = false;
      if (bytes[from] === 0xef && bytes[from + 1] === 0xbb && bytes[from + 2] === 0xbf && to - from >= 3)
        from += 3;
    }
    if (from === to) return this.#dispatch();
    if (isField(bytes, from, to, 'data')) {
      const valueFrom = from + (bytes[from + 5] === space && from + 5 < to ? 6 : 5);
      this.#size += Math.max(0, to - valueFrom) + lineCost;
      if (this.#size > maxEventBytes) throw tooLong();
      const value = valueFrom < to ? bytes.toString('utf8', valueFrom, to) : '';
      this.#data = this.#hasData ? `${this.#data}\n${value}` : value;
      this.#hasData = true;
    } else if (isField(bytes, from, to, 'event')) {
      const valueFrom = from + (bytes[from + 6] === space && from + 6 < to ? 7 : 6);
      this.#name = valueFrom < to ? bytes.toString('utf8', valueFrom, to) : '';
    }
    // Comments are ignored; `id` and `retry` are about reconnecting, which is not done here; unknown fields are
    // ignored by the grammar.
  }

  #dispatch(): void {
    const name = this.#name;
    this.#name = '';
    if (!this.#hasData) return;
    const data = this.#data;
    this.#data = '';
    this.#hasData = false;
    this.#size = 0;
    this.onEvent(name, data);
  }
}

/** Is this line the field `name`, with a value or without? */
function isField(bytes: Buffer, from: number, to: number, name: string): boolean {
  const end = from + name.length;
  if (end > to) return false;
  for (let i = 0; i < name.length; i++) if (bytes[from + i] !== name.charCodeAt(i)) return false;
  return end === to || bytes[end] === colon;
}

export function tooLong(): GatewayError {
  return new GatewayError('upstream_stream_error', 'The provider sent a stream event of more than 1 MiB.');
}

const lineEnd = /\r\n|\r|\n/;

/** One event as on the wire, closing blank line included. */
export function writeEvent(name: string | null, data: string): string {
  const head = name === null || name === '' ? '' : `event: ${name}\n`;
  if (!data.includes('\n') && !data.includes('\r')) return `${head}data: ${data}\n\n`;
  return `${head}data: ${data.split(lineEnd).join('\ndata: ')}\n\n`;
}
