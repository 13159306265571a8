import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ConnectionGate, peerOf } from '../../common/http/connection-gate.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import type { MetricFamily } from '../../control-plane/telemetry/metric-family.js';
import { metricsText, metricsType, wantsOpenMetrics } from './metrics-text.js';

/** One condition of readiness, by name. */
export interface ReadinessCheck {
  readonly name: string;
  /** Is the node ready without it? Then it is only shown. */
  readonly optional?: boolean;
  ok(): boolean | Promise<boolean>;
}

export interface OpsServerOptions {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  readonly checks: readonly ReadinessCheck[];
  readonly metrics: () => readonly MetricFamily[];
  /** Connections at once. */
  readonly maxConnections: number;
  /** For a connection's first request, and for each request to arrive whole. Milliseconds; default 10 s. */
  readonly requestMs?: number;
  readonly log: Logger;
}

export interface OpsServer {
  readonly port: number;
  close(): void;
}

/** A connection without any traffic for this long is closed, also one whose client reads nothing. Milliseconds. */
const idleMs = 30_000;
/** A check that has not answered after this long has failed. Milliseconds. */
const checkMs = 5000;

/**
 * Probes, on a port of their own: `/livez` (this process answers), `/readyz` (every check holds; `?verbose` names
 * them, `?exclude=<name>` leaves one out); `/metrics` for Prometheus. Outside authentication, logs and limits.
 */
export async function startOpsServer(options: OpsServerOptions): Promise<OpsServer> {
  const { host, port, maxConnections, requestMs = 10_000, log } = options;
  const gate = new ConnectionGate({
    listener: 'health',
    maxConnections,
    firstRequestMs: requestMs,
    log,
  });
  const server: Server = createServer({
    headersTimeout: requestMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: 1000,
  });
  server.timeout = idleMs;
  server.on('connection', (socket) => gate.admit(socket));
  const answering = new WeakSet<Socket>();
  server.on('request', (request, response) => {
    const { socket } = request;
    // Probes wait for their answers. Node would process all pipelined requests before it returns to other callers.
    if (answering.has(socket)) {
      socket.destroy();
      return;
    }
    answering.add(socket);
    response.once('close', () => answering.delete(socket));
    const peer = peerOf(socket) ?? '';
    gate.requestBegan(peer);
    // A caller must not be able to end the control process, as an exception in an event handler would.
    answer(request, response, options)
      .catch((error: unknown) => {
        log.error({ err: error }, 'a probe could not be answered');
        if (response.headersSent) response.destroy();
        else send(request, response, 500, 'internal error\n');
      })
      // Not after the client has read the answer: one that does not read must not keep its place at the limit.
      .finally(() => gate.requestEnded(peer));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      // A connection that could not be accepted.
      server.on('error', (error) => log.warn({ err: error }, 'health port'));
      resolve();
    });
  });
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { checks, metrics }: OpsServerOptions,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return send(request, response.setHeader('Allow', 'GET, HEAD'), 405, 'GET or HEAD\n');
  // Not by `new URL`: that throws at targets such as `//`, which HTTP allows.
  const [path, query = ''] = (request.url ?? '').split('?', 2);
  switch (path) {
    case '/livez':
    case '/healthz':
      return send(request, response, 200, 'ok\n');
    case '/metrics': {
      const isOpen = wantsOpenMetrics(request.headers.accept);
      return send(request, response, 200, metricsText(metrics(), isOpen), metricsType(isOpen));
    }
    case '/readyz': {
      const { ready, text } = await readiness(checks, new URLSearchParams(query));
      return send(request, response, ready ? 200 : 503, text);
    }
    default:
      return send(request, response, 404, 'try /livez, /readyz or /metrics\n');
  }
}

function send(
  { method }: IncomingMessage,
  response: ServerResponse,
  status: number,
  text: string,
  type = 'text/plain; charset=utf-8',
): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
  response.end(method === 'HEAD' ? undefined : text);
}

async function readiness(
  checks: readonly ReadinessCheck[],
  query: URLSearchParams,
): Promise<{ ready: boolean; text: string }> {
  const excluded = new Set(query.getAll('exclude'));
  const results = await Promise.all(
    checks
      .filter(({ name }) => !excluded.has(name))
      .map(async (check) => ({ ...check, ok: await holds(check) })),
  );
  const ready = results.every(({ ok, optional }) => ok || optional);
  const lines = results
    .map(({ name, ok, optional }) => {
      const failed = optional ? 'failed (ready without it)' : 'failed';
      return `[${ok ? '+' : '-'}]${name} ${ok ? 'ok' : failed}\n`;
    })
    .join('');
  return { ready, text: query.has('verbose') || !ready ? lines : 'ok\n' };
}

async function holds(check: ReadinessCheck): Promise<boolean> {
  let late: NodeJS.Timeout | undefined;
  try {
    return await Promise.race([
      check.ok(),
      new Promise<boolean>((failed) => {
        late = setTimeout(failed, checkMs, false);
      }),
    ]);
  } catch {
    return false;
  } finally {
    clearTimeout(late);
  }
}
