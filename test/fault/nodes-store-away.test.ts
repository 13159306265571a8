// lane: slow
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import { headgate } from '../support/command.js';
import { FaultyProxy } from '../support/faulty-proxy.js';
import { eventually, pause, type RunningGateway, startGateway } from '../support/gateway.js';
import { isLong } from '../support/long-forms.js';
import { folder, forEachStore, server } from '../support/stores.js';
import { expectWithinMs, scaled, TimeLimitError } from '../support/time-limits.js';

/** Milliseconds that each state lasts, and requests a second on both nodes together. */
const lastsMs = isLong ? 5000 : 1500;
const perSecond = isLong ? 200 : 30;

const chat = JSON.stringify({
  model: '@simulated/gpt-4o-mini',
  messages: [{ role: 'user', content: 'Hello' }],
});

/** Transactions of other tests and programs, which delay the followers of committed rows. */
const longTransactions = `
  SELECT datname, application_name, state, now() - xact_start AS since, left(query, 80) AS query FROM pg_stat_activity
  WHERE backend_xid IS NOT NULL AND usename <> $1 AND xact_start < now() - interval '2 seconds' ORDER BY xact_start`;
const mostHeldBackMs = 60_000;

interface Sent {
  readonly status: number;
  readonly ms: number;
}

describe('two gateways whose PostgreSQL goes away', function () {
  this.timeout(isLong ? 240_000 : 150_000);

  forEachStore(({ options, dialect }) => {
    if (dialect !== 'postgres') return;
    let proxy: FaultyProxy;
    /** Between the second node and the proxy of both. */
    let proxyOfTwo: FaultyProxy;
    let one: RunningGateway;
    let two: RunningGateway;
    let env: Record<string, string>;
    let role: string;
    let admin: pg.Client;
    /** Answers with 200 so far. */
    let served = 0;

    before(async () => {
      const { hostname, port } = new URL(server);
      proxy = await FaultyProxy.start(Number(port || 5432), hostname);
      const { databaseUrl } = await options(folder());
      const url = new URL(proxy.through(databaseUrl?.reveal() ?? ''));
      role = `role_${url.searchParams.get('application_name')}`;
      url.username = role;
      admin = new pg.Client({ connectionString: server });
      await admin.connect();
      await admin.query(`CREATE ROLE ${role} LOGIN SUPERUSER`);
      env = {
        DATABASE_URL: url.href,
        HEADGATE_MASTER_KEY: randomBytes(32).toString('hex'),
        HEADGATE_SIMULATED: 'true',
      };
      one = await startGateway({ env });
      const dataDir = mkdtempSync(join(tmpdir(), 'headgate-test-'));
      // The second node makes no first keys: they are there.
      copyFileSync(join(one.dataDir, 'first-keys.json'), join(dataDir, 'first-keys.json'));
      proxyOfTwo = await FaultyProxy.start(Number(url.port), url.hostname);
      two = await startGateway({ env: { ...env, DATABASE_URL: proxyOfTwo.through(url.href) }, dataDir });
    });
    after(async () => {
      for (const each of [proxy, proxyOfTwo]) await each?.pass();
      await Promise.all([one?.stop(), two?.stop()]);
      for (const each of [proxyOfTwo, proxy]) await each?.close();
      await ended();
      await admin?.query(
        `REASSIGN OWNED BY ${role} TO CURRENT_USER; DROP OWNED BY ${role}; DROP ROLE ${role}`,
      );
      await admin?.end();
    });

    afterEach(async () => {
      clearInterval(flapping);
      for (const each of [proxy, proxyOfTwo]) await each.pass();
      await admin.query(`ALTER ROLE ${role} SET default_transaction_read_only = off`);
      await allWell();
    });

    /** Ends every connection of the nodes. */
    const ended = (): Promise<unknown> =>
      admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [role]);

    async function send(gateway: RunningGateway, key = one.workspaceKey): Promise<Sent> {
      const from = performance.now();
      const status = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
        body: chat,
      }).then(
        async (response) => {
          await response.arrayBuffer();
          return response.status;
        },
        () => 0,
      );
      if (status === 200) served += 1;
      return { status, ms: performance.now() - from };
    }

    const logsOf = (gateway: RunningGateway, after: string | undefined) =>
      gateway.admin().logs.list({ workspace_id: one.workspaceId, limit: 1000, ...(after && { after }) });

    /** Rows of requests with status 200 since these cursors, on both nodes: as many as are expected, or too few in the end. */
    async function rowsSince(cursors: readonly (string | undefined)[], expected: number): Promise<number> {
      const ids = new Set<string>();
      const at = [...cursors];
      let refusal: unknown = null;
      const there = async (): Promise<boolean> => {
        for (const [i, gateway] of [one, two].entries()) {
          // A pool may still hold a connection that died: a reader asks again from the same cursor.
          const page = await logsOf(gateway, at[i]).catch((error: unknown) => {
            refusal = error;
            return null;
          });
          if (page === null) continue;
          at[i] = page.cursor || at[i];
          for (const row of page.data ?? []) if (row.response_status_code === 200) ids.add(row.id ?? '');
        }
        return ids.size >= expected;
      };
      // Followers wait for the oldest transaction on the server, and others have long ones there: their time does not count.
      let heldBack = 0;
      let spent = 0;
      for (let last = performance.now(); spent < scaled(30_000) && !(await there()); ) {
        const { rows } = await admin.query(longTransactions, [role]);
        await pause(100);
        const now = performance.now();
        if (rows.length > 0) heldBack += now - last;
        else spent += now - last;
        last = now;
        if (heldBack > scaled(mostHeldBackMs))
          throw new TimeLimitError(`held back by ${JSON.stringify(rows)}`);
      }
      if (ids.size < expected) console.log(`      last refusal: ${refusal}; held back for ${heldBack} ms`);
      return ids.size;
    }

    /** Requests at an even pace to both nodes, by turns, for so long. */
    async function load(ms: number): Promise<readonly Sent[]> {
      const from = performance.now();
      const sent: Promise<Sent>[] = [];
      for (let i = 0; performance.now() - from < ms; i++) {
        sent.push(send(i % 2 === 0 ? one : two));
        const due = from + ((i + 1) * 1000) / perSecond;
        await pause(Math.max(0, due - performance.now()));
      }
      return Promise.all(sent);
    }
    const p99 = (sent: readonly Sent[]): number =>
      sent.map(({ ms }) => ms).sort((a, b) => a - b)[Math.floor(sent.length * 0.99)] ?? 0;

    const readyz = async (gateway: RunningGateway): Promise<{ status: number; text: string }> => {
      const from = performance.now();
      const response = await fetch(`${gateway.opsUrl}/readyz?verbose`);
      const text = await response.text();
      expectWithinMs(performance.now() - from, 1000, { what: '/readyz' });
      return { status: response.status, text };
    };
    const storeIs = (gateway: RunningGateway, what: string): Promise<boolean> =>
      eventually(`the store ${what}`, async () => (await readyz(gateway)).text.includes(`]store ${what}`));
    const allWell = (): Promise<unknown> => Promise.all([one, two].map((gateway) => storeIs(gateway, 'ok')));
    const metricOf = async (gateway: RunningGateway, name: string): Promise<number> => {
      const text = await (await fetch(`${gateway.opsUrl}/metrics`)).text();
      return Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
    };
    const makeKey = async (name: string): Promise<{ id: string; key: string }> => {
      const { id, key } = await one.admin().keys.create({
        type: 'workspace',
        sub_type: 'service',
        name,
        workspace_id: one.workspaceId,
        scopes: ['completions.write'],
      });
      return { id: id ?? '', key: key ?? '' };
    };

    /** Each with how it begins, what goes on meanwhile, and how it ends. */
    const states: Record<string, { begin(): Promise<void>; end(): Promise<void> }> = {
      dead: { begin: async () => proxy.refuse(), end: () => proxy.pass() },
      silent: { begin: async () => proxy.swallow(), end: () => proxy.pass() },
      'read-only after a failover': {
        async begin() {
          await admin.query(`ALTER ROLE ${role} SET default_transaction_read_only = on`);
          await ended();
        },
        async end() {
          await admin.query(`ALTER ROLE ${role} SET default_transaction_read_only = off`);
        },
      },
      flapping: {
        async begin() {
          flapping = setInterval(() => {
            if (proxy.state === 'pass') proxy.refuse();
            else void proxy.pass();
          }, 200);
        },
        async end() {
          clearInterval(flapping);
          await pause(10);
          await proxy.pass();
        },
      },
      'forgotten by a firewall': { begin: async () => proxy.forget(), end: async () => {} },
    };
    let flapping: NodeJS.Timeout | undefined;

    it('answer every request in each state, as fast as before, and have every row afterwards', async () => {
      await load(500);
      await pause(1500);
      const cursors = await Promise.all(
        [one, two].map(async (each) => (await logsOf(each, undefined)).cursor ?? ''),
      );
      const before = served;
      const quiet = p99(await load(lastsMs));
      const figures: string[] = [];
      for (const [name, { begin, end }] of Object.entries(states)) {
        await begin();
        const sent = await load(lastsMs);
        const { status } = await readyz(one);
        await end();
        expect(status, `/readyz while it is ${name}`).to.equal(200);
        expect(sent.filter((each) => each.status !== 200).length, `failed while it is ${name}`).to.equal(0);
        // In the short form, on a machine that does other things as well, only what hangs shows.
        const limit = isLong ? 1.5 * quiet + scaled(3) : 1.5 * quiet + scaled(400);
        figures.push(`${name} ${p99(sent).toFixed(1)} ms`);
        if (p99(sent) > limit) throw new TimeLimitError(`p99 before ${quiet} ms, then ${figures.join(', ')}`);
        await allWell();
      }
      if (isLong) console.log(`      p99 before ${quiet.toFixed(1)} ms; ${figures.join(', ')}`);
      expect(await rowsSince(cursors, served - before)).to.equal(served - before);
    });

    it('refuse with 503 what they do not know, and the administration, and know it again afterwards', async () => {
      const { key } = await makeKey('not asked for yet');
      for (const state of ['dead', 'silent'] as const) {
        await states[state]?.begin();
        const unknown = await Promise.all(
          [one, two].map(async (gateway) => {
            const from = performance.now();
            const response = await fetch(`${gateway.url}/v1/chat/completions`, {
              method: 'POST',
              headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
              body: chat,
            });
            expectWithinMs(performance.now() - from, 1000, { what: `an unknown key, ${state}` });
            const body = (await response.json()) as { error: { code: string } };
            return [response.status, body.error.code, response.headers.get('retry-after')];
          }),
        );
        expect(unknown).to.deep.equal([
          [503, 'store_unavailable', '1'],
          [503, 'store_unavailable', '1'],
        ]);
        const from = performance.now();
        const made = await fetch(`${one.url}/v1/configs`, {
          method: 'POST',
          headers: { 'x-gateway-api-key': one.adminKey, 'content-type': 'application/json' },
          body: JSON.stringify({ name: `made while ${state}`, config: {}, workspace_id: one.workspaceId }),
        });
        expect(made.status, await made.text()).to.equal(503);
        expect(made.headers.get('retry-after')).to.equal('1');
        const listed = await one
          .admin()
          .configs.list({ workspace_id: one.workspaceId })
          .catch((error) => error.message);
        expect(listed).to.match(/store/);
        expectWithinMs(performance.now() - from, 6000, { what: `the administration, ${state}` });
        await storeIs(one, 'failed (ready without it)');
        expect(await metricOf(one, 'gateway_store_up')).to.equal(0);
        await states[state]?.end();
        await allWell();
        expect(await metricOf(one, 'gateway_store_up')).to.equal(1);
      }
      // Never remembered as absent.
      for (const gateway of [one, two]) expect(await send(gateway, key)).to.include({ status: 200 });
      const { data } = await one.admin().configs.list({ workspace_id: one.workspaceId });
      expect(data?.filter(({ name }) => name?.startsWith('made while'))).to.deep.equal([]);
    });

    it('refuse within two seconds of its return a key that was revoked by another node meanwhile', async () => {
      const { id, key } = await makeKey('revoked meanwhile');
      // Until the other node has heard of the new key, hearing of it makes it look the key up again.
      await new Promise((later) => setTimeout(later, 1000));
      for (const gateway of [one, two]) expect((await send(gateway, key)).status).to.equal(200);
      proxyOfTwo.swallow();
      await storeIs(two, 'failed (ready without it)');
      expect(await metricOf(two, 'gateway_changes_behind_seconds')).to.be.greaterThan(0);
      await one.admin().keys.delete(id);
      expect((await send(one, key)).status).to.equal(401);
      expect((await send(two, key)).status).to.equal(200);
      const from = performance.now();
      await proxyOfTwo.pass();
      await eventually('refused', async () => (await send(two, key)).status === 401);
      expectWithinMs(performance.now() - from, 2000);
      await allWell();
    });

    it('serve a worker that starts while it is away, and start without it themselves', async () => {
      const revoked = await makeKey('revoked before');
      const kept = await makeKey('kept');
      for (const { key } of [revoked, kept]) expect((await send(one, key)).status).to.equal(200);
      await one.admin().keys.delete(revoked.id);
      const sealed = statSync(join(one.dataDir, 'known.sealed'));
      expect(sealed.mode & 0o777).to.equal(0o600);
      // The feed of changes has made the node forget what it was asked for since: that is asked for again.
      await pause(1500);
      for (const key of [kept.key, one.workspaceKey]) expect((await send(one, key)).status).to.equal(200);
      await pause(1000);
      proxy.refuse();
      await storeIs(one, 'failed (ready without it)');
      // As after a crash: nothing is put in order.
      const exited = new Promise((done) => one.process.once('exit', done));
      one.process.kill('SIGKILL');
      await exited;
      one = await one.restart();
      for (const key of [one.workspaceKey, kept.key]) {
        const { status } = await send(one, key);
        expect(status, one.output().slice(-2000)).to.equal(200);
      }
      // What is no longer known of it is not taken for absent either.
      expect((await send(one, revoked.key)).status).to.equal(503);
      expect((await readyz(one)).status).to.equal(200);
      await proxy.pass();
      await allWell();
      expect((await send(one, revoked.key)).status).to.equal(401);
      expect((await one.admin().configs.list({ workspace_id: one.workspaceId })).data).to.be.an('array');
    });

    it('do not start where they have not served before, with one line without a password', async () => {
      proxy.refuse();
      const url = new URL(env['DATABASE_URL'] ?? '');
      url.password = 'hunter2';
      const ran = await headgate({ ...env, DATABASE_URL: url.href, HEADGATE_DATA_DIR: folder() }, ['serve']);
      await proxy.pass();
      expect(ran.code).to.equal(1);
      expect(ran.stderr + ran.stdout).to.not.include('hunter2');
      expect(ran.stderr.trim().split('\n')).to.have.length(1);
      expect(ran.stderr).to.match(/^headgate: The database postgres:.+ cannot be opened/);
    });

    it('answer 503 once it has been away for longer than stale_max_s', async () => {
      await allWell();
      await two.stop({ keep: true });
      const short = await startGateway({
        env: { ...two.env, HEADGATE_STALE_MAX_S: '2' },
        dataDir: two.dataDir,
      });
      two = short;
      expect((await send(two)).status).to.equal(200);
      proxy.refuse();
      await eventually('refused', async () => (await send(two)).status === 503);
      expect((await readyz(two)).status).to.equal(200);
      await proxy.pass();
      await allWell();
      expect((await send(two)).status).to.equal(200);
    });
  });
});
