import { expect } from 'chai';
import { adminTree } from '../../proto/tree.js';
import { isGatewayKey } from '../../src/common/access/gateway-key.js';
import { type AdminPlane, type RestResult, refused, startPlane } from '../support/admin-plane.js';

/** Each of these was tried against the plane by somebody who holds a key, and wants more than it gives. */
describe('who wants more of the administration plane than a key gives', () => {
  let plane: AdminPlane;
  let serial = 0;

  before(async () => {
    plane = await startPlane();
  });
  after(() => plane.close());

  const here = (): string => plane.first.workspace_id;
  const codeOf = ({ status, json }: RestResult): [number, string] => [status, json?.data?.errorCode];

  /** A key of the first workspace, or of that user there. */
  async function key(scopes: string[], user_id?: string, workspace_id = here()) {
    const sub_type = user_id === undefined ? 'service' : 'user';
    return plane.admin.api.apiKeys.createApiKey({
      type: 'workspace',
      sub_type,
      name: 'tried',
      workspace_id,
      scopes,
      user_id,
    });
  }
  const person = async (role: 'admin' | 'manager' | 'member'): Promise<string> =>
    (
      await plane.admin.api.users.createUser({
        email: `p${++serial}@example.com`,
        role: 'member',
        workspaces: [{ id: here(), role }],
      })
    ).id;

  describe('by fields that are the gateway’s own', () => {
    const own = [
      'id',
      'created_at',
      'created_by',
      'owner_id',
      'organisationId',
      'current_usage',
      'is_exhausted',
      'hash',
      'host_trusted',
      'hostTrusted',
      'update_mask',
      'etag',
      'request_id',
      '__proto__',
      'constructor',
    ];

    it('is refused in every method, with the path', async () => {
      let tried = 0;
      for (const { bindings, request, name } of adminTree().methods.values()) {
        const { verb, path, body } = bindings[0]!;
        // Feedback is for keys of a workspace alone, sessions for people: this key gets no further than that.
        if (body !== '*' || /^(?:Feedback|Auth)\./.test(name)) continue;
        const each = own.map(async (field) => {
          const known = request.spelt(field);
          if (known !== undefined && !known.apart) return;
          tried++;
          const sent = JSON.stringify({ [field]: 'x' }).replace('{}', '{"__proto__":"x"}');
          const answer = await plane.rest(verb, path.replace(/\{[^}]*\}/g, 'x'), sent);
          expect(codeOf(answer), `${name} ${field}`).to.deep.equal([400, 'AB01']);
          expect(answer.json.data.message, `${name} ${field}`).to.include(field);
        });
        await Promise.all(each);
      }
      expect(tried).to.be.above(500);
    });

    it('is refused inside of messages too', async () => {
      const limits = { credit_limit: 5, current_usage: 0, is_exhausted: false };
      for (const [verb, path] of [
        ['POST', '/v1/providers'],
        ['PUT', '/v1/api-keys/x'],
        ['POST', '/v1/virtual-keys'],
      ] as const) {
        const answer = await plane.rest(verb, path, { usage_limits: limits });
        expect(codeOf(answer)).to.deep.equal([400, 'AB01']);
        expect(answer.json.data.message).to.match(/usage_limits.*(?:current_usage|is_exhausted)/);
      }
    });

    it('is refused in masks of gRPC', async () => {
      const { api } = plane.admin;
      const { id } = await key(['configs.list']);
      for (const path of [
        'hash',
        'update_mask',
        'etag',
        'request_id',
        'organisation_id',
        '__proto__',
        'constructor.name',
        'usage_limits.current_usage',
        'name.x',
        'defaults.metadata.x',
        'type',
        'user_id',
        '',
        '.',
        'name.',
      ])
        await refused(
          api.apiKeys.updateApiKey({ id, name: 'x', update_mask: [path] }),
          'INVALID_ARGUMENT',
          'AB01',
        );
      expect(await api.apiKeys.getApiKey({ id })).to.include({ name: 'tried' });
    });
  });

  describe('by keys', () => {
    it('gets no scope that it lacks, by making, changing or rotating another one', async () => {
      const keys = ['create', 'update', 'rotate', 'read'].map((deed) => `workspace_service_api_keys.${deed}`);
      const mine = await key(keys);
      const rich = await key(['completions.write', 'logs.list']);
      const { apiKeys } = plane.client(mine.key).api;
      const more = [...keys, 'logs.list'];
      const wanted = { type: 'workspace', sub_type: 'service', name: 'x' } as const;
      await refused(apiKeys.createApiKey({ ...wanted, scopes: more }), 'PERMISSION_DENIED', 'AB03');
      await refused(apiKeys.updateApiKey({ id: mine.id, scopes: more }), 'PERMISSION_DENIED', 'AB03');
      await refused(
        apiKeys.updateApiKey({ id: rich.id, scopes: ['logs.list', 'logs.export'] }),
        'PERMISSION_DENIED',
        'AB03',
      );
      await refused(apiKeys.rotateApiKey({ id: rich.id }), 'PERMISSION_DENIED', 'AB03');
      const again = await apiKeys.rotateApiKey({ id: mine.id });
      expect(isGatewayKey(again.key)).to.equal(true);
      expect((await apiKeys.getApiKey({ id: mine.id })).scopes).to.have.members(keys);
      const { api } = plane.client(again.key);
      await refused(api.apiKeys.updateApiKey({ id: mine.id, scopes: more }), 'PERMISSION_DENIED', 'AB03');
    });

    it('does not act as a person of higher rank, by a key made or rotated in that name', async () => {
      const admin = await person('admin');
      const scopes = ['workspaces.update', 'workspaces.read'];
      const theirs = await key(scopes, admin);
      const { apiKeys } = plane.workspace.api;
      const wanted = { type: 'workspace', sub_type: 'user', name: 'x', scopes, user_id: admin } as const;
      await refused(apiKeys.createApiKey(wanted), 'PERMISSION_DENIED', 'AB03');
      await refused(apiKeys.rotateApiKey({ id: theirs.id }), 'PERMISSION_DENIED', 'AB03');
      const modest = await apiKeys.createApiKey({ ...wanted, scopes: ['completions.write'] });
      await refused(apiKeys.updateApiKey({ id: modest.id, scopes }), 'PERMISSION_DENIED', 'AB03');
      const member = await person('member');
      await apiKeys.createApiKey({ ...wanted, scopes: ['workspaces.read'], user_id: member });
    });

    it('names nothing of another workspace', async () => {
      const { api } = plane.admin;
      const other = plane.other;
      await api.configs.createConfig({
        name: 'theirs',
        slug: 'pc-theirs',
        config: { retry: { attempts: 1 } },
        workspace_id: other,
      });
      await api.providers.createProvider({
        slug: 'theirs',
        provider: 'openai',
        key: 'sk',
        workspace_id: other,
      });
      await api.integrations.createIntegration({
        slug: 'theirs-too',
        name: 'x',
        ai_provider_id: 'openai',
        key: 'sk-theirs',
        workspace_id: other,
      });
      const mine = plane.workspace.api;
      const { id } = await key(['completions.write']);
      const config_id = 'pc-theirs';
      const missing = [
        () => mine.apiKeys.updateApiKey({ id, defaults: { config_id } }),
        () =>
          mine.workspaces.updateWorkspace({
            workspace_id: here(),
            defaults: { user_api_key_config: config_id },
          }),
        () => mine.providers.createProvider({ slug: 'x', integration_id: 'theirs-too' }),
        () =>
          mine.providers.createProvider({
            slug: 'x',
            provider: 'openai',
            source_provider_api_key_id: 'theirs',
          }),
        () => mine.configs.createConfig({ name: 'x', config: { provider: '@theirs' } }),
        () =>
          mine.configs.createConfig({ name: 'x', config: { retry: { attempts: 1 } }, workspace_id: other }),
      ];
      for (const work of missing) await refused(work(), 'NOT_FOUND', 'AB02');
      await refused(mine.configs.getConfig({ slug: config_id }), 'NOT_FOUND', 'AB08');
      await refused(mine.virtualKeys.migrateVirtualKey({ virtual_key_id: 'theirs' }), 'NOT_FOUND', 'AB08');
    });
  });

  describe('by repetition', () => {
    it('gets no answer that was kept for another caller', async () => {
      const scopes = ['workspace_service_api_keys.create', 'configs.create', 'configs.list'];
      const [one, two] = [await key(scopes), await key(scopes)];
      const made = (who: string) =>
        plane.rest(
          'POST',
          '/v1/api-keys/workspace/service',
          { name: 'same', scopes: ['configs.list'] },
          { key: who, headers: { 'idempotency-key': 'shared' } },
        );
      const [first, again, foreign] = [await made(one.key), await made(one.key), await made(two.key)];
      expect(again.json).to.deep.equal(first.json);
      expect(foreign.status).to.equal(200);
      expect(foreign.json.id).to.not.equal(first.json.id);
      expect(foreign.json.key).to.not.equal(first.json.key);
      // What was kept is no way around a scope that is gone.
      await plane.admin.api.apiKeys.updateApiKey({ id: one.id, scopes: ['configs.list'] });
      expect(codeOf(await made(one.key))).to.deep.equal([403, 'AB03']);
      const other = await plane.rest(
        'POST',
        '/v1/configs',
        { name: 'x', config: {} },
        { key: two.key, headers: { 'idempotency-key': 'shared' } },
      );
      expect(codeOf(other)).to.deep.equal([409, 'AB07']);
    });

    it('accepts an invitation once, however many try at once, and never by an older link', async () => {
      const { invites, users } = plane.admin.api;
      const email = 'race@example.com';
      const invited = await invites.createInvite({
        email,
        role: 'member',
        workspaces: [{ id: here(), role: 'member' }],
      });
      const tokenOf = (link: string): string => link.split('#token=')[1]!;
      const { invite_link } = await invites.resendInvite({ invite_id: invited.id });
      const accept = (token: string) =>
        plane.rest('POST', '/v1/admin/users/invites/accept', { token }, { key: null });
      expect(codeOf(await accept(tokenOf(invited.invite_link)))).to.deep.equal([404, 'AB08']);
      const tries = await Promise.all(Array.from({ length: 5 }, () => accept(tokenOf(invite_link))));
      expect(tries.map(({ status }) => status).sort()).to.deep.equal([200, 404, 404, 404, 404]);
      expect(codeOf(await accept(tokenOf(invite_link)))).to.deep.equal([404, 'AB08']);
      expect((await users.listUsers({ email })).total).to.equal(1);
    });

    it('changes no record by the etag of another state or another record', async () => {
      const { labels } = plane.admin.api;
      const make = (name: string) => labels.createLabel({ name, workspace_id: here() });
      const [one, two] = [await make('one'), await make('two')];
      const read = (id: string) => labels.getLabel({ id, workspace_id: here() });
      const { etag } = await read(one.id);
      await labels.updateLabel({ id: one.id, workspace_id: here(), name: 'one-more', etag });
      const tried = [etag, `${etag}x`, '0', '1', "' OR 1=1--"];
      for (const forged of tried)
        await refused(
          labels.updateLabel({ id: one.id, workspace_id: here(), name: 'lost', etag: forged }),
          'ABORTED',
          'AB07',
        );
      await refused(
        labels.deleteLabel({ id: two.id, workspace_id: here(), etag: (await read(one.id)).etag }),
        'ABORTED',
        'AB07',
      );
      expect((await read(one.id)).name).to.equal('one-more');
    });
  });

  describe('by the form of a request', () => {
    it('gets past no check by the spelling of a path', async () => {
      for (const path of [
        '//v1/configs',
        '/v1//configs',
        '/V1/configs',
        '/v1/configs/',
        '/v1/configs;x=1',
        '/v1/configs/..',
        '/v1/docs/../configs',
        '/v1/openapi.json/../configs',
        '/v1/%63onfigs',
        '/v1/configs%00',
        '/v1/admin/users/invites/accept/../../../users',
        '/v1/model-configs/pricing/../../configs/x',
        '/v1/model-configs/pricing/openai%2F..%2F..%2Fconfigs/x',
      ]) {
        const { status } = await plane.rest('GET', path, undefined, { key: null });
        expect(status, path).to.be.oneOf([400, 401, 404, 405]);
      }
    });

    it('sends its key where keys are looked for, and nowhere else', async () => {
      const { admin_key: good } = plane.first;
      const get = (headers: Record<string, string>, query = '') =>
        plane.rest('GET', `/v1/configs?workspace_id=default${query}`, undefined, { key: null, headers });
      const accepted: Record<string, string>[] = [
        { 'x-gateway-api-key': good },
        { authorization: `Bearer ${good}` },
        { authorization: `bearer ${good}` },
        { authorization: `BEARER  ${good}` },
      ];
      for (const headers of accepted) expect((await get(headers)).status).to.equal(200);
      const basic = Buffer.from(`${good}:`).toString('base64');
      const passedOver: Record<string, string>[] = [
        { authorization: 'Bearer' },
        { authorization: good },
        { authorization: `Bearer${good}` },
        { authorization: `Token ${good}` },
        { authorization: `Basic ${basic}` },
        { authorization: `Basic ${good}` },
        { 'x-gateway-api-key': good.toLowerCase() },
        { 'x-gateway-api-key': ` ${good}x` },
        { 'x-gateway-api-key': good.repeat(20_000) },
        { cookie: `x-gateway-api-key=${good}` },
      ];
      for (const headers of passedOver)
        expect(codeOf(await get(headers)), JSON.stringify(headers).slice(0, 80)).to.deep.equal([401, 'AB05']);
      for (const name of ['key', 'api_key', 'x-gateway-api-key', 'authorization', 'access_token'])
        expect(codeOf(await get({}, `&${name}=${good}`)), name).to.deep.equal([401, 'AB05']);
      const inBody = await plane.rest('POST', '/v1/configs', { api_key: good }, { key: null });
      expect(codeOf(inBody)).to.deep.equal([401, 'AB05']);
    });

    it('gets the same refusal for a key that is unknown, expired, deleted or malformed', async () => {
      const expired = await key(['configs.list']);
      await plane.admin.api.apiKeys.updateApiKey({
        id: expired.id,
        expires_at: new Date(Date.now() + 1000).toISOString(),
      });
      const deleted = await key(['configs.list']);
      await plane.admin.api.apiKeys.deleteApiKey({ id: deleted.id });
      await new Promise((wait) => setTimeout(wait, 1050));
      const bodies = new Set<string>();
      for (const text of [expired.key, deleted.key, `${deleted.key.slice(0, -1)}x`, 'gw_ws_', 'x', '😀']) {
        const { status, json } = await plane.rest('GET', '/v1/configs', undefined, { key: text });
        bodies.add(`${status} ${JSON.stringify(json)}`);
      }
      expect(bodies.size).to.equal(1);
    });

    it('of a workspace, reads and changes nothing of the organisation', async () => {
      for (const [verb, path, body] of [
        ['GET', '/v1/admin/organisation'],
        ['PUT', '/v1/admin/organisation', { name: 'mine' }],
        ['GET', '/v1/admin/users'],
        ['GET', '/v1/audit-logs?start_time=2020-01-01T00:00:00Z&end_time=2030-01-01T00:00:00Z'],
      ] as const) {
        const answer = await plane.rest(verb, path, body, { key: plane.first.workspace_key });
        expect(codeOf(answer), path).to.deep.equal([403, 'AB03']);
      }
    });
  });
});
