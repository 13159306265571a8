import type { Endpoint } from '../../../src/common/core/endpoint.js';
import { GatewayError } from '../../../src/common/core/errors.js';
import { type ClientRequest, Exchange, type JsonObject } from '../../../src/common/core/exchange.js';
import type { Target } from '../../../src/common/core/target.js';
import { setHeader } from '../../../src/common/http/headers.js';
import { traceBelow } from '../../../src/common/http/trace.js';
import type { HostWith } from '../../../src/common/plugin-host/plugin.js';
import { directCredential } from '../../../src/common/plugin-host/slots.js';
import { uuidv7 } from '../../../src/common/text/id.js';

/** A call that the cache itself makes. */
export interface AsideCall {
  readonly target: Target;
  readonly endpoint: Endpoint;
  readonly path: string;
  readonly bytes: Buffer;
  readonly json: JsonObject;
  /** Does the target get the client's headers and its own credential? */
  readonly asClient: boolean;
  /** Are its bodies logged? */
  readonly keepsBodies: boolean;
  /** Member of its metadata with the id of the exchange that needs it. */
  readonly mark: string;
}

/** Calls that the cache itself makes, on behalf of an exchange: each has its own row in the log. */
export class Asides {
  readonly #running = new Set<Exchange>();

  constructor(readonly host: Pick<HostWith<'upstream'>, 'aside' | 'log' | 'headerPrefixes'>) {}

  /** The answer's body; null: the call failed. Never rejects. */
  async ask(of: Exchange, call: AsideCall): Promise<Buffer | null> {
    const x = exchangeFor(of, call, this.host.headerPrefixes[0]!);
    this.#running.add(x);
    const reply = await this.host.aside(x, call.target);
    this.#running.delete(x);
    return reply?.status === 200 && Buffer.isBuffer(reply.body) ? reply.body : null;
  }

  /** Ends running calls. Resolves when they are settled. */
  async close(): Promise<void> {
    const leaving = new GatewayError('draining', 'This node is shutting down.');
    for (const x of this.#running)
      x.abort(leaving, (thrown) => this.host.log.error({ err: thrown, request_id: x.id }, 'an abort failed'));
    await new Promise((turn) => setImmediate(turn));
  }
}

function exchangeFor(of: Exchange, call: AsideCall, prefix: string): Exchange {
  const { endpoint, path, bytes, json, asClient, keepsBodies, mark } = call;
  const headers = asClient ? [...of.request.headers] : [];
  if (!keepsBodies) setHeader(headers, `${prefix}debug`, 'false');
  const request: ClientRequest = {
    method: 'POST',
    path,
    query: asClient ? of.request.query : '',
    headers,
    remoteAddress: of.request.remoteAddress,
    bytes,
    stream: null,
    json,
  };
  const x = new Exchange(uuidv7(), endpoint, request);
  x.principal = of.principal;
  x.config = of.config;
  x.metadata = { ...of.metadata, [mark]: of.id };
  x.trace = traceBelow(of.trace, 'cache');
  x.modelAsked = typeof json['model'] === 'string' ? json['model'] : of.modelAsked;
  if (asClient) {
    x.keyHeader = of.keyHeader;
    x.set(directCredential, of.get(directCredential));
  }
  return x;
}
