import { expect } from 'chai';
import { SignInThrottle } from '../../src/control-plane/administration/access/people/sign-in-throttle.js';
import type { Store } from '../../src/control-plane/store/store.js';
import { folder, forEachStore } from '../support/stores.js';

forEachStore((kind) => {
  describe(`What sign-in keeps on ${kind.name}`, () => {
    let store: Store;
    let organisation: string;
    let now = 1_000_000;

    before(async () => {
      store = await kind.open(folder(), () => now);
      organisation = (await store.establish(() => {}))!.organisation_id;
    });
    after(() => store.close());

    it('counts failures of all nodes together, for a minute', async () => {
      const nodes = [1, 2].map(() => new SignInThrottle(store.failedSignIns, () => now));
      const fail = async (node: number): Promise<void> => {
        const turn = nodes[node]!.turn('ann@example.com', '192.0.2.1');
        await turn.before();
        await turn.wrong();
      };
      const isRefused = async (node: number, account: string, address: string): Promise<boolean> =>
        nodes[node]!.check(account, address).then(
          () => false,
          () => true,
        );
      for (const node of [0, 1, 0, 1]) await fail(node);
      expect(await isRefused(0, 'ann@example.com', '192.0.2.1')).to.equal(false);
      await fail(0);
      expect(await isRefused(1, 'ann@example.com', '192.0.2.1')).to.equal(true);
      expect(await isRefused(1, 'ann@example.com', '192.0.2.2'), 'another address').to.equal(false);
      expect(await isRefused(1, 'bob@example.com', '192.0.2.1'), 'another account').to.equal(false);
      now += 61_000;
      expect(await isRefused(1, 'ann@example.com', '192.0.2.1')).to.equal(false);
      await fail(0);
      await nodes[1]!.succeeded('ann@example.com', '192.0.2.1');
      expect((await store.failedSignIns.counts(['pair 192.0.2.1 ann@example.com'])).size).to.equal(0);
      await store.failedSignIns.prune();
    });

    it('counts attempts at the same moment one by one, on any node', async () => {
      const names = ['a', 'b', 'c'];
      await Promise.all(Array.from({ length: 20 }, () => store.failedSignIns.add(names, 60_000)));
      const counts = await store.failedSignIns.counts(names);
      expect([...counts.values()].map(({ count }) => count)).to.deep.equal([20, 20, 20]);
    });

    it('has the key set of each organisation and address', async () => {
      const url = 'https://id.example.com/keys';
      const keys = { keys: [{ kty: 'OKP', kid: 'one' }] };
      await store.keySets.put(organisation, { url: 'https://before.example.com', keys, fetchedAt: 1 });
      await store.keySets.put(organisation, { url, keys, fetchedAt: now });
      expect(await store.keySets.get(organisation, url)).to.deep.equal({ url, keys, fetchedAt: now });
      expect(await store.keySets.get(organisation, 'https://before.example.com')).to.equal(null);
      expect(await store.keySets.get('other', url)).to.equal(null);
    });
  });
});
