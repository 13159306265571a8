import type { Source } from '../../../common/bytes/body.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { Exchange } from '../../../common/core/exchange.js';
import type { Target } from '../../../common/core/target.js';
import { connectionHeaders, getHeader, type HeaderList, setHeader } from '../../../common/http/headers.js';
import { passthroughPath } from '../../endpoints/paths/passthrough-path.js';
import { type Address, urlOf } from './address.js';
import type { Outgoing } from './outgoing.js';
import { addProviderHeaders, gatewayKeyText } from './provider-headers.js';

const hopByHop = new Set([...connectionHeaders, 'proxy-authenticate', 'proxy-authorization']);

/** Headers in which official clients put a key; replaced by the provider's own credential where there is one. */
const credentialHeaders = new Set(['authorization', 'x-api-key', 'api-key', 'x-goog-api-key']);

/** The gateway continues the trace itself; what a client calls baggage is not for providers. */
const traceHeaders = new Set(['traceparent', 'tracestate', 'baggage']);

/**
 * Builds the call for a passthrough: the client's bytes and headers, without those of the gateway and of the
 * connection.
 */
export function passthroughCall(
  x: Exchange,
  target: Target,
  address: Address,
  prefixes: readonly string[],
): Outgoing {
  const { request } = x;
  const headers: HeaderList = [];
  const named = connectionNames(request.headers);
  const keyHeader = x.keyHeader;
  const key = gatewayKeyText(x);
  if (request.query.includes(key)) {
    throw new GatewayError(
      'invalid_request',
      'A gateway key must not stand in a URL: send it in a header alone.',
    );
  }
  for (let i = 0; i < request.headers.length; i += 2) {
    const name = request.headers[i]!;
    if (hopByHop.has(name) || name === keyHeader || named?.includes(name)) continue;
    if (prefixes.some((prefix) => name.startsWith(prefix))) continue;
    // These now contain only the client's own provider key, which is added again from the address below.
    if (credentialHeaders.has(name) || name === 'cookie' || traceHeaders.has(name)) continue;
    const value = request.headers[i + 1]!;
    // The gateway's key is not passed on, in whatever header the client sent it.
    if (!value.includes(key)) headers.push(name, value);
  }
  const length = getHeader(request.headers, 'content-length');
  if (length !== undefined && request.stream !== null) headers.push('content-length', length);
  addProviderHeaders(x, target, address, headers);
  // Repeated credentials can only be found in uncompressed answers.
  setHeader(headers, 'accept-encoding', 'identity');
  const rest = passthroughPath(request.path, request.query);
  checkVersion(address.base, rest);
  return {
    call: {
      target,
      provider: address.provider.name,
      method: request.method,
      url: urlOf(address, rest),
      headers,
      body: request.stream === null ? request.bytes : resendable(request.stream),
    },
    address,
    wire: 'none',
    conversion: null,
    unwritten: null,
    dropped: [],
    prepared: null,
    trace: null,
  };
}

const version = /^\/v1(?:beta)?(?=\/)/;

/** The usual reason for a second version is a client that adds its own to a base URL that ends in one. */
function checkVersion(base: string, rest: string): void {
  if (!version.test(rest) || !/\/v1(?:beta)?$/.test(base)) return;
  throw new GatewayError(
    'not_found',
    'The path has its version twice; remove one, usually the last segment of the base URL.',
    { param: 'path' },
  );
}

const started = new WeakSet<Source>();

/** A streamed upload is not kept, so it can be sent once: a second target gets it only if nothing was read yet. */
function resendable(stream: Source): Source {
  if (started.has(stream)) {
    throw new GatewayError(
      'body_already_sent',
      'The request body was streamed to a target that failed and cannot be sent again.',
    );
  }
  return {
    start(sink) {
      started.add(stream);
      stream.start(sink);
    },
    resume: () => stream.resume(),
    cancel: () => {
      if (started.has(stream)) stream.cancel();
    },
  };
}

/** Headers that `Connection` names belong to the connection (RFC 9110 §7.6.1); null where it names none. */
function connectionNames(headers: HeaderList): readonly string[] | null {
  let names: string[] | null = null;
  for (let i = 0; i < headers.length; i += 2) {
    const value = headers[i + 1]!;
    if (headers[i] !== 'connection' || value === 'keep-alive' || value === 'close') continue;
    names = [
      ...(names ?? []),
      ...value
        .toLowerCase()
        .split(',')
        .map((name) => name.trim()),
    ];
  }
  return names;
}
