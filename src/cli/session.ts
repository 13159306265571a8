import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { AdminCallError, type AdminClient, connectAdmin } from '../client/index.js';
import type { Settings } from '../config/settings.js';
import { CliError } from './cli-error.js';

/** What the administrative commands need to know of the settings. */
export interface SessionContext {
  settings(): Pick<Settings, 'host' | 'grpcPort' | 'dataDir' | 'adminKey'>;
}

export interface SessionOptions {
  readonly adminKey?: string;
  readonly address?: string;
  readonly workspace?: string;
  readonly json?: boolean;
}

/** Gives a command the options that every administrative command has. */
export function withSession(command: Command, more: { workspace: boolean }): Command {
  command
    .option('--admin-key <key>', 'key to sign in with (better: HEADGATE_ADMIN_KEY, or first-keys.json)')
    .option('--address <host:port>', 'where the admin gRPC of the gateway is')
    .option('--json', 'print JSON');
  return more.workspace
    ? command.option('--workspace <id or slug>', 'workspace; needed where there are several')
    : command;
}

interface FirstKeysFile {
  readonly admin_key?: unknown;
}

function keyOfFirstStart(dataDir: string): string | null {
  try {
    const content = JSON.parse(readFileSync(join(dataDir, 'first-keys.json'), 'utf8')) as FirstKeysFile;
    return typeof content.admin_key === 'string' ? content.admin_key : null;
  } catch {
    return null;
  }
}

/** An address to bind to is not always one to connect to. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** Signs in, does `work`, hangs up. Every failure becomes one line for a person. */
export async function withAdmin(
  context: SessionContext,
  options: SessionOptions,
  work: (client: AdminClient) => Promise<void>,
): Promise<void> {
  const settings = context.settings();
  const address = options.address ?? `${reachable(settings.host)}:${settings.grpcPort}`;
  const key = options.adminKey ?? settings.adminKey?.reveal() ?? keyOfFirstStart(settings.dataDir);
  if (key === null) {
    throw new CliError(
      `No admin key: set HEADGATE_ADMIN_KEY, or point --data-dir at the gateway's data directory (${settings.dataDir} has no first-keys.json).`,
    );
  }
  const client = connectAdmin({ address, key });
  try {
    await work(client);
  } catch (error) {
    if (!(error instanceof AdminCallError)) throw error;
    throw new CliError(
      error.isUnreachable ? `No gateway answers at ${address}: start it with headgate serve.` : error.message,
    );
  } finally {
    client.close();
  }
}
