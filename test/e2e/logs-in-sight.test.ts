import { expect } from 'chai';
import { adminTree } from '../../proto/tree.js';
import type { SetFlags } from '../../src/common/access/security-settings.js';
import type { Analytics, AnalyticsQuestion } from '../../src/control-plane/analytics/question.js';
import { type AdminPlane, startPlane } from '../support/admin-plane.js';
import { type LogRoute, logRoutes, otherLogMethods } from '../support/log-routes.js';
import { logRow } from '../support/rows-ledger.js';

type Role = 'member' | 'manager' | 'admin' | 'service' | 'organisation';
const roles: readonly Role[] = ['member', 'manager', 'admin', 'service', 'organisation'];
/** Of whom a flag's name begins with this. */
const named: Partial<Record<Role, string>> = {
  member: 'members',
  manager: 'managers',
  organisation: 'organisation_admins',
};
const sights = ['view_logs', 'view_analytics', 'view_all_data', 'view_log_metadata'] as const;
type Sight = (typeof sights)[number];

/** Where a flag is set: in the organisation, in the workspace, or in both, where the workspace's wins. */
const layers = ['organisation', 'workspace', 'workspace over organisation'] as const;

describe('who sees which logs, by role, flag and route', () => {
  let plane: AdminPlane;
  const keys = new Map<Role, { readonly key: string; readonly own: string }>();
  const scopes = ['logs.list', 'logs.view', 'logs.export', 'analytics.view', 'configs.read'];
  /** How many requests analytics were asked about, and metadata of requests that were replayed. */
  let asked = 0;
  let replayed: unknown[] = [];

  /** Analytics that only count what is in sight, by the ledger's own filters. */
  const analytics = {
    async ask({ kind, sight, filters }: AnalyticsQuestion) {
      const order = { by: 'created_at', isAscending: false } as const;
      const query = { sight, filters, order, limit: 1, offset: 0, isCounted: true };
      asked = (await plane.options.ledger.page(query)).total!;
      const answers = {
        ...{ graph: { summary: {}, points: [], series: null }, cache: {}, slots: [] },
        ...{
          groups: { total: asked, rows: [] },
          values: { total: asked, values: [] },
          usage: { groups: [] },
        },
      };
      return answers[kind];
    },
  } as Analytics;
  const none = { anomalies: [], total: 0 };

  before(async () => {
    plane = await startPlane({
      analytics,
      alerts: {
        list: async () => ({ alerts: [], total: 0 }),
        listAnomalies: async ({ keys }) => (keys === null ? { ...none, total: roles.length } : none),
      },
      explain: async ({ headers }) => {
        const at = headers.indexOf('x-gateway-metadata');
        replayed.push(at < 0 ? {} : JSON.parse(headers[at + 1]!));
        const nothing = { refused: null, config: null, configVersion: 'none', cache: null };
        return { ...nothing, limits: [], nodes: [], judged: [] };
      },
    });
    for (const role of roles) keys.set(role, await somebody(role));
  });
  after(() => plane.close());

  /** A key, and the id of a request that was made with it in the first workspace. */
  async function somebody(role: Role) {
    const { organisation_id: organisation, workspace_id: workspaceId } = plane.first;
    const user = ['member', 'manager', 'admin'].includes(role)
      ? await plane.store.users.create(organisation, {
          email: `${role}@example.com`,
          role: 'member',
          workspaces: [{ workspaceId, role: role as 'member' | 'manager' | 'admin' }],
        })
      : null;
    if (typeof user === 'string') throw new Error(user);
    const made = await plane.store.keys.create(organisation, {
      type: role === 'organisation' ? 'organisation-service' : user ? 'workspace-user' : 'workspace-service',
      workspaceId: role === 'organisation' ? null : workspaceId,
      userId: user?.id ?? null,
      name: role,
      scopes,
    });
    if (made === 'missing') throw new Error(made);
    const own = `log-${role}`;
    const row = { ...logRow(organisation, workspaceId, own, role), key: made.key.id };
    await plane.options.logWriter.addRows([row]);
    return { key: made.text.reveal(), own };
  }

  const get = (role: Role, path: string, body?: object) =>
    plane.rest(body === undefined ? 'GET' : 'POST', path, body, { key: keys.get(role)!.key });

  async function under(layer: (typeof layers)[number], flags: readonly string[], work: () => Promise<void>) {
    const { organisation_id: organisation, workspace_id: workspace } = plane.first;
    const all = (on: boolean): SetFlags => Object.fromEntries(flags.map((flag) => [flag, on]));
    const [on, off] = [all(true), all(false)];
    await plane.store.organisations.update(organisation, {
      securitySettings: layer === 'workspace' ? {} : layer === 'organisation' ? off : on,
    });
    await plane.store.workspaces.update(organisation, workspace, {
      securitySettings: layer === 'organisation' ? {} : off,
    });
    try {
      await work();
    } finally {
      await plane.store.organisations.update(organisation, { securitySettings: {} });
      await plane.store.workspaces.update(organisation, workspace, { securitySettings: {} });
    }
  }

  /** What is expected of a route where one kind of sight is taken from the role. */
  async function expectSight(role: Role, route: LogRoute, without: Sight | null): Promise<void> {
    const { own } = keys.get(role)!;
    const foreign = role === 'member' ? 'log-manager' : 'log-member';
    const isRefused =
      without === `view_${route.view}` || (without === 'view_log_metadata' && route.isByMetadata === true);
    const path = route.path(own);
    const isNamed = role === 'organisation' && !route.isOne && route.body === undefined;
    const named = isNamed ? `${path}${path.includes('?') ? '&' : '?'}workspace_id=default` : path;
    asked = -1;
    replayed = [];
    const answer = await get(role, named, route.body);
    if (isRefused) {
      expect(answer.status, path).to.equal(403);
      expect(answer.json.data.errorCode, path).to.equal('AB03');
      return;
    }
    expect(answer.status, `${path} ${JSON.stringify(answer.json)}`).to.equal(200);
    const ownAlone = without === 'view_all_data';
    const json = { ...answer.json, asked, replayed };
    const forOwn = route.isAllOrNone ? 0 : 1;
    expect(route.count(json), path).to.equal(route.isOne ? 1 : ownAlone ? forOwn : roles.length);
    if (route.isOne)
      expect((await get(role, route.path(foreign))).status, 'a foreign request').to.equal(
        ownAlone ? 404 : 200,
      );
    const expected = without === 'view_log_metadata' ? {} : { team: 'a' };
    for (const shown of route.metadata?.(json) ?? []) expect(shown, path).to.deep.equal(expected);
  }

  it('every method of these services has a row, or a reason for none', () => {
    const named = [...logRoutes.map(({ method }) => method), ...Object.keys(otherLogMethods)];
    const services = /^(?:Logs|LogExports|Analytics|Requests)\./;
    const all = [...adminTree().methods.values()]
      .map(({ name }) => name)
      .filter((name) => services.test(name));
    expect([...new Set(named)].sort()).to.deep.equal(all.sort());
  });

  const expectEverywhere = async (role: Role, without: Sight | null): Promise<void> => {
    for (const route of logRoutes) await expectSight(role, route, without);
  };

  for (const role of roles) {
    describe(role, () => {
      it('has its sight over every route', () => expectEverywhere(role, null));

      for (const sight of sights) {
        const flag = named[role] === undefined ? null : `${named[role]}_${sight}`;
        const exists = flag !== null && (role !== 'organisation' || /view_log(s|_metadata)$/.test(flag));
        for (const layer of exists ? layers : [])
          it(`loses it without ${sight}, by the ${layer}`, () =>
            under(layer, [flag!], () => expectEverywhere(role, sight)));
      }

      it('is not affected by flags of others', () => {
        const other = role === 'member' ? 'managers' : 'members';
        const flags = sights.map((sight) => `${other}_${sight}`);
        return under('workspace', flags, () => expectEverywhere(role, null));
      });
    });
  }

  describe('over the whole organisation', () => {
    const ids = async (path = '/v1/logs') => {
      const { status, json } = await get('organisation', path);
      return status === 200 ? json.data.map(({ id }: { id: string }) => id).sort() : status;
    };

    before(async () => {
      const { organisation_id: organisation } = plane.first;
      await plane.options.logWriter.addRows([
        { ...logRow(organisation, plane.other, 'log-elsewhere', 't'), key: 'k' },
      ]);
    });

    const set = (layer: 'default' | 'other' | 'organisation', securitySettings: SetFlags) => {
      const { organisation_id: organisation, workspace_id: workspace } = plane.first;
      if (layer === 'organisation')
        return plane.store.organisations.update(organisation, { securitySettings });
      return plane.store.workspaces.update(organisation, layer === 'other' ? plane.other : workspace, {
        securitySettings,
      });
    };

    it('rows of a workspace that hides them are left out', async () => {
      const all = roles.map((role) => `log-${role}`).sort();
      expect(await ids()).to.deep.equal(['log-elsewhere', ...all].sort());
      await set('other', { organisation_admins_view_logs: false });
      expect(await ids()).to.deep.equal(all);
      expect(await ids('/v1/logs?workspace_id=other')).to.equal(403);
      expect((await get('organisation', '/v1/logs/log-elsewhere')).status).to.equal(403);
      await set('other', {});
    });

    it('rows of a workspace that shows them are left, where the organisation hides them', async () => {
      await set('organisation', { organisation_admins_view_logs: false });
      expect(await ids()).to.equal(403);
      await set('other', { organisation_admins_view_logs: true });
      expect(await ids()).to.deep.equal(['log-elsewhere']);
      expect(await ids('/v1/logs?workspace_slug=default')).to.equal(403);
      expect((await get('organisation', '/v1/logs/log-member')).status).to.equal(403);
      await set('organisation', {});
      await set('other', {});
    });

    it('metadata of a workspace that hides it is left out, and a filter by metadata refused', async () => {
      await set('other', { organisation_admins_view_log_metadata: false });
      const { json } = await get('organisation', '/v1/logs');
      for (const { id, metadata } of json.data)
        expect(metadata, id).to.deep.equal(id === 'log-elsewhere' ? {} : { team: 'a' });
      const query = `metadata=${encodeURIComponent('{"team":"a"}')}`;
      expect(await ids(`/v1/logs?${query}`)).to.equal(403);
      expect(await ids(`/v1/logs?${query}&workspace_slug=other`)).to.equal(403);
      expect(await ids(`/v1/logs?${query}&workspace_slug=default`)).to.have.length(roles.length);
      await set('other', {});
    });

    it('archived workspaces are seen by keys of the organisation alone', async () => {
      const { organisation_id: organisation } = plane.first;
      await plane.store.workspaces.archive(organisation, plane.other);
      expect(await ids('/v1/logs?workspace_slug=other')).to.deep.equal(['log-elsewhere']);
      expect((await get('service', '/v1/logs?workspace_slug=other')).status).to.equal(404);
      expect((await get('admin', '/v1/logs/log-elsewhere')).status).to.equal(404);
    });
  });
});
