import { expect } from 'chai';
import type { LedgerAlert } from '../../src/common/ledger/alerts.js';
import { addresseesOf } from '../../src/control-plane/alerts/addressees.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import type { Store } from '../../src/control-plane/store/store.js';
import { folder, forEachStore } from '../support/stores.js';

describe('who is notified of the budget of a key', () => {
  forEachStore(({ open }) => {
    let store: Store;
    before(async () => {
      store = await open(folder());
    });
    after(() => store.close());

    it('is also who created it, as long as that person is in its workspace or administers the organisation', async () => {
      const first = await bootstrap(store, { dataDir: folder(), simulated: false });
      const org = first!.organisation_id;
      const workspaceId = first!.workspace_id;
      const recipients = async (role: 'member' | 'admin', isIn: boolean): Promise<readonly string[]> => {
        const email = `${role}-${isIn}@example.com`;
        const user = await store.users.create(org, { email, role });
        if (typeof user === 'string') throw new Error(user);
        if (isIn) await store.members.add({ organisationId: org, workspaceId }, user.id, 'member');
        const key = await store.keys.create(org, {
          ...{ type: 'workspace-service', workspaceId, name: 'k', scopes: [] },
          createdBy: user.id,
        });
        if (typeof key === 'string') throw new Error(key);
        const alert = { event: 'budget_exhausted', org, workspace: workspaceId, holder: 'api_key' };
        const about = { ...alert, holderId: key.key.id } as unknown as LedgerAlert;
        const found = await addresseesOf(store, about);
        expect(found.name).to.equal('k');
        return found.recipients.filter((one) => one === email);
      };
      expect(await recipients('member', true)).to.have.lengthOf(1);
      expect(await recipients('member', false)).to.deep.equal([]);
      expect(await recipients('admin', false)).to.have.lengthOf(1);
    });
  });
});
