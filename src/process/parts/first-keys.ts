import { publicUrlOf } from '../../common/settings/settings.js';
import type { FirstKeys } from '../../control-plane/store/store.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { Records } from './store.js';

export interface FirstGiven {
  readonly firstKeys: FirstKeys | null;
  /** The link by which the first owner signs up; null on every later start. */
  readonly ownerLink: string | null;
}

/** The first organisation and its keys, made on the very first start. */
export const firstKeysPart: ProcessPart<Base & Records, FirstGiven> = {
  name: 'first keys',
  async start({ settings, store }) {
    const { dataDir, role, simulated } = settings;
    // A node that starts without its store has served it before.
    if (role === 'data' || store.state === 'away') return { firstKeys: null, ownerLink: null };
    const { bootstrap } = await import('../../control-plane/store/bootstrap.js');
    const firstKeys = await bootstrap(store, { dataDir, simulated });
    if (firstKeys === null) return { firstKeys, ownerLink: null };
    const made = await store.signIn.makeLink(firstKeys.organisation_id, null);
    if (made === 'missing') throw new Error('There is no first organisation.');
    const { linkOf } = await import('../../control-plane/administration/access/people/links.js');
    return { firstKeys, ownerLink: linkOf(publicUrlOf(settings), made.token) };
  },
};
