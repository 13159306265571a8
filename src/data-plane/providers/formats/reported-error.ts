import type { Pieces } from '../../../common/bytes/pieces.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { stringifyJson } from '../../../common/json/json.js';
import { parseEventJson } from '../inner-json.js';
import { reportsError } from './error-event.js';
import { asObject, asString } from './json-shape.js';

/** An error that a provider reports with an event of its stream, as the answer with which it could have reported it. */
export interface ReportedError {
  readonly status: number;
  /** As bodies of errors are in the format of the stream. */
  readonly body: string;
  /** The JSON that may contain its usage, as a whole answer of the stream's format does; null: there is none. */
  readonly answer: JsonObject | null;
}

/** null: this event reports no error. */
export function reportedError(name: string, data: string): ReportedError | null {
  const isNamed = name === 'error' || name.endsWith('Exception');
  if (!isNamed && !data.includes('"error"')) return null;
  const event = eventOf(data);
  if (event === null) return isNamed ? { status: unknownStatus, body: data, answer: null } : null;
  if (!isNamed && !isError(event)) return null;
  const body = errorBody(name, event);
  const answer = asObject(event['response']) ?? event;
  return { status: statusOf(name, body), body: stringifyJson(body), answer };
}

/** Bytes. A longer answer is no error. */
const longestError = 16 * 1024;
/** Its first member that is an object or a text, after plain values at most. */
const beginsWithError = /^\s*\{[^{[]*"error"\s*:\s*[{"]/;

/** The error that a whole answer consists of, although its status is that of a success; null: there is none. */
export function errorInAnswer(pieces: Pieces): ReportedError | null {
  if (pieces.length === 0 || pieces.length > longestError) return null;
  const bytes = pieces.bytes();
  const start = bytes.toString('latin1', 0, 1024);
  // A response of the Responses API has its error, or none, beside its output.
  if (!start.includes('"error"') || !beginsWithError.test(start) || start.includes('"response"')) return null;
  return reportedError('', bytes.toString());
}

function eventOf(data: string): JsonObject | null {
  try {
    return asObject(parseEventJson(data));
  } catch {
    return null;
  }
}

const isError = (event: JsonObject): boolean =>
  reportsError('', event) || event['type'] === 'error' || event['type'] === 'response.failed';

function errorBody(name: string, event: JsonObject): JsonObject {
  // As an answer of Bedrock has its name.
  if (name.endsWith('Exception')) return { ...event, __type: name[0]!.toUpperCase() + name.slice(1) };
  const failed = asObject(asObject(event['response'])?.['error']);
  if (failed !== null) return { error: failed };
  // The Responses API has the members of its error beside the type of the event.
  const { type, sequence_number: _, ...flat } = event;
  const isFlat =
    type === 'error' && asObject(event['error']) === null && typeof event['message'] === 'string';
  return isFlat ? { error: flat } : event;
}

/** For a failure without a known name. */
const unknownStatus = 502;

/** Statuses by the names that providers give their errors, as types or as codes, in small letters. */
const statuses: ReadonlyMap<string, number> = new Map(
  Object.entries({
    // Anthropic (platform.claude.com/docs/en/api/errors)
    invalid_request_error: 400,
    authentication_error: 401,
    billing_error: 402,
    permission_error: 403,
    not_found_error: 404,
    request_too_large: 413,
    rate_limit_error: 429,
    api_error: 500,
    timeout_error: 504,
    overloaded_error: 529,
    // OpenAI, and servers with its format
    invalid_api_key: 401,
    model_not_found: 404,
    context_length_exceeded: 400,
    invalid_prompt: 400,
    rate_limit_exceeded: 429,
    insufficient_quota: 429,
    server_error: 500,
    internal_server_error: 500,
    // google.rpc.Code
    invalid_argument: 400,
    failed_precondition: 400,
    unauthenticated: 401,
    permission_denied: 403,
    not_found: 404,
    resource_exhausted: 429,
    internal: 500,
    unavailable: 503,
    deadline_exceeded: 504,
    // Bedrock (API_runtime_ConverseStream.html)
    validationexception: 400,
    accessdeniedexception: 403,
    resourcenotfoundexception: 404,
    modeltimeoutexception: 408,
    modelerrorexception: 424,
    modelstreamerrorexception: 424,
    throttlingexception: 429,
    modelnotreadyexception: 429,
    internalserverexception: 500,
    serviceunavailableexception: 503,
  }),
);

/** A status that the error contains, or else that of its code or of its type: an integer from 400 to 599. */
function statusOf(name: string, body: JsonObject): number {
  const error = asObject(body['error']) ?? body;
  const named = [error['code'], error['status'], error['status_code'], body['code'], error['type']];
  for (const value of named) {
    const number = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
    if (Number.isInteger(number) && (number as number) >= 400 && (number as number) <= 599)
      return number as number;
  }
  for (const value of [...named, body['__type'], name]) {
    const known = statuses.get(asString(value)?.toLowerCase() ?? '');
    if (known !== undefined) return known;
  }
  return unknownStatus;
}
