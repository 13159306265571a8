import { adminTree } from '../../../proto/tree.js';
import { Calls } from './access/call.js';
import { longestOf, startGrpc } from './grpc/grpc.js';
import { RestBridge } from './rest/bridge.js';
import { pages } from './rest/pages.js';
import type { RestAnswer, RestRequest } from './rest/request.js';
import type { AdminParts } from './service.js';
import { implement } from './services.js';

export type { AdminParts } from './service.js';

export interface AdminServerOptions extends AdminParts {
  readonly host: string;
  /** Of gRPC; 0 takes a free one. */
  readonly port: number;
  /** A key may come in `<prefix>api-key`; `x-gateway-` unless given. */
  readonly headerPrefixes?: readonly string[];
  /** Certificate chain and key of the gRPC port, PEM; null: no TLS. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer } | null;
  /** May clients of gRPC ask which methods there are? */
  readonly reflection?: boolean;
  /** Connections to the gRPC port at once; 1000 unless given. */
  readonly maxConnections?: number;
  /** A client of gRPC that takes nothing of a stream for this long is cut. Milliseconds; 30,000 unless given. */
  readonly writeTimeoutMs?: number;
}

export interface AdminServer {
  /** Of gRPC. */
  readonly port: number;
  /** Answers a request that came in over HTTP; never throws. */
  rest(request: RestRequest): Promise<RestAnswer>;
  /** Lets running calls end, for so long, and writes pending audit rows. */
  close(graceMs: number): Promise<void>;
}

/** Starts the administration plane: its methods, once, and serves them over gRPC and REST. */
export async function startAdminServer(options: AdminServerOptions): Promise<AdminServer> {
  const { methods } = adminTree();
  const calls = new Calls(options, implement(options, methods.values()));
  const prefixes = options.headerPrefixes ?? ['x-gateway-'];
  const keyHeaders = prefixes.map((prefix) => `${prefix}api-key`);
  const bridge = new RestBridge({
    calls,
    methods: methods.values(),
    pages,
    keyHeaders,
    csrfHeaders: prefixes.map((prefix) => `${prefix}csrf-token`),
    isSecure: options.publicUrl?.startsWith('https:') ?? false,
    longestOf,
  });
  const { host, port, log, tls = null, reflection = false } = options;
  const { maxConnections = 1000, writeTimeoutMs = 30_000 } = options;
  const grpc = await startGrpc({
    ...{ calls, keyHeaders, host, port, log, tls, reflection },
    ...{ maxConnections, writeTimeoutMs },
  });
  return {
    port: grpc.port,
    rest: (request) => bridge.answer(request),
    async close(graceMs) {
      await grpc.close(graceMs);
      await calls.close();
    },
  };
}
