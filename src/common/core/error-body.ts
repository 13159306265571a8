import type { GatewayError } from './errors.js';

/** An error as OpenAI's clients read it. */
interface ErrorFields {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

const inner = ({ message, type, param, code }: ErrorFields, requestId: string | null) => ({
  message,
  type,
  param,
  code,
  request_id: requestId,
});

/**
 * A gateway error in OpenAI's shape, JSON text; refusals of a key or of the request itself carry the older `status`
 * and `message` beside it (spec/api.md §3.1).
 */
export function errorBody(error: GatewayError, requestId: string | null): string {
  const fields = inner(error, requestId);
  if (error.blame !== 'client') return JSON.stringify({ error: fields });
  const message =
    error.status === 401 ? `Gateway Error: ${error.message} Error Code: ${error.code}` : error.message;
  return JSON.stringify({
    status: 'failure',
    message,
    // Refusals of what a call brings inline name the header as clients know it from there (spec/api.md §3.1).
    error: error.code.startsWith('inline_')
      ? { ...fields, field: error.param }
      : { ...fields, ...(error.limit === null ? {} : { limit: error.limit }) },
    ...(error.errors === null ? {} : { errors: error.errors }),
  });
}

/** The last event of a stream that broke: the one form at which every official client throws. Never followed by `[DONE]`. */
export function errorEvent(error: ErrorFields, requestId: string | null): string {
  return `event: error\ndata: ${JSON.stringify({ error: inner(error, requestId) })}\n\n`;
}
