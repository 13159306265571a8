import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { AdminCallError, type AdminClient, connectAdmin } from '../client/index.js';
import type { Settings } from '../config/settings.js';
import { CliError } from './cli-error.js';
import { readSecret } from './secret-input.js';

/** What the administrative commands need to know of the settings. */
export interface SessionContext {
  settings(): Pick<Settings, 'host' | 'grpcPort' | 'dataDir' | 'adminKey'>;
}

export interface SessionOptions {
  readonly adminKey?: string;
  readonly adminKeyFile?: string;
  readonly address?: string;
  readonly workspace?: string;
  readonly json?: boolean;
}

/** Gives a command the options that every administrative command has. */
export function withSession(command: Command, more: { workspace: boolean }): Command {
  command
    .option(
      '--admin-key-file <file>',
      'file that holds the key to sign in with; - is standard input (default: HEADGATE_ADMIN_KEY, or first-keys.json)',
    )
    .option('--admin-key <key>', 'the key itself, which other users of this machine can then read')
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

/** The key to sign in with: the one named on the command line, else that of the settings, else of the first start. */
async function signInKey(
  settings: ReturnType<SessionContext['settings']>,
  options: SessionOptions,
): Promise<string> {
  if (options.adminKey !== undefined) {
    console.error(
      'headgate: --admin-key shows the key to other users of this machine: better HEADGATE_ADMIN_KEY or --admin-key-file.',
    );
    return options.adminKey;
  }
  if (options.adminKeyFile !== undefined) return readSecret(options.adminKeyFile, 'Admin key: ');
  const key = settings.adminKey?.reveal() ?? keyOfFirstStart(settings.dataDir);
  if (key !== null) return key;
  throw new CliError(
    `No admin key: set HEADGATE_ADMIN_KEY, or point --data-dir at the gateway's data directory (${settings.dataDir} has no first-keys.json).`,
  );
}

/** Fields of the administration's messages whose flags have other names. */
const flagOfField: Readonly<Record<string, string>> = {
  custom_host: '--base-url',
  'defaults.config_id': '--config',
  expires_at: '--expires',
  workspace_id: '--workspace',
};

/** A refusal with the flags that were typed in place of the fields that were sent; what stands in a config stays. */
function inFlags(message: string): string {
  return message.replace(/(?<![\w.])[a-z_]+(?:\.[a-z_]+)*/g, (word) => flagOfField[word] ?? word);
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
  const key = await signInKey(settings, options);
  const client = connectAdmin({ address, key });
  try {
    await work(client);
  } catch (error) {
    if (!(error instanceof AdminCallError)) throw error;
    throw new CliError(
      error.isUnreachable
        ? `No gateway answers at ${address}: start it with headgate serve.`
        : inFlags(error.message),
    );
  } finally {
    client.close();
  }
}
