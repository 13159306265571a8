import { closeSync, existsSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { stringify } from 'yaml';
import { AdminCallError, type AdminClient, type AppliedDocuments } from '../../client/index.js';
import { callerVariable } from '../../common/settings/environment/caller-environment.js';
import { CliError } from '../cli-error.js';
import {
  faultsError,
  type PlacedFault,
  readDocuments,
  type SourceDocument,
  secretsNamed,
} from '../input/documents.js';
import { readInput } from '../input/file-input.js';
import {
  type Colour,
  jsonText,
  writeColoured,
  writeErrorLine,
  writeJson,
  writeLine,
} from '../output/output.js';
import { type SessionContext, type SessionOptions, withAdmin, withSession } from '../session.js';

interface ApplyOptions extends SessionOptions {
  readonly file: readonly string[];
  readonly set: string;
  readonly dryRun?: boolean;
  readonly prune?: boolean;
  readonly strictSecrets?: boolean;
  readonly secret?: Readonly<Record<string, string>>;
  readonly keysOut?: string;
  readonly detailedExitcode?: boolean;
  readonly etag?: string | undefined;
}

type Applied = AppliedDocuments['data'][number];

/** `headgate apply`. */
export function register(program: Command, context: SessionContext): void {
  const command = program
    .command('apply')
    .description('create and update records as configuration files describe them')
    .requiredOption(
      '-f, --file <path>',
      'file or folder of YAML or JSON documents, repeatable; - is standard input (required)',
      (path: string, before: readonly string[] = []) => [...before, path],
    )
    .option('--dry-run', 'print what would change, and change nothing')
    .option(
      '--prune',
      'delete records that an earlier apply of this set created and that no document describes',
    )
    .option('--set <name>', 'name of the set that consists of these documents', 'default')
    .option(
      '--secret <name=file>',
      'value of {env: NAME}: NAME=@file, or NAME=- for standard input',
      secretFlag,
    )
    .option('--strict-secrets', 'refuse secrets whose variable is not set, even where one is stored')
    .option(
      '--keys-out <file>',
      'new file for the secrets of new keys (mode 0600); unless given, they are printed',
    )
    .option('--etag <etag>', 'etag of a dry run: refused if the records have changed since')
    .option('--detailed-exitcode', 'exit with 2 if something changes, 0 if nothing does, 1 on errors');
  withSession(command, { workspace: 'workspace of documents that do not name one' }).action(
    (options: ApplyOptions) => apply(context, options),
  );
}

function secretFlag(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [, name, from] = /^([^=]+)=(-|@.+)$/s.exec(text) ?? [];
  if (name === undefined || from === undefined)
    throw new InvalidArgumentError(
      'Write NAME=@file, or NAME=- for standard input: a value itself would be seen by others.',
    );
  return { ...before, [name]: from };
}

async function apply(context: SessionContext, options: ApplyOptions): Promise<void> {
  const { secret = {}, file } = options;
  const documents = readDocuments(file);
  const secrets = secretsOf(documents, secret, file.includes('-'));
  const keysOut = options.dryRun === true ? undefined : options.keysOut;
  const isThere = keysOut !== undefined && existsSync(keysOut);
  const keys = keysOut === undefined || isThere ? null : new KeysFile(keysOut);
  try {
    await withAdmin(
      context,
      options,
      async (client) => {
        const etag = isThere ? await planWithoutKeys(client, documents, options, secrets) : options.etag;
        const applied = await called(client, documents, { ...options, etag }, secrets);
        keys?.write(applied.data);
        noticeKept(documents, applied.data);
        print(applied, options, keys !== null);
        const isChanged = applied.created + applied.updated + applied.deleted > 0;
        if (options.detailedExitcode === true && isChanged) process.exitCode = 2;
      },
      { timeoutMs: 130_000 },
    );
  } catch (error) {
    // 2 is for changes there.
    if (error instanceof CliError && options.detailedExitcode === true)
      throw new CliError(error.message, 1, error.lines);
    throw error;
  } finally {
    keys?.close();
  }
}

/** Values of the secrets that the documents name. Those without one are refused by the gateway, each in its place. */
function secretsOf(
  documents: readonly SourceDocument[],
  flags: Readonly<Record<string, string>>,
  isInputTaken: boolean,
): Record<string, string> {
  const names = secretsNamed(documents.map(({ json }) => json));
  const fromInput = [...names].filter((name) => name === '-' || flags[name] === '-');
  if (fromInput.length > 0 && isInputTaken)
    throw new CliError(
      'Standard input contains the documents: give secrets by environment variables or files.',
      2,
    );
  if (fromInput.length > 1)
    throw new CliError(
      `Standard input can only be the value of one secret, not of ${fromInput.join(' and ')}: use variables or files.`,
      2,
    );
  const found: Record<string, string> = {};
  for (const name of names) {
    const from = name === '-' ? '-' : flags[name];
    const value =
      from === undefined ? callerVariable(name) : readInput(from.replace(/^@/, '')).replace(/\r?\n$/, '');
    if (value !== undefined && value !== '') found[name] = value;
  }
  return found;
}

async function called(
  client: AdminClient,
  documents: readonly SourceDocument[],
  options: ApplyOptions,
  secrets: Record<string, string>,
): Promise<AppliedDocuments> {
  try {
    return await client.api.documents.applyDocuments({
      documents: documents.map(({ json }) => json as never),
      set: options.set,
      dry_run: options.dryRun === true,
      prune: options.prune === true,
      secrets,
      strict_secrets: options.strictSecrets === true,
      ...(options.workspace !== undefined && { workspace_id: options.workspace }),
      ...(options.etag !== undefined && { etag: options.etag }),
    });
  } catch (error) {
    if (!(error instanceof AdminCallError) || error.faults.length === 0) throw error;
    throw faultsError(error.faults.map((fault) => placed(documents, fault)));
  }
}

/** The etag of what would be done, which must not make a key: the file of `--keys-out` has others already. */
async function planWithoutKeys(
  client: AdminClient,
  documents: readonly SourceDocument[],
  options: ApplyOptions,
  secrets: Record<string, string>,
): Promise<string> {
  const plan = await called(client, documents, { ...options, dryRun: true }, secrets);
  if (plan.data.some(({ kind, action }) => kind === 'ApiKey' && action === 'create'))
    throw new CliError(
      `--keys-out: ${options.keysOut} is there already, and a key would be made: name another file. Nothing was changed.`,
      2,
    );
  return plan.etag;
}

/** `documents[3].spec.name` → where that is in the files. */
function placed(
  documents: readonly SourceDocument[],
  { path, problem }: { readonly path: string; readonly problem: string },
): PlacedFault {
  const [, at, inner = ''] = /^documents\[(\d+)\]\.?(.*)$/s.exec(path) ?? [];
  const document = documents[Number(at ?? -1)];
  const words = problem.replace(
    /documents\[(\d+)\]/g,
    (_, other: string) => documents[Number(other)]?.place('') ?? '',
  );
  if (document === undefined) return { place: path || '…', problem: words };
  return { place: document.place(inner), problem: inner === '' ? words : `${inner} ${words}` };
}

/** A line on standard error for each secret that has no value and stays as it is stored. */
function noticeKept(documents: readonly SourceDocument[], applied: readonly Applied[]): void {
  for (const { index, kept_secrets } of applied)
    for (const { path, name } of kept_secrets ?? []) {
      const what = name === '-' ? 'standard input is empty' : `the variable ${name} is not set`;
      writeErrorLine(`${documents[index]?.place(path)}: ${path} stays as it is stored: ${what}.`);
    }
}

/** A file for the texts of keys: made before anything is applied, so that none is lost. */
class KeysFile {
  readonly #file: number;
  #isUsed = false;

  constructor(readonly path: string) {
    try {
      this.#file = openSync(path, 'wx', 0o600);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const why = code === 'EEXIST' ? 'exists already' : `cannot be written (${code})`;
      throw new CliError(`--keys-out: ${path} ${why}. Nothing was changed: name a new file.`, 2);
    }
  }

  write(applied: readonly Applied[]): void {
    const made = applied.filter(({ key }) => key);
    if (made.length === 0) return;
    this.#isUsed = true;
    const rows = made.map(({ name, workspace, id, key }) => ({
      name,
      workspace: workspace ?? null,
      id,
      key,
    }));
    writeSync(this.#file, stringify(rows));
  }

  close(): void {
    closeSync(this.#file);
    if (!this.#isUsed) unlinkSync(this.path);
  }
}

const longest = 200;

function short(value: unknown): string {
  const text = jsonText(value);
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

const signs = { create: '+', update: '~', delete: '-', unchanged: ' ' } as const;
const colours: Readonly<Record<string, Colour>> = { '+': 'green', '~': 'yellow', '-': 'red' };

function print(applied: AppliedDocuments, options: ApplyOptions, keysWritten: boolean): void {
  const shown = keysWritten ? applied.data.map(({ key: _, ...rest }) => rest) : applied.data;
  if (options.json === true) return writeJson({ ...applied, data: shown });
  for (const { action, kind, name, workspace, changes } of applied.data) {
    const sign = signs[action as keyof typeof signs] ?? ' ';
    if (sign === ' ') continue;
    writeColoured(`${sign} ${kind} ${workspace ? `${workspace}/` : ''}${name}`, colours[sign]);
    for (const change of changes) {
      if (change.secret) writeColoured(`    ~ ${change.path}: (changed)`, 'yellow');
      if (change.before !== undefined && change.before !== null)
        writeColoured(`    - ${change.path}: ${short(change.before)}`, 'red');
      if (change.after !== undefined && change.after !== null)
        writeColoured(`    + ${change.path}: ${short(change.after)}`, 'green');
    }
  }
  const { created, updated, deleted, unchanged } = applied;
  const counts = `${created} to create, ${updated} to change, ${deleted} to delete, ${unchanged} unchanged`;
  if (applied.dry_run)
    writeLine(`Plan: ${counts}. Nothing was changed; --etag ${applied.etag} applies exactly this plan.`);
  else
    writeLine(
      `Applied: ${counts.replaceAll('to create', 'created').replaceAll('to change', 'changed').replaceAll('to delete', 'deleted')}.`,
    );
  if (keysWritten) return;
  const keys = applied.data.filter(({ key }) => key);
  for (const { name, workspace, key } of keys)
    writeLine(`${workspace ? `${workspace}/` : ''}${name}: ${key}`);
  if (keys.length > 0) writeErrorLine('Keep the keys: they are not shown again.');
}
