import { Command, CommanderError, Option } from 'commander';
import { adminTree } from '../../proto/tree.js';
import { rereading } from '../common/settings/reread.js';
import { loadSettings, type SettingKey, SettingsError, settingsTable } from '../common/settings/settings.js';
import { version } from '../process/node/version.js';
import { CliError } from './cli-error.js';
import type { CliContext } from './context.js';
import { printable, writeErrorLine } from './output/output.js';
import { hintsOfUsage, refusedSecretFlag } from './output/usage.js';
import { aboutLine, resourceName } from './verbs.js';

/** What every module of an administrative command exports. */
interface CommandModule {
  register(program: Command, context: CliContext): void;
}

interface LazyCommand {
  readonly summary: string;
  /** Settings that every command below it has flags for. */
  readonly settings: readonly SettingKey[];
  /** Does its help list those flags? */
  readonly shown?: true;
  load(): Promise<CommandModule>;
}

/** How a running gateway is reached. */
const connection: readonly SettingKey[] = ['host', 'port', 'grpcPort', 'dataDir', 'adminKey'];
/** Where the records are, and what opens them. */
const stored: readonly SettingKey[] = ['dataDir', 'databaseUrl', 'masterKey'];
const storedAndAnchors: readonly SettingKey[] = [...stored, 'auditAnchors', 'auditAnchorFile'];

/** Commands that bring a gRPC client or the store along: loaded only when one of them is what was typed. */
const lazyCommands: Readonly<Record<string, LazyCommand>> = {
  keys: {
    summary: 'create, list, rotate, revoke and recover keys',
    settings: [...connection, 'databaseUrl', 'masterKey'],
    load: () => import('./commands/keys.js'),
  },
  apply: {
    summary: 'create and update records as configuration files describe them',
    settings: connection,
    load: () => import('./commands/apply.js'),
  },
  export: {
    summary: 'print records as documents for apply',
    settings: connection,
    load: () => import('./commands/export.js'),
  },
  explain: {
    summary: 'explain where a request would go, without sending it',
    settings: connection,
    load: () => import('./commands/explain.js'),
  },
  replay: {
    summary: 'take recorded requests through a draft config, without sending them',
    settings: connection,
    load: () => import('./commands/replay.js'),
  },
  schema: {
    summary: 'print a JSON Schema of documents, for editors',
    settings: [],
    load: () => import('./commands/schema.js'),
  },
  cost: {
    summary: 'explain what a request cost, line by line',
    settings: connection,
    load: () => import('./commands/cost.js'),
  },
  prices: {
    summary: 'list, compare and update what models cost',
    settings: ['dataDir', 'prices'],
    load: () => import('./commands/prices.js'),
  },
  reconcile: {
    summary: "compare a provider's export of usage with the ledger",
    settings: connection,
    load: () => import('./commands/reconcile.js'),
  },
  audit: {
    summary: 'verify and export the audit log',
    settings: storedAndAnchors,
    shown: true,
    load: () => import('./commands/audit.js'),
  },
  backup: {
    summary: 'copy the records to a file, while the gateway serves',
    settings: stored,
    shown: true,
    load: () => import('./commands/backup.js'),
  },
  restore: {
    summary: 'put a backup in the place of the records',
    settings: storedAndAnchors,
    shown: true,
    load: () => import('./commands/restore.js'),
  },
  journal: {
    summary: 'hand over the records of a node that will not start again',
    settings: ['databaseUrl', 'ledgerDatabaseUrl'],
    shown: true,
    load: () => import('./commands/journal.js'),
  },
  selftest: {
    summary: 'call providers, real or simulated, and report what works',
    settings: ['host', 'port', 'dataDir'],
    load: () => import('./commands/selftest.js'),
  },
  plugin: {
    summary: 'make, test, check and measure a plugin of your own',
    settings: [],
    load: () => import('./commands/plugin.js'),
  },
  'master-key': {
    summary: 'change the key that encrypts the stored secrets',
    settings: stored,
    shown: true,
    load: () => import('./commands/master-key.js'),
  },
};

/** Resources with commands that the proto files do not declare. */
const friendlier: Readonly<Record<string, () => Promise<CommandModule>>> = {
  Alerts: () => import('./commands/alerts.js'),
  Analytics: () => import('./commands/analytics.js'),
  AuditLogs: () => import('./commands/audit-logs.js'),
  Configs: () => import('./commands/configs.js'),
  Guardrails: () => import('./commands/guardrails.js'),
  Logs: () => import('./commands/logs.js'),
  Mail: () => import('./commands/mail.js'),
  Providers: () => import('./commands/providers.js'),
  Users: () => import('./commands/users.js'),
  Workspaces: () => import('./commands/workspaces.js'),
};

/** A command for every service of the administration plane, by its name. */
function resourceCommands(): Record<string, LazyCommand> {
  const commands = [...adminTree().comments].map(([service, comment]): [string, LazyCommand] => [
    resourceName(service),
    {
      summary: aboutLine(comment),
      settings: connection,
      load: friendlier[service] ?? (async () => plain(await import('./resource.js'), service)),
    },
  ]);
  return Object.fromEntries(commands.sort(([a], [b]) => a.localeCompare(b)));
}

const plain = ({ registerResource }: typeof import('./resource.js'), service: string): CommandModule => ({
  register: (program, context) => registerResource(program, context, service),
});

/** Flags that are settings. A flag of the same name that a command defines for itself is its own. */
const settingOptions = new WeakSet<Option>();

