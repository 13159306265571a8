import { expect } from 'chai';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import { up } from '../../src/control-plane/store/migrations/0016-reset-times.js';
import type { Database } from '../../src/control-plane/store/sql/connection/driver.js';
import type { Store } from '../../src/control-plane/store/store.js';
import { folder, forEachStore } from '../support/stores.js';

const reset = 1_700_000_000_000;
const limits = {
  type: 'cost',
  creditLimit: 5,
  alertThreshold: null,
  periodicReset: null,
  periodicResetDays: null,
  nextUsageResetAt: null,
};

describe('times of resets that earlier versions have stored beside a budget', () => {
  forEachStore(({ open }) => {
    let store: Store;
    let database: Database;

    before(async () => {
      const dataDir = folder();
      store = await open(dataDir);
      await bootstrap(store, { dataDir, simulated: false });
      ({ database } = store as unknown as { database: Database });
    });
    after(() => store.close());

    it('become part of it, more rows than are read at once included', async () => {
      const place = (await store.first())!;
      const made = await store.providers.create(place, { name: 'P', provider: 'openai', credential: null });
      if (typeof made === 'string') throw new Error(made);
      await database.write(async (sql) => {
        const row = await sql('providers').where({ id: made.id }).first();
        const rows = Array.from({ length: 501 }, (_, i) => ({
          ...row,
          id: `p${String(i).padStart(3, '0')}`,
          slug: `p${i}`,
          usage_limits: JSON.stringify(limits),
          usage: i === 1 ? null : JSON.stringify({ currentUsage: 0, lastResetAt: i === 2 ? null : reset }),
        }));
        for (let i = 0; i < rows.length; i += 50) await sql('providers').insert(rows.slice(i, i + 50));
        await up(sql);
      });
      const { rows } = await store.providers.list(place, { offset: 0, limit: 1000 });
      const times = new Map(rows.map(({ slug, usageLimits }) => [slug, usageLimits?.lastResetAt]));
      expect([times.get('p0'), times.get('p1'), times.get('p2')]).to.deep.equal([reset, null, null]);
      expect([...times.values()].filter((time) => time === reset)).to.have.length(499);
      expect(times.get(made.slug)).to.equal(undefined);
    });
  });
});
