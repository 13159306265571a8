import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Certificate } from './certificate.js';
import { childrenOf } from './cpu.js';

/** Something that is measured: where it listens, which processes it is, what a request to it carries. */
export interface Server {
  readonly name: string;
  readonly port: number;
  /** Asked when measured: workers may have been replaced. */
  pids(): number[];
  readonly headers: Readonly<Record<string, string>>;
  /** What others are measured against, and the machine's quiet is judged by. */
  readonly isFloor?: boolean;
  /** Where a chat goes instead of `/v1/chat/completions`. */
  readonly path?: string;
  readonly opsPort?: number;
  readonly grpcPort?: number;
  stop(): Promise<void>;
}

export const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGTERM');
});

/** A benchmark that fails leaves nothing running. */
export function endsWithThis(child: ChildProcess): ChildProcess {
  running.add(child);
  return child;
}

function forkedServer(name: string, file: string, args: string[]): Promise<Server> {
  const child = endsWithThis(fork(here(file), args));
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error(`${name} did not start`)));
    child.once('message', (message: { port: number }) => {
      resolve({
        name,
        port: message.port,
        pids: () => [child.pid ?? 0],
        headers: {},
        stop: () => ended(child, 'SIGKILL'),
      });
    });
  });
}

/** `tls`: it listens with this certificate. */
export const startUpstream = (tls: Certificate | null = null): Promise<Server> =>
  forkedServer('upstream', './upstream.js', tls === null ? [] : [tls.keyFile, tls.file]);

export const startBareAnswer = (text: string): Promise<Server> =>
  forkedServer('uWebSockets.js', './bare-answer.js', [text]);

export async function startBareProxy(origin: string, kind: 'plain' | 'json' = 'plain'): Promise<Server> {
  const name = kind === 'json' ? jsonProxy : 'uWebSockets.js → undici';
  return { ...(await forkedServer(name, './bare-proxy.js', [origin, kind])), isFloor: true };
}

/** The bare proxy that also hashes and parses. */
export const jsonProxy = 'uWebSockets.js → undici, JSON';

/**
 * nginx as a reverse proxy with kept upstream connections and buffering off, with a further upstream that has TLS under
 * `/tls/` where there is one; null where it is not installed.
 */
export async function startNginx(upstreamPort: number, tlsPort: number | null): Promise<Server | null> {
  if (spawnSync('nginx', ['-v']).error !== undefined) return null;
  const dir = mkdtempSync(join(tmpdir(), 'headgate-bench-nginx-'));
  const port = await freePort();
  writeFileSync(
    join(dir, 'nginx.conf'),
    `daemon off; worker_processes 1; pid ${dir}/pid; error_log ${dir}/error.log;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path ${dir}/b; proxy_temp_path ${dir}/p; fastcgi_temp_path ${dir}/f; uwsgi_temp_path ${dir}/u; scgi_temp_path ${dir}/s;
  keepalive_requests 1000000;
  upstream up { server 127.0.0.1:${upstreamPort}; keepalive 256; keepalive_requests 1000000; }
  upstream tls { server 127.0.0.1:${tlsPort ?? upstreamPort}; keepalive 256; keepalive_requests 1000000; }
  server { listen 127.0.0.1:${port};
    location /tls/ { proxy_pass https://tls/; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }
    location / { proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; } }
}`,
  );
  const child = endsWithThis(spawn('nginx', ['-c', join(dir, 'nginx.conf'), '-p', dir], { stdio: 'ignore' }));
  await untilOpen(port);
  return {
    name: 'nginx',
    isFloor: true,
    port,
    pids: () => [child.pid ?? 0, ...childrenOf(child.pid ?? 0)],
    headers: {},
    async stop() {
      await ended(child, 'SIGTERM');
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

export const pause = (ms: number): Promise<void> => new Promise((wait) => setTimeout(wait, ms));

export function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  running.delete(child);
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.removeAllListeners('exit');
    child.once('exit', () => resolve());
    child.kill(signal);
  });
}

export async function untilOpen(port: number): Promise<void> {
  const { connect } = await import('node:net');
  const until = Date.now() + 60_000;
  for (;;) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy();
        resolve(true);
      });
      socket.on('error', () => resolve(false));
    });
    if (open) return;
    if (Date.now() > until) throw new Error(`nothing listens on ${port}`);
    await pause(20);
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
