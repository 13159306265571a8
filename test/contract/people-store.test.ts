import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import { defaultAuthSettings } from '../../src/control-plane/store/records/auth-settings.js';
import type { Place, Store } from '../../src/control-plane/store/store.js';
import { folder, forEachStore } from '../support/stores.js';

const everything = { offset: 0, limit: 1000 };
const day = 24 * 60 * 60_000;

function here<T>(value: T | string | null): Exclude<T, string> {
  if (typeof value === 'string' || value === null) throw new Error(`got ${value}`);
  return value as Exclude<T, string>;
}

describe('people and places in the store', () => {
  forEachStore(({ open, dialect }) => {
    let store: Store;
    let dataDir: string;
    let place: Place;
    let other: Place;
    let organisationId: string;
    let now = 1_800_000_000_000;
    let serial = 0;

    before(async () => {
      dataDir = folder();
      store = await open(dataDir, () => now);
      const first = here(await bootstrap(store, { dataDir, simulated: false }));
      organisationId = first.organisation_id;
      place = { organisationId, workspaceId: first.workspace_id };
      const workspace = here(await store.workspaces.create(organisationId, { name: 'Two', slug: 'two' }));
      other = { organisationId, workspaceId: workspace.id };
    });
    after(() => store.close());

    const makeUser = async (more: object = {}) =>
      here(
        await store.users.create(organisationId, {
          email: `U${++serial}@Example.com`,
          role: 'member',
          ...more,
        }),
      );
    const makeKey = async (where: Place, userId: string) =>
      here(
        await store.keys.create(organisationId, {
          type: 'workspace-user',
          workspaceId: where.workspaceId,
          userId,
          name: 'k',
          scopes: ['completions.write'],
        }),
      );

    describe('users', () => {
      it('are one for each address and organisation, and found in any case', async () => {
        const user = await makeUser({ firstName: 'A' });
        expect(user).to.deep.include({ firstName: 'A', lastName: '', role: 'member', workspaceIds: [] });
        const email = user.email.toLowerCase();
        expect(await store.users.create(organisationId, { email, role: 'admin' })).to.equal('taken');
        expect((await store.users.list(organisationId, { email }, everything)).rows).to.deep.equal([user]);
        expect(await store.users.get(organisationId, user.id)).to.deep.equal(user);
        expect(await store.users.get('another', user.id)).to.equal(null);
        expect((await store.users.list('another', {}, everything)).total).to.equal(0);
        expect(await store.users.delete('another', user.id)).to.equal('missing');
        expect(await store.users.update('another', user.id, { role: 'admin' })).to.equal('missing');
      });

      it('join workspaces, change there, and stay in others', async () => {
        const user = await makeUser({ workspaces: [{ workspaceId: place.workspaceId, role: 'member' }] });
        const changed = here(
          await store.users.update(organisationId, user.id, {
            workspaces: [{ workspaceId: other.workspaceId, role: 'manager' }],
            etag: user.etag,
          }),
        );
        expect(changed.workspaceIds).to.have.members([place.workspaceId, other.workspaceId]);
        expect(
          await store.users.update(organisationId, user.id, { role: 'admin', etag: user.etag }),
        ).to.equal('stale');
        const nowhere = [{ workspaceId: 'nowhere', role: 'member' as const }];
        const failed = await store.users.create(organisationId, {
          email: 'x@y.z',
          role: 'member',
          workspaces: nowhere,
        });
        expect(failed).to.equal('missing');
        expect((await store.users.list(organisationId, { email: 'x@y.z' }, everything)).total).to.equal(0);
        expect(
          await store.users.update(organisationId, user.id, { role: 'admin', workspaces: nowhere }),
        ).to.equal('missing');
        expect((await store.users.get(organisationId, user.id))?.role).to.equal('member');
      });

      it('leave with their keys', async () => {
        const user = await makeUser({ workspaces: [{ workspaceId: place.workspaceId, role: 'member' }] });
        const { key, hash } = await makeKey(place, user.id);
        expect(await store.users.delete(organisationId, user.id, 'old')).to.equal('stale');
        expect(here(await store.users.delete(organisationId, user.id)).id).to.equal(user.id);
        expect(await store.keys.get(organisationId, key.id)).to.equal(null);
        expect(await store.keys.findByHash(hash)).to.equal(null);
        expect(await store.members.get(place, user.id)).to.equal(null);
      });

      it('are counted where they are owners', async () => {
        expect(await store.users.owners(organisationId)).to.equal(0);
        await makeUser({ role: 'owner' });
        expect(await store.users.owners(organisationId)).to.equal(1);
        expect(await store.users.owners('another')).to.equal(0);
      });
    });

    describe('members', () => {
      it('are added once, listed by role and address, changed and removed with their keys', async () => {
        const user = await makeUser();
        expect(await store.members.add(place, user.id, 'manager')).to.equal('added');
        expect(await store.members.add(place, user.id, 'admin')).to.equal('taken');
        expect(await store.members.add(place, 'nobody', 'admin')).to.equal('missing');
        expect(await store.members.add({ ...place, organisationId: 'another' }, user.id, 'admin')).to.equal(
          'missing',
        );
        const filter = { role: 'manager', email: user.email.toUpperCase() } as const;
        const { rows, total } = await store.members.list(place, filter, everything);
        expect(total).to.equal(1);
        expect(rows[0]).to.deep.include({ userId: user.id, role: 'manager', organisationRole: 'member' });
        expect((await store.members.list(other, filter, everything)).total).to.equal(0);
        expect(await store.members.setRole(place, user.id, 'member')).to.equal('changed');
        expect(await store.members.setRole(other, user.id, 'member')).to.equal('missing');
        const { hash } = await makeKey(place, user.id);
        expect(await store.members.remove(other, user.id)).to.equal('missing');
        expect(await store.members.remove(place, user.id)).to.equal('removed');
        expect(await store.keys.findByHash(hash)).to.equal(null);
      });

      it('are what they are in their own organisation alone; admins enter everywhere', async () => {
        const user = await makeUser({ workspaces: [{ workspaceId: place.workspaceId, role: 'member' }] });
        const admin = await makeUser({ role: 'admin' });
        const roleOf = (where: Place, id: string) => store.members.roleOf(where.workspaceId, id);
        expect(await roleOf(place, user.id)).to.deep.equal({ organisation: 'member', workspace: 'member' });
        expect(await roleOf(other, user.id)).to.deep.equal({ organisation: 'member', workspace: null });
        expect(await roleOf(other, admin.id)).to.deep.equal({ organisation: 'admin', workspace: 'admin' });
        expect(await roleOf(place, 'nobody')).to.equal(null);
        expect(await store.members.roleOf('nowhere', admin.id)).to.equal(null);
      });
    });

    describe('invitations', () => {
      const invite = () =>
        store.invites.create(organisationId, {
          email: `I${++serial}@Example.com`,
          role: 'member',
          workspaces: [{ workspaceId: place.workspaceId, role: 'member' }],
          keyDetails: { scopes: ['completions.write'], name: null, metadata: { a: 'b' }, expiresAt: null },
          invitedBy: 'key-1',
        });

      it('are found by their token while they are pending, and accepted once', async () => {
        const { invite: made, token } = await invite();
        expect(made).to.deep.include({ status: 'pending', expiresAt: now + 7 * day, acceptedAt: null });
        expect(await store.invites.findByToken(token.reveal())).to.deep.equal(made);
        expect(await store.invites.findByToken(`${token.reveal()}x`)).to.equal(null);
        expect(await store.invites.accept('another', made.id)).to.equal('missing');
        expect(here(await store.invites.accept(organisationId, made.id)).status).to.equal('accepted');
        expect(await store.invites.accept(organisationId, made.id)).to.equal('missing');
        expect(await store.invites.findByToken(token.reveal())).to.equal(null);
        expect(await store.invites.cancel(organisationId, made.id)).to.equal('settled');
        expect(await store.invites.renew(organisationId, made.id)).to.equal('settled');
      });

      it('expire after seven days and are open again once renewed, by another token', async () => {
        const { invite: made, token } = await invite();
        now += 7 * day;
        expect(await store.invites.findByToken(token.reveal())).to.equal(null);
        expect((await store.invites.get(organisationId, made.id))?.status).to.equal('expired');
        expect(await store.invites.accept(organisationId, made.id)).to.equal('missing');
        const found = await store.invites.list(
          organisationId,
          { status: 'expired', email: made.email },
          everything,
        );
        expect(found.total).to.equal(1);
        const renewed = here(await store.invites.renew(organisationId, made.id));
        expect(renewed.invite).to.deep.include({ status: 'pending', expiresAt: now + 7 * day });
        expect(await store.invites.findByToken(token.reveal())).to.equal(null);
        expect((await store.invites.findByToken(renewed.token.reveal()))?.id).to.equal(made.id);
      });

      it('are of one organisation', async () => {
        const { invite: made } = await invite();
        expect(await store.invites.get('another', made.id)).to.equal(null);
        expect(await store.invites.cancel('another', made.id)).to.equal('missing');
        expect((await store.invites.list('another', {}, everything)).total).to.equal(0);
        const search = made.email.slice(0, 6).toLowerCase();
        expect((await store.invites.list(organisationId, { search }, everything)).total).to.be.above(0);
        expect((await store.invites.list(organisationId, { search: '%' }, everything)).total).to.equal(0);
      });

      it('leave no token on the disk', async () => {
        const { token } = await invite();
        if (dialect === 'postgres') return;
        const files = readdirSync(dataDir).filter((name) => !name.endsWith('.tmp'));
        for (const name of files)
          expect(readFileSync(join(dataDir, name), 'latin1')).to.not.include(token.reveal());
      });
    });

    describe('workspaces', () => {
      it('keep their values, and change by their etag', async () => {
        const made = here(
          await store.workspaces.create(organisationId, {
            name: 'Three',
            description: 'd',
            createdBy: 'key-1',
          }),
        );
        expect(made.slug).to.match(/^ws-three-/);
        expect(made).to.deep.include({ isDefault: false, status: 'active', createdBy: 'key-1', icon: null });
        const excludedFrom = { inputGuardrails: true, outputGuardrails: false };
        const changed = here(
          await store.workspaces.update(organisationId, made.id, {
            settings: { debug_log: 0 },
            excludedFrom,
            etag: made.etag,
          }),
        );
        expect(changed).to.deep.include({ description: 'd', settings: { debug_log: 0 }, excludedFrom });
        expect(await store.workspaces.get(organisationId, made.slug)).to.deep.equal(changed);
        expect(
          await store.workspaces.update(organisationId, made.id, { name: 'x', etag: made.etag }),
        ).to.equal('stale');
        expect(await store.workspaces.update('another', made.id, { name: 'x' })).to.equal('missing');
        const taken = { name: 'Three', slug: made.slug };
        expect(await store.workspaces.create(organisationId, taken)).to.equal('taken');
      });

      it('put their metadata over that of their keys', async () => {
        const { hash, key } = here(
          await store.keys.create(organisationId, {
            type: 'workspace-service',
            workspaceId: other.workspaceId,
            name: 'k',
            scopes: [],
            defaults: { metadata: { team: 'key', only: 'key' } },
          }),
        );
        const defaults = {
          metadata: { team: 'all' },
          inputGuardrails: [],
          outputGuardrails: [],
          userApiKeyConfig: null,
        };
        await store.workspaces.update(organisationId, other.workspaceId, { defaults });
        const found = await store.keys.findByHash(hash);
        expect(found?.defaults.metadata).to.deep.equal({ team: 'all', only: 'key' });
        const shown = await store.keys.get(organisationId, key.id);
        expect(shown?.defaults.metadata).to.deep.equal({ team: 'key', only: 'key' });
      });

      it('are found by a part of their name, taken literally and in its own case', async () => {
        const { id } = here(await store.workspaces.create(organisationId, { name: 'Half_100%' }));
        const found = async (name: string) =>
          (await store.workspaces.list(organisationId, everything, { name })).rows.map((row) => row.id);
        expect(await found('Half_1')).to.deep.equal([id]);
        expect(await found('half_1')).to.deep.equal([]);
        expect(await found('Half%')).to.deep.equal([]);
      });

      it('that are archived keep their records, and open nothing', async () => {
        const made = here(await store.workspaces.create(organisationId, { name: 'Gone' }));
        const where = { organisationId, workspaceId: made.id };
        const user = await makeUser({ workspaces: [{ workspaceId: made.id, role: 'member' }] });
        const { hash } = await makeKey(where, user.id);
        expect(await store.workspaces.dependents(organisationId, made.id)).to.equal(1);
        expect(await store.keys.findByHash(hash)).to.not.equal(null);
        expect(await store.workspaces.archive('another', made.id)).to.equal('missing');
        expect(here(await store.workspaces.archive(organisationId, made.id)).status).to.equal('archived');
        expect(await store.keys.findByHash(hash)).to.equal(null);
        expect(await store.workspaces.archive(organisationId, made.id)).to.equal('missing');
        expect(await store.workspaces.update(organisationId, made.id, { name: 'x' })).to.equal('missing');
        expect((await store.workspaces.get(organisationId, made.id))?.status).to.equal('archived');
        const exact = { exactName: 'Gone' };
        expect((await store.workspaces.list(organisationId, everything, exact)).total).to.equal(0);
        const archived = { ...exact, status: ['archived'] as const };
        expect((await store.workspaces.list(organisationId, everything, archived)).total).to.equal(1);
        expect((await store.users.get(organisationId, user.id))?.workspaceIds).to.deep.equal([]);
        expect(await store.members.add(where, (await makeUser()).id, 'member')).to.equal('missing');
      });
    });

    describe('settings of signing in', () => {
      it('have defaults, keep what a change leaves out, and seal the client secret', async () => {
        const { authSettings } = store;
        expect(await authSettings.get(organisationId)).to.deep.equal(defaultAuthSettings);
        expect(await authSettings.clientSecret(organisationId)).to.equal(null);
        const oidc = {
          issuer: 'https://id.example.com',
          clientId: 'headgate',
          maskedSecret: 'ab*****xyz',
          allowedEmailDomains: ['example.com'],
          roleClaim: 'groups',
          roleMapping: { staff: 'member' },
        } as const;
        const secret = new Secret('a-client-secret');
        await authSettings.update(organisationId, { issuer: 'https://id', oidc, clientSecret: secret });
        const changed = await authSettings.update(organisationId, { issuer: null, audience: 'gateway' });
        expect(changed).to.deep.equal({ ...defaultAuthSettings, audience: 'gateway', oidc });
        expect(await authSettings.get(organisationId)).to.deep.equal(changed);
        expect((await authSettings.clientSecret(organisationId))?.reveal()).to.equal('a-client-secret');
        await authSettings.update(organisationId, { clientSecret: null });
        expect(await authSettings.clientSecret(organisationId)).to.equal(null);
        expect(await authSettings.get('another')).to.deep.equal(defaultAuthSettings);
      });
    });

    describe('organisations', () => {
      it('change by their etag, and list the permissions in each workspace', async () => {
        const before = here(await store.organisations.get(organisationId));
        const changed = here(
          await store.organisations.update(organisationId, {
            settings: { user_api_key_ttl: 60, block_inline_configs: true, user_api_key_rotation_period: 30 },
            securitySettings: { members_view_logs: false },
            maxSessionTtl: 900,
            etag: before.etag,
          }),
        );
        expect(changed).to.deep.include({ name: 'default', maxSessionTtl: 900 });
        expect(await store.organisations.get(organisationId)).to.deep.equal(changed);
        expect(await store.organisations.update(organisationId, { name: 'x', etag: before.etag })).to.equal(
          'stale',
        );
        expect(await store.organisations.update('another', { name: 'x' })).to.equal('missing');

        await store.workspaces.update(organisationId, other.workspaceId, {
          settings: { user_api_key_ttl: 0, user_api_key_rotation_period: 'none' },
          securitySettings: { members_view_logs: true },
        });
        const everywhere = await store.organisations.settings(organisationId);
        expect(everywhere).to.deep.include({
          userApiKeyTtl: 60,
          blockInlineConfigs: true,
          userApiKeyCount: -1,
        });
        expect(everywhere?.userApiKeyRotationPeriod).to.equal(30);
        expect(everywhere?.security).to.include({ members_view_logs: false, members_write_configs: false });
        const there = await store.organisations.settings(organisationId, other.workspaceId);
        expect(there).to.deep.include({
          userApiKeyTtl: 0,
          blockInlineConfigs: true,
          userApiKeyRotationPeriod: null,
        });
        expect(there?.security.members_view_logs).to.equal(true);
        expect(await store.organisations.settings(organisationId, 'nowhere')).to.equal(null);
        expect(await store.organisations.settings('another', other.workspaceId)).to.equal(null);
      });
    });
  });
});
