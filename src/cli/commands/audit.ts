import { pipeline } from 'node:stream/promises';
import { type Command, Option } from 'commander';
import { type AuditFileFormat, auditFile } from '../../control-plane/administration/audit/audit-file.js';
import type { AuditAnchor } from '../../control-plane/store/files/audit-anchors.js';
import type { AuditVerdict, Store } from '../../control-plane/store/store.js';
import { acceptPresentEnds, readAnchors } from '../audit-anchors.js';
import { CliError } from '../cli-error.js';
import { type StoreContext, type StoredSettings, withStore } from '../local-store.js';
import { fileText, writeJson, writeLine } from '../output/output.js';

interface VerifyOptions {
  readonly organisation?: string;
  readonly anchors?: string;
  readonly json?: boolean;
}

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
  anchor: 'is not the one that was anchored in its place: the log was written anew',
  head: 'is the last, and not what the master key vouches for: the end was written anew',
};

/** `headgate audit`. */
export function register(program: Command, context: StoreContext): void {
  const audit = program.command('audit').description('verify and export the audit log');

  audit
    .command('verify')
    .description('check that no row was edited, deleted, moved or cut off; names the first bad one')
    .option('--organisation <id>', 'of this organisation alone')
    .option(
      '--anchors <file>',
      'compare with the anchors in this file: a copy kept elsewhere, or lines of the process log (default: the file of audit_anchor_file)',
    )
    .option('--json', 'print JSON')
    .action((options: VerifyOptions) =>
      withStore(context, (store, settings) => verify(store, settings, options)),
    );

  audit
    .command('accept')
    .description(
      'record that the log was set back on purpose, after the database was restored by its own programs',
    )
    .option('--yes', 'do it; without this, only show which rows were anchored and are gone')
    .action(({ yes }: { yes?: boolean }) =>
      withStore(context, (store, settings) => accept(store, settings, yes === true)),
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

async function verify(store: Store, settings: StoredSettings, options: VerifyOptions): Promise<void> {
  const { organisation: only, json } = options;
  // Read before the log: rows that are written meanwhile are not missed.
  const history = await readAnchors(store, settings, options.anchors);
  const organisations = only === undefined ? await store.audit.organisations() : [await known(store, only)];
  let bad = 0;
  for (const organisation of organisations) {
    const anchors = history.of(organisation);
    const verdict = await store.audit.verify(organisation, undefined, anchors);
    if (!verdict.ok) bad += 1;
    const anchored = anchors.at(-1);
    if (json) writeJson({ organisation, ...verdict, anchored_rows: anchored?.seq ?? 0 });
    else if (verdict.ok) {
      writeLine(`Organisation ${organisation}: ${verdict.rows} rows, all as written${upTo(anchored)}.`);
    } else writeLine(`Organisation ${organisation}: row ${verdict.seq} ${what[verdict.reason]}.`);
  }
  if (bad > 0) throw new CliError('The audit log is not as it was written.');
}

const upTo = (anchor: AuditAnchor | undefined): string =>
  anchor === undefined
    ? '; no anchor confirms its end'
    : `; anchored up to row ${anchor.seq} at ${anchor.time}`;

async function accept(store: Store, settings: StoredSettings, isConfirmed: boolean): Promise<void> {
  if (!settings.auditAnchors.includes('file')) {
    throw new CliError('audit_anchors does not name file: there is no record to be set back.', 2);
  }
  const history = await readAnchors(store, settings, undefined);
  for (const { organisation, seq } of await store.audit.ends()) {
    const verdict = await store.audit.verify(organisation);
    if (!verdict.ok) {
      throw new CliError(
        `Organisation ${organisation}: row ${verdict.seq} ${what[verdict.reason]}. Only an intact log can be accepted.`,
      );
    }
    const anchored = history.of(organisation).at(-1)?.seq ?? 0;
    writeLine(
      anchored > seq
        ? `Organisation ${organisation}: rows ${seq + 1} to ${anchored} were anchored and are gone.`
        : `Organisation ${organisation}: no anchored row is missing from the end.`,
    );
  }
  if (!isConfirmed) throw new CliError('Nothing was recorded: repeat with --yes to accept this.', 2);
  await acceptPresentEnds(store.audit, settings);
  writeLine('Accepted. Restart the gateways of this data directory.');
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
    await pipeline(auditFile(rows, options.format), shownInTerminal, process.stdout, { end: false });
  } catch (error) {
    // The reader has closed the pipe: `| head`.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
}

/** The organisation that is named, or the only one. */
export async function organisationOf(store: Store, named: string | undefined): Promise<string> {
  if (named !== undefined) return known(store, named);
  const [only, ...others] = await store.audit.organisations();
  if (only !== undefined && others.length === 0) return only;
  throw new CliError('Name the organisation with --organisation: there are several.', 2);
}

async function* shownInTerminal(
  pieces: AsyncIterable<string | Uint8Array>,
): AsyncGenerator<string | Uint8Array> {
  const shown = fileText();
  for await (const piece of pieces) yield shown(piece);
}
