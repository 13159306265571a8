import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { scopesOf } from '../../src/common/access/scopes.js';
import type { BudgetAlert } from '../../src/common/ledger/alerts.js';
import { addresseesOf } from '../../src/control-plane/alerts/addressees.js';
import { type AdminPlane, type RestResult, startPlane } from '../support/admin-plane.js';
import { errorSchema, patchOf, type ScimClient, scimClient } from '../support/scim-plane.js';
import { folder, forEachStore } from '../support/stores.js';
import { expectWithinMs } from '../support/time-limits.js';

const idsOf = ({ json }: RestResult): string[] => json.Resources.map(({ id }: { id: string }) => id);

describe('SCIM users and groups', () => {
  forEachStore(({ open, database }) => {
    let plane: AdminPlane;
    let scim: ScimClient;
    let dataDir: string;
    let serial = 0;

    before(async () => {
      dataDir = folder();
      plane = await startPlane({ store: await open(dataDir) });
      scim = scimClient(plane);
    });
    after(() => plane.close());

    const address = (): string => `p${++serial}@scim.example`;
    const workspace = async (settings = {}): Promise<string> => {
      const name = `W${++serial}`;
      const { json } = await plane.rest('POST', '/v1/admin/workspaces', { name });
      if (Object.keys(settings).length > 0)
        await plane.rest('PUT', `/v1/admin/workspaces/${json.id}`, { settings });
      return json.id;
    };
    const map = (body: object): Promise<RestResult> => plane.rest('POST', '/v1/scim/workspaces', body);
    const roleIn = async (workspaceId: string, userId: string): Promise<string | null> => {
      const { status, json } = await plane.rest('GET', `/v1/admin/workspaces/${workspaceId}/users/${userId}`);
      return status === 200 ? json.role : null;
    };

    it('has everyone of the organisation, however they joined', async () => {
      const email = address();
      const { json: made } = await plane.rest('POST', '/v1/admin/users', { email, role: 'admin' });
      const { json } = await scim.find('Users', `userName eq "${email}"`);
      expect(json.Resources[0]).to.deep.include({ id: made.id, userName: email, active: true });
      expect(json.Resources[0].roles).to.deep.include({
        value: 'admin',
        display: 'Admin',
        displayName: 'Admin',
        primary: true,
      });
      const { id } = await scim.user(address(), { name: { givenName: 'Ada', familyName: 'Lovelace' } });
      const user = await plane.rest('GET', `/v1/admin/users/${id}`);
      expect(user.json).to.deep.include({ first_name: 'Ada', last_name: 'Lovelace', role: 'member' });
    });

    it('finds users by every operator, literally and in any case', async () => {
      const tag = `q${++serial}`;
      const { id: one } = await scim.user(`${tag}_a@x.example`, {
        externalId: `${tag}-A`,
        name: { givenName: '100%', familyName: 'Under_score' },
      });
      const { id: two } = await scim.user(`${tag}.b@x.example`, { externalId: `${tag}-b`, active: false });
      const mine = `userName sw "${tag}"`;
      const cases: [string, string[]][] = [
        [mine, [one, two]],
        [`userName sw "${tag}_"`, [one]],
        [`userName eq "${tag.toUpperCase()}_A@x.example"`, [one]],
        [`${mine} and userName ew "b@X.example"`, [two]],
        [`${mine} and emails.value co "_a@"`, [one]],
        [`${mine} and emails eq "${tag}.b@x.example"`, [two]],
        [`${mine} and name.givenName co "0%"`, [one]],
        [`${mine} and name.familyName eq "under_SCORE"`, [one]],
        [`${mine} and displayName sw "100%"`, [one]],
        [`externalId eq "${tag}-A" or externalId eq "${tag}-b"`, [one, two]],
        [`externalId eq "${tag}-a"`, []],
        [`${mine} and externalId sw "${tag}-A"`, [one]],
        [`${mine} and externalId ne "${tag}-A"`, [two]],
        [`${mine} and name.familyName pr`, [one]],
        [`${mine} and not (active eq true)`, [two]],
        [`${mine} and active eq "True"`, [one]],
        [`${mine} and (active eq true or active eq false) and roles.value eq "member"`, [one, two]],
        [`${mine} and meta.created gt "2020-01-01T00:00:00Z"`, [one, two]],
        [`${mine} and meta.lastModified lt "2020-01-01T00:00:00Z"`, []],
        [`${mine} and externalId eq null`, []],
        [`urn:ietf:params:scim:schemas:core:2.0:User:${mine}`, [one, two]],
        [`id eq "${one}"`, [one]],
        [`${mine} and userName eq "' OR 1=1 --"`, []],
      ];
      for (const [filter, expected] of cases)
        expect(idsOf(await scim.find('Users', filter)), filter).to.have.members(expected);
    });

    it('refuses a filter that cannot be read, is too deep or too long, or names what cannot be searched', async () => {
      for (const filter of [
        'userName',
        'userName eq',
        'userName eq x',
        'userName xx "a"',
        '(userName eq "a"',
        'password eq "a"',
        '__proto__ pr',
        'constructor eq "a"',
        'active gt true',
        'meta.created co "2020"',
        'emails[type eq "home"].value eq "a@b.example"',
        `${'('.repeat(13)}userName pr${')'.repeat(13)}`,
        Array.from({ length: 51 }, () => 'userName pr').join(' or '),
        `userName eq "${'a'.repeat(2050)}"`,
      ]) {
        const { status, json } = await scim.find('Users', filter);
        expect([status, json.scimType, json.status], filter).to.deep.equal([400, 'invalidFilter', '400']);
        expect(json.schemas).to.deep.equal([errorSchema]);
      }
    });

    it('pages from 1, sorts, and returns the attributes that are asked for', async () => {
      const tag = `s${++serial}`;
      const made: string[] = [];
      for (const name of ['c', 'a', 'b']) made.push((await scim.user(`${tag}${name}@x.example`)).id);
      const list = (more: string): Promise<RestResult> =>
        scim.send('GET', `/Users?filter=${encodeURIComponent(`userName sw "${tag}"`)}${more}`);
      expect(idsOf(await list(''))).to.deep.equal(made);
      expect(idsOf(await list('&sortBy=userName'))).to.deep.equal([made[1], made[2], made[0]]);
      expect(idsOf(await list('&sortBy=userName&sortOrder=descending'))).to.deep.equal([
        made[0],
        made[2],
        made[1],
      ]);
      const second = await list('&startIndex=2&count=1');
      expect(second.json).to.deep.include({ totalResults: 3, startIndex: 2, itemsPerPage: 1 });
      expect(idsOf(second)).to.deep.equal([made[1]]);
      expect((await list('&startIndex=0&count=1')).json.startIndex).to.equal(1);
      expect((await list('&count=0')).json).to.deep.include({
        totalResults: 3,
        itemsPerPage: 0,
        Resources: [],
      });
      expect((await list('&count=-1')).json.itemsPerPage).to.equal(0);
      expect((await list('&startIndex=9')).json).to.deep.include({ totalResults: 3, Resources: [] });
      expect((await list('&startIndex=x')).status).to.equal(400);
      expect((await list('&sortBy=groups')).status).to.equal(400);
      // Parameters of an identity provider's own.
      expect((await list('&aadOptscim062020')).status).to.equal(200);
      const [shown] = (await list('&attributes=userName,name.givenName,meta.version')).json.Resources;
      expect(Object.keys(shown).sort()).to.deep.equal(['id', 'meta', 'name', 'schemas', 'userName']);
      expect(Object.keys(shown.meta)).to.deep.equal(['version']);
      const [rest] = (await list('&excludedAttributes=emails,id,meta.location')).json.Resources;
      expect(rest).to.include.keys('id', 'displayName').and.not.to.include.keys('emails');
      expect(rest.meta).not.to.have.property('location');
    });

    it('refuses bodies that are no users, groups or operations, in the form of RFC 7644', async () => {
      const { id } = await scim.user(address());
      const { id: group } = await scim.group(`G${++serial}`);
      const cases: [string, string, unknown, number, string?][] = [
        ['POST', '/Users', '{', 400, 'invalidSyntax'],
        ['POST', '/Users', '[]', 400],
        ['POST', '/Users', {}, 400, 'invalidValue'],
        ['POST', '/Users', { userName: 7 }, 400, 'invalidValue'],
        ['POST', '/Users', { userName: 'no address' }, 400, 'invalidValue'],
        ['POST', '/Users', { userName: address(), active: 'maybe' }, 400, 'invalidValue'],
        ['POST', '/Users', { userName: address(), emails: 'x' }, 400, 'invalidValue'],
        ['POST', '/Users', { userName: address(), name: ['x'] }, 400, 'invalidValue'],
        ['POST', '/Users', { userName: address(), roles: [{ value: 'king' }] }, 400, 'invalidValue'],
        ['POST', '/Users', { userName: address(), title: 'x'.repeat(1025) }, 400, 'invalidValue'],
        ['POST', '/Users', `{"userName":"${address()}","__proto__":{"active":false}}`, 400],
        ['POST', '/Groups', {}, 400, 'invalidValue'],
        ['POST', '/Groups', { displayName: 'x', members: [{ value: randomUUID() }] }, 400, 'invalidValue'],
        [
          'POST',
          '/Groups',
          { displayName: 'x', members: [{ value: group, type: 'Group' }] },
          400,
          'invalidValue',
        ],
        ['PATCH', `/Users/${id}`, {}, 400],
        ['PATCH', `/Users/${id}`, { Operations: [] }, 400, 'invalidSyntax'],
        ['PATCH', `/Users/${id}`, { schemas: ['x'], Operations: [{ op: 'add' }] }, 400, 'invalidSyntax'],
        ['PATCH', `/Users/${id}`, patchOf({ op: 'move', path: 'title' }), 400, 'invalidSyntax'],
        ['PATCH', `/Users/${id}`, patchOf({ op: 'remove' }), 400, 'noTarget'],
        ['PATCH', `/Users/${id}`, patchOf({ op: 'add', path: 'title' }), 400, 'invalidValue'],
        ['PATCH', `/Users/${id}`, patchOf({ op: 'add', value: 'x' }), 400, 'invalidValue'],
        ['PATCH', `/Users/${id}`, patchOf({ op: 'add', path: 'nothing', value: 'x' }), 400, 'invalidPath'],
        ['PATCH', `/Users/${id}`, patchOf({ op: 'add', path: 'title[', value: 'x' }), 400, 'invalidPath'],
        [
          'PATCH',
          `/Users/${id}`,
          patchOf({ op: 'add', path: '__proto__.x', value: 'x' }),
          400,
          'invalidPath',
        ],
        ['PATCH', `/Users/${id}`, patchOf({ op: 'replace', path: 'id', value: 'x' }), 400, 'mutability'],
        ['PATCH', `/Users/${id}`, patchOf({ op: 'add', path: 'groups', value: [] }), 400, 'mutability'],
        ['PATCH', `/Users/${id}`, patchOf({ op: 'remove', path: 'userName' }), 400, 'invalidValue'],
        [
          'PATCH',
          `/Users/${id}`,
          patchOf({
            op: 'replace',
            path: 'emails[type eq "home" and primary eq true].value',
            value: 'a@b.example',
          }),
          400,
          'noTarget',
        ],
        ['PATCH', `/Groups/${group}`, patchOf({ op: 'remove', path: 'displayName' }), 400, 'invalidValue'],
        ['PATCH', `/Groups/${group}`, patchOf({ op: 'add', path: 'members', value: [{}] }), 400],
        [
          'PATCH',
          `/Groups/${group}`,
          patchOf({ op: 'remove', path: 'members[value xx "a"]' }),
          400,
          'invalidPath',
        ],
        ['PUT', `/Users/${randomUUID()}`, { userName: address() }, 404],
        ['PATCH', `/Users/${randomUUID()}`, patchOf({ op: 'remove', path: 'title' }), 404],
        ['DELETE', `/Groups/${randomUUID()}`, undefined, 404],
        ['PATCH', '/Users', patchOf({ op: 'remove', path: 'title' }), 405],
        ['POST', '/Bulk', {}, 404],
      ];
      for (const [verb, path, body, status, scimType] of cases) {
        const about = `${verb} ${path} ${JSON.stringify(body)}`;
        const answer = await scim.send(verb, path, body);
        expect(answer.status, `${about} ${JSON.stringify(answer.json)}`).to.equal(status);
        expect(answer.headers.get('content-type'), about).to.equal('application/scim+json');
        expect(answer.json, about).to.deep.include({ schemas: [errorSchema], status: String(status) });
        if (scimType !== undefined) expect(answer.json.scimType, about).to.equal(scimType);
      }
      expect((await scim.send('GET', `/Users/${id}`)).status).to.equal(200);
      expect(({} as { x?: string }).x).to.equal(undefined);
    });

    it('takes keys of the organisation alone, and no id of another organisation', async () => {
      const foreign = scimClient(plane, randomUUID());
      for (const [verb, path] of [
        ['GET', '/Users'],
        ['POST', '/Users'],
        ['GET', '/ServiceProviderConfig'],
      ] as const) {
        const body = verb === 'POST' ? { userName: address() } : undefined;
        const { status, json } = await foreign.send(verb, path, body);
        expect([status, json.schemas]).to.deep.equal([404, [errorSchema]]);
        const narrow = await scim.send(verb, path, body, { key: plane.first.workspace_key });
        expect([narrow.status, narrow.json.status]).to.deep.equal([403, '403']);
      }
      const none = await scim.send('GET', '/Users', undefined, { key: null });
      expect([none.status, none.json.schemas]).to.deep.equal([401, [errorSchema]]);
      const bearer = { key: null, headers: { authorization: `Bearer ${plane.first.admin_key}` } };
      expect((await scim.send('GET', '/Users', undefined, bearer)).status).to.equal(200);
    });

    it('changes a record only in the state that If-Match names, and sends none that is known', async () => {
      const { id } = await scim.user(address());
      const { headers } = await scim.send('GET', `/Users/${id}`);
      const etag = headers.get('etag') ?? '';
      const known = await scim.send('GET', `/Users/${id}`, undefined, { headers: { 'if-none-match': etag } });
      expect([known.status, known.json]).to.deep.equal([304, '']);
      const change = patchOf({ op: 'add', path: 'title', value: 'x' });
      const first = await scim.send('PATCH', `/Users/${id}`, change, { headers: { 'if-match': etag } });
      expect(first.status).to.equal(200);
      expect(first.headers.get('etag')).to.equal(first.json.meta.version).and.not.to.equal(etag);
      for (const [verb, body] of [
        ['PATCH', change],
        ['PUT', { userName: address() }],
        ['DELETE', undefined],
      ] as const) {
        const stale = await scim.send(verb, `/Users/${id}`, body, { headers: { 'if-match': etag } });
        expect([verb, stale.status, stale.json.status]).to.deep.equal([verb, 412, '412']);
      }
      const fresh = await scim.send('GET', `/Users/${id}`, undefined, { headers: { 'if-none-match': etag } });
      expect(fresh.status).to.equal(200);
      const { id: group } = await scim.group(`G${++serial}`, [id]);
      const before = (await scim.send('GET', `/Groups/${group}`)).headers.get('etag') ?? '';
      await scim.send('DELETE', `/Users/${id}`);
      const after = await scim.send('GET', `/Groups/${group}`, undefined, {
        headers: { 'if-none-match': before },
      });
      expect([after.status, after.json.members]).to.deep.equal([200, []]);
    });

    it('refuses the keys and sessions of a deactivated user, and takes the keys again afterwards', async () => {
      const email = address();
      const { id } = await scim.user(email);
      const workspaceId = await workspace();
      await plane.rest('POST', `/v1/admin/workspaces/${workspaceId}/users`, {
        users: [{ id, role: 'member' }],
      });
      const { json: key } = await plane.rest('POST', '/v1/api-keys/workspace/user', {
        name: 'own',
        workspace_id: workspaceId,
        user_id: id,
        scopes: ['completions.write', 'configs.list'],
      });
      const place = { organisationId: plane.first.organisation_id, userId: id };
      const signIn = () =>
        plane.store.sessions.create(place.organisationId, { userId: id, address: '', userAgent: '' });
      const session = await signIn();
      if (session === 'missing') throw new Error('no session');
      const asked = () => plane.rest('GET', '/v1/configs', undefined, { key: key.key });
      expect((await asked()).status).to.equal(200);
      plane.forgotten.length = 0;
      await scim.patch(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'False' });
      expect(plane.forgotten).to.deep.include({ kind: 'key', workspace: null, name: '*', user: id });
      expect((await asked()).status).to.equal(401);
      expect(await plane.store.keys.findByHash(plane.store.hashKey(key.key))).to.equal(null);
      expect(await plane.store.sessions.findByToken(session.token.reveal())).to.equal(null);
      expect(await signIn()).to.equal('missing');
      expect(await plane.store.signIn.findByEmail(email)).to.deep.equal([]);
      expect((await plane.rest('GET', `/v1/admin/users/${id}`)).json.active).to.equal(false);
      await scim.patch(`/Users/${id}`, { op: 'replace', value: { active: true } });
      expect((await asked()).status).to.equal(200);
      expect(await plane.store.sessions.findByToken(session.token.reveal())).to.equal(null);
      await scim.send('DELETE', `/Users/${id}`);
      expect((await asked()).status).to.equal(401);
    });

    it('sends alerts to no one who is deactivated', async () => {
      const [email, byHand] = [address(), address()];
      const { id } = await scim.user(email, { roles: [{ value: 'admin' }] });
      const { id: manager } = await scim.user(byHand);
      const workspaceId = await workspace();
      const users = [{ id: manager, role: 'manager' }];
      await plane.rest('POST', `/v1/admin/workspaces/${workspaceId}/users`, { users });
      const alert = { org: plane.first.organisation_id, workspace: workspaceId, holder: 'workspace' };
      const recipients = async (): Promise<readonly string[]> =>
        (await addresseesOf(plane.store, { ...alert, holderId: workspaceId } as BudgetAlert)).recipients;
      expect(await recipients()).to.include.members([email, byHand]);
      for (const user of [id, manager])
        await scim.patch(`/Users/${user}`, { op: 'replace', path: 'active', value: false });
      expect(await recipients())
        .to.not.include(email)
        .and.not.include(byHand);
    });

    it('neither removes an owner nor deactivates the last one, nor gives roles beyond those of the key', async () => {
      const owner = address();
      const { json: made } = await plane.rest('POST', '/v1/admin/users', { email: owner, role: 'owner' });
      const off = await scim.patch(`/Users/${made.id}`, { op: 'replace', path: 'active', value: false });
      expect([off.status, off.json.status]).to.deep.equal([403, '403']);
      expect((await scim.send('DELETE', `/Users/${made.id}`)).status).to.equal(403);
      const role = [{ value: 'member' }];
      const lower = await scim.patch(`/Users/${made.id}`, { op: 'replace', path: 'roles', value: role });
      expect(lower.status).to.equal(403);
      const renamed = await scim.patch(`/Users/${made.id}`, {
        op: 'replace',
        path: 'userName',
        value: address(),
      });
      expect(renamed.status).to.equal(403);
      const titled = await scim.patch(`/Users/${made.id}`, { op: 'replace', path: 'title', value: 'Boss' });
      expect(titled.json).to.deep.include({ title: 'Boss', userName: owner });
      const { id } = await scim.user(address());
      const raised = await scim.patch(`/Users/${id}`, {
        op: 'Add',
        path: 'roles',
        value: [{ primary: true, value: '{"id":"1","value":"admin","displayName":"Admins"}' }],
      });
      expect([raised.status, raised.json.roles?.[0].value]).to.deep.equal([200, 'admin']);
      const same = await scim.send('PUT', `/Users/${id}`, { userName: raised.json.userName });
      expect(same.json.roles[0].value).to.equal('admin');
      const { json: narrow } = await plane.rest('POST', '/v1/api-keys/organisation/service', {
        name: 'users',
        scopes: scopesOf('organisation-service').filter((scope) => scope.startsWith('organisation_users.')),
      });
      const asNarrow = (path: string, body: object): Promise<RestResult> =>
        scim.send('PATCH', path, body, { key: narrow.key });
      const { id: member } = await scim.user(address());
      const admin = patchOf({ op: 'replace', path: 'roles', value: [{ value: 'admin' }] });
      expect((await asNarrow(`/Users/${member}`, admin)).status).to.equal(403);
      const taken = patchOf({ op: 'replace', path: 'userName', value: address() });
      expect((await asNarrow(`/Users/${id}`, taken)).status).to.equal(403);
      const { id: group } = await scim.group(`G${++serial}`);
      await map({ workspace_id: await workspace(), role: 'member', scim_group_id: group });
      const joins = patchOf({ op: 'add', path: 'members', value: [{ value: member }] });
      expect((await asNarrow(`/Groups/${group}`, joins)).status).to.equal(403);
      // Who has the address can sign in as that user, with the user's roles in workspaces.
      const placed = await plane.rest('POST', '/v1/admin/users', {
        email: address(),
        role: 'member',
        workspaces: [{ id: await workspace(), role: 'admin' }],
      });
      expect((await asNarrow(`/Users/${placed.json.id}`, taken)).status).to.equal(403);
      expect((await asNarrow(`/Users/${member}`, taken)).status).to.equal(200);
      expect((await scim.send('GET', `/Groups/${group}`)).json.members).to.deep.equal([]);
    });

    it('makes the members of a mapped group members of the workspace, for as long as they are in it', async () => {
      const [one, two] = [(await scim.user(address())).id, (await scim.user(address())).id];
      const workspaceId = await workspace();
      const name = `Team ${++serial}`;
      const { id: group } = await scim.group(name, [one]);
      const mapping = await map({
        workspace_id: workspaceId,
        role: 'member',
        scim_group_name: name.toUpperCase(),
      });
      expect(mapping.status).to.equal(200);
      expect(mapping.json).to.deep.equal({
        id: mapping.json.id,
        workspace_id: workspaceId,
        scim_group: name,
        scim_group_id: group,
        role: 'member',
      });
      expect(await roleIn(workspaceId, one)).to.equal('member');
      await scim.patch(`/Groups/${group}`, { op: 'add', path: 'members', value: [{ value: two }] });
      expect(await roleIn(workspaceId, two)).to.equal('member');
      const source = await plane.rest('GET', `/v1/admin/workspaces/${workspaceId}`);
      expect(source.json.scim_source_id).to.equal(group);

      // The highest of several roles holds.
      const { id: leads } = await scim.group(`Leads ${serial}`, [one]);
      const higher = await map({ workspace_id: workspaceId, role: 'manager', scim_group_id: leads });
      expect(await roleIn(workspaceId, one)).to.equal('manager');
      expect(await roleIn(workspaceId, two)).to.equal('member');

      const list = await plane.rest('GET', `/v1/scim/workspaces?workspace_id=${workspaceId}`);
      expect(list.json).to.deep.equal({ mappings: [mapping.json, higher.json], total_count: 2 });
      const ofRole = await plane.rest('GET', `/v1/scim/workspaces?role=manager&scim_group_id=${leads}`);
      expect(ofRole.json).to.deep.equal({ mappings: [higher.json], total_count: 1 });
      const paged = await plane.rest(
        'GET',
        `/v1/scim/workspaces?workspace_id=${workspaceId}&page=1&page_size=1`,
      );
      expect(paged.json).to.deep.equal({ mappings: [higher.json], total_count: 2 });

      const gone = await plane.rest('DELETE', `/v1/scim/workspaces/${higher.json.id}`);
      expect([gone.status, gone.json]).to.deep.equal([200, { success: true }]);
      expect(await roleIn(workspaceId, one)).to.equal('member');
      expect((await plane.rest('DELETE', `/v1/scim/workspaces/${higher.json.id}`)).status).to.equal(404);
      expect((await scim.send('GET', `/Groups/${leads}`)).status).to.equal(200);

      const { json: key } = await plane.rest('POST', '/v1/api-keys/workspace/user', {
        name: 'own',
        workspace_id: workspaceId,
        user_id: two,
        scopes: ['completions.write'],
      });
      await scim.patch(`/Groups/${group}`, { op: 'remove', path: `members[value eq "${two}"]` });
      expect(await roleIn(workspaceId, two)).to.equal(null);
      expect((await plane.rest('GET', `/v1/api-keys/${key.id}`)).status).to.equal(404);
      await scim.send('DELETE', `/Groups/${group}`);
      expect(await roleIn(workspaceId, one)).to.equal(null);
      const after = await plane.rest('GET', `/v1/scim/workspaces?workspace_id=${workspaceId}`);
      expect(after.json).to.deep.equal({ mappings: [], total_count: 0 });
      const cleared = await plane.rest('GET', `/v1/admin/workspaces/${workspaceId}`);
      expect(cleared.json.scim_source_id).to.equal(null);
    });

    it('keeps a membership that was given by hand, with its own role', async () => {
      const { id } = await scim.user(address());
      const workspaceId = await workspace();
      const users = `/v1/admin/workspaces/${workspaceId}/users`;
      await plane.rest('POST', users, { users: [{ id, role: 'member' }] });
      const { id: group } = await scim.group(`H${++serial}`, [id]);
      await map({ workspace_id: workspaceId, role: 'manager', scim_group_id: group });
      expect(await roleIn(workspaceId, id)).to.equal('manager');
      const byHand = await plane.rest('DELETE', `${users}/${id}`);
      expect([byHand.status, byHand.json.data.errorCode]).to.deep.equal([409, 'AB07']);
      await plane.rest('PUT', `${users}/${id}`, { role: 'admin' });
      expect(await roleIn(workspaceId, id)).to.equal('admin');
      await plane.rest('PUT', `${users}/${id}`, { role: 'member' });
      expect(await roleIn(workspaceId, id)).to.equal('manager');
      await scim.send('DELETE', `/Groups/${group}`);
      expect(await roleIn(workspaceId, id)).to.equal('member');
      expect((await plane.rest('DELETE', `${users}/${id}`)).status).to.equal(200);
    });

    it('refuses a mapping twice, and one of what does not exist', async () => {
      const workspaceId = await workspace();
      const { id: group } = await scim.group(`M${++serial}`);
      const body = { workspace_id: workspaceId, role: 'member', scim_group_id: group };
      expect((await map(body)).status).to.equal(200);
      const cases: [object, number, string][] = [
        [{ ...body, role: 'admin' }, 409, 'AB07'],
        [{ ...body, workspace_id: 'nowhere' }, 404, 'AB02'],
        [{ ...body, scim_group_id: randomUUID() }, 404, 'AB02'],
        [{ ...body, role: 'owner' }, 400, 'AB01'],
        [{ workspace_id: workspaceId, role: 'member' }, 400, 'AB01'],
        [{ role: 'member', scim_group_id: group }, 400, 'AB01'],
        [{ ...body, scim_group_name: 'another' }, 400, 'AB01'],
      ];
      for (const [sent, status, code] of cases) {
        const { status: got, json } = await map(sent);
        expect([got, json.data?.errorCode], JSON.stringify(sent)).to.deep.equal([status, code]);
      }
      const groups = await plane.rest('GET', `/v1/scim/groups?search=m${serial}&page=0`);
      expect(groups.json).to.deep.equal({ groups: [{ id: group, name: `M${serial}` }], total_count: 1 });
    });

    it('loses no member when many change one group at the same time', async () => {
      const ids: string[] = [];
      for (let i = 0; i < 24; i++) ids.push((await scim.user(address())).id);
      const kept = ids.slice(0, 12);
      const { id: group } = await scim.group(`C${++serial}`, ids.slice(12));
      await Promise.all([
        ...kept.map((value) =>
          scim.patch(`/Groups/${group}`, { op: 'add', path: 'members', value: [{ value }] }),
        ),
        ...ids
          .slice(12)
          .map((value) =>
            scim.patch(`/Groups/${group}`, { op: 'remove', path: `members[value eq "${value}"]` }),
          ),
      ]);
      const { json } = await scim.send('GET', `/Groups/${group}`);
      expect(json.members.map(({ value }: { value: string }) => value)).to.have.members(kept);
    });

    it('gives those who join by a group the key that the workspace wants, as far as it allows one', async () => {
      const auto = await workspace({ user_api_key_auto_create: true, user_api_key_ttl: 3600 });
      const none = await workspace({ user_api_key_auto_create: true, user_api_key_count: 0 });
      const [one, two] = [
        (await scim.user(address())).id,
        (await scim.user(address(), { active: false })).id,
      ];
      const { id: group } = await scim.group(`K${++serial}`, [one, two]);
      for (const workspace_id of [auto, none])
        await map({ workspace_id, role: 'member', scim_group_id: group });
      const keysOf = async (userId: string) => {
        const filter = { userId };
        const everything = { offset: 0, limit: 100 };
        return (await plane.store.keys.list(plane.first.organisation_id, filter, everything)).rows;
      };
      const [made, ...more] = await keysOf(one);
      expect(more).to.deep.equal([]);
      expect(made).to.deep.include({ workspaceId: auto, creationMode: 'auto', type: 'workspace-user' });
      expect((made?.expiresAt ?? 0) - (made?.createdAt ?? 0)).to.be.within(3_590_000, 3_610_000);
      expect(await keysOf(two)).to.deep.equal([]);
      await scim.patch(`/Users/${two}`, { op: 'replace', path: 'active', value: true });
      expect((await keysOf(two)).map(({ workspaceId }) => workspaceId)).to.deep.equal([auto]);
    });

    it('pages through 10,000 users, and takes one more into a group of them', async function () {
      this.timeout(60_000);
      const bare = await database(dataDir);
      const organisation = plane.first.organisation_id;
      const tag = `bulk${++serial}-`;
      const rows = Array.from({ length: 10_000 }, (_, i) => ({
        id: randomUUID(),
        organisation_id: organisation,
        email: `${tag}${i}@x.example`,
        email_key: `${tag}${i}@x.example`,
        first_name: 'B',
        last_name: String(i),
        role: 'member',
        created_at: 1_900_000_000_000 + i,
        updated_at: 1_900_000_000_000 + i,
      }));
      await bare.write(async (sql) => {
        for (let i = 0; i < rows.length; i += 500) await sql('users').insert(rows.slice(i, i + 500));
      });
      await bare.close();
      const filter = encodeURIComponent(`userName sw "${tag}"`);
      const page = (startIndex: number): Promise<RestResult> =>
        scim.send('GET', `/Users?startIndex=${startIndex}&count=1000&filter=${filter}`);
      const begun = performance.now();
      const found: string[] = [];
      for (let at = 1; at <= 10_000; at += 1000) found.push(...idsOf(await page(at)));
      expectWithinMs(performance.now() - begun, 5000);
      expect(found).to.deep.equal(rows.map(({ id }) => id));

      const { id: group } = await scim.group(`${tag}group`, found);
      const { id } = await scim.user(address());
      const change = performance.now();
      const changed = await scim.patch(`/Groups/${group}`, {
        op: 'add',
        path: 'members',
        value: [{ value: id }],
      });
      expect([changed.status, changed.json]).to.deep.equal([204, '']);
      expect(changed.headers.get('etag')).to.match(/^W\//);
      expectWithinMs(performance.now() - change, 1000);
      const { json } = await scim.send('GET', `/Groups/${group}`);
      expect(json.members).to.have.length(10_001);
    });

    it('lists the people of the organisation as its members', async () => {
      const { json: users } = await plane.rest('GET', '/v1/admin/users?page_size=3');
      for (const path of ['/v1/organisation', '/v1/v2/organisations', '/v2/organisations']) {
        const of = `${path}/${plane.first.organisation_id}/members`;
        const { status, json } = await plane.rest('GET', `${of}?page_size=3`);
        expect([path, status, json]).to.deep.equal([path, 200, users]);
        const second = await plane.rest('GET', `${of}?pageSize=1&currentPage=1`);
        expect(second.json.data).to.deep.equal([users.data[1]]);
        expect((await plane.rest('GET', `${path}/${randomUUID()}/members`)).status).to.equal(404);
      }
    });
  });
});
