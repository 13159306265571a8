import { isGatewayKey } from '../../src/common/access/gateway-key.js';
import { isExpired, mayCall, type Principal } from '../../src/common/access/principal.js';
import { isTokenHash, tokenHashLength } from '../../src/common/access/token-form.js';
import type { DeploymentRules } from '../../src/common/core/directory.js';
import { GatewayError } from '../../src/common/core/errors.js';
import type { Exchange } from '../../src/common/core/exchange.js';
import { bearerToken } from '../../src/common/http/bearer.js';
import { getHeader, type HeaderList } from '../../src/common/http/headers.js';
import { definePlugin, type NeedsOf } from '../../src/common/plugin-host/plugin.js';
import stage from './stage.js';

/** Headers in which official clients send their key, which is the gateway's when they call the gateway. */
const clientHeaders = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'];

/**
 * Identifies the caller: a gateway key that exists, is valid and is allowed to do this, or a JSON web token in its place.
 * Every other call is refused.
 */
export default definePlugin<Record<string, never>, NeedsOf<typeof stage>>({
  ...stage,
  setup(_options, host) {
    const ownHeaders = host.headerPrefixes.map((prefix) => `${prefix}api-key`);
    const ranks = new Map(clientHeaders.map((name, rank) => [name, rank]));
    for (const name of ownHeaders) ranks.set(name, own);
    const shown = ownHeaders[0]!;
    const { deployment } = host.directory;
    /** Accepts the call, where the deployment of this node serves the key. */
    const admit = (x: Exchange, principal: Principal | null, place: string): void | Promise<void> => {
      const accepted = accept(x, principal, place);
      if (deployment === null) return;
      const rules = deployment();
      if (rules instanceof Promise) return rules.then((found) => serves(found, accepted));
      serves(rules, accepted);
    };
    /**
     * `hash` null: by its form it is no gateway key. `place`: the header that holds the key, or `key` of the query.
     * `text`: the key.
     */
    const look = (x: Exchange, hash: string | null, place: string, text: string): void | Promise<void> => {
      // The form of a key is not secret, so an invalid text and an unknown key may take different times.
      if (hash === null) throw invalidKey(place);
      const found = host.directory.key(hash, x.request, text);
      if (found instanceof Promise) return found.then((principal) => admit(x, principal, place));
      if (deployment !== null) return admit(x, found, place);
      accept(x, found, place);
    };
    const lookInQuery = (x: Exchange): void | Promise<void> => {
      const key = isGeminiCall(x) ? queryKey(x.request.query) : null;
      const hash = key === null ? null : host.hashKey(key);
      if (key === null || hash === null || isTokenHash(hash)) throw noKey(x.request.headers, key, shown);
      return look(x, hash, 'key', key);
    };
    return {
      request(x) {
        const { headers } = x.request;
        let place: string | null = null;
        let hash: string | null = null;
        let key = '';
        let best = tokenRank + 1;
        for (let i = 0; i < headers.length; i += 2) {
          const name = headers[i]!;
          const rank = ranks.get(name);
          if (rank === undefined || rank >= best) continue;
          const value = headers[i + 1]!;
          const text = name === 'authorization' ? (bearerToken(value) ?? '') : value;
          const found = host.hashKey(text);
          // The gateway's own header always counts, whatever its value; the clients' headers only with a gateway key.
          if (found === null && rank !== own) continue;
          let counted = rank;
          if (rank !== own && found!.length === tokenHashLength) {
            if (name !== 'authorization' || best <= tokenRank) continue;
            counted = tokenRank;
          }
          place = name;
          hash = found;
          key = text;
          best = counted;
        }
        if (place === null) return lookInQuery(x);
        x.keyHeader = place;
        return look(x, hash, place, key);
      },
    };
  },
});

/** Rank of the gateway's own headers, before the clients'. The first of them counts. */
const own = -1;
/** A token in `authorization` may be the provider's: a gateway key in any other header counts instead. */
const tokenRank = clientHeaders.length;

const isGeminiCall = ({ endpoint, request }: Exchange): boolean =>
  endpoint.modelInPath === true || (endpoint.name === 'models' && request.path.startsWith('/v1beta/'));

