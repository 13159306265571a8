import type { Store } from '../../control-plane/store/store.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';

export interface Records {
  readonly store: Store;
}

/** The records of the administration plane. */
export const storePart: ProcessPart<Base, Records> = {
  name: 'store',
  async start({ settings: { dataDir, databaseUrl, role, masterKey: given } }) {
    const [{ loadMasterKey }, { openStore }] = await Promise.all([
      import('../../control-plane/store/secrets/master-key.js'),
      import('../../control-plane/store/store.js'),
    ]);
    const masterKey = loadMasterKey({
      // Read again from its file, where it has one: that checks the file's permissions.
      ...(given?.file ? { file: given.file } : { env: given?.reveal() }),
      dataDir,
    });
    return {
      store: await openStore({
        dataDir,
        databaseUrl,
        masterKey,
        ...(role === 'data' && { existing: 'usable' }),
      }),
    };
  },
  stop: ({ store }) => store.close(),
};
