import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { copyDatabase } from '../store/backup.js';
import { CliError } from './cli-error.js';
import { inOneLine, type StoreContext, type StoredSettings } from './local-store.js';

/** What PostgreSQL's own programs do better, in the words to be typed. */
export function refusePostgres({ databaseUrl }: StoredSettings, command: string): void {
  if (databaseUrl === null) return;
  throw new CliError(`The records are in PostgreSQL, which has its own program for this: ${command}`, 2);
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
        await copyDatabase(join(settings.dataDir, 'headgate.db'), file);
        console.log(`Records and audit log: ${resolve(file)}`);
        if (ledger !== undefined) {
          await copyDatabase(join(settings.dataDir, 'ledger.db'), ledger);
          console.log(`Ledger: ${resolve(ledger)}`);
        }
        console.error('Neither holds the master key, without which stored credentials cannot be read again.');
      }),
    );
}
