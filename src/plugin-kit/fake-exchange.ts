import type { Principal } from '../common/access/principal.js';
import type { Endpoint } from '../common/core/endpoint.js';
import { type ClientRequest, Exchange, type JsonObject } from '../common/core/exchange.js';
import type { ResolvedConfig } from '../common/core/target.js';

/** What is different of a made-up exchange. */
export interface FakeExchange {
  readonly id?: string;
  /** Upper case. */
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  /** Names in any case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly body?: JsonObject;
  readonly principal?: Partial<Principal>;
  readonly endpoint?: Partial<Endpoint>;
}

const principal: Principal = {
  organisationId: 'org',
  workspaceId: 'ws',
  keyId: 'key',
  keyName: 'test',
  keyType: 'workspace-service',
  userId: null,
  scopes: ['completions.write'],
  expiresAt: null,
  blockInline: false,
  defaults: { configId: null, allowConfigOverride: true, metadata: {} },
};

/** A config that routes nowhere: no hook but the gateway's own looks into its tree. */
const config: ResolvedConfig = {
  slug: null,
  version: 'none',
  fingerprint: 'none',
  root: { kind: 'fallback', path: 'config', onStatusCodes: null, hedge: null, children: [] },
  layer: null,
  bytes: 0,
  cache: null,
  metered: false,
  metadata: {},
};

/**
 * An exchange as hooks get it, authenticated and not routed, for tests of one function. It has no chain
 * and no provider: `inject` has those.
 */
export function fakeExchange(given: FakeExchange = {}): Exchange {
  const {
    method = 'POST',
    path = '/v1/chat/completions',
    query = '',
    headers = {},
    body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] },
  } = given;
  const request: ClientRequest = {
    method,
    path,
    query,
    headers: Object.entries(headers).flatMap(([name, value]) => [name.toLowerCase(), value]),
    remoteAddress: '127.0.0.1',
    bytes: Buffer.from(JSON.stringify(body)),
    stream: null,
    json: body,
  };
  const endpoint: Endpoint = { name: 'chat', format: 'openai-chat', body: 'json', ...given.endpoint };
  const x = new Exchange(given.id ?? '0190a1b2-0000-7000-8000-000000000001', endpoint, request);
  x.principal = { ...principal, ...given.principal };
  x.config = config;
  x.trace = { traceId: x.id, spanId: null, parentSpanId: null, spanName: null };
  x.metadata = given.metadata ?? {};
  x.modelAsked = typeof body['model'] === 'string' ? body['model'] : null;
  x.streaming = body['stream'] === true;
  return x;
}
