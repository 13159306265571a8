import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import { RefusedStart } from '../../src/control-plane/store/files/refused-start.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import { SealBroken } from '../../src/control-plane/store/secrets/seal.js';
import type { Sql } from '../../src/control-plane/store/sql/connection/driver.js';
import {
  type FirstKeys,
  openStore,
  type Place,
  rotateMasterKey,
  type Store,
} from '../../src/control-plane/store/store.js';
import { eventually } from '../support/gateway.js';
import { entryOf, folder, forEachStore, masterKey } from '../support/stores.js';

const refusal = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => expect.fail('must be refused'),
    (error: Error) => error,
  );

describe('the keys of a store', function () {
  this.timeout(30_000);

  forEachStore(({ open, options, database, dialect }) => {
    let dataDir: string;
    let first: FirstKeys;
    let place: Place;
    const next = new MasterKey(randomBytes(32));

    const openUnder = async (key: MasterKey): Promise<Store> =>
      openStore({ ...(await options(dataDir)), masterKey: key });

    beforeEach(async () => {
      dataDir = folder();
      const store = await open(dataDir);
      first = (await bootstrap(store, { dataDir, simulated: false })) as FirstKeys;
      place = { organisationId: first.organisation_id, workspaceId: first.workspace_id };
      for (const slug of ['one', 'two']) {
        const credential = new Secret(`sk-canary-${slug}`);
        await store.providers.create(place, { slug, name: slug, provider: 'openai', credential });
      }
      await store.audit.append(entryOf(place.organisationId));
      await store.close();
    });

    async function inDatabase<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
      const bare = await database(dataDir);
      try {
        return await bare.write(work);
      } finally {
        await bare.close();
      }
    }

    it('are wrapped by another master key, under which everything is as it was, and no more by the old one', async () => {
      const told: string[] = [];
      await rotateMasterKey(await options(dataDir), next, (done, of) => told.push(`${done}/${of}`));
      expect(told).to.deep.equal(['1/3', '3/3']);

      expect((await refusal(openUnder(masterKey))).message).to.match(/^The master key is not the one that/);
      const store = await openUnder(next);
      expect(await store.providers.find(place.workspaceId, 'one')).to.include({
        credential: 'sk-canary-one',
      });
      expect(await store.keys.findByHash(store.hashKey(first.workspace_key))).to.include(place);
      expect(await store.audit.verify(place.organisationId)).to.deep.equal({ ok: true, rows: 1 });
      await store.close();

      await rotateMasterKey(await options(dataDir), next, () => expect.fail('nothing is left to do'));
    });

    it('are wrapped piece by piece; a store where that was not finished opens under neither key', async () => {
      await inDatabase(async (sql) => {
        const organisation = await sql('organisations').first();
        const key = await sql('data_keys').first();
        for (let i = 0; i < 600; i++) {
          const id = `o${i}`;
          await sql('organisations').insert({ ...organisation, id });
          const place = { table: 'data_keys', row: `${id}/1`, organisation: id, field: 'wrapped' };
          const wrapped = masterKey.wrap(place, randomBytes(32));
          await sql('data_keys').insert({ ...key, organisation_id: id, wrapped });
        }
      });
      const stop = new Error('as if killed here');
      const stopped = await refusal(
        rotateMasterKey(await options(dataDir), next, () => {
          throw stop;
        }),
      );
      expect(stopped).to.equal(stop);
      expect((await refusal(openUnder(masterKey))).message).to.match(
        /rotation .+ was not finished: run headgate/,
      );
      expect(await refusal(openUnder(next))).to.be.instanceOf(RefusedStart);

      const third = new MasterKey(randomBytes(32));
      expect((await refusal(rotateMasterKey(await options(dataDir), third))).message).to.match(
        /neither master key opens: give the new key of the rotation/,
      );
      const told: string[] = [];
      await rotateMasterKey(await options(dataDir), next, (done, of) => told.push(`${done}/${of}`));
      expect(told).to.deep.equal(['101/103', '103/103']);
      await (await openUnder(next)).close();
    });

    it('are not touched for the key they have, under a wrong one, or where there is no store', async () => {
      const given = await options(dataDir);
      expect((await refusal(rotateMasterKey(given, masterKey))).message).to.equal(
        'The new master key is the old one.',
      );
      const wrong = new MasterKey(randomBytes(32));
      expect(await refusal(rotateMasterKey({ ...given, masterKey: wrong }, next))).to.be.instanceOf(
        RefusedStart,
      );
      expect((await refusal(rotateMasterKey(await options(folder()), next))).message).to.match(
        /^There is no store/,
      );
      await (await openUnder(masterKey)).close();
    });

    it('open nothing whose row was exchanged with another', async () => {
      await inDatabase(async (sql) => {
        const [one, two] = await sql('providers').whereIn('slug', ['one', 'two']).orderBy('slug');
        await sql('providers').where({ id: one.id }).update({ credential: two.credential });
        await sql('providers').where({ id: two.id }).update({ credential: one.credential });
      });
      const store = await openUnder(masterKey);
      for (const slug of ['one', 'two'])
        expect(await refusal(store.providers.find(place.workspaceId, slug))).to.be.instanceOf(SealBroken);
      await store.close();
    });

    if (dialect !== 'postgres') return;

    it('are not rewrapped while a gateway runs, on any machine', async () => {
      const store = await openUnder(masterKey);
      const stop = await store.changes.watch(() => {});
      const bare = await database(dataDir);
      await eventually('the gateway listens', () => bare.write((sql) => bare.isServed(sql)));
      await bare.close();
      const error = await refusal(rotateMasterKey(await options(dataDir), next));
      expect(error).to.be.instanceOf(RefusedStart);
      expect(error.message).to.match(/^A gateway runs on postgres:/);
      stop();
      await store.close();
    });
  });
});
