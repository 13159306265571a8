import { expect } from 'chai';
import pg from 'pg';
import { Secret } from '../../src/common/access/secret.js';
import { GatewayError } from '../../src/common/core/errors.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import { openStore, type Store, type StoreOptions } from '../../src/control-plane/store/store.js';
import { FaultyProxy } from '../support/faulty-proxy.js';
import { eventually } from '../support/gateway.js';
import { entryOf, folder, forEachStore, server } from '../support/stores.js';
import { expectWithinMs } from '../support/time-limits.js';

describe('a store whose PostgreSQL goes away', function () {
  this.timeout(60_000);

  forEachStore(({ options, dialect }) => {
    if (dialect !== 'postgres') return;
    let proxy: FaultyProxy;
    let direct: StoreOptions;
    let behind: StoreOptions;
    let store: Store;
    let organisation: string;
    /** How far the store's feed has been told, and what it said. */
    const heard: string[] = [];

    before(async () => {
      const { hostname, port } = new URL(server);
      proxy = await FaultyProxy.start(Number(port || 5432), hostname);
      const dataDir = folder();
      direct = await options(dataDir);
      behind = {
        ...direct,
        databaseUrl: new Secret(proxy.through(direct.databaseUrl?.reveal() ?? '')),
      };
      store = await openStore(behind);
      organisation = (await bootstrap(store, { dataDir, simulated: false }))?.organisation_id ?? '';
      await store.changes.watch((changes) => {
        if (changes === 'missed') heard.push(changes);
        else for (const { id } of changes) heard.push(id);
      });
      await eventually('watched', async () => store.state === 'up');
    });
    after(async () => {
      await store?.close();
      await proxy?.close();
    });

    const write = (id: string, by = store): Promise<void> =>
      by.unit(organisation, async () => {
        await by.audit.append(entryOf(organisation, { requestId: id }));
        await by.changes.append({
          organisationId: organisation,
          workspaceId: null,
          kind: 'config',
          id,
          slug: null,
          action: 'update',
        });
      });
    const refusal = (work: Promise<unknown>): Promise<GatewayError> =>
      work.then(
        () => expect.fail('must be refused'),
        (error: unknown) => {
          expect(error).to.be.instanceOf(GatewayError);
          return error as GatewayError;
        },
      );
    const written = async (): Promise<readonly string[]> => {
      const { rows } = await store.audit.list(organisation, {}, { offset: 0, limit: 100 });
      return rows.map(({ requestId }) => requestId);
    };
    const isBack = async (ms: number): Promise<void> => {
      const from = performance.now();
      await eventually('writes work again', () =>
        write(`back ${from}`).then(
          () => true,
          () => false,
        ),
      );
      expectWithinMs(performance.now() - from, ms);
    };
    /** Changed over another connection, as by another node. */
    async function changedElsewhere(id: string): Promise<void> {
      const other = await openStore(direct);
      await write(id, other);
      await other.close();
    }

    it('that refuses connections fails calls at once, and is used again when it is back', async () => {
      proxy.refuse();
      await eventually('noticed', async () => store.state === 'away');
      const from = performance.now();
      expect(await refusal(write('refused'))).to.include({ code: 'store_unavailable', retryAfterMs: 1000 });
      expect(await store.ping()).to.equal(false);
      expectWithinMs(performance.now() - from, 100);
      await proxy.pass();
      await isBack(5000);
      expect(await written()).to.not.include('refused');
    });

    it('that goes silent is noticed within five seconds, and what was changed meanwhile is known within two of its return', async () => {
      await write('before silence');
      proxy.swallow();
      const from = performance.now();
      const error = refusal(write('in silence'));
      await eventually('noticed', async () => store.state === 'away');
      expectWithinMs(performance.now() - from, 5000);
      expect((await error).code).to.equal('store_unavailable');
      expectWithinMs(performance.now() - from, 6000);
      await changedElsewhere('meanwhile');
      heard.length = 0;
      await proxy.pass();
      const back = performance.now();
      await eventually('caught up', async () => heard.includes('meanwhile'));
      expectWithinMs(performance.now() - back, 2000);
      expect(heard).to.not.include('missed');
      await isBack(5000);
      expect(await written())
        .to.include('meanwhile')
        .and.not.include('in silence');
    });

    it('whose connections were forgotten by a firewall is reached over new ones', async () => {
      await Promise.all([write('one'), store.first(), store.first()]);
      proxy.forget();
      const from = performance.now();
      await eventually('reads', () => store.ping());
      await isBack(5000);
      expectWithinMs(performance.now() - from, 5000);
    });

    it('that takes no changes for a while answers reads, and takes changes within five seconds of its return', async () => {
      const schema = new URL(direct.databaseUrl?.reveal() ?? '').searchParams.get('application_name') ?? '';
      const admin = new pg.Client({ connectionString: server });
      await admin.connect();
      const role = `role_${schema}`;
      const failOver = async (mode: string): Promise<void> => {
        await admin.query(`ALTER ROLE ${role} SET default_transaction_read_only = ${mode}`);
        await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [
          role,
        ]);
      };
      await admin.query(`CREATE ROLE ${role} LOGIN SUPERUSER`);
      const url = new URL(behind.databaseUrl?.reveal() ?? '');
      url.username = role;
      const other = await openStore({ ...behind, databaseUrl: new Secret(url.href) });
      try {
        await other.changes.watch(() => {});
        await eventually('watched', async () => other.state === 'up');
        await failOver('on');
        await eventually('noticed', async () => other.state === 'read-only');
        expect((await refusal(write('read-only', other))).message).to.match(/^The store takes no changes/);
        expect(await other.ping()).to.equal(true);
        await admin.query(`ALTER ROLE ${role} SET default_transaction_read_only = off`);
        const from = performance.now();
        await eventually('takes changes', () =>
          write('promoted', other).then(
            () => true,
            () => false,
          ),
        );
        expectWithinMs(performance.now() - from, 5000);
        expect(await written())
          .to.include('promoted')
          .and.not.include('read-only');
      } finally {
        await other.close();
        await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [
          role,
        ]);
        await admin.query(`DROP ROLE ${role}`);
        await admin.end();
      }
    });

    it('does not do later what it has refused: a commit that arrives late is an error', async () => {
      let isHeld = false;
      proxy.rule = (piece, direction) => {
        isHeld = direction === 'toServer' && piece.includes('; COMMIT');
        return isHeld ? 'hold' : 'pass';
      };
      const from = performance.now();
      const error = await refusal(write('late'));
      expectWithinMs(performance.now() - from, 6000);
      expect([isHeld, error.code]).to.deep.equal([true, 'store_unavailable']);
      await proxy.pass();
      await isBack(6000);
      expect(await written()).to.not.include('late');
    });

    it('finds out what became of a commit whose answer was cut off', async () => {
      // The server's word that it was carried out.
      proxy.rule = (piece, direction) =>
        direction === 'toClient' && piece.includes('COMMIT') ? 'reset' : 'pass';
      await write('cut after commit');
      proxy.rule = null;
      expect(await written()).to.include('cut after commit');
      proxy.rule = (piece, direction) =>
        direction === 'toServer' && piece.includes('COMMIT') ? 'reset' : 'pass';
      const error = await refusal(write('cut before commit'));
      proxy.rule = null;
      expect(error.message).to.include('nothing was changed');
      expect(await written()).to.not.include('cut before commit');
    });

    it('reports that changes were missed when some are no longer kept, and when the store was set back', async () => {
      const bare = new pg.Client({ connectionString: direct.databaseUrl?.reveal() });
      await bare.connect();
      try {
        proxy.refuse();
        await eventually('noticed', async () => store.state === 'away');
        await changedElsewhere('pruned');
        const newest = await bare.query('SELECT max(seq) AS seq FROM changes');
        await bare.query('DELETE FROM changes');
        await bare.query(
          `INSERT INTO meta (name, value) VALUES ('changes_pruned_to', '${newest.rows[0].seq}')`,
        );
        heard.length = 0;
        await proxy.pass();
        await eventually('told', async () => heard.includes('missed'));

        await write('then on');
        await eventually('told', async () => heard.includes('then on'));
        proxy.refuse();
        await eventually('noticed', async () => store.state === 'away');
        // The same number, another change: a standby that had not got all of it was promoted.
        await bare.query("UPDATE changes SET record_id = 'another' WHERE record_id = 'then on'");
        heard.length = 0;
        await proxy.pass();
        await eventually('told', async () => heard.includes('missed'));
      } finally {
        await bare.end();
      }
    });

    it('opens without its PostgreSQL by what was known of it, and is used once it is back', async () => {
      proxy.refuse();
      expect(await openStore(behind).catch((error) => error.name)).to.equal('RefusedStart');
      const known = { pepper: store.pepper, audit: store.auditKey };
      const again = await openStore({ ...behind, known });
      try {
        expect(again.state).to.equal('away');
        await again.changes.watch(() => {}, { seq: 0, mark: '' });
        await proxy.pass();
        await eventually('back', async () => again.state === 'up');
        expect(await again.first()).to.deep.equal(await store.first());
      } finally {
        await again.close();
      }
    });
  });
});
