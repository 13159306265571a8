import type { EndpointName } from '../src/common/core/endpoint.js';
import { type ErrorCode, GatewayError } from '../src/common/core/errors.js';
import type { JsonObject } from '../src/common/core/exchange.js';
import { isJsonObject, parseJson } from '../src/common/json/json.js';
import { scanJson } from '../src/common/json/json-scan.js';
import { answerText, scanBody, understand } from '../src/data-plane/endpoints/read-body.js';

export interface ReadTask {
  readonly endpoint: EndpointName;
  readonly bytes: Uint8Array;
}

/** What crosses back to the thread that asked. */
export type ReadResult =
  /** An error's class does not survive the crossing. */
  { readonly code: ErrorCode; readonly message: string; readonly param: string | null } | ReadJson;

export interface ReadJson {
  readonly code: null;
  /** null: the body is right, but parsing it again costs less than handing it over. */
  readonly json: JsonObject | null;
  readonly bigNumbers: boolean;
}

/**
 * Structured clone copies long strings at the speed of memory, where JSON.parse looks at each character; of many
 * small values it makes more work than JSON.parse does.
 */
const cloneTokens = 20_000;

/** A provider's tool calls may nest as they like, but the slices that they are parsed in are a call each. */
const answerCaps = { maxDepth: 1000, maxTokens: Number.POSITIVE_INFINITY };

/** Runs in a worker thread: parses and checks a body. */
export default function readLargeBody({ endpoint, bytes }: ReadTask): ReadResult {
  try {
    const buffer = bufferOf(bytes);
    const { tokens, bigNumbers } = scanBody(buffer);
    const { json } = understand(endpoint, buffer, bigNumbers);
    return { code: null, json: canBeCloned(tokens, bigNumbers) ? json : null, bigNumbers };
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    return { code: thrown.code, message: thrown.message, param: thrown.param };
  }
}

/** The same for what a provider answered. null: it is no JSON object. */
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

/** A LosslessNumber would come out of the clone as a bare object. */
const canBeCloned = (tokens: number, bigNumbers: boolean): boolean => tokens <= cloneTokens && !bigNumbers;
