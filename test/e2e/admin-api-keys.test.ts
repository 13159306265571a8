import { expect } from 'chai';
import { scopesOf } from '../../src/common/access/scopes.js';
import type { User } from '../../src/control-plane/store/store.js';
import { type AdminPlane, type RestOptions, refused, startPlane } from '../support/admin-plane.js';

const hour = 3_600_000;
const day = 24 * hour;
const later = (ms: number): string => new Date(Date.now() + ms).toISOString();

describe('keys over the administration plane', () => {
  let plane: AdminPlane;
  let user: User;
  let organisation: string;

  before(async () => {
    plane = await startPlane();
    organisation = plane.first.organisation_id;
    user = await member('ann@example.com', 'member');
  });
  after(() => plane.close());

  async function member(email: string, role: 'admin' | 'manager' | 'member'): Promise<User> {
    const workspaces = [{ workspaceId: plane.first.workspace_id, role }];
    const made = await plane.store.users.create(organisation, { email, role: 'member', workspaces });
    if (typeof made === 'string') throw new Error(made);
    return made;
  }

  const base = { name: 'app', scopes: ['completions.write'], workspace_id: 'default' };
  const post = (body: object = {}, options: RestOptions = {}, path = 'workspace/service') =>
    plane.rest('POST', `/v1/api-keys/${path}`, { ...base, ...body }, options);
  const made = async (body: object = {}, path?: string): Promise<{ id: string; key: string }> => {
    const { status, json } = await post(body, {}, path);
    expect(status, JSON.stringify(json)).to.equal(200);
    return json;
  };
  const get = async (id: string) => (await plane.rest('GET', `/v1/api-keys/${id}`)).json;
  const put = (id: string, body: object, headers: Record<string, string> = {}) =>
    plane.rest('PUT', `/v1/api-keys/${id}`, body, { headers });
  const rotate = (id: string, body?: object, options: RestOptions = {}) =>
    plane.rest('POST', `/v1/api-keys/${id}/rotate`, body, options);
  const found = (text: string) => plane.store.keys.findByHash(plane.store.hashKey(text));
  const refusal = ({ status, json }: { status: number; json: { data: { errorCode: string } } }) => [
    status,
    json.data?.errorCode,
  ];

  describe('a record', () => {
    it('has every field, and no text', async () => {
      const full = {
        description: 'of the shop',
        defaults: { metadata: { team: 'shop' }, allow_config_override: false },
        expires_at: later(day),
        rate_limits: [{ type: 'requests', unit: 'rps', value: 0 }],
        usage_limits: { credit_limit: 10, alert_threshold: 8, periodic_reset: 'weekly' },
        alert_emails: ['a@example.com'],
        rotation_policy: { rotation_period: 'monthly', key_transition_period_ms: hour },
      };
      const { id, key, ...rest } = await made(full);
      expect(rest).to.deep.equal({ object: 'api-key' });
      const { usage_limits, rotation_policy, created_at, etag, ...record } = await get(id);
      expect(record).to.deep.equal({
        id,
        key: `gw*****${key.slice(-3)}`,
        name: 'app',
        description: 'of the shop',
        type: 'workspace-service',
        organisation_id: organisation,
        workspace_id: plane.first.workspace_id,
        user_id: null,
        status: 'active',
        last_updated_at: created_at,
        creation_mode: 'api',
        rate_limits: [{ type: 'requests', unit: 'rps', value: 0 }],
        reset_usage: null,
        scopes: ['completions.write'],
        defaults: { metadata: { team: 'shop' }, config_id: null, allow_config_override: false },
        allow_config_override: 0,
        api_key_defaults_id: null,
        alert_emails: ['a@example.com'],
        expires_at: full.expires_at,
        expiry_enforced: 0,
        last_reset_at: null,
        next_usage_reset_at: usage_limits.next_usage_reset_at,
        last_rotated_at: null,
        key_transition_expires_at: null,
        object: 'api-key',
      });
      expect(usage_limits).to.deep.include({
        type: 'cost',
        credit_limit: 10,
        alert_threshold: 8,
        periodic_reset: 'weekly',
        periodic_reset_days: null,
        current_usage: 0,
        status: 'active',
      });
      const reset = new Date(usage_limits.next_usage_reset_at);
      expect([reset.getUTCDay(), reset.getTime() % day]).to.deep.equal([1, 0]);
      const next = new Date(rotation_policy.next_rotation_at);
      expect([next.getUTCDate(), next.getTime() % day]).to.deep.equal([1, 0]);
      expect(rotation_policy).to.include({
        rotation_period: 'monthly',
        key_transition_period_ms: hour,
        status: 'ACTIVE',
      });
      const [row] = (await plane.workspace.api.apiKeys.listApiKeys()).data;
      expect(row).to.include({ id, etag });
    });

    it('leaves unset fields empty', async () => {
      expect(await get((await made()).id)).to.deep.include({
        description: null,
        rate_limits: [],
        usage_limits: null,
        alert_emails: [],
        expires_at: null,
        rotation_policy: null,
        next_usage_reset_at: null,
        defaults: { metadata: {}, config_id: null, allow_config_override: true },
        allow_config_override: 1,
      });
    });

    it('is listed by status', async () => {
      const { id } = await made();
      const expiring = await plane.store.keys.create(organisation, {
        type: 'workspace-service',
        workspaceId: plane.first.workspace_id,
        name: 'old',
        scopes: ['configs.list'],
        expiresAt: Date.now() - 1,
      });
      const old = expiring === 'missing' ? '' : expiring.key.id;
      const ids = async (status: string): Promise<string[]> =>
        (await plane.rest('GET', `/v1/api-keys?status=${status}`)).json.data.map(
          (key: { id: string }) => key.id,
        );
      expect(await ids('active'))
        .to.include(id)
        .and.not.include(old);
      expect(await ids('expired'))
        .to.include(old)
        .and.not.include(id);
      expect(await ids('exhausted')).to.deep.equal([]);
      expect(await ids('active,expired')).to.include.members([id, old]);
      expect(await ids('active&status=expired')).to.include.members([id, old]);
      expect(await get(old)).to.include({ status: 'expired', expiry_enforced: 1 });
    });

    for (const [field, wrong] of Object.entries({
      'usage_limits.alert_threshold': { usage_limits: { credit_limit: 5, alert_threshold: 5 } },
      'usage_limits.credit_limit': { usage_limits: { credit_limit: 1.5 } },
      'usage_limits.periodic_reset_days': {
        usage_limits: { credit_limit: 5, periodic_reset: 'weekly', periodic_reset_days: 3 },
      },
      'usage_limits.next_usage_reset_at': {
        usage_limits: { credit_limit: 5, next_usage_reset_at: later(-day) },
      },
      'usage_limits."spent"': { usage_limits: { credit_limit: 5, spent: 0 } },
      'rate_limits[1].type': {
        rate_limits: [
          { type: 'tokens', unit: 'rpm', value: 1 },
          { type: 'tokens', unit: 'rph', value: 1 },
        ],
      },
      'rotation_policy needs': { rotation_policy: { key_transition_period_ms: hour } },
      'rotation_policy.rotation_period_days': {
        rotation_policy: { rotation_period: 'weekly', rotation_period_days: 3 },
      },
      'rotation_policy.next_rotation_at': { rotation_policy: { next_rotation_at: later(0) } },
      'rotation_policy.key_transition_period_ms': {
        rotation_policy: { rotation_period_days: 1, key_transition_period_ms: day },
      },
      'alert_emails[0]': { alert_emails: ['nobody'] },
      expires_at: { expires_at: later(-1) },
      user_id: { user_id: 'somebody' },
    })) {
      it(`is refused where ${field} is wrong`, async () => {
        const answer = await post(wrong);
        expect(refusal(answer)).to.deep.equal([400, 'AB01']);
        expect(answer.json.data.message).to.include(field);
      });
    }

    it('is refused where the date of its rotation is none', async () => {
      for (const date of [
        '2028-02-30',
        '2028-02-30T00:00:00Z',
        '2028-01-01T00:00:00',
        '2028-13-01T00:00:00Z',
        '+275761-01-01T00:00:00Z',
        'soon',
        '',
        5,
      ]) {
        const answer = await post({ rotation_policy: { next_rotation_at: date } });
        expect(refusal(answer), String(date)).to.deep.equal([400, 'AB01']);
        expect(answer.json.data.message).to.include('next_rotation_at');
      }
    });

    it('takes a date of rotation beside a period: the date is the first', async () => {
      const date = new Date(Date.now() + 10 * day);
      const policy = { rotation_period: 'weekly', next_rotation_at: date.toISOString() };
      const { rotation_policy } = await get((await made({ rotation_policy: policy })).id);
      expect(rotation_policy.next_rotation_at).to.equal(`${date.toISOString().slice(0, 10)}T00:00:00.000Z`);
    });

    it('is of one of three types', async () => {
      for (const path of ['organisation/user', 'planet/service', 'workspace/robot'])
        expect(refusal(await post({}, {}, path)), path).to.deep.equal([400, 'AB01']);
      const service = { name: 'admin', scopes: ['configs.list'], workspace_id: null };
      const { id } = await made(service, 'organisation/service');
      expect(await get(id)).to.include({ type: 'organisation-service', workspace_id: null });
    });
  });

  describe('an update', () => {
    it('keeps what is absent, clears what is null, sets the rest', async () => {
      const { id, key } = await made({
        description: 'one',
        defaults: { metadata: { a: '1' } },
        usage_limits: { credit_limit: 10 },
        rate_limits: [{ type: 'tokens', unit: 'rpw', value: 5 }],
        expires_at: later(day),
        rotation_policy: { rotation_period_days: 2 },
        alert_emails: ['a@example.com'],
      });
      const before = await get(id);
      expect((await put(id, { name: ' two ' })).json).to.deep.equal({});
      const after = await get(id);
      expect(after.name).to.equal('two');
      expect(after.etag).to.not.equal(before.etag);
      const { etag, last_updated_at } = after;
      expect(after).to.deep.equal({ ...before, name: 'two', etag, last_updated_at });
      const cleared = {
        description: null,
        usage_limits: null,
        rate_limits: null,
        expires_at: null,
        rotation_policy: null,
        alert_emails: null,
        defaults: { metadata: null, allow_config_override: false },
      };
      expect((await put(id, cleared)).status).to.equal(200);
      expect(await get(id)).to.deep.include({
        description: null,
        usage_limits: null,
        rate_limits: [],
        expires_at: null,
        rotation_policy: null,
        alert_emails: [],
        defaults: { metadata: {}, config_id: null, allow_config_override: false },
      });
      expect(await found(key)).to.deep.include({ keyName: 'two', expiresAt: null });
    });

    it('reaches the workers', async () => {
      const { id, key } = await made();
      plane.forgotten.length = 0;
      await put(id, { name: 'told' });
      expect(plane.forgotten).to.deep.equal([
        { kind: 'key', workspace: null, name: plane.store.hashKey(key) },
      ]);
    });

    it('changes neither type nor user nor workspace, over gRPC and over REST', async () => {
      const { id } = await made();
      for (const field of ['workspace_id', 'user_id'])
        expect(refusal(await put(id, { [field]: 'x' })), field).to.deep.equal([400, 'AB01']);
      await refused(plane.admin.api.apiKeys.updateApiKey({ id, user_id: 'x' }), 'INVALID_ARGUMENT', 'AB01');
      expect(refusal(await put(id, { type: 'organisation' }))).to.deep.equal([400, 'AB01']);
    });

    it('is refused with an outdated etag', async () => {
      const { id } = await made();
      const { etag } = await get(id);
      expect((await put(id, { name: 'first' }, { 'if-match': `"${etag}"` })).status).to.equal(200);
      expect(refusal(await put(id, { name: 'second' }, { 'if-match': `"${etag}"` }))).to.deep.equal([
        409,
        'AB07',
      ]);
    });

    it('shows what was used, and what becomes of it when the budget is changed or set back', async () => {
      const { id, key } = await made({ usage_limits: { credit_limit: 5, alert_threshold: 4 } });
      const rule = async () => (await plane.store.keys.findByHash(plane.store.hashKey(key)))!.budgets![0]!;
      await plane.spend(await rule(), 3_500_000_000);
      await plane.spend(await rule(), 3_500_000_000);
      const exhausted = await get(id);
      expect(exhausted).to.deep.include({ status: 'exhausted', last_reset_at: null });
      const { projected_exhausted_at: at, ...state } = exhausted.usage_limits;
      expect(state).to.include({
        current_usage: 7,
        status: 'exhausted',
        is_threshold_alerts_sent: true,
        is_exhausted_alerts_sent: true,
        projected_usage: 7,
      });
      expect(Date.parse(at)).to.be.closeTo(Date.now(), 60_000);
      const wrong = await put(id, { usage_limits: { type: 'tokens', credit_limit: 50 } });
      expect(wrong.json.data.message).to.include('usage_limits.type');
      await put(id, { usage_limits: { credit_limit: 6, alert_threshold: 4 } });
      expect((await get(id)).status).to.equal('exhausted');
      await put(id, { usage_limits: { credit_limit: 8, alert_threshold: 5, periodic_reset: 'weekly' } });
      const active = await get(id);
      expect(active).to.deep.include({ status: 'active', last_reset_at: null });
      expect(active.usage_limits).to.include({
        current_usage: 7,
        is_threshold_alerts_sent: false,
        is_exhausted_alerts_sent: false,
      });
      expect(active.usage_limits.projected_usage).to.be.at.least(7);
      await put(id, { usage_limits: { credit_limit: 6 } });
      const before = await rule();
      await put(id, { reset_usage: true });
      const { status, usage_limits, last_reset_at, next_usage_reset_at } = await get(id);
      expect([status, usage_limits.current_usage, next_usage_reset_at]).to.deep.equal(['active', 0, null]);
      expect(last_reset_at).to.be.a('string').and.equal(usage_limits.last_reset_at);
      // Of a request that had begun before.
      await plane.spend(before, 1_000_000_000);
      expect((await get(id)).usage_limits.current_usage).to.equal(0);
      await put(id, { usage_limits: { type: 'tokens', credit_limit: 50 } });
      expect((await get(id)).usage_limits).to.include({ type: 'tokens', current_usage: 0 });
    });

    it('keeps what was used in this period where another period is set after some have ended', async () => {
      const { id, key } = await made({ usage_limits: { credit_limit: 5, periodic_reset: 'weekly' } });
      const org = plane.first.organisation_id;
      const stored = (await plane.store.keys.get(org, id))!.usageLimits!;
      // As if it had been created weeks ago.
      const nextUsageResetAt = stored.nextUsageResetAt! - 28 * 86_400_000;
      const lastResetAt = nextUsageResetAt - 1;
      await plane.store.keys.update(org, id, { usageLimits: { ...stored, nextUsageResetAt, lastResetAt } });
      const rule = async () => (await plane.store.keys.findByHash(plane.store.hashKey(key)))!.budgets![0]!;
      await plane.spend(await rule(), 2_000_000_000);
      const before = await get(id);
      expect(before.usage_limits.current_usage).to.equal(2);
      const monday = stored.nextUsageResetAt! - 7 * 86_400_000;
      expect(Date.parse(before.last_reset_at)).to.equal(monday);
      expect(Date.parse(before.next_usage_reset_at)).to.equal(stored.nextUsageResetAt);
      await put(id, { usage_limits: { credit_limit: 6, periodic_reset: 'monthly' } });
      const after = await get(id);
      expect(after.usage_limits).to.include({ current_usage: 2, credit_limit: 6 });
      expect(Date.parse(after.last_reset_at)).to.equal(monday);
      expect(after.next_usage_reset_at).to.match(/-01T00:00:00\.000Z$/);
      await plane.spend(await rule(), 1_000_000_000);
      expect((await get(id)).usage_limits.current_usage).to.equal(3);
    });

    it('counts a budget that takes the place of none from then on', async () => {
      const { id, key } = await made({ usage_limits: { credit_limit: 5 } });
      const rule = async () => (await plane.store.keys.findByHash(plane.store.hashKey(key)))!.budgets![0]!;
      await plane.spend(await rule(), 5_000_000_000);
      await put(id, { usage_limits: null });
      expect(await get(id)).to.deep.include({ status: 'active', usage_limits: null });
      await put(id, { usage_limits: { credit_limit: 5 } });
      expect((await get(id)).usage_limits.current_usage).to.equal(0);
    });

    it('is found by its status, page by page', async () => {
      const ids: Record<'spent' | 'open', string[]> = { spent: [], open: [] };
      for (const [i, name] of (['spent', 'open', 'spent', 'open', 'spent'] as const).entries()) {
        const { id, key } = await made({ name: `page ${i}`, usage_limits: { credit_limit: 2 } });
        ids[name].push(id);
        const [rule] = (await plane.store.keys.findByHash(plane.store.hashKey(key)))!.budgets!;
        await plane.spend(rule!, name === 'spent' ? 2_000_000_000 : 1_999_999_999);
      }
      const list = async (query: string): Promise<{ total: number; ids: string[] }> => {
        const { json } = await plane.rest('GET', `/v1/api-keys?${query}`);
        return { total: json.total, ids: json.data.map((key: { id: string }) => key.id) };
      };
      const spent = await list('status=exhausted');
      expect(spent.ids).to.have.members(ids.spent);
      const pages = await Promise.all(
        [0, 1].map((page) => list(`status=exhausted&page_size=2&current_page=${page}`)),
      );
      expect(pages.map(({ total }) => total)).to.deep.equal([3, 3]);
      expect(pages.flatMap((page) => page.ids)).to.deep.equal(spent.ids);
      const active = await list('status=active&page_size=1000');
      expect(active.ids).to.include.members(ids.open).and.not.include.members(ids.spent);
      const both = await list('status=active,exhausted&page_size=1000');
      expect(both.total).to.equal(active.total + 3);
    });

    it('gives an expired key another life', async () => {
      const { id, key } = await made({ expires_at: later(1000) });
      await new Promise((wait) => setTimeout(wait, 1050));
      expect((await get(id)).status).to.equal('expired');
      expect((await plane.rest('GET', '/v1/configs', undefined, { key })).status).to.equal(401);
      await put(id, { expires_at: later(hour) });
      expect((await get(id)).status).to.equal('active');
      expect((await plane.rest('GET', '/v1/configs', undefined, { key })).status).to.equal(403);
    });
  });

  describe('a rotation', () => {
    it('makes a second text beside the first for at least half an hour, and no third', async () => {
      const { id, key } = await made();
      const { status, json } = await rotate(id);
      expect(status).to.equal(200);
      expect(Object.keys(json).sort()).to.deep.equal(['id', 'key', 'key_transition_expires_at']);
      expect(json.id).to.equal(id);
      expect(json.key)
        .to.match(/^gw_ws_/)
        .and.not.equal(key);
      const end = Date.parse(json.key_transition_expires_at);
      expect(end - Date.now()).to.be.within(hour / 2 - 5000, hour / 2);
      expect(await found(json.key)).to.include({ keyId: id, expiresAt: null });
      expect(await found(key)).to.include({ keyId: id, expiresAt: end });
      const shown = await get(id);
      expect(shown).to.include({ key: `gw*****${json.key.slice(-3)}`, expires_at: null });
      expect(shown.key_transition_expires_at).to.equal(json.key_transition_expires_at);
      expect(shown.last_rotated_at).to.be.a('string');
      const again = await rotate(id, {});
      expect(refusal(again)).to.deep.equal([400, 'AB01']);
      expect(again.json.data.message).to.include(json.key_transition_expires_at);
    });

    it('never lets the old text outlive the key', async () => {
      const { id, key } = await made({ expires_at: later(hour / 4) });
      const { expires_at } = await get(id);
      await rotate(id);
      expect((await found(key))?.expiresAt).to.equal(Date.parse(expires_at));
      expect((await get(id)).expires_at).to.equal(expires_at);
    });

    it('takes a transition of its own, shorter than the period', async () => {
      const short = await rotate((await made()).id, { key_transition_period_ms: 1_799_999 });
      expect(refusal(short)).to.deep.equal([400, 'AB01']);
      const { id } = await made({ rotation_policy: { rotation_period_days: 1 } });
      expect(refusal(await rotate(id, { key_transition_period_ms: day }))).to.deep.equal([400, 'AB01']);
      const { json } = await rotate(id, { key_transition_period_ms: 2 * hour });
      expect(Date.parse(json.key_transition_expires_at) - Date.now()).to.be.within(2 * hour - 5000, 2 * hour);
    });

    it('reaches the workers, both texts, and deleting ends both', async () => {
      const { id, key } = await made();
      plane.forgotten.length = 0;
      const { json } = await rotate(id);
      const hashes = [json.key, key].map((text) => plane.store.hashKey(text));
      expect(plane.forgotten.map(({ name }) => name)).to.have.members(hashes);
      plane.forgotten.length = 0;
      await plane.rest('DELETE', `/v1/api-keys/${id}`);
      expect(plane.forgotten.map(({ name }) => name)).to.have.members(hashes);
      for (const text of [key, json.key]) expect(await found(text)).to.equal(null);
    });

    it('gives the same text to the same request', async () => {
      const { id } = await made();
      const headers = { 'idempotency-key': 'turn-once' };
      const { json } = await rotate(id, {}, { headers });
      expect((await rotate(id, {}, { headers })).json).to.deep.equal(json);
    });

    it('records in the audit log which text was replaced, and how', async () => {
      const { id, key } = await made();
      const { json } = await rotate(id);
      const { rows } = await plane.store.audit.list(organisation, {}, { offset: 0, limit: 1 });
      expect(rows[0]).to.include({ action: 'rotate', resourceType: 'api_key', resourceId: id });
      expect(JSON.parse(rows[0]!.requestBody)).to.deep.include({
        rotation_mode: 'manual',
        old_key_masked: `gw*****${key.slice(-3)}`,
        transition_expires_at: json.key_transition_expires_at,
      });
      expect(rows[0]!.requestBody).to.not.include(json.key);
    });

    it('never returns the text of a key with more permissions', async () => {
      const { id } = await made({ scopes: ['configs.list', 'configs.create'] });
      const weak = await made({ scopes: ['workspace_service_api_keys.rotate', 'configs.list'] });
      expect(refusal(await rotate(id, {}, { key: weak.key }))).to.deep.equal([403, 'AB03']);
      expect((await rotate(weak.id, {}, { key: weak.key })).status).to.equal(200);
    });
  });

  describe('a key of a user', () => {
    const own = (body: object = {}) => post({ user_id: user.id, ...body }, {}, 'workspace/user');

    it('is for a member of the workspace', async () => {
      expect(refusal(await post({}, {}, 'workspace/user'))).to.deep.equal([400, 'AB01']);
      expect(refusal(await own({ user_id: 'nobody' }))).to.deep.equal([404, 'AB02']);
      expect(refusal(await own({ workspace_id: 'other' }))).to.deep.equal([404, 'AB02']);
      const { json } = await own();
      expect(json.key).to.match(/^gw_user_/);
      expect(await get(json.id)).to.include({ type: 'workspace-user', user_id: user.id });
      const byWorkspace = { key: plane.first.workspace_key };
      expect(
        (await post({ user_id: user.id, workspace_id: null }, byWorkspace, 'workspace/user')).status,
      ).to.equal(200);
    });

    it('holds no more than the role of its user allows, then and later', async () => {
      expect(refusal(await own({ scopes: ['configs.create'] }))).to.deep.equal([403, 'AB03']);
      const boss = await member('boss@example.com', 'manager');
      const scopes = ['configs.create', 'configs.list', 'policies.create'];
      const { json } = await own({ user_id: boss.id, scopes });
      const create = () => plane.rest('POST', '/v1/configs', { name: 'c', config: {} }, { key: json.key });
      expect((await create()).status).to.equal(200);
      const place = { organisationId: organisation, workspaceId: plane.first.workspace_id };
      await plane.store.members.setRole(place, boss.id, 'member');
      expect(refusal(await create())).to.deep.equal([403, 'AB03']);
      expect((await plane.rest('GET', '/v1/configs', undefined, { key: json.key })).status).to.equal(200);
      expect(refusal(await put(json.id, { scopes: ['configs.list', 'policies.create'] }))).to.deep.equal([
        403,
        'AB03',
      ]);
      await plane.store.members.remove(place, boss.id);
      expect((await plane.rest('GET', '/v1/configs', undefined, { key: json.key })).status).to.equal(401);
    });

    it('is valid and limited as the settings require', async () => {
      const eve = await member('eve@example.com', 'member');
      const { etag: _, ...organisationNow } = (await plane.store.organisations.get(organisation))!;
      const settings = {
        user_api_key_ttl: 3600,
        user_api_key_max_ttl: 7200,
        user_api_key_count: 1,
        user_api_key_rotation_period: 30,
      };
      await plane.store.organisations.update(organisation, { settings });
      try {
        const { json } = await own({ user_id: eve.id });
        const record = await get(json.id);
        expect(Date.parse(record.expires_at) - Date.now()).to.be.within(hour - 5000, hour);
        expect(record.rotation_policy).to.include({ rotation_period_days: 30 });
        expect(refusal(await own({ user_id: eve.id }))).to.deep.equal([403, 'AB03']);
        expect(refusal(await put(json.id, { expires_at: null }))).to.deep.equal([400, 'AB01']);
        expect(refusal(await put(json.id, { expires_at: later(3 * hour) }))).to.deep.equal([400, 'AB01']);
        expect((await put(json.id, { expires_at: later(hour) })).status).to.equal(200);
        expect((await post()).status).to.equal(200);
      } finally {
        await plane.store.organisations.update(organisation, { settings: organisationNow.settings });
      }
    });
  });

  it('carry metadata that satisfies the schema of the organisation', async () => {
    const metadata_schema = { type: 'object', required: ['team'] };
    await plane.store.organisations.update(organisation, { settings: { metadata_schema } });
    try {
      const answer = await post();
      expect(refusal(answer)).to.deep.equal([400, 'AB01']);
      expect(answer.json.data.message).to.include('defaults.metadata');
      const { id } = await made({ defaults: { metadata: { team: 'shop' } } });
      expect(refusal(await put(id, { defaults: { metadata: null } }))).to.deep.equal([400, 'AB01']);
      expect((await put(id, { name: 'other' })).status).to.equal(200);
    } finally {
      await plane.store.organisations.update(organisation, { settings: {} });
    }
  });

  it('of an archived workspace open nothing, and none is made there', async () => {
    const gone = await plane.store.workspaces.create(organisation, { name: 'Gone', slug: 'gone' });
    if (gone === 'taken') throw new Error('taken');
    const { key, id } = await made({ workspace_id: 'gone', scopes: ['configs.list'] });
    expect((await plane.rest('GET', '/v1/configs', undefined, { key })).status).to.equal(200);
    await plane.store.workspaces.archive(organisation, gone.id);
    expect(refusal(await plane.rest('GET', '/v1/configs', undefined, { key }))).to.deep.equal([401, 'AB05']);
    expect(refusal(await post({ workspace_id: 'gone' }))).to.deep.equal([404, 'AB02']);
    expect((await plane.rest('DELETE', `/v1/api-keys/${id}`)).status).to.equal(200);
  });

  it('answer alike when they are unknown, expired or of a workspace that is archived', async () => {
    const unknown = await plane.rest('GET', '/v1/configs', undefined, { key: 'gw_ws_nonsense' });
    const { key } = await made({ expires_at: later(1000), scopes: scopesOf('workspace-service') });
    await new Promise((wait) => setTimeout(wait, 1050));
    const expired = await plane.rest('GET', '/v1/configs', undefined, { key });
    expect(expired.json).to.deep.equal(unknown.json);
    expect(expired.status).to.equal(unknown.status);
  });
});
