import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { GatewayError } from '../../src/common/core/errors.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import { RefusedStart } from '../../src/control-plane/store/files/refused-start.js';
import { openStore, type Store } from '../../src/control-plane/store/store.js';
import { pause } from '../support/gateway.js';
import { entryOf, folder, forEachStore, masterKey } from '../support/stores.js';

const refusal = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => expect.fail('must be refused'),
    (error: Error) => error,
  );

describe('a store on PostgreSQL', function () {
  this.timeout(20_000);

  forEachStore(({ open, database, dialect }) => {
    if (dialect !== 'postgres') return;
    let dataDir: string;
    let store: Store;
    let organisation: string;

    before(async () => {
      dataDir = folder();
      store = await open(dataDir);
      organisation = (await bootstrap(store, { dataDir, simulated: false }))?.organisation_id ?? '';
    });
    after(() => store?.close());

    /** Ends every connection that this store has. */
    async function cutConnections(): Promise<void> {
      const bare = await database(dataDir);
      await bare.read((sql) =>
        sql.raw(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()`,
        ),
      );
      await bare.close();
    }

    it('goes on over new connections where it lost the old ones', async () => {
      await cutConnections();
      // As many calls as there were connections may still meet the end of one: coded, not raw.
      await store.first().catch((error) => expect(error).to.include({ code: 'store_unavailable' }));
      let isBack = false;
      for (let i = 0; i < 50 && !isBack; i++) isBack = await store.ping();
      expect(isBack).to.equal(true);
    });

    it('rolls back a unit that was cut, and reports it with a code', async () => {
      const error = await refusal(
        store.unit(organisation, async () => {
          await store.audit.append(entryOf(organisation, { requestId: 'cut' }));
          await cutConnections();
          await store.audit.append(entryOf(organisation, { requestId: 'after' }));
        }),
      );
      expect(error).to.be.instanceOf(GatewayError).and.include({ code: 'store_unavailable' });
      const { rows } = await store.audit.list(organisation, {}, { offset: 0, limit: 10 });
      expect(rows.map((row) => row.requestId)).to.not.include.members(['cut', 'after']);
      expect(await store.audit.verify(organisation)).to.include({ ok: true });
    });
  });

  forEachStore(({ open, database, dialect }) => {
    if (dialect !== 'postgres') return;

    it('runs again what met another transaction, where it may, three times at most', async () => {
      const dataDir = folder();
      await (await open(dataDir)).close();
      const bare = await database(dataDir);
      const meets = async (times: number, repeatable: boolean): Promise<number | string> => {
        let tries = 0;
        const work = bare.write(
          async (sql) => {
            tries += 1;
            if (tries <= times) await sql.raw(`DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$`);
            return tries;
          },
          { repeatable },
        );
        return work.catch((error) => `${error.code} after ${tries}`);
      };
      expect(await meets(3, true)).to.equal(4);
      expect(await meets(4, true)).to.equal('store_unavailable after 4');
      expect(await meets(1, false)).to.equal('store_unavailable after 1');
      await bare.close();
    });

    it('gives up waiting for a transaction that does not end', async () => {
      const dataDir = folder();
      const store = await open(dataDir);
      const first = await bootstrap(store, { dataDir, simulated: false });
      const organisation = first?.organisation_id ?? '';
      const other = await open(dataDir);
      let end: () => void = () => {};
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      let unit: Promise<void> = ended;
      await new Promise<void>((begun) => {
        unit = store.unit(organisation, async () => {
          begun();
          // A transaction in which nothing happens for five seconds is ended by the server.
          const isOver = ended.then(() => true);
          while (!(await Promise.race([isOver, pause(1000)]))) await store.first();
        });
      });
      const error = await refusal(other.unit(organisation, () => other.audit.append(entryOf(organisation))));
      expect(error).to.include({ code: 'store_unavailable' });
      expect(await other.ping(), 'reads go on').to.equal(true);
      end();
      await unit;
      await other.unit(organisation, () => other.audit.append(entryOf(organisation)));
      await Promise.all([store.close(), other.close()]);
    });
  });

  it('does not start without one, and names the place without its password', async () => {
    for (const where of ['127.0.0.1:1/x', '127.0.0.1:5432/no_such_database']) {
      const databaseUrl = new Secret(`postgres://nobody:hunter2@${where}`);
      const error = await refusal(openStore({ dataDir: folder(), masterKey, databaseUrl }));
      expect(error).to.be.instanceOf(RefusedStart);
      expect(error.message)
        .to.match(/^The database postgres:\/\/127\.0\.0\.1.+ cannot be opened \(.+\): .+DATABASE_URL.+\.$/)
        .and.not.include('hunter2');
    }
  });
});
