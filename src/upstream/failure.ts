import { GatewayError } from '../core/errors.js';

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
 * What undici or a socket reports, as the error our callers know. `headSeen` decides between a reply that never
 * began and one that broke off. Messages name the host and nothing the upstream wrote.
 */
export function fromTransport(thrown: unknown, host: string, headSeen: boolean): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const error = thrown as NodeJS.ErrnoException & { data?: unknown };
  const code = typeof error?.code === 'string' ? error.code : '';
  const fixed = fixedCodes.get(code);
  if (fixed !== undefined) return failure(fixed, host, error);
  if (code === 'UND_ERR_SOCKET' && error.message.startsWith('bad ')) {
    return failure('upstream_invalid_response', host, error);
  }
  // Before the head is complete, undici says this of two lengths that contradict each other.
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') {
    return failure(headSeen ? 'upstream_truncated' : 'upstream_invalid_response', host, error);
  }
  if (brokenConnection.has(code) || (error.name === 'HTTPParserError' && error.message.includes('EOF'))) {
    return failure(headSeen ? 'upstream_truncated' : 'upstream_reset', host, error);
  }
  if (error.name === 'HTTPParserError') {
    // The parser attaches the bytes it stumbled over: an upstream's words, which must not reach a log.
    error.data = undefined;
    return failure('upstream_invalid_response', host, error);
  }
  if (isTlsCode(code)) return failure('upstream_tls', host, error);
  return GatewayError.from(thrown);
}

/** Why no connection came about: `secured` says that TCP stood and TLS failed. */
export function fromConnect(error: NodeJS.ErrnoException, host: string, secured: boolean): GatewayError {
  return failure(secured ? 'upstream_tls' : 'upstream_connect_failed', host, error);
}

function isTlsCode(code: string): boolean {
  return code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS') || code === 'EPROTO';
}

const sentences: Partial<Record<GatewayError['code'], (host: string) => string>> = {
  upstream_connect_failed: (host) => `No connection to ${host}: check the address and that it is up.`,
  upstream_tls: (host) => `No secure connection to ${host}: its certificate or TLS version was not accepted.`,
  upstream_reset: (host) => `${host} closed the connection before it answered.`,
  upstream_truncated: (host) => `${host} broke off in the middle of its answer.`,
  upstream_invalid_response: (host) => `${host} answered with something that is not valid HTTP/1.1.`,
  invalid_request: () =>
    'The request cannot be sent: its method, path or a header holds what HTTP does not allow.',
  bad_framing: () => 'The request body is not as long as its Content-Length says.',
  draining: () => 'The gateway is shutting down; try again.',
};

/** A coded error with the sentence for its code. */
export function failure(code: GatewayError['code'], host: string, cause?: unknown): GatewayError {
  const sentence = sentences[code];
  return new GatewayError(code, sentence === undefined ? `${host} failed.` : sentence(host), { cause });
}
