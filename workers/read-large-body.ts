import type { EndpointName } from '../src/common/core/endpoint.js';
import { type ErrorCode, GatewayError } from '../src/common/core/errors.js';
import type { JsonObject } from '../src/common/core/exchange.js';
import { isJsonObject, parseJson } from '../src/common/json/json.js';
import { answerCaps, scanJson } from '../src/common/json/json-scan.js';
import { lowerThreadPriority } from '../src/common/threads/thread-priority.js';
import { answerText, scanBody, understand } from '../src/data-plane/endpoints/read-body.js';

lowerThreadPriority();

export interface ReadTask {
  readonly endpoint: EndpointName;
  readonly bytes: Uint8Array;
}

/** The result that is sent back to the calling thread. */
export type ReadResult =
  /** An error's class is lost between threads. */
  { readonly code: ErrorCode; readonly message: string; readonly param: string | null } | ReadJson;

export interface ReadJson {
  readonly code: null;
  /** null: the body is valid, but parsing it again is faster than transferring it. */
  readonly json: JsonObject | null;
  readonly bigNumbers: boolean;
  readonly tokens: number;
}

/**
 * Structured clone copies long strings at the speed of memory, while JSON.parse checks each character; for many
 * small values it is slower than JSON.parse.
 */
const cloneTokens = 20_000;

/** Runs in a worker thread: parses and checks a body. */
export default function readLargeBody({ endpoint, bytes }: ReadTask): ReadResult {
  try {
    const buffer = bufferOf(bytes);
    const scan = scanBody(endpoint, buffer);
    const { tokens, bigNumbers } = scan;
    const { json } = understand(endpoint, buffer, scan);
    return { code: null, json: canBeCloned(tokens, bigNumbers) ? json : null, bigNumbers, tokens };
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    return { code: thrown.code, message: thrown.message, param: thrown.param };
  }
}

/** The same for a provider's answer. null: it is not a JSON object. */
export function readLargeAnswer(bytes: Uint8Array): Pick<ReadJson, 'json' | 'bigNumbers'> | null {
  const buffer = bufferOf(bytes);
  const { tokens, bigNumbers, problem } = scanJson(buffer, answerCaps);
  if (problem !== null) return null;
  try {
    const json = parseJson(answerText(buffer), bigNumbers);
    if (!isJsonObject(json)) return null;
    return { json: canBeCloned(tokens, bigNumbers) ? json : null, bigNumbers };
  } catch {
    return null;
  }
}

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** A cloned LosslessNumber would be a plain object. */
const canBeCloned = (tokens: number, bigNumbers: boolean): boolean => tokens <= cloneTokens && !bigNumbers;
