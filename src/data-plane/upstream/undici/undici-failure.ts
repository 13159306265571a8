import { GatewayError } from '../../../common/core/errors.js';
import { failure, fromTransport } from '../failure.js';

/** undici's own codes whose meaning does not depend on how far the reply had come. */
const fixedCodes = new Map<string, GatewayError['code']>([
  ['UND_ERR_HEADERS_OVERFLOW', 'upstream_invalid_response'],
  ['UND_ERR_INVALID_ARG', 'invalid_request'],
  ['UND_ERR_NOT_SUPPORTED', 'invalid_request'],
  ['UND_ERR_REQ_CONTENT_LENGTH_MISMATCH', 'bad_framing'],
  ['UND_ERR_CLOSED', 'draining'],
  ['UND_ERR_DESTROYED', 'draining'],
]);

const brokenConnection = new Set([
  'UND_ERR_SOCKET',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTCONN',
]);

/**
 * Converts an error of undici or its socket to an error of the gateway. Messages name the host and never contain text
 * of the upstream.
 */
export function fromUndici(thrown: unknown, host: string, headSeen: boolean): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const error = thrown as NodeJS.ErrnoException & { data?: unknown };
  const code = typeof error?.code === 'string' ? error.code : '';
  const fixed = fixedCodes.get(code);
  if (fixed !== undefined) return failure(fixed, host, error);
  if (code === 'UND_ERR_SOCKET' && error.message.startsWith('bad '))
    return failure('upstream_invalid_response', host, error);
  // Before the head is complete, undici reports this for two lengths that contradict each other.
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH')
    return failure(headSeen ? 'upstream_truncated' : 'upstream_invalid_response', host, error);
  const isParserError = error?.name === 'HTTPParserError';
  if (brokenConnection.has(code) || (isParserError && error.message.includes('EOF')))
    return failure(headSeen ? 'upstream_truncated' : 'upstream_reset', host, error);
  if (isParserError) {
    // The parser attaches the bytes that it could not parse: text of the upstream, which must not reach a log.
    error.data = undefined;
    return failure('upstream_invalid_response', host, error);
  }
  if (/^ERR_SSL|^ERR_TLS|^EPROTO$/.test(code)) return fromTransport(error, host, headSeen);
  return GatewayError.from(thrown);
}
