import { Pieces } from '../../../common/bytes/pieces.js';
import type { EventReader, Framing } from './framing.js';
import { maxEventBytes, tooLong } from './sse.js';

const lf = 0x0a;
const none = Buffer.alloc(0);

/** Splits a stream into lines, without blank ones. Works on bytes: only whole lines are decoded. */
class JsonLinesReader implements EventReader {
  /** The start of a line whose end has not arrived. */
  readonly #rest = new Pieces();

  constructor(readonly onEvent: (name: string, data: string) => void) {}

  /** Throws `upstream_stream_error` for a line over 1 MiB. */
  push(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(lf); at >= 0; at = chunk.indexOf(lf, from)) {
      this.#line(chunk.subarray(from, at));
      from = at + 1;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
  }

  /** Emits a last line without a line end. */
  end(): void {
    this.#line(none);
  }

  #keep(bytes: Buffer): void {
    if (this.#rest.length + bytes.length > maxEventBytes) throw tooLong();
    this.#rest.add(Buffer.from(bytes));
  }

  #line(last: Buffer): void {
    let bytes = last;
    if (this.#rest.length > 0) {
      this.#keep(last);
      bytes = Buffer.concat(this.#rest.take());
    } else if (last.length > maxEventBytes) throw tooLong();
    const text = bytes.toString().trim();
    if (text !== '') this.onEvent('', text);
  }
}

/** A line of JSON for each event. */
export const jsonLines = (contentType: string): Framing => ({
  contentType,
  looksValid(bytes) {
    const first = /[^\s\u00ef\u00bb\u00bf]/.exec(bytes.toString('latin1', 0, 4096))?.[0];
    if (first === undefined) return bytes.length >= 4096 ? false : null;
    return first === '{' || first === '[';
  },
  reader: (onEvent) => new JsonLinesReader(onEvent),
});
