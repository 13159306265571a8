import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import type { Place, Store } from '../../src/control-plane/store/store.js';
import { folder, forEachStore } from '../support/stores.js';

const secret = 'pat-0123456789-secret';

describe('credentials of partners in the store', () => {
  forEachStore(({ open }) => {
    let dataDir: string;
    let store: Store;
    let place: Place;

    before(async () => {
      dataDir = folder();
      store = await open(dataDir);
      await bootstrap(store, { dataDir, simulated: false });
      place = (await store.first())!;
    });
    after(() => store.close());

    const create = (
      partner: string,
      credentials: Record<string, string>,
      integrationId: string | null = null,
    ) =>
      store.partnerPlugins.create(place.organisationId, {
        ...{ partner, name: partner, integrationId, credentials, secretMappings: [] },
        shown: Object.fromEntries(Object.keys(credentials).map((name) => [name, '*****'])),
      });

    it('are found by the organisation and by each of its workspaces, while they are active', async () => {
      const made = await create('patronus', { apiKey: secret });
      if (made === 'taken') throw new Error('taken');
      const find = (scope: string) => store.partnerPlugins.find(scope, 'patronus');
      for (const scope of [place.organisationId, place.workspaceId])
        expect(await find(scope)).to.deep.equal({ credentials: { apiKey: secret } });
      expect(await find('other')).to.equal(null);
      expect(await create('patronus', { apiKey: 'another' })).to.equal('taken');
      expect((await store.partnerPlugins.get(place.organisationId, 'patronus'))?.shown).to.deep.equal({
        apiKey: '*****',
      });
      expect(await store.partnerPlugins.get('other', made.id)).to.equal(null);

      await store.partnerPlugins.update(place.organisationId, made.id, { status: 'archived' });
      expect(await find(place.workspaceId)).to.equal(null);
      const etag = made.etag;
      expect(await store.partnerPlugins.update(place.organisationId, made.id, { name: 'x', etag })).to.equal(
        'stale',
      );
      await store.partnerPlugins.update(place.organisationId, made.id, { status: 'active' });
      expect(await find(place.workspaceId)).to.not.equal(null);
      expect(await store.partnerPlugins.delete('other', made.id)).to.equal('missing');
      expect(await store.partnerPlugins.delete(place.organisationId, made.id)).to.be.an('object');
      expect(await find(place.workspaceId)).to.equal(null);
    });

    it('may be lent by an integration, while that is active', async () => {
      const lender = await store.integrations.create(place.organisationId, {
        ...{ slug: 'mistral', name: 'Mistral', provider: 'mistral-ai', workspaceId: null, hostTrusted: true },
        key: new Secret(secret),
      });
      if (typeof lender === 'string') throw new Error(lender);
      await create('mistral', { baseUrl: 'https://eu.example.com' }, lender.id);
      const find = () => store.partnerPlugins.find(place.workspaceId, 'mistral');
      expect(await find()).to.deep.equal({
        credentials: { apiKey: secret, baseUrl: 'https://eu.example.com' },
      });
      await store.integrations.delete(place.organisationId, lender.id);
      expect((await find())?.credentials).to.not.have.property('apiKey');
    });

    it('are never on disk as text', async () => {
      await create('lasso', { apiKey: secret });
      for (const entry of readdirSync(dataDir, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        expect(readFileSync(join(entry.parentPath, entry.name)).includes(secret), entry.name).to.equal(false);
      }
    });
  });
});
