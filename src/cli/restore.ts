import type { Command } from 'commander';
import { openLedger } from '../ledger/sql.js';
import { restoreDatabase } from '../store/backup.js';
import { RefusedStart } from '../store/refused-start.js';
import { openStore } from '../store/store.js';
import { refusePostgres } from './backup.js';
import {
  inOneLine,
  masterKeyOf,
  type StoreContext,
  type StoredSettings,
  whileStopped,
} from './local-store.js';

/** `headgate restore`. */
export function register(program: Command, context: StoreContext): void {
  program
    .command('restore')
    .description('put a backup in the place of the records; the gateway must be stopped')
    .argument('<file>', 'what headgate backup has made')
    .option('--ledger <file>', 'put this ledger in its place as well')
    .action((file: string, { ledger }: { ledger?: string }) =>
      inOneLine(() => restore(context.settings(), file, ledger)),
    );
}

async function restore(settings: StoredSettings, file: string, ledger: string | undefined): Promise<void> {
  refusePostgres(settings, 'pg_restore --clean --if-exists --dbname="$DATABASE_URL" <file>');
  const { dataDir } = settings;
  const masterKey = masterKeyOf(settings);
  await whileStopped(dataDir, async () => {
    tell(
      file,
      await restoreDatabase(dataDir, 'headgate.db', file, async (folder) => {
        // Proves that the master key opens it, and brings an older one up to this program.
        await (await openStore({ dataDir: folder, masterKey })).close();
      }),
    );
    if (ledger === undefined) return;
    tell(ledger, await restoreDatabase(dataDir, 'ledger.db', ledger, proveLedger));
  });
}

async function proveLedger(folder: string): Promise<void> {
  try {
    await (await openLedger({ dataDir: folder })).close();
  } catch (error) {
    throw new RefusedStart((error as Error).message);
  }
}

function tell(file: string, kept: string | null): void {
  console.log(kept === null ? `${file} is restored.` : `${file} is restored. What was there before: ${kept}`);
}
