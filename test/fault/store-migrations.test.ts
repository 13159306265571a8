// lane: slow
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { expect } from 'chai';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import { RefusedStart } from '../../src/control-plane/store/files/refused-start.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import type { Database } from '../../src/control-plane/store/sql/connection/driver.js';
import { openStore, type StoreOptions } from '../../src/control-plane/store/store.js';
import { builtProgram } from '../support/gateway.js';
import { folder, forEachStore, masterKey as keyOfCopies } from '../support/stores.js';

/** Statements to be killed at, of all there are; STORE_KILLS=all takes each. */
const kills = process.env['STORE_KILLS'] === 'all' ? Number.POSITIVE_INFINITY : 2;
const opener = builtProgram('fault/store-opener');

describe('migrations', function () {
  this.timeout(Number.isFinite(kills) ? 60_000 : 600_000);

  forEachStore(({ options, open, database, dialect }) => {
    const keyText = randomBytes(32).toString('hex');
    const masterKey = new MasterKey(Buffer.from(keyText, 'hex'));
    const optionsOf = async (dataDir: string): Promise<StoreOptions> => ({
      ...(await options(dataDir)),
      masterKey,
    });

    interface Opened {
      readonly signal: string | null;
      /** Those a store takes that is opened for the first time; null: it was killed. */
      readonly statements: number | null;
    }

    /** Opens a store in a process of its own, killed before its statement of that number. */
    async function openIn(dataDir: string, killAt: number): Promise<Opened> {
      const url = (await optionsOf(dataDir)).databaseUrl?.reveal() ?? '';
      const child = spawn(process.execPath, [opener, dataDir, keyText, `${killAt}`, url], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let said = '';
      child.stdout.on('data', (text) => {
        said += text;
      });
      const [, signal] = await once(child, 'close');
      return { signal, statements: said === '' ? null : Number(said) };
    }

    async function shape(dataDir: string): Promise<unknown[]> {
      const bare: Database = await database(dataDir);
      try {
        return await bare.read(async (sql) => {
          if (dialect === 'sqlite')
            return sql('sqlite_schema').select('type', 'name', 'sql').orderBy(['type', 'name']);
          const columns = await sql('information_schema.columns')
            .whereRaw('table_schema = current_schema()')
            .select('table_name', 'column_name', 'data_type', 'is_nullable')
            .orderBy(['table_name', 'column_name']);
          const indexes = await sql('pg_indexes')
            .whereRaw('schemaname = current_schema()')
            .select('tablename', 'indexname')
            .orderBy('indexname');
          return [...columns, ...indexes];
        });
      } finally {
        await bare.close();
      }
    }

    it('killed before any of their statements are completed by the next start', async () => {
      const whole = folder();
      const all = (await openIn(whole, 0)).statements ?? 0;
      const wanted = await shape(whole);
      expect(all).to.be.greaterThan(20);
      const step = Math.max(1, all / kills);
      const points = Array.from({ length: Math.ceil(all / step) }, (_, i) =>
        Math.min(all, 1 + Math.floor(i * step + Math.random() * step)),
      );
      for (const killAt of new Set(points)) {
        const dataDir = folder();
        expect((await openIn(dataDir, killAt)).signal, `statement ${killAt}`).to.equal('SIGKILL');
        const store = await openStore(await optionsOf(dataDir));
        await bootstrap(store, { dataDir, simulated: true });
        await store.close();
        expect(await shape(dataDir), `statement ${killAt}`).to.deep.equal(wanted);
      }
    });

    it('of two processes at once are made by one, for which the other waits', async () => {
      const dataDir = folder();
      const opened = await Promise.all([openIn(dataDir, 0), openIn(dataDir, 0)]);
      expect(opened.map(({ signal }) => signal)).to.deep.equal([null, null]);
      expect(opened.every(({ statements }) => statements !== null)).to.equal(true);
      await (await openStore(await optionsOf(dataDir))).close();
    });

    /** A store of a later version, and how it is opened. */
    async function upgraded(dataDir: string, compatible_from: number): Promise<StoreOptions> {
      await (await open(dataDir)).close();
      const bare = await database(dataDir);
      const later = { version: 999, name: 'later', applied_at: 0, compatible_from };
      await bare.write((sql) => sql('schema_version').insert(later));
      await bare.close();
      return { ...(await options(dataDir)), masterKey: keyOfCopies };
    }

    it('leave a newer store as it is where it admits this program', async () => {
      const dataDir = folder();
      const later = await upgraded(dataDir, 10);
      const store = await openStore(later);
      await bootstrap(store, { dataDir, simulated: false });
      await store.close();
      await (await openStore({ ...later, existing: 'usable' })).close();
      const refused = await openStore({ ...later, existing: 'same' }).catch(String);
      expect(refused).to.match(
        /The store is at version 999 and this program knows .+: use the newer program\.$/,
      );
    });

    it('refuse a newer store that this program cannot use, in one line', async () => {
      const dataDir = folder();
      const error = await openStore(await upgraded(dataDir, 999)).then(
        () => expect.fail('must be refused'),
        (refused: Error) => refused,
      );
      expect(error).to.be.instanceOf(RefusedStart);
      expect(error.message).to.match(
        /^The store is at version 999, usable from version 999 on, .+ backup from before its upgrade\.$/,
      );
    });
  });
});
