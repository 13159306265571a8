import { access, constants, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { GatewayError } from '../../common/core/errors.js';
import type { Settings } from '../../common/settings/settings.js';
import { RefusedStart } from '../../control-plane/store/files/refused-start.js';
import { keepCompiledCode } from '../../process/node/compiled-code.js';
import { version } from '../../process/node/version.js';
import { PartFailed } from '../../process/part-list.js';
import { CliError } from '../cli-error.js';
import { writeLine } from '../output/output.js';
import { codeOf, portProblem, portsOf, tryPort } from '../ports.js';

type Gateway = Awaited<ReturnType<typeof import('../../process/gateway.js')['startGateway']>>;

/** Starts the gateway and prints how to use it. Resolves once it is ready; it stops by signal. */
export async function serve(settings: Settings, reread: (() => Settings) | null = null): Promise<void> {
  // The gateway's own modules load while the disk and the ports are being asked.
  const loading = import('../../process/gateway.js');
  loading.catch(() => undefined);
  await checkDataDir(settings.dataDir);
  await checkPorts(settings);
  const { startGateway } = await loading;
  const gateway = await startGateway(settings, reread).catch((error: unknown) => {
    throw isForeseen(error) ? new CliError(error.message) : error;
  });
  const keysFile = join(settings.dataDir, 'first-keys.json');
  const keysFileExists = await access(keysFile).then(
    () => true,
    () => false,
  );
  writeLine(greeting(settings, gateway, keysFileExists ? keysFile : null));
  keepCompiledCode();
}

/** Was it thrown with a sentence for the operator? A TypeError and its like are bugs, and keep their stack. */
function isForeseen(error: unknown): error is Error {
  if (error instanceof PartFailed) return isForeseen(error.cause);
  if (error instanceof RefusedStart || error instanceof GatewayError) return true;
  return error instanceof Error && error.constructor === Error;
}

/**
 * The directory, and those above it that are missing. Not by `recursive`: Node 20 never comes back from it where a
 * directory that is there refuses with ENOENT what is to be made in it, as /proc does.
 */
async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdirUnlessThere(path);
  } catch (error) {
    const parent = dirname(path);
    if (codeOf(error) !== 'ENOENT' || parent === path) throw error;
    await makeDirectory(parent);
    await mkdirUnlessThere(path);
  }
}

async function mkdirUnlessThere(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error;
  });
}

/** Refuses, in one sentence, a data directory that cannot be written to. */
export async function checkDataDir(dataDir: string): Promise<void> {
  const probe = join(dataDir, `.probe-${process.pid}`);
  try {
    await makeDirectory(dataDir);
    if (!(await stat(dataDir)).isDirectory())
      throw new CliError(`The data directory ${dataDir} is a file. Choose another with --data-dir.`);
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    await writeFile(probe, '');
    await rm(probe);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(
      `The data directory ${dataDir} cannot be written to (${codeOf(error)}). Give this user the right to, or choose another with --data-dir.`,
    );
  }
}

async function checkPorts(settings: Settings): Promise<void> {
  const found = await Promise.all(
    portsOf(settings).map(async ({ port, flag }) => {
      const code = port === 0 ? null : await tryPort(settings.host, port);
      return code === null ? null : portProblem(settings.host, port, flag, code);
    }),
  );
  const first = found.find((problem) => problem !== null);
  if (first) throw new CliError(first);
}

const afterMove =
  'move that file to a safe place. Commands of administration then take the admin key from HEADGATE_ADMIN_KEY.';

/** What is printed once the gateway is ready. */
export function greeting(settings: Settings, gateway: Gateway, keysFile: string | null): string {
  const admin = gateway.grpcAddress === null ? '' : `admin gRPC ${gateway.grpcAddress}, `;
  const lines = [
    `Headgate ${version()} is ready at ${gateway.address} (${admin}health ${gateway.opsAddress})`,
  ];
  if (gateway.firstKeys !== null) {
    lines.push(
      '',
      'First start: these keys are shown this once.',
      `  admin key      ${gateway.firstKeys.admin_key}`,
      `  workspace key  ${gateway.firstKeys.workspace_key}`,
    );
    if (gateway.ownerLink !== null)
      lines.push(
        `  owner's link   ${gateway.ownerLink}`,
        'The link makes the first owner, once and within a day (headgate users link makes another).',
      );
    if (keysFile !== null) lines.push(`They are also in ${keysFile}; ${afterMove}`);
  } else if (keysFile !== null) lines.push('', `The first keys are in ${keysFile}; ${afterMove}`);
  lines.push('', ...example(settings, gateway, keysFile));
  return lines.join('\n');
}

function example(settings: Settings, gateway: Gateway, keysFile: string | null): readonly string[] {
  if (!gateway.simulated) {
    return [
      'Store a provider (headgate providers --help), or try the gateway without one: start it with --simulated.',
    ];
  }
  const prefix = settings.headerPrefixes[0] ?? 'x-gateway-';
  const model = '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"Hello"}]}';
  const hint = keysFile === null && gateway.firstKeys === null;
  return [
    hint
      ? 'Try it (GATEWAY_KEY being a workspace key; headgate keys --help says how to make one):'
      : 'Try it:',
    `  curl ${base(gateway.address)}/v1/chat/completions \\`,
    "    -H 'content-type: application/json' \\",
    `    -H '${prefix}provider: @simulated' \\`,
    `    -H "${prefix}api-key: ${keyText(gateway, keysFile)}" \\`,
    `    -d '${model}'`,
  ];
}

const base = (address: string): string => (address.includes('://') ? address : `http://${address}`);

/** The key itself where it was just printed; later its place, as shell text that puts it in. */
function keyText(gateway: Gateway, keysFile: string | null): string {
  if (gateway.firstKeys !== null) return gateway.firstKeys.workspace_key;
  if (keysFile === null) return '$GATEWAY_KEY';
  const near = relative(process.cwd(), keysFile);
  const file = near.startsWith('..') ? keysFile : `./${near}`;
  // What the shell or JavaScript would read as its own cannot be pasted.
  if (/['"`$\\]/.test(file)) return `<workspace_key in ${file}>`;
  return `$(node -p "require('${file}').workspace_key")`;
}
