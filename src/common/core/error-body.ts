import type { GatewayError } from './errors.js';

/** An error in OpenAI's shape. */
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
 * A gateway error in OpenAI's shape, as JSON text; refusals of a key or of the request itself also have the older
 * members `status` and `message`.
 */
export function errorBody(error: GatewayError, requestId: string | null): string {
  const fields = inner(error, requestId);
  if (error.blame !== 'client') return JSON.stringify({ error: fields });
  const message =
    error.status === 401 ? `Gateway Error: ${error.message} Error Code: ${error.code}` : error.message;
  return JSON.stringify({
    status: 'failure',
    message,
    // Refusals of inline values name the header, as clients expect.
    error: error.code.startsWith('inline_')
      ? { ...fields, field: error.param }
      : { ...fields, ...(error.limit === null ? {} : { limit: error.limit }) },
    ...(error.errors === null ? {} : { errors: error.errors }),
  });
}

/**
 * The last event of a stream that broke: the only form at which every official client throws. Never followed by
 * `[DONE]`.
 */
export function errorEvent(error: ErrorFields, requestId: string | null): string {
  return `event: error\ndata: ${JSON.stringify({ error: inner(error, requestId) })}\n\n`;
}