/** Gives `command` the flags of the settings named, or of all; `hidden`: they work without filling its help. */
export function addSettings(command: Command, keys: readonly SettingKey[] | 'all', hidden = false): Command {
  add(
    command,
    new Option('--config <file>', 'YAML file of settings (default: headgate.yaml, if there)'),
    hidden,
  );
  for (const row of settingsTable) {
    if (keys !== 'all' && !(keys as readonly string[]).includes(row.key)) continue;
    const value = row.secret ? '<file>' : row.type === 'boolean' ? '[boolean]' : `<${placeholder(row.type)}>`;
    const words = `${row.doc} [${row.secret ? `${row.env}_FILE` : row.env}] (default: ${row.default})`;
    add(command, new Option(`${row.flag} ${value}`, words), hidden);
    if (row.secret) refuse(command, refusedSecretFlag(row.flag, row.env));
  }
  return command;
}

/** `uws | node` → `uws|node`; of a description in words, the first. */
const placeholder = (type: string): string =>
  type.includes('|') ? type.replaceAll(' ', '') : (type.split(' ')[0] ?? type);

/** Adds an option that only ever refuses, unless the command has one of that name. */
function refuse(command: Command, option: Option): void {
  if (!has(command, option)) command.addOption(option);
}

const has = (command: Command, option: Option): boolean =>
  command.options.some((taken) => taken.long === option.long);

function add(command: Command, option: Option, hidden: boolean): void {
  if (has(command, option)) return;
  settingOptions.add(option);
  command.addOption(option.hideHelp(hidden));
}

/** The settings flags given to `command` or to any command above it. */
function settingFlags(command: Command): Record<string, unknown> {
  const flags: Record<string, unknown> = {};
  for (let at: Command | null = command; at !== null; at = at.parent) {
    for (const option of at.options) {
      const name = option.attributeName();
      const value: unknown = at.getOptionValue(name);
      if (settingOptions.has(option) && value !== undefined) flags[name] ??= value;
    }
  }
  return flags;
}

/** The whole command line. `args`: what was typed, needed to know which command to load. */
export async function buildProgram(args: readonly string[]): Promise<Command> {
  const program = new Command('headgate');
  let running: Command = program;
  const context: CliContext = { settings: () => loadSettings({ flags: settingFlags(running) }) };

  program
    .description('A self-hosted model gateway with its administration plane.')
    .version(version(), '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help of a command')
    .showSuggestionAfterError()
    // Flags before the command's name belong to the program, those after it to the command: `simulate --port` is its own.
    .enablePositionalOptions()
    .configureOutput({ writeErr: (text) => writeErrorLine(text.trimEnd()) })
    .exitOverride()
    .hook('preAction', (_program, action) => {
      running = action;
    });
  addSettings(program, connection, true);

  const serve = program.command('serve').description('start the gateway');
  addSettings(serve, 'all').action(async () =>
    (await import('./commands/serve.js')).serve(context.settings(), rereading(settingFlags(running))),
  );

  await addLazy(program, context, lazyCommands, args);

  program
    .command('simulate')
    .description('start a simulated provider that answers, and fails, as asked')
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on; 0 takes a free one', '8900')
    .action(async (options: { host: string; port: string }) =>
      (await import('./commands/simulate.js')).simulate(options.host, options.port),
    );

  const doctor = program.command('doctor').description('check whether this machine can run the gateway');
  doctor.option('--json', 'print the findings as JSON');
  addSettings(doctor, 'all', true).action(async (options: { json?: boolean }) =>
    (await import('./commands/doctor.js')).doctor(() => context.settings(), options.json === true),
  );

  program
    .command('completion')
    .description('print a script that completes commands and flags in a shell: bash or zsh')
    .argument('<shell>', 'bash or zsh')
    .action(async (shell: string) => {
      const names = [...Object.keys(lazyCommands), ...Object.keys(resourceCommands())];
      (await import('./commands/completion.js')).completion(shell, await buildProgram(names));
    });

  program.commandsGroup('Resources:');
  await addLazy(program, context, resourceCommands(), args);
  hintsOfUsage(program);
  return program;
}

/** Of commands that were not typed their names are enough. */
async function addLazy(
  program: Command,
  context: CliContext,
  commands: Readonly<Record<string, LazyCommand>>,
  args: readonly string[],
): Promise<void> {
  for (const [name, { summary, settings, shown, load }] of Object.entries(commands)) {
    if (!args.includes(name)) {
      program.command(name).description(summary);
      continue;
    }
    (await load()).register(program, context);
    const command = program.commands.find((made) => made.name() === name);
    if (command !== undefined) addEverywhere(command, settings, shown !== true);
  }
}

/** Lets `headgate keys list --grpc-port 1` work as expected, wherever in the tree `list` is. */
function addEverywhere(command: Command, settings: readonly SettingKey[], hidden: boolean): void {
  addSettings(command, settings, hidden);
  for (const child of command.commands) addEverywhere(child, settings, hidden);
}

/** Runs the command line and answers the exit code. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    const program = await buildProgram(args);
    if (args.length === 0) {
      program.outputHelp();
      return 2;
    }
    await program.parseAsync([...args], { from: 'user' });
    return typeof process.exitCode === 'number' ? process.exitCode : 0;
  } catch (error) {
    return report(error);
  }
}

function report(error: unknown): number {
  // Commander has printed what was wrong; wrong usage is 2, as in every shell.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof SettingsError) {
    for (const problem of error.problems) writeErrorLine(`headgate: ${printable(problem)}`);
    return 2;
  }
  if (error instanceof CliError) {
    writeErrorLine(`headgate: ${printable(error.message)}`);
    for (const line of error.lines) writeErrorLine(printable(line));
    return error.exitCode;
  }
  writeErrorLine(
    error instanceof Error ? `headgate: ${error.stack ?? error.message}` : `headgate: ${String(error)}`,
  );
  return 1;
}
