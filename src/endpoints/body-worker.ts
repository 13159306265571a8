import type { EndpointName } from '../core/endpoint.js';
import { type ErrorCode, GatewayError } from '../core/errors.js';
import type { JsonObject } from '../core/exchange.js';
import { scanBody, understand } from './read-body.js';

export interface ReadTask {
  readonly endpoint: EndpointName;
  readonly bytes: Uint8Array;
}

/** What crosses back to the thread that asked. */
export type ReadResult =
  /** An error's class does not survive the crossing. */
  | { readonly code: ErrorCode; readonly message: string; readonly param: string | null }
  /** `json` null: the body is right, but parsing it again costs less than handing it over. */
  | { readonly code: null; readonly json: JsonObject | null; readonly bigNumbers: boolean };

/**
 * Structured clone copies long strings at the speed of memory, where JSON.parse looks at each character; of many
 * small values it makes more work than JSON.parse does.
 */
const cloneTokens = 20_000;

/** Runs in a worker thread: parses and checks a body. */
export default function readLargeBody({ endpoint, bytes }: ReadTask): ReadResult {
  try {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const { tokens, bigNumbers } = scanBody(buffer);
    const { json } = understand(endpoint, buffer, bigNumbers);
    // A LosslessNumber would come out of the clone as a bare object.
    return { code: null, json: tokens <= cloneTokens && !bigNumbers ? json : null, bigNumbers };
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    return { code: thrown.code, message: thrown.message, param: thrown.param };
  }
}
