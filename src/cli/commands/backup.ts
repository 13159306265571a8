import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { copyDatabase } from '../../control-plane/store/files/backup.js';
import { writeBackupManifest } from '../../control-plane/store/store.js';
import { CliError } from '../cli-error.js';
import { inOneLine, masterKeyOf, type StoreContext, type StoredSettings } from '../local-store.js';
import { writeErrorLine, writeLine } from '../output/output.js';

/** What PostgreSQL's own programs do better, in the words to be typed. */
export function refusePostgres({ databaseUrl }: StoredSettings, command: string): void {
  if (databaseUrl === null) return;
  throw new CliError(`The records are in PostgreSQL, which has its own program for this: ${command}`, 2);
}

function refuseLedger({ ledgerDatabaseUrl }: StoredSettings): void {
  if (ledgerDatabaseUrl === null) return;
  throw new CliError(
    'The ledger is in PostgreSQL, which has its own program for this: pg_dump --format=custom --file=<file> "$LEDGER_DATABASE_URL"',
    2,
  );
}

/** `headgate backup`. */
export function register(program: Command, context: StoreContext): void {
  program
    .command('backup')
    .description('copy the records to a file, while the gateway serves')
    .argument('<file>', 'file to be made')
    .option('--ledger <file>', 'copy the ledger (rows of requests, without their bodies) to a file as well')
    .action((file: string, { ledger }: { ledger?: string }) =>
      inOneLine(async () => {
        const settings = context.settings();
        refusePostgres(settings, 'pg_dump --format=custom --file=<file> "$DATABASE_URL"');
        if (ledger !== undefined) refuseLedger(settings);
        const source = join(settings.dataDir, 'headgate.db');
        await copyDatabase(source, file, (folder) => writeBackupManifest(folder, masterKeyOf(settings)));
        writeLine(`Records and audit log: ${resolve(file)}`);
        if (ledger !== undefined) {
          await copyDatabase(join(settings.dataDir, 'ledger.db'), ledger);
          writeLine(`Ledger: ${resolve(ledger)}`);
        }
        writeErrorLine(
          `${ledger === undefined ? 'It does not hold' : 'Neither holds'} the master key, without which stored credentials cannot be read again.`,
        );
      }),
    );
}
