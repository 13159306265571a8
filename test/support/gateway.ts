import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AdminClient, connectAdmin } from '../../src/client/index.js';
import type { FirstKeys } from '../../src/control-plane/store/store.js';
import { newDataDirectory } from './data-directory.js';
import { root } from './root.js';
import { scaled, TimeLimitError } from './time-limits.js';

/** The built program: what is tested is what is run. `npm test` builds it first. */
export const mainFile = join(root, 'dist/src/main.js');
/** A program of the tests that is killed or watched from outside, such as `fault/store-opener`. */
export const builtProgram = (name: string): string => builtFile(`test/${name}`);

/** A program as built: joined into one file, which starts in a third of the time, unless it was built again after that. */
export function builtFile(name: string): string {
  const time = (file: string): number =>
    statSync(join(root, 'dist', file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const bundled = time(`bundle/${name}.js`);
  const isCurrent = bundled > 0 && bundled >= time('.tsbuildinfo');
  return join(root, `dist/${isCurrent ? 'bundle/' : ''}${name}.js`);
}

export interface RunningGateway {
  readonly url: string;
  readonly port: number;
  readonly grpcPort: number;
  readonly opsUrl: string;
  readonly dataDir: string;
  readonly adminKey: string;
  readonly workspaceKey: string;
  readonly workspaceId: string;
  readonly organisationId: string;
  readonly env: Readonly<Record<string, string>>;
  readonly process: ChildProcess;
  /** Everything the gateway has printed so far, both streams. */
  output(): string;
  /** One connection, however often it is asked for. */
  admin(): AdminClient;
  /** Starts again on the same data directory and ports, after the process has ended. */
  restart(): Promise<RunningGateway>;
  /** SIGTERM; resolves with the exit code. Removes the data directory unless told to keep it. */
  stop(options?: { keep?: boolean }): Promise<number | null>;
}

export interface GatewayOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** One that has had its first start unless given. */
  readonly dataDir?: string;
  /** How many files and sockets each of its processes may have open (`ulimit -n`); as many as the test's unless given. */
  readonly openFiles?: number;
  /** A descriptor that is its standard output in place of a pipe that is read; `unread`: a socket that is not read. */
  readonly stdout?: number | 'unread';
  /** Its main file, where it is not that of the build. */
  readonly main?: string;
  /** Keys of a first start that another node made; those in its own data directory unless given, empty where it has none. */
  readonly keys?: FirstKeys | undefined;
}

/** Starts the whole gateway as its operators do: control process, data workers, SQLite, on ports of its own. */
export async function startGateway(options: GatewayOptions = {}): Promise<RunningGateway> {
  const dataDir = options.dataDir ?? (await newDataDirectory(options.env ?? {}));
  const [port, grpcPort, opsPort] = await freePorts(3);
  const env = {
    HEADGATE_PORT: String(port),
    HEADGATE_GRPC_PORT: String(grpcPort),
    HEADGATE_OPS_PORT: String(opsPort),
    HEADGATE_DATA_DIR: dataDir,
    HEADGATE_WORKERS: '1',
    HEADGATE_LOG_LEVEL: 'info',
    HEADGATE_EGRESS_ALLOW: '127.0.0.1',
    ...options.env,
  };
  return launch(
    dataDir,
    Number(env.HEADGATE_PORT),
    Number(env.HEADGATE_GRPC_PORT),
    Number(env.HEADGATE_OPS_PORT),
    env,
    options.openFiles ?? null,
    options.stdout,
    options.main,
    options.keys,
  );
}

async function launch(
  dataDir: string,
  port: number,
  grpcPort: number,
  opsPort: number,
  env: Record<string, string>,
  openFiles: number | null,
  stdout: GatewayOptions['stdout'],
  main = mainFile,
  given?: FirstKeys,
): Promise<RunningGateway> {
  const limit = openFiles === null ? '' : `ulimit -n ${openFiles} && `;
  const child = spawn('/bin/sh', ['-c', `${limit}exec "$0" "$@"`, process.execPath, main, 'serve'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', typeof stdout === 'number' ? stdout : 'pipe', 'pipe'],
  });
  let output = '';
  if (stdout === undefined) {
    child.stdout?.on('data', (text: Buffer) => {
      output += text.toString();
    });
  }
  child.stderr?.on('data', (text: Buffer) => {
    output += text.toString();
  });
  const opsUrl = `http://127.0.0.1:${opsPort}`;
  await ready(child, opsUrl, stdout === undefined, () => output);
  const keysFile = join(dataDir, 'first-keys.json');
  const own = existsSync(keysFile) ? (JSON.parse(readFileSync(keysFile, 'utf8')) as FirstKeys) : null;
  const keys: Partial<FirstKeys> = given ?? own ?? {};
  let client: AdminClient | null = null;
  const gateway: RunningGateway = {
    url: `http://127.0.0.1:${port}`,
    port,
    grpcPort,
    opsUrl,
    dataDir,
    adminKey: keys.admin_key ?? '',
    workspaceKey: keys.workspace_key ?? '',
    workspaceId: keys.workspace_id ?? '',
    organisationId: keys.organisation_id ?? '',
    env,
    process: child,
    output: () => output,
    admin() {
      client ??= connectAdmin({ address: `127.0.0.1:${grpcPort}`, key: keys.admin_key ?? '' });
      return client;
    },
    restart: () => launch(dataDir, port, grpcPort, opsPort, env, openFiles, stdout, main, given),
    async stop(how = {}) {
      client?.close();
      client = null;
      const code = await end(child);
      if (how.keep !== true) rmSync(dataDir, { recursive: true, force: true });
      return code;
    },
  };
  return gateway;
}

async function ready(
  child: ChildProcess,
  opsUrl: string,
  hasGreeting: boolean,
  output: () => string,
): Promise<void> {
  const until = Date.now() + scaled(60_000);
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the gateway ended before it was ready:\n${output()}`);
    // The greeting is printed last: admin and data plane both listen by then. To ask before it costs more than to look for it.
    if (!hasGreeting || output().includes('is ready at')) {
      const status = await fetch(`${opsUrl}/readyz`).then(
        (response) => response.status,
        () => 0,
      );
      if (status === 200) return;
    }
    if (Date.now() > until) throw new TimeLimitError(`the gateway is not ready:\n${output()}`);
    await pause(20);
  }
}

function end(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((done) => {
    const hard = setTimeout(() => child.kill('SIGKILL'), scaled(40_000));
    child.once('exit', (code) => {
      clearTimeout(hard);
      done(code);
    });
    child.kill('SIGTERM');
  });
}

export const pause = (ms: number): Promise<void> => new Promise((wait) => setTimeout(wait, ms));

/**
 * Waits until `probe` returns something, and returns that. Throws a TimeLimitError with `what` after `ms` milliseconds of a
 * quiet machine.
 */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | null | undefined | false>,
  ms = 15_000,
): Promise<T> {
  const began = Date.now();
  for (;;) {
    const value = await probe();
    if (value) return value;
    // The machine may have become busier meanwhile.
    if (Date.now() > began + scaled(ms)) throw new TimeLimitError(`never happened: ${what}`);
    // Pauses for a twentieth of the time waited so far, since most probes are requests.
    await pause(Math.min(100, Math.max(25, (Date.now() - began) / 20)));
  }
}

/**
 * Ports that nothing listens on at this moment, and that no other test is given. They lie below those that Linux gives to
 * connections (32768 and up): until a server opens its port, one of the many connections of other tests would sometimes be
 * given the same. Tests that run at the same time in other processes have other thousands (`TEST_SLOT`).
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = firstPort + (given++ % portsOfSlot);
    if (isMine(port) && (await isFree(port))) ports.push(port);
  }
  return ports;
}

/** Where each process that gives out ports leaves a file for each one, with its id: another one does not give it. */
const taken = join(tmpdir(), 'headgate-test-ports');

/**
 * Claims a port for this process, until it ends. Two runs of the tests at once have the same slots, and a port that was
 * free when it was given is not yet listened on for a second: until then it would be given twice.
 */
function isMine(port: number): boolean {
  const file = join(taken, String(port));
  mkdirSync(taken, { recursive: true });
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const holder = readOr(file, '');
  // Its process has ended: the next one to come by may have it. Empty: it is being written.
  if (holder !== '' && !isAlive(Number(holder))) rmSync(file, { force: true });
  return false;
}

function readOr(file: string, otherwise: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return otherwise;
  }
}

function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const portsOfSlot = 5_000;
const firstPort = 12_000 + Number(process.env['TEST_SLOT'] ?? 0) * portsOfSlot;
/** Not from the first on: a server of the run before may still be ending. */
let given = randomInt(portsOfSlot);

const isFree = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const server = createServer();
    server.once('error', () => done(false));
    server.listen(port, '127.0.0.1', () => server.close(() => done(true)));
  });