/**
 * Gemini's clients may put their key into the URL. The query of such a call is not passed on, so a gateway key is
 * accepted in it. null: the query has no `key`.
 */
function queryKey(query: string): string | null {
  return new URLSearchParams(query).get('key') || null;
}

function keyText(name: string, value: string): string {
  return name === 'authorization' ? (bearerToken(value) ?? '') : value;
}

/** The error for a missing gateway key: another kind of key was sent, or none. `inQuery`: Gemini's `key`. */
function noKey(headers: HeaderList, inQuery: string | null, shown: string): GatewayError {
  const bare = getHeader(headers, 'authorization')?.trim();
  if (bare !== undefined && isGatewayKey(bare)) {
    return new GatewayError(
      '03',
      `Missing scheme: send "Authorization: Bearer <gateway key>", or the key alone in ${shown}.`,
      { param: 'authorization' },
    );
  }
  const name = clientHeaders.find(
    (header) => keyText(header, getHeader(headers, header) ?? '').trim() !== '',
  );
  const place = name ?? (inQuery === null ? null : 'key');
  if (place !== null) {
    return new GatewayError(
      '03',
      `Invalid API key: ${described(place)} is not a gateway key. Send a gateway key there, or in ${shown}.`,
      { param: place },
    );
  }
  if (bare && bare.toLowerCase() !== 'bearer') {
    return new GatewayError(
      '03',
      `Invalid API key: the value of authorization does not begin with "Bearer ". Send "Authorization: Bearer <gateway key>", or the key alone in ${shown}.`,
      { param: 'authorization' },
    );
  }
  return new GatewayError(
    '03',
    `Missing API key: send a gateway key in ${shown}, or as Authorization: Bearer <gateway key>.`,
    { param: shown },
  );
}

const described = (place: string): string =>
  place === 'key' ? 'the key in the query' : `the value of ${place}`;

/** The same answer for a malformed key and an unknown one. */
function invalidKey(place: string): GatewayError {
  return new GatewayError(
    '03',
    `Invalid API key: ${described(place)} is not a gateway key of this gateway. It may be incomplete, deleted or from another gateway: send a valid gateway key.`,
    { param: place },
  );
}

/** Throws where this node, as the gateway of a deployment, does not serve the key. */
function serves({ organisationId, disabled, workspaces }: DeploymentRules, principal: Principal): void {
  const refused = (message: string): GatewayError => new GatewayError('permission_denied', message);
  if (disabled) throw refused('This gateway is turned off: use another one, or have its deployment enabled.');
  if (principal.organisationId !== organisationId)
    throw refused('This gateway belongs to another organisation: use one of your own.');
  const { workspaceId } = principal;
  if (workspaces !== null && workspaceId !== null && !workspaces.has(workspaceId))
    throw refused(
      'This gateway does not serve your workspace: use another one, or have it added to workspaces_allowed of the deployment.',
    );
}

const withoutScope = ({ isToken }: Principal, scope: string): string =>
  isToken
    ? `This token lacks the scope ${scope}: have it added to its claim scope, or use another token.`
    : `This API key lacks the scope ${scope}: add it to the key or use another key.`;

function accept(x: Exchange, principal: Principal | null, place: string): Principal {
  if (principal === null) throw invalidKey(place);
  if (principal.expiresAt !== null && isExpired(principal, Date.now())) {
    const what = principal.isToken
      ? 'Expired token: get a new one.'
      : 'Expired API key: rotate it or use another one.';
    throw new GatewayError('01', what, { param: place });
  }
  const lists = x.endpoint.name === 'models';
  if ((principal.workspaceId === null || principal.keyType === 'organisation-service') && !lists) {
    throw new GatewayError(
      'permission_denied',
      'An admin key cannot call model endpoints: use a workspace key, made under /v1/api-keys/workspace/service.',
      { param: place },
    );
  }
  if (!principal.scopes.includes('completions.write') && !mayCall(principal, x.endpoint.name)) {
    throw new GatewayError(
      'permission_denied',
      withoutScope(principal, lists ? 'virtual_keys.list or completions.write' : 'completions.write'),
      { param: place },
    );
  }
  x.principal = principal;
  return principal;
}
