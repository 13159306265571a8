import { join } from 'node:path';
import type { Command } from 'commander';
import { SqliteConnection } from '../../control-plane/database/sqlite.js';
import { feedbackTriggers } from '../../control-plane/ledger/feedback/tables.js';
import { openLedger } from '../../control-plane/ledger/sql.js';
import { upgradeReport } from '../../control-plane/ledger/upgrade-report.js';
import { restoreDatabase } from '../../control-plane/store/files/backup.js';
import { RefusedStart } from '../../control-plane/store/files/refused-start.js';
import type { MasterKey } from '../../control-plane/store/secrets/master-key.js';
import { checkSchema, openStore, type Store } from '../../control-plane/store/store.js';
import { acceptPresentEnds, readAnchors } from '../audit-anchors.js';
import { CliError } from '../cli-error.js';
import {
  inOneLine,
  masterKeyOf,
  type StoreContext,
  type StoredSettings,
  whileStopped,
} from '../local-store.js';
import { writeErrorLine, writeLine } from '../output/output.js';
import { refusePostgres } from './backup.js';

interface RestoreOptions {
  readonly ledger?: string;
  readonly acceptUnverified?: boolean;
}

/** `headgate restore`. */
export function register(program: Command, context: StoreContext): void {
  program
    .command('restore')
    .description('put a backup in the place of the records; the gateway must be stopped')
    .argument('<file>', 'what headgate backup has made')
    .option('--ledger <file>', 'put this ledger in its place as well')
    .option('--accept-unverified', 'restore it although its audit log cannot be shown to be complete')
    .action((file: string, options: RestoreOptions) =>
      inOneLine(() => restore(context.settings(), file, options)),
    );
}

async function restore(settings: StoredSettings, file: string, options: RestoreOptions): Promise<void> {
  refusePostgres(settings, 'pg_restore --clean --if-exists --dbname="$DATABASE_URL" <file>');
  const { dataDir } = settings;
  const { ledger, acceptUnverified = false } = options;
  const masterKey = masterKeyOf(settings);
  await whileStopped(dataDir, async () => {
    report(
      file,
      await restoreDatabase(dataDir, 'headgate.db', file, (folder) =>
        proveRecords(folder, file, masterKey, settings, acceptUnverified),
      ),
    );
    await recordEnds(settings, masterKey);
    if (ledger === undefined) return;
    report(
      ledger,
      await restoreDatabase(dataDir, 'ledger.db', ledger, (folder) => proveLedger(folder, ledger)),
    );
  });
}

/** Proves that this is what this program made and the master key opens, and brings an older one up to this program. */
async function proveRecords(
  folder: string,
  file: string,
  masterKey: MasterKey,
  settings: StoredSettings,
  acceptUnverified: boolean,
): Promise<void> {
  // Before it is opened as a store: opening it could run what was added to it.
  await checkSchema(folder, file);
  const store = await openStore({ dataDir: folder, masterKey }).catch((error: unknown) => {
    // The file in the folder is a copy that is removed again.
    if (!(error instanceof RefusedStart)) throw error;
    throw new RefusedStart(error.message.replaceAll(join(folder, 'headgate.db'), file));
  });
  try {
    const doubts = await doubtsOf(store, settings);
    if (doubts.length === 0) return;
    if (!acceptUnverified) {
      throw new CliError(
        `${file}: ${doubts.join(' ')} Nothing was restored. Restore another backup, or this one with --accept-unverified.`,
      );
    }
    for (const doubt of doubts) writeErrorLine(`Accepted: ${doubt}`);
  } finally {
    await store.close();
  }
}

/** Why the audit log of a backup may be incomplete, as sentences. */
async function doubtsOf(store: Store, settings: StoredSettings): Promise<readonly string[]> {
  const doubts: string[] = [];
  const manifest = await store.takeBackupManifest();
  if (manifest === 'altered') {
    doubts.push(
      'The audit log does not end where it ended when the backup was made: its last rows were removed.',
    );
  }
  if (manifest === 'missing') {
    doubts.push(
      'It has no record of where its audit log ended: it was made by an older version, or altered.',
    );
  }
  const history = await readAnchors(store, settings, undefined);
  for (const { organisation, seq } of await store.audit.ends()) {
    // A backup is older than the newest anchors; those before its end must agree with it.
    const anchors = history.of(organisation).filter((anchor) => anchor.seq <= seq);
    const verdict = await store.audit.verify(organisation, undefined, anchors);
    if (verdict.ok) continue;
    doubts.push(
      `The audit log of organisation ${organisation} is not as it was written from row ${verdict.seq} on (${verdict.reason}).`,
    );
  }
  const intact = new Set((await store.audit.ends()).map(({ organisation }) => organisation));
  for (const organisation of await store.audit.organisations()) {
    if (!intact.has(organisation))
      doubts.push(`The end of the audit log of organisation ${organisation} was altered.`);
  }
  return doubts;
}

async function recordEnds(settings: StoredSettings, masterKey: MasterKey): Promise<void> {
  const store = await openStore({ dataDir: settings.dataDir, masterKey });
  try {
    for (const { organisation, rows, lost } of await acceptPresentEnds(store.audit, settings)) {
      if (lost === 0) continue;
      writeLine(
        `Organisation ${organisation}: the audit log ends at row ${rows} again; ${lost} later rows are in the database that was there before.`,
      );
    }
  } finally {
    await store.close();
  }
}

async function proveLedger(folder: string, file: string): Promise<void> {
  const bare = await SqliteConnection.open(`${folder}/ledger.db`, ['query_only = ON']);
  try {
    const found = await bare.all<{ type: string; name: string; sql: string }>(
      "SELECT type, name, sql FROM sqlite_master WHERE type IN ('trigger', 'view')",
    );
    const added = found.find(({ sql }) => !feedbackTriggers.includes(sql));
    if (added !== undefined) {
      throw new RefusedStart(
        `${file} was altered: it has the ${added.type} ${added.name}, which this program never makes. Restore another backup.`,
      );
    }
  } finally {
    await bare.close();
  }
  try {
    const onUpgrade = upgradeReport({ info: (_, message) => writeErrorLine(message) });
    await (await openLedger({ dataDir: folder, onUpgrade })).close();
  } catch (error) {
    throw new RefusedStart((error as Error).message);
  }
}

function report(file: string, kept: string | null): void {
  writeLine(kept === null ? `${file} is restored.` : `${file} is restored. What was there before: ${kept}`);
}
