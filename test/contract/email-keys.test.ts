import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import { up } from '../../src/control-plane/store/migrations/0009-email-keys.js';
import type { Database } from '../../src/control-plane/store/sql/connection/driver.js';
import type { Store } from '../../src/control-plane/store/store.js';
import { folder, forEachStore } from '../support/stores.js';

const everything = { offset: 0, limit: 100 };

describe('e-mail addresses in the store', () => {
  forEachStore(({ open, database }) => {
    let store: Store;
    let bare: Database;
    let organisation: string;

    beforeEach(async () => {
      const dataDir = folder();
      store = await open(dataDir);
      organisation = (await bootstrap(store, { dataDir, simulated: false }))?.organisation_id ?? '';
      bare = await database(dataDir);
    });
    afterEach(async () => {
      await bare.close();
      await store.close();
    });

    /** As a version before would have kept it. */
    async function old(email: string): Promise<string> {
      const made = await store.users.create(organisation, {
        email: `${randomUUID()}@x.example`,
        role: 'member',
      });
      if (typeof made === 'string') throw new Error(made);
      const row = { email, email_key: email.toLowerCase() };
      await bare.write((sql) => sql('users').where({ id: made.id }).update(row));
      return made.id;
    }
    const make = (email: string) => store.users.create(organisation, { email, role: 'member' });
    const found = async (email: string): Promise<string[]> =>
      (await store.users.list(organisation, { email }, everything)).rows.map(({ id }) => id);

    it('are unique, and found, however their domain is written', async () => {
      expect(await make('ada@m\u00fcnchen.example')).to.be.an('object');
      for (const same of [
        'ADA@xn--mnchen-3ya.example',
        'ada@M\u00dcNCHEN.example',
        'ada@mu\u0308nchen.example',
      ]) {
        expect(await make(same), same).to.equal('taken');
        expect(await found(same), same).to.have.length(1);
      }
    });

    it('that were kept before are compared by their normal form from then on', async () => {
      const one = await old('Ada@m\u00fcnchen.example');
      const two = await old('\uff42ob@example.com');
      const three = await old('c\u200beve@example.com');
      await bare.write(up);
      expect(await found('ada@xn--mnchen-3ya.example')).to.deep.equal([one]);
      expect(await found('bob@example.com')).to.deep.equal([two]);
      expect(await found('ceve@example.com')).to.deep.equal([three]);
      for (const same of ['ada@m\u00fcnchen.example', 'bob@example.com', 'ceve@example.com'])
        expect(await make(same), same).to.equal('taken');
    });

    it('of two users who are the same by now stay as they are, and no third one is added', async () => {
      const plain = await old('dan@example.com');
      const wide = await old('\uff44an@example.com');
      await bare.write(up);
      await bare.write(up);
      expect(await found('dan@example.com')).to.deep.equal([plain]);
      expect((await store.users.get(organisation, wide))?.email).to.equal('\uff44an@example.com');
      expect(await make('dan@example.com')).to.equal('taken');
    });

    it('of invitations are found by the parts of their normal form', async () => {
      const input = {
        email: 'eve@xn--mnchen-3ya.example',
        role: 'member',
        workspaces: [],
        keyDetails: null,
        invitedBy: 'x',
      } as const;
      await store.invites.create(organisation, input);
      const total = async (filter: object): Promise<number> =>
        (await store.invites.list(organisation, filter, everything)).total;
      expect(await total({ search: '@m\u00fcnchen.example' })).to.equal(1);
      expect(await total({ search: 'EVE@' })).to.equal(1);
      expect(await total({ search: '1' })).to.equal(0);
      expect(await total({ email: 'Eve@M\u00fcnchen.example' })).to.equal(1);
    });
  });
});
