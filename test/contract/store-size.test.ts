// lane: slow
import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import type { Place, Store } from '../../src/control-plane/store/store.js';
import { addConfigs, addKeys, hashOf } from '../support/many.js';
import { folder, forEachStore } from '../support/stores.js';
import { expectWithinMs } from '../support/time-limits.js';

const keys = 100_000;
const configs = 200;

describe(`a store of ${keys} keys and ${configs} configs`, function () {
  this.timeout(60_000);

  forEachStore(({ open, database }) => {
    const dataDir = folder();
    let store: Store;
    let place: Place;

    before(async () => {
      const made = await open(dataDir);
      const first = await bootstrap(made, { dataDir, simulated: false });
      place = { organisationId: first?.organisation_id ?? '', workspaceId: first?.workspace_id ?? '' };
      await addConfigs(made, place, configs);
      await made.close();
      const bare = await database(dataDir);
      await addKeys(bare, keys);
      await bare.close();
    });
    after(() => store?.close());

    /** Milliseconds of the quickest of many lookups: those that nothing else on the machine was in the way of. */
    async function costOf(lookup: (i: number) => Promise<unknown>, runs = 200): Promise<number> {
      const took: number[] = [];
      for (let i = 0; i < runs; i++) {
        const began = performance.now();
        await lookup(i);
        took.push(performance.now() - began);
      }
      return Math.min(...took);
    }

    it('is open in no time that grows with it', async () => {
      const began = performance.now();
      store = await open(dataDir);
      await store.first();
      expectWithinMs(performance.now() - began, 5000);
    });

    it('finds a key by its hash, a config by its slug, and what there is not, in a millisecond or two', async () => {
      const found = await store.keys.findByHash(hashOf(keys));
      expect(found).to.include({ keyId: `key-${keys}` });
      const times = {
        key: await costOf(() => store.keys.findByHash(hashOf(randomInt(1, keys + 1)))),
        missing: await costOf((i) => store.keys.findByHash(`none-${i}`)),
        config: await costOf(() =>
          store.configs.find(place.workspaceId, `pc-many-${randomInt(1, configs + 1)}`),
        ),
      };
      for (const [what, ms] of Object.entries(times)) expectWithinMs(ms, 8, { what });
      console.log(
        `        ${Object.entries(times)
          .map(([what, ms]) => `${what} ${ms.toFixed(2)} ms`)
          .join(', ')}`,
      );
    });

    it('lists a page of either without reading all of them', async () => {
      const page = { offset: 0, limit: 50 };
      const list = await costOf(() => store.configs.list(place, page), 20);
      expect(list).to.be.lessThan(50);
      const { total } = await store.keys.list(place.organisationId, { workspaceId: place.workspaceId }, page);
      expect(total).to.equal(keys + 1);
    });
  });
});
