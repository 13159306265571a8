import type { JsonObject } from '../../../common/core/exchange.js';
import type { ConversionContext, WireError } from '../provider.js';
import { asArray, asObject, asString } from './json-shape.js';

/**
 * An error body in any of the shapes seen: `{error: {message, type, param, code}}` (OpenAI), its members without the
 * `error` around them (vLLM, Mistral), `{type: "error", error: {type, message}}` (Anthropic), `{error: "text", code}`
 * (xAI), `{error: ["text"]}` (text-generation-inference), `{message}` (Cohere), `{error_code, message}` (Databricks),
 * `{errors: [{code, message}]}` (Cloudflare), `{detail}` (FastAPI servers), whose list of wrong fields may be in
 * `message` too (Mistral). The provider's status is not repeated: the answer carries it.
 */
export function readProviderError(
  status: number,
  body: JsonObject | null,
  context: ConversionContext,
): WireError {
  const error = asObject(body?.['error']) ?? asObject(asArray(body?.['errors'])?.[0]);
  const bare = body?.['object'] === 'error' ? body : null;
  const field = wrongField(body);
  const message =
    asString(error?.['message']) ??
    asString(body?.['error']) ??
    asString(asArray(body?.['error'])?.[0]) ??
    asString(asArray(body?.['errors'])?.[0]) ??
    asString(body?.['message']) ??
    asString(body?.['detail']) ??
    asString(asObject(body?.['detail'])?.['message']) ??
    field?.message ??
    `it answered with status ${status} and no message`;
  const code = error?.['code'] ?? body?.['code'] ?? body?.['error_code'];
  return {
    message: `${context.provider} error: ${message}`,
    type: asString(error?.['type']) ?? asString(bare?.['type']) ?? typeOf(status),
    param: asString(error?.['param']) ?? asString(bare?.['param']) ?? field?.path ?? null,
    code: typeof code === 'string' || typeof code === 'number' ? String(code) : null,
  };
}

interface WrongField {
  readonly message: string;
  /** null: the body as a whole. */
  readonly path: string | null;
}

/** `[{loc: ["body", "messages", 0, "name"], msg}]`: the first field that a FastAPI server has found wrong; null: none. */
function wrongField(body: JsonObject | null): WrongField | null {
  const message = body?.['message'];
  const list = asArray(body?.['detail']) ?? asArray(asObject(message)?.['detail']) ?? asArray(message);
  const first = asObject(list?.[0]);
  const text = asString(first?.['msg']);
  if (text === null) return null;
  const place = (asArray(first?.['loc']) ?? []).filter((step) => step !== 'body');
  const path = place.length === 0 ? null : place.slice(0, deepestPlace).join('.').slice(0, longestPlace);
  return { message: path === null ? text : `${path}: ${text}`, path };
}

const deepestPlace = 32;
const longestPlace = 200;

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 404) return 'not_found_error';
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'api_error';
}
