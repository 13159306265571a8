import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import type { Database } from '../../src/control-plane/store/sql/connection/driver.js';
import type { LeanDialect } from '../../src/control-plane/store/sql/connection/lean.js';
import type { Place, Store } from '../../src/control-plane/store/store.js';
import { folder, forEachStore } from '../support/stores.js';

const databaseOf = (store: Store): Database => (store as unknown as { readonly database: Database }).database;

/** How many statements are run one after the other, or at the same time, while `work` reads. */
async function statementsOf(store: Store, work: () => Promise<unknown>): Promise<number> {
  const client = await databaseOf(store).read(async (sql) => sql.client as LeanDialect);
  const own = Object.getOwnPropertyDescriptor(client, 'run');
  const run = client.run.bind(client);
  let count = 0;
  client.run = (...said) => {
    count += 1;
    return run(...said);
  };
  try {
    await work();
  } finally {
    if (own === undefined) Reflect.deleteProperty(client, 'run');
    else Object.defineProperty(client, 'run', own);
  }
  return count;
}

describe('a record that requests wait for', () => {
  forEachStore(({ open }) => {
    let store: Store;
    let place: Place;
    let keyHash: string;

    before(async () => {
      const dataDir = folder();
      store = await open(dataDir);
      const first = (await bootstrap(store, { dataDir, simulated: false }))!;
      place = { organisationId: first.organisation_id, workspaceId: first.workspace_id };
      keyHash = store.hashKey(first.workspace_key);
      await store.configs.create(place, { slug: 'pc-a', name: 'a', text: '{"provider":"@own"}' });
      const credential = new Secret('sk-0123456789');
      await store.providers.create(place, { slug: 'own', name: 'Own', provider: 'openai', credential });
      const { organisationId } = place;
      const lender = await store.integrations.create(organisationId, {
        ...{ slug: 'lender', name: 'Lender', provider: 'anthropic', workspaceId: null, hostTrusted: true },
        key: credential,
      });
      if (typeof lender === 'string') throw new Error(lender);
      const rateLimits = [{ type: 'requests', unit: 'rpm', value: 5 }] as const;
      const access = { workspaceId: place.workspaceId, enabled: true, usageLimits: null, rateLimits };
      await store.integrations.putAccess(organisationId, lender.id, [access]);
      const model = { isCustom: false, isFinetune: false, baseModelSlug: null, pricingConfig: null };
      await store.integrations.putModels(organisationId, lender.id, [
        {
          ...model,
          slug: 'a "quoted" model ü\u{1f600}',
          enabled: true,
          customHost: 'https://one.example/v1',
        },
        { ...model, slug: 'off', enabled: false, customHost: null },
      ]);
      await store.modelPrices.put(organisationId, {
        provider: 'anthropic',
        model: 'm',
        input: 1,
        output: 2.5,
      });
      await store.providers.create(place, { slug: 'lent', name: 'Lent', integrationId: lender.id });
      // Keys of records are opened once, and then remembered.
      await store.providers.find(place.workspaceId, 'own');
    });
    after(() => store.close());

    it('comes by one statement', async () => {
      const { workspaceId } = place;
      expect(await statementsOf(store, () => store.keys.findByHash(keyHash)), 'key').to.equal(1);
      expect(await statementsOf(store, () => store.configs.find(workspaceId, 'pc-a')), 'config').to.equal(1);
      expect(await statementsOf(store, () => store.providers.find(workspaceId, 'own')), 'own').to.equal(1);
      expect(await statementsOf(store, () => store.providers.find(workspaceId, 'lent')), 'lent').to.equal(1);
    });

    it('has all of what an integration lends', async () => {
      const lent = await store.providers.find(place.workspaceId, 'lent');
      expect(lent).to.include({ provider: 'anthropic', integration: 'lender', credential: 'sk-0123456789' });
      expect(lent?.models?.others).to.equal(true);
      expect(lent?.models?.named).to.have.deep.members([
        { model: 'a "quoted" model ü\u{1f600}', enabled: true, baseUrl: 'https://one.example/v1' },
        { model: 'off', enabled: false, baseUrl: null },
      ]);
      expect(lent?.limits?.map(({ name, value }) => [name, value])).to.deep.equal([['lender', 5]]);
      expect(lent?.prices?.organisation).to.deep.equal([{ model: 'm', input: 1, output: 2.5 }]);
    });

    it('has nothing of an integration for one that has its own credential', async () => {
      const own = await store.providers.find(place.workspaceId, 'own');
      expect(own).to.include({ provider: 'openai', integration: null, models: null });
      expect(own?.prices).to.equal(undefined);
    });
  });
});
