import { join } from 'node:path';
import type { Logger } from '../../common/plugin-host/plugin.js';
import type { KnownRecords } from '../../control-plane/store/known/known-records.js';
import type { MasterKey } from '../../control-plane/store/secrets/master-key.js';
import type { Store, StoreOptions } from '../../control-plane/store/store.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';

export interface Records {
  readonly store: Store;
  /** What is known of it while it is away; null: it is SQLite, and does not go away. */
  readonly known: KnownRecords | null;
}

/** The records of the administration plane. */
export const storePart: ProcessPart<Base, Records> = {
  name: 'store',
  async start({ settings, log }) {
    const { dataDir, databaseUrl, role, masterKey: given } = settings;
    const [{ loadMasterKey }, { openStore }] = await Promise.all([
      import('../../control-plane/store/secrets/master-key.js'),
      import('../../control-plane/store/store.js'),
    ]);
    const masterKey = loadMasterKey({
      // Read again from its file, if it has one, which checks the file's permissions.
      ...(given?.file ? { file: given.file } : { env: given?.reveal() }),
      dataDir,
    });
    const options: StoreOptions = {
      dataDir,
      databaseUrl,
      masterKey,
      connections: settings.databaseConnections,
      ...(role === 'data' && { existing: 'usable' }),
    };
    if (databaseUrl === null) return { store: await openStore(options), known: null };
    const known = await openKnown(dataDir, masterKey, settings.staleMaxS * 1000, log);
    const store = await openStore({
      ...options,
      known: known.keys,
      onState(state) {
        if (state === 'up') log.info({}, 'PostgreSQL answers again.');
        else if (state === 'read-only')
          log.warn({}, 'PostgreSQL takes no changes: the administration answers 503.');
        else log.warn({}, 'PostgreSQL does not answer: this node serves what it knows.');
      },
      onProblem: (error) => log.error({ err: error }, 'PostgreSQL is back and cannot be used'),
    });
    if (store.state === 'away') {
      log.warn(
        { records: known.size },
        'PostgreSQL does not answer: this node serves what it knew when it was stopped.',
      );
    }
    await known.begin({ pepper: store.pepper, audit: store.auditKey });
    return { store, known };
  },
  async stop({ store, known }) {
    await store.close();
    known?.close();
  },
};

async function openKnown(
  dataDir: string,
  masterKey: MasterKey,
  staleMs: number,
  log: Logger,
): Promise<KnownRecords> {
  const { KnownRecords } = await import('../../control-plane/store/known/known-records.js');
  return new KnownRecords({
    path: join(dataDir, 'known.sealed'),
    masterKey,
    staleMs,
    onProblem: (error) =>
      log.error({ err: error }, 'known.sealed: this node could not start without PostgreSQL'),
  });
}
