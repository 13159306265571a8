import { expect } from 'chai';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import type { Change, NewChange, Store } from '../../src/control-plane/store/store.js';
import { folder, forEachStore } from '../support/stores.js';
import { scaled, TimeLimitError } from '../support/time-limits.js';

const day = 24 * 60 * 60_000;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function until(holds: () => boolean, ms: number): Promise<void> {
  const end = Date.now() + scaled(ms);
  while (!holds() && Date.now() < end) await pause(10);
  if (!holds()) throw new TimeLimitError(`not within ${scaled(ms)} ms: ${holds}`);
}

describe('the feed of changes', () => {
  forEachStore(({ open, dialect, database }) => {
    let dataDir: string;
    let store: Store;
    let organisation: string;
    let now = Date.now();

    beforeEach(async () => {
      dataDir = folder();
      store = await open(dataDir, () => now);
      organisation = (await bootstrap(store, { dataDir, simulated: false }))?.organisation_id ?? '';
    });
    afterEach(() => store?.close());

    const change = (id: string, organisationId = organisation): NewChange => ({
      organisationId,
      workspaceId: 'w',
      kind: 'config',
      id,
      slug: `pc-${id}`,
      action: 'update',
      forget: [{ kind: 'config', workspace: 'w', name: `pc-${id}` }],
    });
    const idsOf = (changes: readonly Change[] | 'pruned' | 'missed'): readonly string[] =>
      typeof changes === 'string' ? [changes] : changes.map(({ id }) => id);
    const ids = (changes: readonly Change[] | 'pruned'): string => idsOf(changes).join();

    it('is read from where one stopped, of all organisations or of one', async () => {
      expect(await store.changes.newest()).to.equal(0);
      for (const id of ['a', 'b']) await store.changes.append(change(id));
      await store.changes.append(change('c', 'another'));
      const all = await store.changes.since(0, 10);
      expect(ids(all)).to.equal('a,b,c');
      expect((all as readonly Change[])[0]).to.deep.include({ ...change('a'), at: now });
      const [first] = all as readonly Change[];
      expect(ids(await store.changes.since(first?.seq ?? 0, 1))).to.equal('b');
      expect(ids(await store.changes.since(0, 10, organisation))).to.equal('a,b');
      expect(ids(await store.changes.since(await store.changes.newest(), 10))).to.equal('');
    });

    it('notifies listeners of committed changes, once and in order, and of no change that is undone', async () => {
      await store.changes.append(change('before'));
      const heard: string[] = [];
      const stopThrower = await store.changes.watch(() => {
        throw new Error('a listener that fails');
      });
      const stop = await store.changes.watch((changes) => heard.push(...idsOf(changes)));
      await store
        .unit(organisation, async () => {
          await store.changes.append(change('undone'));
          throw new Error('undo');
        })
        .catch(() => {});
      await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          store.unit(organisation, async () => {
            await store.changes.append(change(`${i}a`));
            await store.changes.append(change(`${i}b`));
          }),
        ),
      );
      await until(() => heard.length === 40, 2000);
      expect(new Set(heard).size).to.equal(40);
      expect(heard.join()).to.equal(
        ids(await store.changes.since(0, 100))
          .split(',')
          .slice(1)
          .join(),
      );
      stop();
      stopThrower();
      await store.changes.append(change('unheard'));
      await pause(50);
      expect(heard).to.have.length(40);
    });

    // A SQLite database has one node.
    const itOfNodes = dialect === 'postgres' ? it : () => {};
    itOfNodes('tells another node within a second', async () => {
      const other = await open(dataDir);
      const heard: string[] = [];
      await other.changes.watch((changes) => heard.push(...idsOf(changes)));
      await store.changes.append(change('far'));
      await until(() => heard.length === 1, 1000);

      // The notification's connection is cut: the poll goes on, and the connection comes back.
      const bare = await database(dataDir);
      await bare.read((sql) =>
        sql.raw(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock') AND application_name = current_setting('application_name')`,
        ),
      );
      await bare.close();
      await store.changes.append(change('cut off'));
      await until(() => heard.length === 2, 1500);
      expect(heard).to.deep.equal(['far', 'cut off']);
      await other.close();
    });

    it('reports when the requested changes are no longer kept', async () => {
      await store.changes.append(change('old'));
      const old = await store.changes.newest();
      now += 8 * day;
      await store.changes.append(change('new'));
      const newest = await store.changes.newest();
      await store.prune();
      expect(await store.changes.since(0, 10)).to.equal('pruned');
      expect(ids(await store.changes.since(old, 10))).to.equal('new');
      now += 8 * day;
      await store.prune();
      expect(await store.changes.newest()).to.equal(newest);
      expect(await store.changes.since(old, 10)).to.equal('pruned');
      expect(ids(await store.changes.since(newest, 10))).to.equal('');
    });
  });
});
