import type { Settings } from '../config/settings.js';
import { GatewayError } from '../core/errors.js';
import { holdDataDir } from '../process/data-lock.js';
import { findMasterKey, loadMasterKey, type MasterKey, type MasterKeyPlaces } from '../store/master-key.js';
import { RefusedStart } from '../store/refused-start.js';
import { openStore, type Store, type StoreOptions } from '../store/store.js';
import { CliError } from './cli-error.js';
import { checkDataDir } from './serve.js';

/** Settings that say where the records are, and what opens them. */
export type StoredSettings = Pick<Settings, 'dataDir' | 'databaseUrl' | 'masterKey'>;

/** What the commands that work on the store itself are given. */
export interface StoreContext {
  settings(): StoredSettings;
}

const placesOf = ({ masterKey, dataDir }: StoredSettings): MasterKeyPlaces => ({
  // Read again from its file, where it has one: whoever may read that file is checked there.
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
  const letGo = await holdDataDir(dataDir);
  try {
    await work();
  } finally {
    letGo();
  }
}

/** Opens the store that the settings name, which a gateway may be serving from, does `work` and closes it. */
export async function withStore(context: StoreContext, work: (store: Store) => Promise<void>): Promise<void> {
  const settings = context.settings();
  await inOneLine(async () => {
    const options: StoreOptions = { ...settings, masterKey: masterKeyOf(settings), existing: true };
    const store = await openStore(options);
    try {
      await work(store);
    } finally {
      await store.close();
    }
  });
}
