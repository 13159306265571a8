import { expect } from 'chai';
import type { SetFlags } from '../../src/common/access/security-settings.js';
import type { WorkspaceRole } from '../../src/control-plane/store/store.js';
import { type AdminPlane, startPlane } from '../support/admin-plane.js';
import { logRow, RowsLedger } from '../support/rows-ledger.js';

describe('logs, by the security settings', () => {
  const ledger = new RowsLedger();
  let plane: AdminPlane;
  const people: Partial<Record<WorkspaceRole, { readonly key: string; readonly log: string }>> = {};

  before(async () => {
    plane = await startPlane({ ledger });
    for (const role of ['admin', 'manager', 'member'] as const) people[role] = await person(role);
  });
  after(() => plane.close());

  /** Somebody with a key, by which one request was made. */
  async function person(role: WorkspaceRole) {
    const { organisation_id: organisation, workspace_id: workspaceId } = plane.first;
    const user = await plane.store.users.create(organisation, {
      email: `${role}@example.com`,
      role: 'member',
      workspaces: [{ workspaceId, role }],
    });
    if (typeof user === 'string') throw new Error(user);
    const made = await plane.store.keys.create(organisation, {
      type: 'workspace-user',
      workspaceId,
      userId: user.id,
      name: role,
      scopes: ['logs.list', 'logs.view'],
    });
    if (made === 'missing') throw new Error(made);
    const log = `log-${role}`;
    ledger.rows.push({ ...logRow(organisation, workspaceId, log, role), key: made.key.id });
    return { key: made.text.reveal(), log };
  }

  const all = ['log-admin', 'log-manager', 'log-member'];
  const look = (role: WorkspaceRole, path = '/v1/logs') =>
    plane.rest('GET', path, undefined, { key: people[role]!.key });
  const seen = async (role: WorkspaceRole): Promise<string[]> =>
    (await look(role)).json.data.map(({ id }: { id: string }) => id).sort();

  async function under(securitySettings: SetFlags, work: () => Promise<void>): Promise<void> {
    const { organisation_id: organisation, workspace_id: workspace } = plane.first;
    await plane.store.workspaces.update(organisation, workspace, { securitySettings });
    try {
      await work();
    } finally {
      await plane.store.workspaces.update(organisation, workspace, { securitySettings: {} });
    }
  }

  it('are seen by every member unless something is set', async () => {
    for (const role of ['admin', 'manager', 'member'] as const) expect(await seen(role)).to.deep.equal(all);
  });

  for (const role of ['manager', 'member'] as const) {
    it(`are those of the own keys alone where ${role}s do not see all data`, () =>
      under({ [`${role}s_view_all_data`]: false }, async () => {
        expect(await seen(role)).to.deep.equal([`log-${role}`]);
        expect((await look(role, `/v1/logs/log-${role}`)).status).to.equal(200);
        const foreign = await look(role, '/v1/logs/log-admin');
        expect(foreign.status).to.equal(404);
        expect(foreign.json).to.deep.equal((await look(role, '/v1/logs/none')).json);
        expect(await seen('admin')).to.deep.equal(all);
      }));

    it(`are refused where ${role}s do not see logs`, () =>
      under({ [`${role}s_view_logs`]: false }, async () => {
        expect((await look(role)).status).to.equal(403);
        expect(await seen('admin')).to.deep.equal(all);
      }));

    it(`come without metadata where ${role}s do not see that`, async () => {
      const metadata = async (who: WorkspaceRole) => (await look(who)).json.data[0].metadata;
      expect(await metadata(role)).to.deep.equal({ team: 'a' });
      await under({ [`${role}s_view_log_metadata`]: false }, async () => {
        expect(await metadata(role)).to.deep.equal({});
        expect(await metadata('admin')).to.deep.equal({ team: 'a' });
      });
    });
  }

  it('are kept from the keys of the organisation where its admins do not see them', async () => {
    const { organisation_id: organisation } = plane.first;
    const logs = () => plane.rest('GET', '/v1/logs');
    expect((await logs()).status).to.equal(200);
    const securitySettings = { organisation_admins_view_logs: false };
    await plane.store.organisations.update(organisation, { securitySettings });
    expect((await logs()).status).to.equal(403);
    expect(await seen('member')).to.deep.equal(all);
  });
});
