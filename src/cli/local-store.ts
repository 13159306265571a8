import { GatewayError } from '../common/core/errors.js';
import type { Settings } from '../common/settings/settings.js';
import { checkPrivacy } from '../control-plane/store/files/private-files.js';
import { RefusedStart } from '../control-plane/store/files/refused-start.js';
import {
  findMasterKey,
  loadMasterKey,
  type MasterKey,
  type MasterKeyPlaces,
} from '../control-plane/store/secrets/master-key.js';
import { openStore, type Store, type StoreOptions } from '../control-plane/store/store.js';
import { holdDataDir } from '../process/data-lock.js';
import { CliError } from './cli-error.js';
import { checkDataDir } from './commands/serve.js';
import { printable, writeErrorLine } from './output/output.js';

/** Settings of the place of the records and of the key that opens them. */
export type StoredSettings = Pick<
  Settings,
  'dataDir' | 'databaseUrl' | 'ledgerDatabaseUrl' | 'masterKey' | 'auditAnchors' | 'auditAnchorFile'
>;

/** What the commands that work on the store itself are given. */
export interface StoreContext {
  settings(): StoredSettings;
}

const placesOf = ({ masterKey, dataDir }: StoredSettings): MasterKeyPlaces => ({
  // Read again from its file, where it has one: the permissions of that file are checked there.
  ...(masterKey?.file ? { file: masterKey.file } : { env: masterKey?.reveal() }),
  dataDir,
});

/** The master key of a store that is there; unlike a start, this makes none. Throws RefusedStart. */
export function masterKeyOf(settings: StoredSettings, purpose: 'use' | 'rotate' = 'use'): MasterKey {
  const places = placesOf(settings);
  const found = findMasterKey(places);
  if (found === null) {
    throw new RefusedStart(
      `${settings.dataDir} has no master.key: put it back, or set HEADGATE_MASTER_KEY to the one the store was made with.`,
    );
  }
  return purpose === 'rotate' ? found : loadMasterKey(places);
}

/** Does `work`; what was foreseen to go wrong becomes one line for a person. */
export async function inOneLine<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RefusedStart || error instanceof GatewayError) throw new CliError(error.message);
    throw error;
  }
}

/** Does `work` while no gateway runs on the data directory; refuses while one does. */
export async function whileStopped(dataDir: string, work: () => Promise<void>): Promise<void> {
  await checkDataDir(dataDir);
  await inOneLine(async () =>
    checkPrivacy(dataDir, (message) => writeErrorLine(`headgate: ${printable(message)}`)),
  );
  const letGo = await holdDataDir(dataDir);
  try {
    await work();
  } finally {
    letGo();
  }
}

/** Opens the store that the settings name, which a gateway may be serving from, does `work` and closes it. */
export async function withStore(
  context: StoreContext,
  work: (store: Store, settings: StoredSettings) => Promise<void>,
): Promise<void> {
  const settings = context.settings();
  await inOneLine(async () => {
    const options: StoreOptions = { ...settings, masterKey: masterKeyOf(settings), existing: 'same' };
    const store = await openStore(options);
    try {
      await work(store, settings);
    } finally {
      await store.close();
    }
  });
}
