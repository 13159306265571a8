import type { Format } from './endpoint.js';
import type { GatewayError } from './errors.js';

const anthropicTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};

/**
 * A gateway error as the client's format writes it, JSON text. OpenAI's shape unless the format is Anthropic's;
 * refusals of a key or of the request itself carry the older `status` and `message` beside it (spec/api.md §3.1).
 */
export function errorBody(error: GatewayError, requestId: string | null, format: Format = 'none'): string {
  if (format === 'anthropic-messages') {
    return JSON.stringify({
      type: 'error',
      error: { type: anthropicTypes[error.status] ?? 'api_error', message: error.message },
      request_id: requestId,
    });
  }
  const inner = {
    message: error.message,
    type: error.type,
    param: error.param,
    code: error.code,
    request_id: requestId,
  };
  if (error.blame !== 'client') return JSON.stringify({ error: inner });
  const message =
    error.status === 401 ? `Gateway Error: ${error.message} Error Code: ${error.code}` : error.message;
  return JSON.stringify({
    status: 'failure',
    message,
    // Refusals of what a call brings inline name the header as clients know it from there (spec/api.md §3.1).
    error: error.code.startsWith('inline_') ? { ...inner, field: error.param } : inner,
    ...(error.errors === null ? {} : { errors: error.errors }),
  });
}

/** The last event of a stream that broke: the one form at which every official client throws. Never followed by `[DONE]`. */
export function errorEvent(error: GatewayError, requestId: string | null, format: Format = 'none'): string {
  const data =
    format === 'anthropic-messages'
      ? errorBody(error, requestId, format)
      : JSON.stringify({
          error: {
            message: error.message,
            type: error.type,
            param: error.param,
            code: error.code,
            request_id: requestId,
          },
        });
  return `event: error\ndata: ${data}\n\n`;
}
