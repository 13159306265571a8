import { pipeline } from 'node:stream/promises';
import { type Command, Option } from 'commander';
import { type AuditFileFormat, auditFile } from '../admin/audit-file.js';
import type { AuditVerdict, Store } from '../store/store.js';
import { CliError } from './cli-error.js';
import { type StoreContext, withStore } from './local-store.js';

interface ExportOptions {
  readonly format: AuditFileFormat;
  readonly organisation?: string;
  readonly from?: string;
  readonly to?: string;
}

const what: Readonly<Record<Exclude<AuditVerdict, { ok: true }>['reason'], string>> = {
  edited: 'was edited',
  deleted: 'is gone',
  reordered: 'is not in its place',
  cut: 'and all after it are gone',
  added: 'was added behind the end',
  head: 'is the last, and not what the master key vouches for: the end was written anew',
};

/** `headgate audit`. */
export function register(program: Command, context: StoreContext): void {
  const audit = program.command('audit').description('verify and export the audit log');

  audit
    .command('verify')
    .description('check that no row was edited, deleted, moved or cut off; names the first bad one')
    .option('--organisation <id>', 'of this organisation alone')
    .option('--json', 'print JSON')
    .action((options: { organisation?: string; json?: boolean }) =>
      withStore(context, (store) => verify(store, options.organisation, options.json === true)),
    );

  audit
    .command('export')
    .description('print the audit log, oldest row first')
    .addOption(new Option('--format <format>', 'form of a row').choices(['jsonl', 'csv']).default('jsonl'))
    .option('--organisation <id>', 'of this organisation; needed where there are several')
    .option('--from <time>', 'rows from this time on')
    .option('--to <time>', 'rows before this time')
    .action((options: ExportOptions) => withStore(context, (store) => print(store, options)));
}

async function verify(store: Store, only: string | undefined, json: boolean): Promise<void> {
  const organisations = only === undefined ? await store.audit.organisations() : [await known(store, only)];
  let bad = 0;
  for (const organisation of organisations) {
    const verdict = await store.audit.verify(organisation);
    if (!verdict.ok) bad += 1;
    if (json) console.log(JSON.stringify({ organisation, ...verdict }));
    else if (verdict.ok) console.log(`Organisation ${organisation}: ${verdict.rows} rows, all as written.`);
    else console.log(`Organisation ${organisation}: row ${verdict.seq} ${what[verdict.reason]}.`);
  }
  if (bad > 0) throw new CliError('The audit log is not as it was written.');
}

async function known(store: Store, organisation: string): Promise<string> {
  if ((await store.audit.organisations()).includes(organisation)) return organisation;
  throw new CliError(`There is no organisation ${organisation}.`, 2);
}

function timeOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = Date.parse(text);
  if (Number.isNaN(time))
    throw new CliError(`${flag} ${text}: give a date (2030-01-31) or a time (2030-01-31T12:00:00Z).`, 2);
  return time;
}

async function print(store: Store, options: ExportOptions): Promise<void> {
  const from = timeOf('--from', options.from);
  const end = timeOf('--to', options.to);
  const filter = { ...(from !== undefined && { from }), ...(end !== undefined && { to: end - 1 }) };
  const rows = store.audit.export(await organisationOf(store, options.organisation), filter);
  try {
    await pipeline(auditFile(rows, options.format), process.stdout, { end: false });
  } catch (error) {
    // Who reads has seen enough: `| head`.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
}

async function organisationOf(store: Store, named: string | undefined): Promise<string> {
  if (named !== undefined) return known(store, named);
  const [only, ...others] = await store.audit.organisations();
  if (only !== undefined && others.length === 0) return only;
  throw new CliError('Name the organisation with --organisation: there are several.', 2);
}
