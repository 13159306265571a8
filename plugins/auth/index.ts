import { GatewayError } from '../../src/core/errors.js';
import type { Exchange } from '../../src/core/exchange.js';
import { isGatewayKey } from '../../src/core/gateway-key.js';
import type { HeaderList } from '../../src/core/headers.js';
import { definePlugin } from '../../src/core/plugin.js';
import type { Principal } from '../../src/core/principal.js';
import { gatewayKeyHeader } from '../../src/core/slots.js';

/** Headers in which official clients put their one key: the gateway's, where it is the gateway they call. */
const clientHeaders = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'];

/** Who calls? A gateway key, known, valid and allowed to do this; anything else ends here. */
export default definePlugin<Record<string, never>>({
  name: 'auth',
  options: { type: 'object', additionalProperties: false },
  setup(_options, host) {
    const ownHeaders = host.headerPrefixes.map((prefix) => `${prefix}api-key`);
    const ranks = new Map(clientHeaders.map((name, rank) => [name, rank]));
    for (const name of ownHeaders) ranks.set(name, own);
    const shown = ownHeaders[0]!;
    const look = (x: Exchange, key: string): void | Promise<void> => {
      // The form of a key is no secret, so garbage may be told from an unknown key by the time that it takes.
      const hash = host.hashKey(key);
      if (hash === null) throw invalidKey(shown);
      const found = host.directory.key(hash);
      if (found instanceof Promise) return found.then((principal) => accept(x, principal, shown));
      accept(x, found, shown);
    };
    return {
      request(x) {
        const { headers } = x.request;
        const at = findKey(headers, ranks);
        if (at < 0) {
          const key = x.endpoint.modelInPath === true ? queryKey(x.request.query) : null;
          if (key !== null) return look(x, key);
          throw new GatewayError('03', `Missing API key: send a gateway key in ${shown}.`, { param: shown });
        }
        const name = headers[at]!;
        const key = keyText(name, headers[at + 1]!);
        x.set(gatewayKeyHeader, name);
        return look(x, key);
      },
    };
  },
});

/** Rank of our own headers, before the clients'. */
const own = -1;

/** Index of the header that holds the gateway key; -1: none does. `ranks`: of the headers that may. */
function findKey(headers: HeaderList, ranks: ReadonlyMap<string, number>): number {
  let client = -1;
  let best = clientHeaders.length;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    const rank = ranks.get(name);
    if (rank === undefined) continue;
    // Our own header is meant for us whatever it holds; the clients' ones only when it is a gateway key.
    if (rank === own) return i;
    if (rank < best && isGatewayKey(keyText(name, headers[i + 1]!))) {
      client = i;
      best = rank;
    }
  }
  return client;
}

/**
 * Gemini's clients may put their key into the address. The query of such a call goes no further, so a gateway key is
 * taken from it; any other is not looked at.
 */
function queryKey(query: string): string | null {
  const key = new URLSearchParams(query).get('key');
  return key !== null && isGatewayKey(key) ? key : null;
}

function keyText(name: string, value: string): string {
  if (name !== 'authorization') return value;
  return value.slice(0, 7).toLowerCase() === 'bearer ' ? value.slice(7) : '';
}

/** One answer for a key that is malformed and one that nobody knows. */
function invalidKey(header: string): GatewayError {
  return new GatewayError('03', 'Invalid API key: send a valid gateway key.', { param: header });
}

function accept(x: Exchange, principal: Principal | null, header: string): void {
  if (principal === null) throw invalidKey(header);
  if (principal.expiresAt !== null && principal.expiresAt <= Date.now()) {
    throw new GatewayError('01', 'Expired API key: rotate it or use another one.', { param: header });
  }
  if (principal.workspaceId === null || principal.keyType === 'organisation-service') {
    throw new GatewayError(
      'permission_denied',
      'An admin key cannot call model endpoints: use a workspace key, made under /v1/api-keys/workspace/service.',
      { param: header },
    );
  }
  const { scopes } = principal;
  if (
    !scopes.includes('completions.write') &&
    !(x.endpoint.name === 'models' && scopes.includes('virtual_keys.list'))
  ) {
    throw new GatewayError(
      'permission_denied',
      'This API key lacks the scope completions.write: add it to the key or use another key.',
      { param: header },
    );
  }
  x.principal = principal;
}
