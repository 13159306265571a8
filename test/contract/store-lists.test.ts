import { expect } from 'chai';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import type { Config, Place, Store } from '../../src/control-plane/store/store.js';
import { folder, forEachStore } from '../support/stores.js';

describe('a long list of the store', () => {
  forEachStore(({ open }) => {
    let store: Store;
    let place: Place;

    before(async () => {
      const dataDir = folder();
      store = await open(dataDir);
      const first = await bootstrap(store, { dataDir, simulated: false });
      if (first === null) throw new Error('no first keys');
      place = { organisationId: first.organisation_id, workspaceId: first.workspace_id };
      const odd = ['"', '\\', "'", 'Zoë \u{1f600}', '\u2028', '{"a":[1]}', '\n\t\u0001', '%s ?'];
      await store.unit(place.organisationId, async () => {
        for (let i = 0; i < 250; i++)
          await store.configs.create(place, {
            name: `${i} ${odd[i % odd.length]}`,
            text: '{}',
            isDefault: i === 7,
          });
      });
    });
    after(() => store?.close());

    const page = (offset: number, limit: number) => store.configs.list(place, { offset, limit });

    it('has the rows, and the order, that its short pages have', async () => {
      const short: Config[] = [];
      for (let offset = 0; offset < 250; offset += 50) short.push(...(await page(offset, 50)).rows);
      const { total, rows } = await page(0, 1000);
      expect(total).to.equal(250);
      expect(rows).to.deep.equal(short);
      expect((await page(100, 150)).rows).to.deep.equal(short.slice(100));
      expect((await page(1000, 1000)).rows).to.deep.equal([]);
    });
  });
});
