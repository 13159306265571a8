import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childrenOf } from './cpu.js';

/** Something that is measured: where it listens, which processes it is, what a request to it carries. */
export interface Server {
  readonly name: string;
  readonly port: number;
  /** Asked when measured: workers may have been replaced. */
  pids(): number[];
  readonly headers: Readonly<Record<string, string>>;
  readonly opsPort?: number;
  readonly grpcPort?: number;
  stop(): Promise<void>;
}

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

function forkedServer(name: string, file: string, args: string[]): Promise<Server> {
  const child = fork(here(file), args);
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

export const startUpstream = (): Promise<Server> => forkedServer('upstream', './upstream.js', []);

export const startBareAnswer = (text: string): Promise<Server> =>
  forkedServer('uWebSockets.js', './bare-answer.js', [text]);

export const startBareProxy = (origin: string): Promise<Server> =>
  forkedServer('uWebSockets.js → undici', './bare-proxy.js', [origin]);

/** nginx as a reverse proxy with kept upstream connections and buffering off; null where it is not installed. */
export async function startNginx(upstreamPort: number): Promise<Server | null> {
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
  server { listen 127.0.0.1:${port};
    location / { proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; } }
}`,
  );
  const child = spawn('nginx', ['-c', join(dir, 'nginx.conf'), '-p', dir], { stdio: 'ignore' });
  await untilOpen(port);
  return {
    name: 'nginx',
    port,
    pids: () => [child.pid ?? 0, ...childrenOf(child.pid ?? 0)],
    headers: {},
    async stop() {
      await ended(child, 'SIGTERM');
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** A stored provider: its row, and where the upstream has its paths. */
interface StoredProvider {
  readonly slug: string;
  readonly row: string;
  readonly path: string;
}

const plain: readonly StoredProvider[] = [{ slug: 'bench', row: 'openai', path: '/v1' }];

/** Headgate as its operators run it: control process, one data worker, journal and ledger on disk. */
export async function startHeadgate(
  upstreamPort: number,
  options: { bodies: boolean; providers?: readonly StoredProvider[] },
): Promise<Server> {
  const dir = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
  const [port, grpcPort, opsPort] = [await freePort(), await freePort(), await freePort()];
  const main = here('../src/main.js');
  const child = spawn(process.execPath, [main, 'serve'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      HEADGATE_PORT: String(port),
      HEADGATE_GRPC_PORT: String(grpcPort),
      HEADGATE_OPS_PORT: String(opsPort),
      HEADGATE_DATA_DIR: dir,
      HEADGATE_WORKERS: '1',
      HEADGATE_LOG_LEVEL: 'warn',
      HEADGATE_LOG_BODIES: String(options.bodies),
      HEADGATE_SIMULATED: 'false',
    },
  });
  await untilOpen(port);
  while (!existsSync(join(dir, 'first-keys.json'))) await pause(20);
  const keys = JSON.parse(readFileSync(join(dir, 'first-keys.json'), 'utf8')) as { workspace_key: string };
  await untilOpen(grpcPort);
  for (const { slug, row, path } of options.providers ?? plain) {
    const url = `http://127.0.0.1:${upstreamPort}${path}`;
    const added = spawnSync(
      process.execPath,
      [main, 'providers', 'add', slug, '--provider', row, '--base-url', url, '--key-file', '-'],
      {
        input: 'sk-bench',
        env: { ...process.env, HEADGATE_GRPC_PORT: String(grpcPort), HEADGATE_DATA_DIR: dir },
        encoding: 'utf8',
      },
    );
    if (added.status !== 0) throw new Error(`providers add: ${added.stderr}${added.stdout}`);
  }
  return {
    name: options.bodies ? 'headgate, bodies logged' : 'headgate',
    port,
    opsPort,
    grpcPort,
    pids: () => [child.pid ?? 0, ...childrenOf(child.pid ?? 0)],
    headers: {
      'x-gateway-api-key': keys.workspace_key,
      'x-gateway-config': JSON.stringify({
        strategy: { mode: 'fallback' },
        targets: [{ provider: '@bench' }, { provider: '@bench' }],
      }),
    },
    async stop() {
      await ended(child, 'SIGTERM');
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

export const pause = (ms: number): Promise<void> => new Promise((wait) => setTimeout(wait, ms));

function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.removeAllListeners('exit');
    child.once('exit', () => resolve());
    child.kill(signal);
  });
}

async function untilOpen(port: number): Promise<void> {
  const { connect } = await import('node:net');
  const until = Date.now() + 20_000;
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

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
