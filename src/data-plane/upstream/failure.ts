import { GatewayError } from '../../common/core/errors.js';

/**
 * Converts a socket's error (null: its end) to an error of the gateway. `headSeen` decides between a reply that never
 * began and one that broke off. Messages name the host and never contain text of the upstream.
 */
export function fromTransport(
  error: NodeJS.ErrnoException | null,
  host: string,
  headSeen: boolean,
): GatewayError {
  if (isTlsCode(error?.code ?? '')) return failure('upstream_tls', host, error);
  return failure(headSeen ? 'upstream_truncated' : 'upstream_reset', host, error ?? undefined);
}

/**
 * The error for a connection that was not opened. `secured`: TCP was connected, and TLS failed. A refused address has
 * an error of its own. The error's code selects the sentence, which does not contain resolved addresses.
 */
export function fromConnect(error: Error | null, host: string, secured: boolean): GatewayError {
  if (error instanceof GatewayError) return error;
  const reasons = secured ? tlsReasons : connectReasons;
  const found = reasons.find(([codes]) => codes.test(codeOf(error)))?.[1];
  if (found === undefined) {
    return failure(secured ? 'upstream_tls' : 'upstream_connect_failed', host, error ?? undefined);
  }
  return new GatewayError(secured ? 'upstream_tls' : 'upstream_connect_failed', found(host), {
    cause: error,
  });
}

const late: Readonly<Record<'pool' | 'open' | 'tcp' | 'tls', (host: string) => string>> = {
  pool: (host) => `Every connection to ${host} was in use (upstream_connections)`,
  open: (host) => `No connection to ${host} was opened`,
  tcp: (host) => `${host} did not accept a connection, or its name was not resolved,`,
  tls: (host) => `${host} did not finish the TLS handshake`,
};

/** No connection in time. `step`: the step that took too long; `open`: any of name, TCP and TLS. */
export function connectTimeout(host: string, ms: number, step: keyof typeof late): GatewayError {
  return new GatewayError(
    'upstream_connect_timeout',
    step === 'pool'
      ? `${late.pool(host)} for ${ms} ms: raise that setting, or connect_timeout_ms.`
      : `${late[step](host)} within ${ms} ms: check that it can be reached; connect_timeout_ms sets the time.`,
  );
}

/** Errors of name servers carry the codes of sockets too (ECONNREFUSED, ETIMEOUT), with the query as their `syscall`. */
function codeOf(error: NodeJS.ErrnoException | null): string {
  const { code = '', syscall = '' } = error ?? {};
  return /^query|^getaddrinfo/.test(syscall) ? `DNS ${code}` : code;
}

type Reasons = readonly (readonly [codes: RegExp, sentence: (host: string) => string])[];

const connectReasons: Reasons = [
  [
    /^(DNS )?(ENOTFOUND|ENODATA|EBADNAME)$/,
    (host) => `The name ${host} has no address in DNS: check the base URL of the provider.`,
  ],
  [
    /^DNS |^(EAI_AGAIN|ESERVFAIL|ETIMEOUT|EREFUSED)$/,
    (host) =>
      `The name ${host} could not be resolved: the name servers of the gateway's machine gave no answer.`,
  ],
  [
    /^ECONNREFUSED$/,
    (host) =>
      `${host} refused the connection: check that it is running, and the port in the base URL of the provider.`,
  ],
  [
    /^(EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EADDRNOTAVAIL)$/,
    (host) => `There is no route to ${host}: check the network and the firewall of the gateway's machine.`,
  ],
  [
    /^ETIMEDOUT$/,
    (host) =>
      `${host} did not accept a connection in time: check the address, and that no firewall drops the packets.`,
  ],
  [/^ECONNRESET$/, (host) => `${host} reset the connection while it was opened.`],
];

const tlsReasons: Reasons = [
  [
    /SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|CERT_UNTRUSTED/,
    (host) =>
      `The certificate of ${host} is not signed by a trusted authority: name the file of that authority (PEM) in NODE_EXTRA_CA_CERTS and restart the gateway.`,
  ],
  [
    /^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/,
    (host) =>
      `The certificate of ${host} is expired or not yet valid: renew it, or check the clock of the gateway's machine.`,
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    (host) =>
      `The certificate of ${host} is for another name: check the host in the base URL of the provider.`,
  ],
  [
    /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST/,
    (host) => `${host} does not speak TLS on this port: use http:// in the base URL, or another port.`,
  ],
  [
    /UNSUPPORTED_PROTOCOL|PROTOCOL_VERSION|HANDSHAKE_FAILURE/,
    (host) =>
      `${host} offers no version or cipher of TLS that the gateway accepts: it needs TLS 1.2 or later.`,
  ],
  [
    /^(ECONNRESET|EPIPE)?$/,
    (host) =>
      `${host} closed the connection during the TLS handshake: check that this port speaks TLS (https://).`,
  ],
];

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

/** An error with a code and its sentence. */
export function failure(code: GatewayError['code'], host: string, cause?: unknown): GatewayError {
  const sentence = sentences[code];
  return new GatewayError(code, sentence === undefined ? `${host} failed.` : sentence(host), { cause });
}
