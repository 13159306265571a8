import { GatewayError } from '../core/errors.js';

/**
 * What a socket reports (null: its end) as the error our callers know. `headSeen` decides between a reply that never
 * began and one that broke off. Messages name the host and nothing the upstream wrote.
 */
export function fromTransport(
  error: NodeJS.ErrnoException | null,
  host: string,
  headSeen: boolean,
): GatewayError {
  if (isTlsCode(error?.code ?? '')) return failure('upstream_tls', host, error);
  return failure(headSeen ? 'upstream_truncated' : 'upstream_reset', host, error ?? undefined);
}

/** Why no connection came about: `secured` says that TCP stood and TLS failed. */
export function fromConnect(error: Error | null, host: string, secured: boolean): GatewayError {
  return failure(secured ? 'upstream_tls' : 'upstream_connect_failed', host, error ?? undefined);
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
