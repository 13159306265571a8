import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectAdmin, type ProviderInput } from '../src/client/index.js';
import type { Certificate } from './certificate.js';
import { childrenOf } from './cpu.js';
import { ended, endsWithThis, freePort, here, pause, type Server, untilOpen } from './servers.js';

/** A stored provider: its row, and where its upstream has its paths. */
export interface StoredProvider {
  readonly slug: string;
  readonly row: string;
  /** Base URL. */
  readonly url: string;
  /** Left out, an API key is stored. */
  readonly credential?: Pick<ProviderInput, 'key'> & Readonly<Record<string, string>>;
}

export interface GatewayOptions {
  readonly providers: readonly StoredProvider[];
  /** Left out, bodies are logged, as they are by default. */
  readonly logBodies?: boolean;
  /** A certificate to trust. */
  readonly trusted?: Certificate | null;
  /** Further settings, as variables. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A gateway that was started, and an administrator's key to it. */
export interface Gateway extends Server {
  readonly grpcPort: number;
  readonly key: string;
  /** The organisation's. */
  readonly adminKey: string;
  /** A key with a limit of each type, and a budget, none of which is ever reached. */
  readonly governedKey: string;
}

/** Headgate with default settings and one data worker: control process, journal and ledger on disk. */
export async function startHeadgate({
  providers,
  logBodies,
  trusted,
  env,
}: GatewayOptions): Promise<Gateway> {
  const dir = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
  const [port, grpcPort, opsPort] = [await freePort(), await freePort(), await freePort()];
  const child = spawn(process.execPath, [here('../src/main.js'), 'serve'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      HEADGATE_PORT: String(port),
      HEADGATE_GRPC_PORT: String(grpcPort),
      HEADGATE_OPS_PORT: String(opsPort),
      HEADGATE_DATA_DIR: dir,
      HEADGATE_WORKERS: '1',
      HEADGATE_LOG_LEVEL: 'warn',
      HEADGATE_SIMULATED: 'false',
      HEADGATE_EGRESS_ALLOW: '127.0.0.1',
      ...(logBodies !== undefined && { HEADGATE_LOG_BODIES: String(logBodies) }),
      ...(trusted && { NODE_EXTRA_CA_CERTS: trusted.file }),
      ...env,
    },
  });
  endsWithThis(child);
  await untilOpen(port);
  while (!existsSync(join(dir, 'first-keys.json'))) await pause(20);
  const { workspace_key: key, admin_key: adminKey } = JSON.parse(
    readFileSync(join(dir, 'first-keys.json'), 'utf8'),
  ) as { workspace_key: string; admin_key: string };
  await untilOpen(grpcPort);
  // As an organisation's administrator: what a workspace's key stores is checked like a custom host at each request.
  const client = connectAdmin({ address: `127.0.0.1:${grpcPort}`, key: adminKey, defaultWorkspace: true });
  for (const { slug, row, url, credential = { key: 'sk-bench' } } of providers)
    await client.providers.create({ slug, name: slug, provider: row, base_url: url, ...credential });
  const { key: governedKey } = await client.keys.create({
    ...{ type: 'workspace', sub_type: 'service', name: 'governed', scopes: ['completions.write'] },
    rate_limits: [
      { type: 'requests', unit: 'rpm', value: 2_000_000_000 },
      { type: 'tokens', unit: 'rpd', value: 2_000_000_000 },
      { type: 'concurrency', value: 1_000_000 },
    ],
    usage_limits: { type: 'cost', credit_limit: 1_000_000, periodic_reset: 'monthly' },
  });
  client.close();
  return {
    name: logBodies === false ? 'headgate, bodies not logged' : 'headgate',
    port,
    opsPort,
    grpcPort,
    key,
    adminKey,
    governedKey,
    pids: () => [child.pid ?? 0, ...childrenOf(child.pid ?? 0)],
    headers: headersOf(key, {
      strategy: { mode: 'fallback' },
      targets: [{ provider: '@bench' }, { provider: '@bench' }],
    }),
    async stop() {
      await ended(child, 'SIGTERM');
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Headers of a request with this config. */
export const headersOf = (key: string, config: object): Readonly<Record<string, string>> => ({
  'x-gateway-api-key': key,
  'x-gateway-config': JSON.stringify(config),
});
