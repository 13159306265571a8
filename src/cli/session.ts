import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { AdminCallError, AdminClient, AdminConnection } from '../client/index.js';
import type { Settings } from '../common/settings/settings.js';
import { reasonOf } from '../common/text/bounded-file.js';
import { CliError } from './cli-error.js';
import { readInput } from './input/file-input.js';
import { readSecret } from './input/secret-input.js';
import { writeErrorLine } from './output/output.js';

/** What the administrative commands need to know of the settings. */
export interface SessionContext {
  settings(): Pick<Settings, 'host' | 'grpcPort' | 'dataDir' | 'adminKey'> &
    Partial<Pick<Settings, 'grpcTlsCert'>>;
}

export interface SessionOptions {
  readonly adminKey?: string;
  readonly adminKeyFile?: string;
  readonly address?: string;
  readonly tls?: boolean;
  readonly caFile?: string;
  readonly workspace?: string;
  readonly json?: boolean;
}

const usualWorkspace = 'workspace (default: the only one, or the one named default)';

/** Gives a command the options that every administrative command has. */
export function withSession(command: Command, more: { workspace: boolean | string }): Command {
  command
    .option(
      '--admin-key-file <file>',
      'file that holds the key to sign in with; - is standard input (default: HEADGATE_ADMIN_KEY, or first-keys.json)',
    )
    .option('--admin-key <key>', 'the key itself, which other users of this machine can then read')
    .option('--address <host:port>', 'where the admin gRPC of the gateway is (default: this machine)')
    .option('--tls', 'connect over TLS')
    .option('--ca-file <file>', 'PEM file of the authority that signed its certificate; implies --tls')
    .option('--json', 'print JSON');
  if (more.workspace === false) return command;
  const meaning = more.workspace === true ? usualWorkspace : more.workspace;
  return command.option('--workspace <id or slug>', meaning);
}

interface FirstKeysFile {
  readonly admin_key?: unknown;
}

/** A key to sign in with, and the place it was found in, as messages name it. */
interface SignInKey {
  readonly key: string;
  readonly place: string;
}

/** Throws a CliError with the reason where the file has none. */
function keyOfFirstStart(dataDir: string): SignInKey {
  const file = join(dataDir, 'first-keys.json');
  let why = `${file} has no admin_key`;
  try {
    const { admin_key: key } = JSON.parse(readFileSync(file, 'utf8')) as FirstKeysFile;
    if (typeof key === 'string') return { key, place: file };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') why = `${dataDir} has no first-keys.json`;
    else if (code !== undefined) why = `${file} cannot be read: ${reasonOf(error)}`;
  }
  throw new CliError(
    `No admin key: set HEADGATE_ADMIN_KEY, or point --data-dir at the gateway's data directory (${why}).`,
  );
}

/** The key to sign in with: the one named on the command line, else that of the settings, else of the first start. */
async function signInKey(
  settings: ReturnType<SessionContext['settings']>,
  options: SessionOptions,
): Promise<SignInKey> {
  if (options.adminKey !== undefined) {
    writeErrorLine(
      'headgate: --admin-key shows the key to other users of this machine: better HEADGATE_ADMIN_KEY or --admin-key-file.',
    );
    return { key: options.adminKey, place: '--admin-key' };
  }
  const { adminKeyFile: file } = options;
  if (file !== undefined)
    return {
      key: await readSecret(file, 'Admin key: '),
      place: file === '-' ? 'standard input' : file,
    };
  const { adminKey } = settings;
  if (adminKey === null) return keyOfFirstStart(settings.dataDir);
  return { key: adminKey.reveal(), place: adminKey.file ?? 'HEADGATE_ADMIN_KEY' };
}

/** Fields of the administration's messages whose flags have other names. */
const flagOfField: Readonly<Record<string, string>> = {
  custom_host: '--base-url',
  'defaults.config_id': '--config',
  expires_at: '--expires',
  workspace_id: '--workspace',
};

/** A refusal with the flags that were typed in place of the fields that were sent; fields within a config keep their names. */
function inFlags(message: string): string {
  return message.replace(/(?<![\w.])[a-z_]+(?:\.[a-z_]+)*/g, (word) => flagOfField[word] ?? word);
}

