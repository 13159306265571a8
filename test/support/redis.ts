import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually, freePorts } from './gateway.js';

/** A Redis server of one test's own, which it may stop, freeze and start again. */
export class RedisServer {
  readonly #folder = mkdtempSync(join(tmpdir(), 'headgate-redis-'));
  #process: ChildProcess | null = null;

  private constructor(
    readonly port: number,
    /** Of its command line, after the port, the address and the folder. */
    private readonly more: readonly string[],
    private readonly tls: RedisTls | null,
  ) {}

  static async start(more: readonly string[] = [], tls: RedisTls | null = null): Promise<RedisServer> {
    const [port] = await freePorts(1);
    const server = new RedisServer(port!, more, tls);
    await server.start();
    return server;
  }

  /** A Sentinel that monitors `master` as `main`, and takes it for dead after 500 ms. */
  static async startSentinel(master: RedisServer): Promise<RedisServer> {
    const [port] = await freePorts(1);
    const server = new RedisServer(port!, ['--sentinel'], master.tls);
    const lines = [
      `sentinel monitor main 127.0.0.1 ${master.port} 1`,
      'sentinel down-after-milliseconds main 500',
      'sentinel failover-timeout main 1000',
    ];
    writeFileSync(server.#configFile, lines.join('\n'));
    await server.start();
    return server;
  }

  get url(): string {
    return `${this.tls === null ? 'redis' : 'rediss'}://127.0.0.1:${this.port}`;
  }

  get #configFile(): string {
    return join(this.#folder, 'sentinel.conf');
  }

  async start(): Promise<void> {
    const listen =
      this.tls === null
        ? ['--port', String(this.port)]
        : ['--port', '0', '--tls-port', String(this.port), ...this.tls.serverOptions];
    const place = [...listen, '--bind', '127.0.0.1', '--dir', this.#folder];
    const options = this.more.includes('--sentinel')
      ? [this.#configFile, '--sentinel', ...place]
      : [...place, '--save', '', ...this.more];
    this.#process = spawn('redis-server', options, { stdio: 'ignore' });
    await once(this.#process, 'spawn');
    await eventually('Redis listens', () => this.#listens());
  }

  /** What redis-cli prints for a command. */
  async command(...words: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)('redis-cli', [
      '-p',
      String(this.port),
      ...(this.tls?.clientOptions ?? []),
      ...words,
    ]);
    return stdout.trim();
  }

  /** It answers nothing any more, its connections stay. */
  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process?.kill('SIGCONT');
  }

  /** Kills it; what it knew is gone. */
  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (child === null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #listens(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(this.port, '127.0.0.1');
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
  }
}

/** A cluster of three masters without replicas. */
export async function startRedisCluster(tls: RedisTls | null = null): Promise<RedisServer[]> {
  const servers = await Promise.all(
    [1, 2, 3].map(async () => {
      const [bus] = await freePorts(1);
      const options = ['--cluster-enabled', 'yes', '--cluster-port', String(bus)];
      return RedisServer.start(tls === null ? options : [...options, '--tls-cluster', 'yes'], tls);
    }),
  );
  const addresses = servers.map(({ port }) => `127.0.0.1:${port}`);
  const create = ['--cluster', 'create', ...addresses, '--cluster-yes', ...(tls?.clientOptions ?? [])];
  await promisify(execFile)('redis-cli', create);
  await eventually('the cluster is whole', async () => {
    const states = await Promise.all(servers.map((server) => server.command('cluster', 'info')));
    return states.every(
      (text) => text.includes('cluster_state:ok') && text.includes('cluster_known_nodes:3'),
    );
  });
  return servers;
}

/** An authority of a test's own, with a certificate for 127.0.0.1. */
export class RedisTls {
  readonly #folder = mkdtempSync(join(tmpdir(), 'headgate-redis-tls-'));
  readonly authority = join(this.#folder, 'ca.pem');
  readonly #key = join(this.#folder, 'key.pem');
  readonly #certificate = join(this.#folder, 'cert.pem');

  constructor() {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    const openssl = (...words: readonly string[]): Buffer =>
      execFileSync('openssl', ['req', '-x509', ...key, ...words], { stdio: 'pipe' });
    const authorityKey = join(this.#folder, 'ca-key.pem');
    openssl('-keyout', authorityKey, '-out', this.authority, '-subj', '/CN=Test authority');
    const signed = ['-CA', this.authority, '-CAkey', authorityKey];
    const name = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
    openssl('-keyout', this.#key, '-out', this.#certificate, ...signed, ...name);
  }

  get serverOptions(): string[] {
    const files = ['--tls-cert-file', this.#certificate, '--tls-key-file', this.#key];
    const trust = ['--tls-ca-cert-file', this.authority, '--tls-auth-clients', 'no'];
    return [...files, ...trust, '--tls-replication', 'yes'];
  }

  get clientOptions(): string[] {
    return ['--tls', '--cacert', this.authority];
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
