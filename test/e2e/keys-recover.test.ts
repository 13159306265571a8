import { randomBytes } from 'node:crypto';
import { userInfo } from 'node:os';
import { expect } from 'chai';
import { isGatewayKey } from '../../src/common/access/gateway-key.js';
import { scopesOf } from '../../src/common/access/scopes.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import { openStore } from '../../src/control-plane/store/store.js';
import { type AdminPlane, startPlane } from '../support/admin-plane.js';
import { headgateHere } from '../support/cli-bench.js';
import { folder, forEachStore } from '../support/stores.js';

const everything = { offset: 0, limit: 100 };

describe('headgate keys recover', () => {
  forEachStore(({ options }) => {
    let plane: AdminPlane;
    let env: Record<string, string>;
    let master: Buffer;

    beforeEach(async () => {
      master = randomBytes(32);
      const dataDir = folder();
      const given = { ...(await options(dataDir)), masterKey: new MasterKey(master) };
      plane = await startPlane({ store: await openStore(given) });
      env = { HEADGATE_DATA_DIR: dataDir, HEADGATE_MASTER_KEY: master.toString('hex') };
      if (given.databaseUrl) env['DATABASE_URL'] = given.databaseUrl.reveal();
    });
    afterEach(() => plane.close());

    const recover = (...more: string[]) => headgateHere(['keys', 'recover', ...more], env);

    it('makes a key with every scope where no key is left, next to a gateway that serves', async () => {
      const { organisation_id: organisation } = plane.first;
      const { rows } = await plane.store.keys.list(organisation, {}, everything);
      for (const { id } of rows) await plane.store.keys.delete(organisation, id);
      expect((await plane.rest('GET', '/v1/api-keys')).status).to.equal(401);

      const { code, stdout, stderr } = await recover('--name', 'Found again');
      expect(code, stderr).to.equal(0);
      const key = stdout.trim();
      expect(isGatewayKey(key)).to.equal(true);
      expect(stderr).to.include('shown again').and.not.include(key);
      const listed = await plane.rest('GET', '/v1/api-keys', undefined, { key });
      expect(listed.json.data).to.have.length(1);
      expect(listed.json.data[0]).to.include({ name: 'Found again', type: 'organisation-service' });
      expect(listed.json.data[0].scopes).to.have.members(scopesOf('organisation-service'));
      const owner = await plane.rest(
        'POST',
        '/v1/admin/users',
        { email: 'ada@example.com', role: 'owner' },
        { key },
      );
      expect(owner.status).to.equal(200);
    });

    it('leaves one row in the audit log, which goes on as a whole', async () => {
      const { organisation_id: organisation } = plane.first;
      const label = (name: string) => plane.rest('POST', '/v1/labels', { name, workspace_id: 'default' });
      await label('before');
      const { id, key } = JSON.parse((await recover('--json')).stdout);
      await label('after');
      const audit = await plane.store.audit.list(organisation, {}, everything);
      expect(audit.total).to.equal(3);
      expect(audit.rows[1]).to.include({
        seq: 2,
        userType: 'local_command',
        userId: userInfo().username,
        actorName: 'headgate keys recover',
        resourceType: 'api_key',
        resourceId: id,
        action: 'create',
        allowed: true,
      });
      expect(JSON.stringify(audit.rows)).to.not.include(key);
      expect(await plane.store.audit.verify(organisation)).to.deep.equal({ ok: true, rows: 3 });
      const window = 'start_time=2000-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z';
      const found = await plane.rest('GET', `/v1/audit-logs?${window}&user_type=local_command`);
      expect(found.json.total).to.equal(1);
    });

    it('makes nothing with another master key, or for an organisation that is not there', async () => {
      const other = { ...env, HEADGATE_MASTER_KEY: randomBytes(32).toString('hex') };
      const wrong = await headgateHere(['keys', 'recover'], other);
      expect(wrong.code).to.equal(1);
      expect(wrong.stderr).to.match(/^headgate: The master key is not/);
      const missing = await recover('--organisation', 'nowhere');
      expect(missing.code).to.equal(2);
      expect(missing.stderr).to.include('There is no organisation nowhere.');
      const { organisation_id: organisation } = plane.first;
      expect((await plane.store.keys.list(organisation, {}, everything)).total).to.equal(2);
      expect((await plane.store.audit.list(organisation, {}, everything)).total).to.equal(0);
    });
  });
});