/** An address to bind to is not always one to connect to. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** TLS where it was asked for, and where the gateway of these settings has it. */
function tlsOf(
  { grpcTlsCert }: ReturnType<SessionContext['settings']>,
  { address, tls, caFile }: SessionOptions,
): AdminConnection['tls'] {
  const own = address === undefined && tls !== true ? (grpcTlsCert ?? undefined) : undefined;
  const file = caFile ?? own;
  if (file === undefined) return tls === true ? true : undefined;
  const ca = readInput(file);
  if (!ca.includes('-----BEGIN CERTIFICATE-----'))
    throw new CliError(`${caFile === undefined ? '' : '--ca-file: '}${file} has no certificate in PEM.`, 2);
  return { ca: Buffer.from(ca) };
}

/** Forms of gRPC addresses beside host:port. */
const otherForms = /^(?:unix|dns|ipv[46]):/;

/** Throws a CliError for an address at which nothing can ever answer. */
function checkAddress(address: string): void {
  if (otherForms.test(address)) return;
  const [, port] = /^(?:\[[^\]]+\]|[^:[\]/]+):(\d{1,5})$/.exec(address) ?? [];
  if (port === undefined || Number(port) < 1 || Number(port) > 65_535)
    throw new CliError('--address must be host:port, with a port from 1 to 65535.', 2);
}

/** What OpenSSL reports where the other side answers something else than TLS. */
const withoutTls = /wrong version number|packet length too long|EPROTO/i;

/** Does anything accept connections there? A gateway that does not answer in time counts, and so does another port of it. */
function isOpen(address: string): Promise<boolean> {
  const [, host = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(address) ?? [];
  return new Promise((resolve) => {
    const done = (open: boolean): void => {
      socket.destroy();
      resolve(open);
    };
    const socket = connect({ host, port: Number(port), timeout: 1000 });
    socket.once('connect', () => done(true));
    socket.once('timeout', () => done(false));
    socket.once('error', () => done(false));
  });
}

/** Exit codes of refusals that scripts distinguish: something named does not exist; it exists already, or was changed. */
const exitCodes: Readonly<Record<string, number>> = { AB02: 3, AB08: 3, AB07: 4 };

/** A value that the gateway does not accept is wrong usage, as one that the command line does not accept. */
const exitCodeOf = ({ code, faults }: AdminCallError): number | undefined =>
  code === 'AB01' && faults.length > 0 ? 2 : exitCodes[code ?? ''];

export interface SessionManner {
  /** Is it for those who have no key yet? */
  readonly keyless?: boolean;
  /** Milliseconds that an answer may take; 10,000 unless given. */
  readonly timeoutMs?: number;
  /** A refusal with what was typed in place of what was sent. */
  readonly said?: (message: string) => string;
  /** Exit code of each refusal by the gateway. Absent: by its reason. */
  readonly refusedExitCode?: number;
}

/** Signs in, does `work`, hangs up. Every failure becomes one line for a person. */
export async function withAdmin(
  context: SessionContext,
  options: SessionOptions,
  work: (client: AdminClient) => Promise<void>,
  { keyless = false, said = inFlags, timeoutMs, refusedExitCode }: SessionManner = {},
): Promise<void> {
  const settings = context.settings();
  if (options.address !== undefined) checkAddress(options.address);
  const address = options.address ?? `${reachable(settings.host)}:${settings.grpcPort}`;
  const signIn = keyless ? null : await signInKey(settings, options);
  const tls = tlsOf(settings, options);
  // Not before it is needed: help would be late.
  const { AdminCallError, connectAdmin } = await import('../client/index.js');
  const client = connectAdmin({
    ...{ address, key: signIn?.key ?? '', tls, defaultWorkspace: true },
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
  const failure = async (error: AdminCallError): Promise<CliError> => {
    if (!error.isUnreachable) {
      const message = said(error.message);
      const from = error.code === 'AB05' && signIn !== null ? ` It was taken from ${signIn.place}.` : '';
      return new CliError(message + from, refusedExitCode ?? exitCodeOf(error));
    }
    if (tls !== undefined && withoutTls.test(error.message))
      return new CliError(
        `The port at ${address} is open, but does not use TLS: leave out --tls and --ca-file, or name another port.`,
      );
    if (tls !== undefined) return new CliError(`No gateway answers at ${address} over TLS: ${error.message}`);
    return (await isOpen(address))
      ? new CliError(
          `The port at ${address} is open, but admin gRPC does not answer there: name that port (--grpc-port of the gateway, 50051 unless set), and --tls where it has TLS.`,
        )
      : new CliError(`No gateway answers at ${address}: start it with headgate serve.`);
  };
  try {
    await work(client);
  } catch (error) {
    throw error instanceof AdminCallError ? await failure(error) : error;
  } finally {
    client.close();
  }
}
