import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { GatewayError } from '../../src/common/core/errors.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import type { Place, Store } from '../../src/control-plane/store/store.js';
import { entryOf, folder, forEachStore } from '../support/stores.js';

const everything = { offset: 0, limit: 1000 };

function made<T>(value: T | 'missing' | 'taken' | 'stale' | null): T {
  if (value === null || typeof value === 'string') throw new Error(`got ${value}`);
  return value;
}

const refusal = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => expect.fail('must be refused'),
    (error: Error) => error,
  );

describe('a unit of work', () => {
  forEachStore(({ open, database }) => {
    let dataDir: string;
    let store: Store;
    let place: Place;
    let organisation: string;

    before(async () => {
      dataDir = folder();
      store = await open(dataDir);
      const first = made(await bootstrap(store, { dataDir, simulated: false }));
      organisation = first.organisation_id;
      place = { organisationId: organisation, workspaceId: first.workspace_id };
    });
    after(() => store?.close());

    const config = (name: string) => store.configs.create(place, { name, slug: `pc-${name}`, text: '{}' });
    const slugs = async (): Promise<string[]> =>
      (await store.configs.list(place, everything)).rows.map(({ slug }) => slug);

    it('is on disk as a whole, its audit row and its change with it', async () => {
      await store.unit(organisation, async () => {
        const { id, slug } = made(await config('whole'));
        await store.changes.append({ ...place, kind: 'config', id, slug, action: 'create' });
        await store.audit.append(entryOf(organisation, { resourceId: id }));
      });
      expect(await slugs()).to.include('pc-whole');
      const { rows } = await store.audit.list(organisation, {}, everything);
      expect(rows[0]?.resourceId).to.equal((await store.configs.get(place, 'pc-whole'))?.id);
    });

    it('puts nothing into a workspace that it has archived itself', async () => {
      const workspace = made(await store.workspaces.create(organisation, { name: 'archived in a unit' }));
      const within = { organisationId: organisation, workspaceId: workspace.id };
      const create = (slug: string) => store.configs.create(within, { name: slug, slug, text: '{}' });
      await store.unit(organisation, async () => {
        made(await create('pc-first'));
        expect(await create('pc-first')).to.equal('taken');
        made(await store.workspaces.archive(organisation, workspace.id));
        expect(await create('pc-second')).to.equal('missing');
      });
    });

    it('changes nothing where it throws at its end', async () => {
      const before = await store.audit.list(organisation, {}, everything);
      const newest = await store.changes.newest();
      const error = await refusal(
        store.unit(organisation, async () => {
          await config('undone');
          await store.changes.append({ ...place, kind: 'config', id: 'x', slug: null, action: 'create' });
          await store.audit.append(entryOf(organisation));
          throw new Error('refused at last');
        }),
      );
      expect(error.message).to.equal('refused at last');
      expect(await slugs()).to.not.include('pc-undone');
      expect(await store.audit.list(organisation, {}, everything)).to.deep.equal(before);
      expect(await store.changes.newest()).to.equal(newest);
    });

    it('reads its own changes, which no other reader sees before its end', async () => {
      let arrived: () => void = () => {};
      const written = new Promise<void>((resolve) => {
        arrived = resolve;
      });
      let goOn: () => void = () => {};
      const looked = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      const unit = store.unit(organisation, async () => {
        await config('seen');
        const inside = await slugs();
        arrived();
        await looked;
        return inside;
      });
      await written;
      // Answered while the unit is open: a read waits for no write.
      expect(await slugs()).to.not.include('pc-seen');
      goOn();
      expect(await unit).to.include('pc-seen');
      expect(await slugs()).to.include('pc-seen');
    });

    it('goes on after a refusal within it that is answered as a value', async () => {
      await store.unit(organisation, async () => {
        made(await config('double'));
        expect(await config('double')).to.equal('taken');
        made(await config('after-double'));
      });
      expect(await slugs()).to.include.members(['pc-double', 'pc-after-double']);
    });

    it('joins the unit around it; what a failed inner one did is undone alone', async () => {
      await store.unit(organisation, async () => {
        await config('outer');
        const error = await refusal(
          store.unit(organisation, async () => {
            await config('inner');
            throw new Error('inner');
          }),
        );
        expect(error.message).to.equal('inner');
      });
      expect(await slugs())
        .to.include('pc-outer')
        .and.not.include('pc-inner');
    });

    it('takes calls that are made at once', async () => {
      await store.unit(organisation, async () => {
        await Promise.all([
          ...Array.from({ length: 5 }, (_, i) => config(`at-once-${i}`)),
          slugs(),
          config('at-once-0'),
          ...Array.from({ length: 5 }, () => store.audit.append(entryOf(organisation))),
        ]);
      });
      expect((await slugs()).filter((slug) => slug.startsWith('pc-at-once'))).to.have.length(5);
      expect(await store.audit.verify(organisation)).to.include({ ok: true });
    });

    it('of an organisation runs after the one before it: no update is lost', async () => {
      made(await config('counter'));
      const count = async (): Promise<number> =>
        Number((await store.configs.get(place, 'pc-counter'))?.text.slice(5, -1) || 0);
      const increase = (): Promise<unknown> =>
        store.unit(organisation, async () => {
          const next = (await count()) + 1;
          made(await store.configs.update(place, 'pc-counter', { text: `{"n":${next}}` }));
          await store.audit.append(entryOf(organisation));
        });
      await Promise.all(Array.from({ length: 20 }, increase));
      expect(await count()).to.equal(20);
      expect(await store.audit.verify(organisation)).to.include({ ok: true });
    });

    it('is refused a write that comes after its end', async () => {
      let late: Promise<unknown> = Promise.resolve();
      await store.unit(organisation, async () => {
        late = new Promise((resolve) => setTimeout(resolve, 50)).then(() => config('late'));
        late.catch(() => {});
      });
      expect((await refusal(late)).message).to.include('after the end');
      expect(await slugs()).to.not.include('pc-late');
    });

    it('fails as a whole where a statement failed and was passed over', async () => {
      const bare = await database(dataDir);
      const work = bare.write(async (sql) => {
        await sql('meta').insert({ name: 'passed-over', value: '1' });
        await sql('meta')
          .insert({ name: 'passed-over', value: '2' })
          .catch(() => {});
      });
      const outcome = await work.then(
        () => 'committed',
        () => 'failed',
      );
      const row = await bare.read((sql) => sql('meta').where({ name: 'passed-over' }).first());
      await bare.close();
      // SQLite takes back the statement alone, PostgreSQL the transaction; neither says one and does the other.
      expect(row === undefined ? 'failed' : 'committed').to.equal(outcome);
    });

    it('changes a record only with its latest etag', async () => {
      const first = made(await config('etag'));
      const second = made(await store.configs.update(place, first.slug, { name: 'a', etag: first.etag }));
      expect(second.etag).to.not.equal(first.etag);
      expect(await store.configs.update(place, first.slug, { name: 'b', etag: first.etag })).to.equal(
        'stale',
      );
      expect(await store.configs.delete(place, first.slug, first.etag)).to.equal('stale');
      const racing = await Promise.all(
        ['c', 'd', 'e'].map((name) =>
          store.configs.update(place, first.slug, { name, etag: second.etag, text: `{"x":"${name}"}` }),
        ),
      );
      expect(racing.filter((one) => one === 'stale')).to.have.length(2);
      const { total } = await store.configs.versions(place, first.id, { offset: 0, limit: 1 });
      expect(total).to.equal(2);
    });

    it('keeps the answer to a request for a day, sealed, for its caller alone', async () => {
      let now = Date.now();
      const clocked = await open(dataDir, () => now);
      const request = { organisationId: organisation, callerId: 'key-1', key: 'made-by-client' };
      const kept = { requestHash: 'abc', answer: '{"key":"canary-of-an-answer"}' };
      expect(await clocked.idempotency.put(request, kept)).to.equal('kept');
      expect(await clocked.idempotency.put(request, { ...kept, requestHash: 'other' })).to.equal('taken');
      expect(await clocked.idempotency.get(request)).to.deep.equal(kept);
      for (const other of [{ callerId: 'key-2' }, { key: 'another' }, { organisationId: 'else' }]) {
        expect(await clocked.idempotency.get({ ...request, ...other })).to.equal(null);
      }
      for (const file of readdirSync(dataDir)) {
        expect(readFileSync(join(dataDir, file)).includes('canary-of-an-answer'), file).to.equal(false);
      }
      now += 24 * 60 * 60_000 + 1;
      expect(await clocked.idempotency.get(request)).to.equal(null);
      expect(await clocked.idempotency.put(request, kept)).to.equal('kept');
      // Kept while the clock was ahead by less than a day, it is replayed; by a year, it is not, and is removed.
      now -= 23 * 60 * 60_000;
      expect(await clocked.idempotency.get(request)).to.deep.equal(kept);
      now -= 365 * 24 * 60 * 60_000;
      expect(await clocked.idempotency.get(request)).to.equal(null);
      expect(await clocked.idempotency.put(request, kept)).to.equal('kept');
      now -= 365 * 24 * 60 * 60_000;
      await clocked.prune();
      const bare = await database(dataDir);
      expect(await bare.read((sql) => sql('idempotency').select('key'))).to.deep.equal([]);
      await bare.close();
      await clocked.close();
    });

    it('does not happen where its audit row cannot be written', async () => {
      const bare = await database(dataDir);
      const [head] = await bare.read((sql) => sql('audit_heads').where({ organisation_id: organisation }));
      const put = (values: object) =>
        bare.write((sql) => sql('audit_heads').where({ organisation_id: organisation }).update(values));
      for (const altered of [{ seq: 1 }, { hash: 'f'.repeat(64) }, { mac: 'f'.repeat(64) }]) {
        await put({ ...head, ...altered });
        const error = await refusal(
          store.unit(organisation, async () => {
            await config('unaudited');
            await store.audit.append(entryOf(organisation));
          }),
        );
        expect(error).to.be.instanceOf(GatewayError);
        expect(error).to.include({ code: 'store_unavailable' });
        expect(error.message).to.include('headgate audit verify');
        expect(await slugs()).to.not.include('pc-unaudited');
      }
      await put(head);
      await bare.close();
      await store.audit.append(entryOf(organisation));
    });
  });
});
