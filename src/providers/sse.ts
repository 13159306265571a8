import { StringDecoder } from 'node:string_decoder';
import { GatewayError } from '../core/errors.js';

/** An event longer than this is no event of a model: it ends the stream. In UTF-16 units, which bounds the bytes. */
export const maxEventLength = 1024 * 1024;

const lf = 10;

/**
 * Takes a stream of server-sent events apart, by the WHATWG grammar (html.spec.whatwg.org §9.2.6): lines end in LF,
 * CRLF or CR, comments are skipped, `data` lines are joined, a leading BOM is ignored. One leniency: an event whose
 * closing blank line never came is still given at `end()`. Each character is looked at once, however it is chunked.
 */
export class SseReader {
  readonly #decoder = new StringDecoder('utf8');
  /** The start of a line whose end has not come. */
  #rest = '';
  /** Did the last chunk end in CR? Then an LF at the start of the next belongs to it. */
  #afterCr = false;
  #first = true;
  #name = '';
  #data = '';
  #hasData = false;

  /** `name` is the `event:` field, '' where there was none. */
  constructor(readonly onEvent: (name: string, data: string) => void) {}

  /** Throws `upstream_stream_error` for an event over 1 MiB. */
  push(chunk: Buffer): void {
    this.#text(this.#decoder.write(chunk));
  }

  /** Gives what is left. */
  end(): void {
    this.#text(this.#decoder.end());
    if (this.#rest !== '') {
      const line = this.#rest;
      this.#rest = '';
      this.#line(line);
    }
    this.#dispatch();
  }

  #text(text: string): void {
    let from = 0;
    if (text === '') return;
    if (this.#first) {
      this.#first = false;
      if (text.charCodeAt(0) === 0xfeff) from = 1;
    }
    if (this.#afterCr) {
      this.#afterCr = false;
      if (text.charCodeAt(from) === lf) from++;
    }
    let nextLf = text.indexOf('\n', from);
    let nextCr = text.indexOf('\r', from);
    while (nextLf >= 0 || nextCr >= 0) {
      const isCr = nextCr >= 0 && (nextLf < 0 || nextCr < nextLf);
      const at = isCr ? nextCr : nextLf;
      const line = this.#rest === '' ? text.slice(from, at) : this.#rest + text.slice(from, at);
      this.#rest = '';
      from = at + 1;
      if (isCr) {
        if (from === text.length) this.#afterCr = true;
        else if (text.charCodeAt(from) === lf) from++;
        nextCr = text.indexOf('\r', from);
      }
      if (nextLf >= 0 && nextLf < from) nextLf = text.indexOf('\n', from);
      this.#line(line);
    }
    if (from < text.length) {
      this.#rest += from === 0 ? text : text.slice(from);
      if (this.#rest.length + this.#data.length > maxEventLength) throw tooLong();
    }
  }

  #line(line: string): void {
    if (line === '') return this.#dispatch();
    const first = line.charCodeAt(0);
    if (first === 0x3a /* : */) return;
    // Nearly every line is `data: …`, so it is recognised without cutting the field name out.
    if (
      first === 0x64 /* d */ &&
      line.startsWith('data') &&
      (line.length === 4 || line.charCodeAt(4) === 0x3a)
    ) {
      const value = line.slice(line.charCodeAt(5) === 0x20 ? 6 : 5);
      if (value.length + this.#data.length > maxEventLength) throw tooLong();
      this.#data = this.#hasData ? `${this.#data}\n${value}` : value;
      this.#hasData = true;
      return;
    }
    if (line.startsWith('event') && (line.length === 5 || line.charCodeAt(5) === 0x3a)) {
      this.#name = line.slice(line.charCodeAt(6) === 0x20 ? 7 : 6);
    }
    // `id` and `retry` are about reconnecting, which nobody does here; unknown fields are ignored by the grammar.
  }

  #dispatch(): void {
    const name = this.#name;
    this.#name = '';
    if (!this.#hasData) return;
    const data = this.#data;
    this.#data = '';
    this.#hasData = false;
    this.onEvent(name, data);
  }
}

function tooLong(): GatewayError {
  return new GatewayError('upstream_stream_error', 'The provider sent a stream event of more than 1 MiB.');
}

const lineEnd = /\r\n|\r|\n/;

/** One event as it stands on the wire, closing blank line included. */
export function writeEvent(name: string | null, data: string): string {
  const head = name === null || name === '' ? '' : `event: ${name}\n`;
  if (!data.includes('\n') && !data.includes('\r')) return `${head}data: ${data}\n\n`;
  return `${head}data: ${data.split(lineEnd).join('\ndata: ')}\n\n`;
}
