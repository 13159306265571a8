// lane: slow
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { headgateHere } from '../support/cli-bench.js';
import { headgate } from '../support/command.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { patchOf } from '../support/scim-plane.js';
import { folder, forEachStore } from '../support/stores.js';
import { expectWithinMs } from '../support/time-limits.js';
import { KeyServer, makeIssuerKey, signToken } from '../support/token-issuer.js';

describe('two gateways on one PostgreSQL', function () {
  this.timeout(60_000);

  forEachStore(({ options, dialect }) => {
    if (dialect !== 'postgres') return;
    let one: RunningGateway;
    let two: RunningGateway;
    let env: Record<string, string>;

    before(async () => {
      const { databaseUrl } = await options(folder());
      env = {
        DATABASE_URL: databaseUrl?.reveal() ?? '',
        HEADGATE_MASTER_KEY: randomBytes(32).toString('hex'),
        HEADGATE_SIMULATED: 'true',
      };
      one = await startGateway({ env });
      const dataDir = mkdtempSync(join(tmpdir(), 'headgate-test-'));
      // The second node makes no first keys: they are there.
      copyFileSync(join(one.dataDir, 'first-keys.json'), join(dataDir, 'first-keys.json'));
      two = await startGateway({ env, dataDir });
    });
    after(() => Promise.all([one?.stop(), two?.stop()]));

    const statusAt = async (gateway: RunningGateway, key: string): Promise<number> => {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: '@simulated/gpt-4o-mini',
          messages: [{ role: 'user', content: 'Hello' }],
        }),
      });
      await response.text();
      return response.status;
    };

    it('a key revoked over the one is refused by it at once, and by the other within a second', async () => {
      const { id, key } = await one.admin().keys.create({
        type: 'workspace',
        sub_type: 'service',
        name: 'short-lived',
        workspace_id: one.workspaceId,
        scopes: ['completions.write'],
      });
      // Both know it by now, and would remember it.
      for (const gateway of [one, two]) expect(await statusAt(gateway, key)).to.equal(200);
      await one.admin().keys.delete(id);
      const revoked = performance.now();
      expect(await statusAt(one, key)).to.equal(401);
      await eventually('refused by the other', async () => (await statusAt(two, key)) === 401, 2000);
      expectWithinMs(performance.now() - revoked, 1000);
    });

    it('a token whose key was removed is refused by both after a refresh at one of them', async () => {
      const server = await new KeyServer().start();
      try {
        const [old, next] = await Promise.all([makeIssuerKey('old'), makeIssuerKey('next')]);
        server.keys = [old.jwk];
        const { organisations } = one.admin().api;
        await organisations.updateAuthSettings({ jwks_url: server.url });
        const claims = {
          gateway_oid: one.organisationId,
          gateway_workspace: 'default',
          scope: 'completions.write',
        };
        const token = await signToken(old, { ...claims, sub: 'alice' });
        for (const gateway of [one, two])
          await eventually('it is accepted', async () => (await statusAt(gateway, token)) === 200);
        server.keys = [next.jwk];
        const { keys } = await organisations.refreshAuthSettings({});
        const refreshed = performance.now();
        expect(keys).to.deep.equal([{ kid: 'next', alg: 'RS256' }]);
        expect(await statusAt(one, token)).to.equal(401);
        await eventually('refused by the other', async () => (await statusAt(two, token)) === 401, 2000);
        expectWithinMs(performance.now() - refreshed, 1000);
        const fresh = await signToken(next, claims);
        for (const gateway of [one, two]) expect(await statusAt(gateway, fresh)).to.equal(200);
      } finally {
        await server.close();
      }
    });

    it('a stream over the other ends within five seconds with an error event when its key is revoked over the one', async () => {
      const { id, key } = await one.admin().keys.create({
        type: 'workspace',
        sub_type: 'service',
        name: 'short-lived',
        workspace_id: one.workspaceId,
        scopes: ['completions.write'],
      });
      const response = await fetch(`${two.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'x-gateway-api-key': key,
          'x-gateway-provider': '@simulated',
          'content-type': 'application/json',
        },
        body: JSON.stringify({
          model: 'sim-fault:delay=50',
          stream: true,
          messages: [{ role: 'user', content: 'word '.repeat(1000) }],
        }),
      });
      expect(response.status).to.equal(200);
      await one.admin().keys.delete(id);
      const revoked = performance.now();
      const text = await response.text();
      expectWithinMs(performance.now() - revoked, 5000);
      expect(text).to.match(/event: error\ndata: .*"code":"key_revoked".*\n\n$/);
    });

    it('a key of the administration deleted over the one opens nothing there, and nothing over the other within a second', async () => {
      const { id, key } = await one.admin().keys.create({
        type: 'workspace',
        sub_type: 'service',
        name: 'short-lived',
        workspace_id: one.workspaceId,
        scopes: ['configs.list'],
      });
      const opens = async (gateway: RunningGateway): Promise<boolean> =>
        (await fetch(`${gateway.url}/v1/configs`, { headers: { 'x-gateway-api-key': key } })).ok;
      // Both know it by now.
      for (const gateway of [one, two]) expect(await opens(gateway)).to.equal(true);
      await one.admin().keys.delete(id);
      const deleted = performance.now();
      expect(await opens(one)).to.equal(false);
      await eventually('refused by the other', async () => !(await opens(two)), 2000);
      expectWithinMs(performance.now() - deleted, 1000);
    });

    it('a config made over the one is there over the other', async () => {
      const made = await two.admin().configs.create({ name: 'shared', config: { retry: { attempts: 1 } } });
      const slug = made.data?.slug ?? '';
      expect(await one.admin().configs.get(slug)).to.include({ name: 'shared' });
    });

    it('their audit log is one, verified from either machine', async () => {
      const rows: number[] = [];
      for (const gateway of [one, two]) {
        const ran = await headgateHere(['audit', 'verify', '--json'], gateway.env);
        const verified = JSON.parse(ran.stdout);
        expect(verified, ran.stderr).to.include({ ok: true });
        rows.push(verified.rows);
      }
      expect(rows[0]).to.be.greaterThan(5);
      expect(rows[1]).to.equal(rows[0]);
    });

    it('a user deactivated through SCIM over the one is refused by it at once, and by the other within a second', async () => {
      const scim = async (verb: string, path: string, body: object) => {
        const response = await fetch(`${one.url}/v1/scim/${one.organisationId}${path}`, {
          method: verb,
          headers: { 'x-gateway-api-key': one.adminKey, 'content-type': 'application/scim+json' },
          body: JSON.stringify(body),
        });
        expect(response.ok).to.equal(true);
        return (await response.json()) as { id: string };
      };
      const { id } = await scim('POST', '/Users', { userName: 'short-lived@example.com' });
      const { api } = one.admin();
      const users = [{ id, role: 'member' as const }];
      await api.workspaceMembers.addWorkspaceMembers({ workspace_id: one.workspaceId, users });
      const { key } = await one.admin().keys.create({
        type: 'workspace',
        sub_type: 'user',
        name: 'short-lived',
        workspace_id: one.workspaceId,
        user_id: id,
        scopes: ['completions.write'],
      });
      for (const gateway of [one, two]) expect(await statusAt(gateway, key)).to.equal(200);
      const operation = { op: 'replace', path: 'active', value: false };
      await scim('PATCH', `/Users/${id}`, patchOf(operation));
      const deactivated = performance.now();
      expect(await statusAt(one, key)).to.equal(401);
      await eventually('refused by the other', async () => (await statusAt(two, key)) === 401, 2000);
      expectWithinMs(performance.now() - deactivated, 1000);
    });

    it('their master key is not changed while one of them runs, and no file backup is made', async () => {
      const next = randomBytes(32).toString('hex');
      const rotated = await headgate(
        { ...env, HEADGATE_DATA_DIR: folder() },
        ['master-key', 'rotate', '--new-key-file', '-'],
        next,
      );
      expect(rotated.stderr).to.match(/^headgate: A gateway runs on postgres:.+ stop every one, rotate/);
      const refused = await headgateHere(['backup', 'nothing'], one.env);
      expect(refused.code).to.equal(2);
      expect(refused.stderr).to.match(/pg_dump --format=custom --file=/);
    });

    it('a request over the one is logged over the other within three seconds, with its bodies and its node', async () => {
      expect(await statusAt(one, one.workspaceKey)).to.equal(200);
      const answered = performance.now();
      const node = readFileSync(join(one.dataDir, 'node-id'), 'utf8').trim();
      const row = await eventually('the row', async () => {
        const { data } = await two.admin().logs.list({ limit: 1 });
        return data?.find(({ node_id }) => node_id === node);
      });
      const log = await eventually('its bodies', async () => {
        const found = await two.admin().logs.get(row.id ?? '');
        return found.request?.body && found.response?.body ? found : null;
      });
      expectWithinMs(performance.now() - answered, 3000);
      expect(log.request?.body).to.contain('Hello');
      expect(log).to.deep.equal(await one.admin().logs.get(row.id ?? ''));
      const metrics = await (await fetch(`${one.opsUrl}/metrics`)).text();
      expect(Number(/^gateway_journal_behind_seconds (\S+)$/m.exec(metrics)?.[1])).to.be.within(0, 3);
    });

    it('one that is stopped has handed over every row and body before it exits', async () => {
      const before = (await two.admin().logs.list({ limit: 1000 })).data?.length ?? 0;
      const statuses = await Promise.all(Array.from({ length: 40 }, () => statusAt(one, one.workspaceKey)));
      expect(new Set(statuses)).to.deep.equal(new Set([200]));
      await one.stop({ keep: true });
      expect(readdirSync(join(one.dataDir, 'journal'))).to.deep.equal([]);
      const { data } = await two.admin().logs.list({ limit: 1000 });
      expect(data).to.have.length(before + 40);
      const { response } = await two.admin().logs.get(data?.[0]?.id ?? '');
      expect(response?.body).to.contain('choices');
    });
  });
});
