import { expect } from 'chai';
import { type AdminPlane, startPlane } from '../support/admin-plane.js';
import {
  enterpriseSchema,
  errorSchema,
  groupSchema,
  type ScimClient,
  scimClient,
  userSchema,
} from '../support/scim-plane.js';
import { folder, forEachStore } from '../support/stores.js';

/** The requests that provisioning agents send, in their order: after the public references of Entra ID and Okta. */
describe('SCIM, as provisioning agents use it', () => {
  forEachStore(({ open }) => {
    let plane: AdminPlane;
    let scim: ScimClient;

    before(async () => {
      plane = await startPlane({ store: await open(folder()) });
      scim = scimClient(plane);
    });
    after(() => plane.close());

    it('Entra ID tests the connection, makes, matches, changes, disables, restores and removes a user', async () => {
      const unknown = await scim.find('Users', 'userName eq "5b1f6b9e-0000-4000-8000-000000000000"');
      expect(unknown.json).to.deep.equal({
        schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
        totalResults: 0,
        Resources: [],
        startIndex: 1,
        itemsPerPage: 0,
      });
      const made = await scim.send('POST', '/Users', {
        schemas: [userSchema, enterpriseSchema],
        externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
        userName: 'Test_User@testuser.com',
        active: true,
        emails: [{ primary: true, type: 'work', value: 'newemail@testuser.com' }],
        meta: { resourceType: 'User' },
        name: { formatted: 'givenName familyName', familyName: 'familyName', givenName: 'givenName' },
        roles: [],
        [enterpriseSchema]: { employeeNumber: '701984', department: 'Sales' },
      });
      expect(made.status).to.equal(201);
      expect(made.headers.get('content-type')).to.equal('application/scim+json');
      const { id, meta } = made.json;
      expect(made.headers.get('location')).to.equal(meta.location);
      expect(made.headers.get('etag')).to.equal(meta.version);
      expect(meta.location).to.match(new RegExp(`/v1/scim/${plane.first.organisation_id}/Users/${id}$`));
      expect(made.json).to.deep.include({
        schemas: [userSchema, enterpriseSchema],
        externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
        userName: 'Test_User@testuser.com',
        active: true,
        groups: [],
        emails: [{ value: 'newemail@testuser.com', type: 'work', primary: true }],
        [enterpriseSchema]: { employeeNumber: '701984', department: 'Sales' },
      });
      expect(made.json.name.givenName).to.equal('givenName');
      expect(made.json.roles[0].value).to.equal('member');

      for (const filter of [
        'userName eq "test_user@TESTUSER.com"',
        'externalId eq "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef"',
        'emails[type eq "work"].value eq "newemail@testuser.com"',
      ]) {
        const { json } = await scim.find('Users', filter);
        expect(json.totalResults, filter).to.equal(1);
        expect(json.Resources[0].id).to.equal(id);
      }

      const changed = await scim.patch(
        `/Users/${id}`,
        { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updated@testuser.com' },
        { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
        { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '+1 555 0100' },
        { op: 'Add', path: 'addresses[type eq "work"].streetAddress', value: '1 Main St' },
        { op: 'Replace', path: 'displayName', value: 'Shown' },
        { op: 'Add', path: `${enterpriseSchema}:manager`, value: 'c1a2' },
        { op: 'Replace', path: `${enterpriseSchema}:department`, value: 'Research' },
        { op: 'Remove', path: `${enterpriseSchema}:employeeNumber` },
        { op: 'Remove', path: 'nickName' },
      );
      expect(changed.status, JSON.stringify(changed.json)).to.equal(200);
      expect(changed.json).to.deep.include({
        userName: 'Test_User@testuser.com',
        displayName: 'Shown',
        emails: [{ value: 'updated@testuser.com', type: 'work', primary: true }],
        phoneNumbers: [{ type: 'mobile', value: '+1 555 0100' }],
        addresses: [{ type: 'work', streetAddress: '1 Main St' }],
        [enterpriseSchema]: { department: 'Research', manager: { value: 'c1a2' } },
      });
      expect(changed.json.name).to.deep.include({ givenName: 'givenName', familyName: 'updatedFamilyName' });
      expect(changed.json.meta.version).not.to.equal(meta.version);

      // Without the compliance flag, Entra ID sends the boolean as text.
      const disabled = await scim.patch(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'False' });
      expect(disabled.json.active).to.equal(false);
      const found = await scim.find('Users', 'userName eq "test_user@testuser.com" and active eq false');
      expect(found.json.Resources[0].active).to.equal(false);
      const restored = await scim.patch(`/Users/${id}`, {
        op: 'replace',
        value: {
          active: true,
          displayName: 'Back',
          'name.givenName': 'Again',
          [`${enterpriseSchema}:division`]: 'D',
        },
      });
      expect(restored.json).to.deep.include({ active: true, displayName: 'Back' });
      expect(restored.json.name.givenName).to.equal('Again');
      expect(restored.json[enterpriseSchema].division).to.equal('D');

      expect((await scim.send('DELETE', `/Users/${id}`)).status).to.equal(204);
      expect((await scim.send('GET', `/Users/${id}`)).status).to.equal(404);
    });

    it('Entra ID makes a group, adds and removes members, renames and removes it', async () => {
      const { id: one } = await scim.user('g1@testuser.com');
      const { id: two } = await scim.user('g2@testuser.com');
      const none = await scim.send(
        'GET',
        `/Groups?excludedAttributes=members&filter=${encodeURIComponent('displayName eq "Engineers"')}`,
      );
      expect(none.json.totalResults).to.equal(0);
      const made = await scim.send('POST', '/Groups', {
        schemas: [groupSchema, 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group'],
        externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159',
        displayName: 'Engineers',
        meta: { resourceType: 'Group' },
      });
      expect(made.status).to.equal(201);
      expect(made.json).to.deep.include({ displayName: 'Engineers', members: [] });
      const { id } = made.json;
      const added = await scim.patch(`/Groups/${id}`, {
        name: 'addMember',
        op: 'Add',
        path: 'members',
        value: [{ $ref: null, value: one }],
      });
      expect(added.status).to.equal(200);
      await scim.patch(`/Groups/${id}`, {
        op: 'Add',
        path: 'members',
        value: [{ value: two }, { value: one }],
      });
      const group = await scim.send('GET', `/Groups/${id}`);
      expect(group.json.members.map(({ value }: { value: string }) => value)).to.have.members([one, two]);
      expect(group.json.members[0].$ref).to.match(/\/Users\//);
      // This is how Entra ID asks whether someone is in the group.
      const isIn = await scim.find('Groups', `id eq "${id}" and members eq "${two}"`);
      expect(isIn.json.totalResults).to.equal(1);
      const without = await scim.send('GET', `/Groups/${id}?excludedAttributes=members`);
      expect(without.json).not.to.have.property('members');
      expect((await scim.send('GET', `/Users/${one}`)).json.groups).to.deep.equal([
        {
          value: id,
          $ref: group.json.meta.location,
          display: 'Engineers',
          type: 'direct',
        },
      ]);
      await scim.patch(`/Groups/${id}`, {
        op: 'Remove',
        path: 'members',
        value: [{ $ref: null, value: one }],
      });
      const removed = await scim.patch(`/Groups/${id}`, { op: 'Remove', path: `members[value eq "${two}"]` });
      expect(removed.json.members).to.deep.equal([]);
      const renamed = await scim.patch(`/Groups/${id}`, {
        op: 'Replace',
        path: 'displayName',
        value: 'Builders',
      });
      expect(renamed.json.displayName).to.equal('Builders');
      expect((await scim.send('DELETE', `/Groups/${id}`)).status).to.equal(204);
      expect((await scim.send('GET', `/Groups/${id}`)).status).to.equal(404);
    });

    it('Okta tests the connection, makes, reads, replaces, deactivates and reactivates a user', async () => {
      const page = await scim.send('GET', '/Users?startIndex=1&count=2');
      expect(page.json.itemsPerPage).to.be.at.most(2);
      expect(page.json.startIndex).to.equal(1);
      const body = {
        schemas: [userSchema],
        userName: 'test.user@okta.local',
        name: { givenName: 'Test', familyName: 'User' },
        emails: [{ primary: true, value: 'test.user@okta.local', type: 'work' }],
        displayName: 'Test User',
        locale: 'en-US',
        externalId: '00ujl29u0le5T6Aj10h7',
        groups: [],
        password: '1mz050nq',
        active: true,
      };
      expect((await scim.find('Users', 'userName eq "test.user@okta.local"')).json.totalResults).to.equal(0);
      const made = await scim.send('POST', '/Users', body);
      expect(made.status).to.equal(201);
      expect(made.json).to.deep.include({ displayName: 'Test User', locale: 'en-US', active: true });
      expect(JSON.stringify(made.json)).not.to.include('1mz050nq');
      const again = await scim.send('POST', '/Users', body);
      expect(again.status).to.equal(409);
      expect(again.json).to.deep.include({ schemas: [errorSchema], status: '409', scimType: 'uniqueness' });
      expect(again.json.detail).to.be.a('string');
      const { id } = made.json;
      const replaced = await scim.send('PUT', `/Users/${id}`, {
        ...made.json,
        name: { givenName: 'Another', middleName: 'Excited', familyName: 'User' },
      });
      expect(replaced.status).to.equal(200);
      expect(replaced.json.name).to.deep.include({ givenName: 'Another', middleName: 'Excited' });
      const off = await scim.patch(`/Users/${id}`, { op: 'replace', value: { active: false } });
      expect(off.json.active).to.equal(false);
      const on = await scim.send('PUT', `/Users/${id}`, { ...replaced.json, active: true });
      expect(on.json.active).to.equal(true);
      await scim.patch(`/Users/${id}`, { op: 'replace', path: 'password', value: '2nd-1mz050nq' });
      const span = 'start_time=2026-01-01T00:00:00Z&end_time=2036-01-01T00:00:00Z';
      const { json } = await plane.rest('GET', `/v1/audit-logs?${span}`);
      expect(JSON.stringify(json)).to.include('okta.local').and.not.to.include('1mz050nq');
    });

    it('Okta pushes a group: with members, by replacing them, and under another name', async () => {
      const { id: one } = await scim.user('o1@okta.local');
      const { id: two } = await scim.user('o2@okta.local');
      const { id } = await scim.group('Test SCIMv2', [one]);
      const renamed = await scim.patch(`/Groups/${id}`, {
        op: 'replace',
        value: { id, displayName: 'Test SCIMv2 renamed' },
      });
      expect(renamed.json.displayName).to.equal('Test SCIMv2 renamed');
      expect(renamed.json.members).to.have.length(1);
      const moved = await scim.patch(
        `/Groups/${id}`,
        { op: 'remove', path: `members[value eq "${one}"]` },
        { op: 'add', path: 'members', value: [{ value: two, display: 'o2@okta.local' }] },
      );
      expect(moved.json.members.map(({ value }: { value: string }) => value)).to.deep.equal([two]);
      const replaced = await scim.patch(`/Groups/${id}`, {
        op: 'replace',
        path: 'members',
        value: [{ value: one, display: 'o1' }],
      });
      expect(replaced.json.members.map(({ value }: { value: string }) => value)).to.deep.equal([one]);
      const put = await scim.send('PUT', `/Groups/${id}`, {
        schemas: [groupSchema],
        id,
        displayName: 'Test SCIMv2',
        members: [{ value: one }, { value: two }],
      });
      expect(put.json.members).to.have.length(2);
      const emptied = await scim.patch(`/Groups/${id}`, { op: 'remove', path: 'members' });
      expect(emptied.json.members).to.deep.equal([]);
      expect((await scim.send('POST', '/Groups', { displayName: 'test scimv2' })).json).to.deep.include({
        status: '409',
        scimType: 'uniqueness',
      });
    });

    it('an agent reads which parts of SCIM there are', async () => {
      const config = (await scim.send('GET', '/ServiceProviderConfig')).json;
      expect(config.patch.supported).to.equal(true);
      expect(config.bulk.supported).to.equal(false);
      expect(config.etag.supported).to.equal(true);
      const types = (await scim.send('GET', '/ResourceTypes')).json;
      expect(types.Resources.map(({ id }: { id: string }) => id)).to.deep.equal(['User', 'Group']);
      const { json } = await scim.send('GET', '/Schemas');
      expect(json.totalResults).to.equal(3);
      const one = await scim.send('GET', `/Schemas/${encodeURIComponent(userSchema)}`);
      expect(one.json.name).to.equal('User');
      const names = one.json.attributes.map(({ name }: { name: string }) => name);
      expect(names).to.include.members(['userName', 'name', 'emails', 'active', 'groups']);
      expect((await scim.send('GET', '/ResourceTypes/Thing')).status).to.equal(404);
    });
  });
});
