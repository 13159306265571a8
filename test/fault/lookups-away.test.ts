import { join } from 'node:path';
import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import { KnownRecords } from '../../src/control-plane/store/known/known-records.js';
import { Lookups } from '../../src/control-plane/store/known/lookups.js';
import { openStore, type Store } from '../../src/control-plane/store/store.js';
import { FaultyProxy } from '../support/faulty-proxy.js';
import { eventually } from '../support/gateway.js';
import { folder, forEachStore, masterKey, server } from '../support/stores.js';
import { expectWithinMs } from '../support/time-limits.js';

describe('lookups of data workers while PostgreSQL is away', function () {
  this.timeout(30_000);

  forEachStore(({ options, dialect }) => {
    if (dialect !== 'postgres') return;
    const open: { close(): unknown }[] = [];
    after(async () => {
      for (const one of open.reverse()) await one.close();
    });

    /** A node's store and what it remembers of it, as the control process puts them together. */
    async function node(path: string, databaseUrl: Secret): Promise<{ store: Store; lookups: Lookups }> {
      const onProblem = (error: unknown): void => void expect.fail(String(error));
      const known = new KnownRecords({ path, masterKey, staleMs: 60_000, onProblem });
      const store = await openStore({ dataDir: folder(), masterKey, databaseUrl, known: known.keys });
      await known.begin({ pepper: store.pepper, audit: store.auditKey });
      store.changes.onCurrent((point) => known.current(point));
      await store.changes.watch(() => {}, known.isNew ? undefined : known.point);
      open.push(store, known);
      return { store, lookups: new Lookups(store, known) };
    }

    it('are answered as they were before, also after a restart, and refused where there was none', async () => {
      const { hostname, port } = new URL(server);
      const proxy = await FaultyProxy.start(Number(port || 5432), hostname);
      open.push(proxy);
      const dataDir = folder();
      const { databaseUrl } = await options(dataDir);
      const url = new Secret(proxy.through(databaseUrl?.reveal() ?? ''));
      const path = join(dataDir, 'known.sealed');
      const one = await node(path, url);
      const first = await bootstrap(one.store, { dataDir, simulated: true });
      one.store.providers.setRuntimeBaseUrl('simulated', 'http://127.0.0.1:1/v1');
      const workspace = first?.workspace_id ?? '';
      const hash = one.store.hashKey(first?.workspace_key ?? '');
      await eventually('current', async () => (one.store.changes.behindMs ?? 10_000) < 500);
      const all = ({ lookups }: { lookups: Lookups }): Promise<readonly unknown[]> =>
        Promise.all([
          lookups.find('key', null, hash),
          lookups.find('provider', workspace, 'simulated'),
          lookups.find('policies', workspace, '*'),
        ]);
      const before = await all(one);
      expect(before.map((record) => record === null)).to.deep.equal([false, false, true]);
      expect(await one.lookups.find('config', workspace, 'pc-none')).to.equal(null);

      proxy.swallow();
      const from = performance.now();
      expect(await all(one)).to.deep.equal(before);
      expectWithinMs(performance.now() - from, 1000);
      const unknown = await one.lookups.find('config', workspace, 'pc-none').catch((error) => error.code);
      expect(unknown).to.equal('store_unavailable');
      expectWithinMs(performance.now() - from, 2000);
      await eventually('noticed', async () => one.store.state === 'away');

      await new Promise((written) => setTimeout(written, 300));
      const two = await node(path, url);
      expect(two.store.state).to.equal('away');
      two.store.providers.setRuntimeBaseUrl('simulated', 'http://127.0.0.1:1/v1');
      expect(await all(two)).to.deep.equal(before);
      await proxy.pass();
      await eventually('back', async () => two.store.state === 'up');
      expect(await all(two)).to.deep.equal(before);
      expect(await two.lookups.find('config', workspace, 'pc-none')).to.equal(null);
    });
  });
});
