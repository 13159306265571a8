import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Metric } from '../core/metrics.js';

/** One condition of readiness, by name. */
export interface Check {
  readonly name: string;
  /** Is the node ready without it? Then it is shown, and no more. */
  readonly optional?: boolean;
  ok(): boolean | Promise<boolean>;
}

export interface OpsServer {
  readonly port: number;
  close(): void;
}

/**
 * Probes, on a port of their own: `/livez` (this process answers), `/readyz` (every check holds; `?verbose` names
 * them, `?exclude=<name>` leaves one out); `/metrics` for Prometheus. Outside authentication, logs and limits.
 */
export async function startOpsServer(
  host: string,
  port: number,
  checks: readonly Check[],
  metrics: () => readonly Metric[],
): Promise<OpsServer> {
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://ops');
    const say = (status: number, text: string): void => {
      response.writeHead(status, {
        'content-type': 'text/plain; charset=utf-8',
        'cache-control': 'no-store',
      });
      response.end(request.method === 'HEAD' ? undefined : text);
    };
    if (request.method !== 'GET' && request.method !== 'HEAD') return say(405, 'GET or HEAD\n');
    if (url.pathname === '/livez' || url.pathname === '/healthz') return say(200, 'ok\n');
    if (url.pathname === '/metrics') return say(200, metricsText(metrics()));
    if (url.pathname !== '/readyz') return say(404, 'try /livez, /readyz or /metrics\n');
    const excluded = new Set(url.searchParams.getAll('exclude'));
    void Promise.all(
      checks
        .filter(({ name }) => !excluded.has(name))
        .map(async (check) => ({ ...check, ok: await holds(check) })),
    ).then((results) => {
      const ready = results.every(({ ok, optional }) => ok || optional);
      const lines = results
        .map(({ name, ok, optional }) => {
          const failed = optional ? 'failed (ready without it)' : 'failed';
          return `[${ok ? '+' : '-'}]${name} ${ok ? 'ok' : failed}\n`;
        })
        .join('');
      say(ready ? 200 : 503, url.searchParams.has('verbose') || !ready ? lines : 'ok\n');
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

async function holds(check: Check): Promise<boolean> {
  try {
    return await check.ok();
  } catch {
    return false;
  }
}

function metricsText(metrics: readonly Metric[]): string {
  let text = '';
  let last = '';
  for (const { name, labels, value } of metrics) {
    if (name !== last) text += `# TYPE ${name} ${name.endsWith('_total') ? 'counter' : 'gauge'}\n`;
    last = name;
    const pairs = Object.entries(labels).map(([key, label]) => `${key}="${escaped(label)}"`);
    text += `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
  }
  return text;
}

const escaped = (label: string): string =>
  label.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`));
