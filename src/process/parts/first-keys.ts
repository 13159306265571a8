import type { FirstKeys } from '../../control-plane/store/store.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { Records } from './store.js';

/** The first organisation and its keys, made on the very first start. */
export const firstKeysPart: ProcessPart<Base & Records, { readonly firstKeys: FirstKeys | null }> = {
  name: 'first keys',
  async start({ settings: { dataDir, role, simulated }, store }) {
    // A node that starts without its store has served it before.
    if (role === 'data' || store.state === 'away') return { firstKeys: null };
    const { bootstrap } = await import('../../control-plane/store/bootstrap.js');
    return { firstKeys: await bootstrap(store, { dataDir, simulated }) };
  },
};
