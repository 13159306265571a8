import type { JsonObject } from '../../../common/core/exchange.js';
import type { ConversionContext, WireError } from '../provider.js';
import { asArray, asObject, asString } from './json-shape.js';

/**
 * An error body in any of the shapes seen: `{error: {message, type, param, code}}` (OpenAI),
 * `{type: "error", error: {type, message}}` (Anthropic), `{error: "text", code}` (xAI), `{message}` (Cohere),
 * `{detail}` (FastAPI servers). The provider's status is not repeated: the answer carries it.
 */
export function readProviderError(
  status: number,
  body: JsonObject | null,
  context: ConversionContext,
): WireError {
  const error = asObject(body?.['error']);
  const message =
    asString(error?.['message']) ??
    asString(body?.['error']) ??
    asString(body?.['message']) ??
    asString(body?.['detail']) ??
    asString(asObject(asArray(body?.['detail'])?.[0])?.['msg']) ??
    `it answered with status ${status} and no message`;
  const code = error?.['code'] ?? body?.['code'];
  return {
    message: `${context.provider} error: ${message}`,
    type: asString(error?.['type']) ?? typeOf(status),
    param: asString(error?.['param']),
    code: typeof code === 'string' || typeof code === 'number' ? String(code) : null,
  };
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 404) return 'not_found_error';
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'api_error';
}
