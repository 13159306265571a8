import type { GatewayError } from '../core/errors.js';

/** Takes what a Source gives. The grammar is `data* (end | error)`, and nothing after `end` or `error`. */
export interface Sink {
  /** false: stop after this chunk, `resume()` will be called on the source. The chunk is the sink's to keep. */
  data(chunk: Buffer): boolean;
  end(): void;
  error(error: GatewayError): void;
}

/** Bytes that arrive over time, pushed. Nothing flows before `start`; `cancel` ends it without a further call. */
export interface Source {
  start(sink: Sink): void;
  resume(): void;
  cancel(): void;
}

/** Is this a body that arrives over time, rather than whole bytes, text or none? */
export function isSource(body: Uint8Array | string | Source | null): body is Source {
  return body !== null && typeof body === 'object' && !(body instanceof Uint8Array);
}
