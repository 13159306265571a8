import type { GatewayError } from '../core/errors.js';

/** Receives the bytes of a Source. The grammar is `data* (end | error)`, and nothing after `end` or `error`. */
export interface Sink {
  /** false: stop after this chunk, `resume()` will be called on the source. The sink may keep the chunk. */
  data(chunk: Buffer): boolean;
  end(): void;
  error(error: GatewayError): void;
}

/**
 * Bytes that arrive over time and are pushed to a sink. Nothing is sent before `start`; `cancel` ends it without a
 * further call.
 */
export interface Source {
  start(sink: Sink): void;
  resume(): void;
  cancel(): void;
}

/** Does this body arrive over time? */
export function isSource(body: Uint8Array | string | Source | null): body is Source {
  return body !== null && typeof body === 'object' && !(body instanceof Uint8Array);
}
