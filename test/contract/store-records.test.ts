import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import type { NewDeployment, NewGuardrail, Place, Store } from '../../src/control-plane/store/store.js';
import { folder, forEachStore } from '../support/stores.js';

const everything = { offset: 0, limit: 1000 };

function here<T>(value: T | 'missing' | 'taken' | 'stale' | 'loop' | 'full' | null): T {
  if (value === null || ['missing', 'taken', 'stale', 'loop', 'full'].includes(value as string))
    throw new Error(`got ${value}`);
  return value as T;
}

const feedback = { value: 5, weight: 1, metadata: '' };
const guardrail: NewGuardrail = {
  name: 'Short answers',
  checks: [{ id: 'default.wordCount', parameters: { maxWords: 5 }, name: null, isEnabled: true }],
  actions: { deny: true, async: false, sequential: false, onSuccess: feedback, onFail: feedback },
  by: 'me',
};

describe('guardrails, labels, collections and deployments in the store', () => {
  forEachStore(({ open, dialect }) => {
    let store: Store;
    let dataDir: string;
    let place: Place;
    let other: Place;
    let organisation: string;

    before(async () => {
      dataDir = folder();
      store = await open(dataDir);
      const first = here(await bootstrap(store, { dataDir, simulated: false }));
      organisation = first.organisation_id;
      place = { organisationId: organisation, workspaceId: first.workspace_id };
      const two = here(await store.workspaces.create(organisation, { name: 'Two', slug: 'two' }));
      other = { organisationId: organisation, workspaceId: two.id };
    });
    after(() => store.close());

    describe('guardrails', () => {
      it('make a new version of other content alone', async () => {
        const made = here(await store.guardrails.create(organisation, place.workspaceId, guardrail));
        expect(made.slug).to.match(/^pg-short-answers-/);
        const kept = await store.guardrails.get(organisation, made.slug);
        expect(kept).to.deep.include({ id: made.id, checks: guardrail.checks, actions: guardrail.actions });
        const same = here(
          await store.guardrails.update(organisation, made.id, {
            name: 'B',
            checks: guardrail.checks,
            by: 'you',
          }),
        );
        expect(same).to.include({ versionId: made.versionId, name: 'B', ownerId: 'me', updatedBy: 'you' });
        const checks = [{ ...guardrail.checks[0]!, isEnabled: false }];
        const next = here(await store.guardrails.update(organisation, made.slug, { checks, by: 'you' }));
        expect(next.versionId).to.not.equal(made.versionId);
        expect((await store.guardrails.get(organisation, made.id))?.checks).to.deep.equal(checks);
        const late = { name: 'C', by: null, etag: made.etag };
        expect(await store.guardrails.update(organisation, made.id, late)).to.equal('stale');
      });

      it('are of a workspace or of the organisation', async () => {
        const own = here(await store.guardrails.create(organisation, other.workspaceId, guardrail));
        const common = here(await store.guardrails.create(organisation, null, guardrail));
        const ids = async (workspaceId: string | null) =>
          (await store.guardrails.list(organisation, workspaceId, everything)).rows.map(({ id }) => id);
        expect(await ids(other.workspaceId)).to.deep.equal([own.id]);
        expect(await ids(null)).to.deep.equal([common.id]);
        expect(await store.guardrails.get('another', own.id)).to.equal(null);
        expect(await store.guardrails.update('another', own.id, { by: null })).to.equal('missing');
        expect(await store.guardrails.create('another', own.workspaceId, guardrail)).to.equal('missing');
        here(await store.guardrails.update(organisation, own.id, { status: 'archived', by: 'me' }));
        expect(await ids(other.workspaceId)).to.deep.equal([]);
      });
    });

    describe('labels', () => {
      const label = (name: string) => ({ name, description: null, colorCode: '#ff8800' });

      it('are there from the beginning', async () => {
        const { rows } = await store.labels.list(organisation, null, undefined, everything);
        expect(rows.map(({ name, isUniversal }) => [name, isUniversal])).to.deep.equal([
          ['development', true],
          ['production', true],
          ['staging', true],
        ]);
      });

      it('have a name that no workspace sees twice', async () => {
        const made = here(await store.labels.create(organisation, place.workspaceId, label('beta')));
        const create = (workspace: string | null, name: string) =>
          store.labels.create(organisation, workspace, label(name));
        expect(await create(place.workspaceId, 'beta')).to.equal('taken');
        expect(await create(place.workspaceId, 'production')).to.equal('taken');
        expect(await create(null, 'beta')).to.equal('taken');
        here(await create(other.workspaceId, 'beta'));
        const second = here(await create(place.workspaceId, 'gamma'));
        expect(await store.labels.update(organisation, second.id, { name: 'beta' })).to.equal('taken');
        here(await store.labels.update(organisation, made.id, { name: 'beta', description: 'x' }));
        expect(await store.labels.get('another', made.id)).to.equal(null);
        expect(await store.labels.delete('another', made.id)).to.equal('missing');
        expect(await store.labels.delete(organisation, made.id, made.etag)).to.equal('stale');
        here(await store.labels.delete(organisation, made.id));
        expect(await store.labels.get(organisation, made.id)).to.equal(null);
        expect(
          (await store.labels.list(organisation, place.workspaceId, 'AMM', everything)).rows.map(
            ({ id }) => id,
          ),
        ).to.deep.equal([second.id]);
      });
    });

    describe('collections', () => {
      const create = async (name: string, parentId: string | null = null) =>
        here(await store.collections.create(place, { name, parentId }));

      it('contain each other, and never themselves', async () => {
        const top = await create('Top');
        const middle = await create('Middle', top.id);
        const low = await create('Low', middle.id);
        expect((await store.collections.children(organisation, top.id)).map(({ id }) => id)).to.deep.equal([
          middle.id,
        ]);
        const { rows } = await store.collections.list(place, 'op', everything);
        expect(rows).to.have.length(1);
        expect(rows[0]).to.deep.include({ id: top.id, children: 1, childrenUpdatedAt: middle.updatedAt });
        const move = (id: string, parentId: string | null) =>
          store.collections.update(organisation, id, { parentId });
        expect(await move(top.id, low.id)).to.equal('loop');
        expect(await move(top.id, top.id)).to.equal('loop');
        expect(here(await move(low.id, null)).parentId).to.equal(null);
        here(await move(low.id, middle.id));
        expect(await store.collections.delete(organisation, top.id, false)).to.equal('full');
        expect(await store.collections.delete('another', top.id, true)).to.equal('missing');
        const gone = here(await store.collections.delete(organisation, top.id, true));
        expect(gone.map(({ name }) => name)).to.deep.equal(['Top', 'Middle', 'Low']);
        expect(await store.collections.get(organisation, low.slug)).to.equal(null);
      });

      it('have one that is there from the beginning and stays', async () => {
        for (const at of [place, other]) {
          const { rows } = await store.collections.list(at, undefined, everything);
          expect(rows.map(({ name, isDefault }) => [name, isDefault])).to.deep.equal([['Default', true]]);
          expect(await store.collections.delete(organisation, rows[0]!.id, true)).to.equal('missing');
        }
      });
    });

    describe('deployments', () => {
      const access = {
        gatewayBaseUrl: 'https://gw.test',
        mcpGatewayBaseUrl: null,
        privateLinkEndpoint: null,
        usePrivateLinkProxy: null,
        isDataserviceHosted: null,
        isPlaygroundProxyAllowed: null,
        disableGateway: 'false',
        jwtSubWorkspaceMapping: null,
        jwtSubsAllowed: [],
        workspacesAllowed: [],
      } as const;
      const input = (name: string, more: Partial<NewDeployment> = {}): NewDeployment => ({
        name,
        type: 'production',
        config: { region: 'eu' },
        access,
        tags: null,
        isDefault: false,
        login: { username: 'u', password: new Secret('canary-password') },
        authHash: 'h',
        ...more,
      });

      it('keep their slug while they are active, and their password sealed', async () => {
        const made = here(await store.deployments.create(organisation, input('EU', { slug: 'eu' })));
        expect(made).to.deep.include({ slug: 'eu', username: 'u', access, config: { region: 'eu' } });
        expect(made).to.not.have.property('password');
        expect(await store.deployments.create(organisation, input('x', { slug: 'eu' }))).to.equal('taken');
        here(await store.deployments.update(organisation, 'eu', { status: 'archived' }));
        here(await store.deployments.create(organisation, input('new', { slug: 'eu' })));
        expect(await store.deployments.update(organisation, made.id, { status: 'active' })).to.equal('taken');
        expect((await store.deployments.get(organisation, 'eu'))?.name).to.equal('new');
        expect(await store.deployments.get('another', 'eu')).to.equal(null);
        if (dialect === 'sqlite')
          for (const file of readdirSync(dataDir).filter((name) => name.includes('.db')))
            expect(readFileSync(join(dataDir, file)).includes('canary-password'), file).to.equal(false);
      });

      it('have one default, which `self` names', async () => {
        const first = here(await store.deployments.create(organisation, input('One', { isDefault: true })));
        expect((await store.deployments.get(organisation, 'self'))?.id).to.equal(first.id);
        const second = here(await store.deployments.create(organisation, input('Two', { isDefault: true })));
        const dropped = await store.deployments.dropDefault(organisation, second.id);
        expect(dropped.map(({ id }) => id)).to.deep.equal([first.id]);
        expect((await store.deployments.get(organisation, 'self'))?.id).to.equal(second.id);
        here(await store.deployments.update(organisation, 'self', { status: 'archived' }));
        expect(await store.deployments.get(organisation, 'self')).to.equal(null);
      });

      it('are listed by status, type, name and the workspace that may use them', async () => {
        const only = { ...access, workspacesAllowed: [other.workspaceId] };
        const made = here(await store.deployments.create(organisation, input('Narrow', { access: only })));
        const names = async (filter: object) =>
          (await store.deployments.list(organisation, filter, everything)).rows.map(({ id }) => id);
        expect(await names({ workspaceId: other.workspaceId })).to.include(made.id);
        expect(await names({ workspaceId: place.workspaceId })).to.not.include(made.id);
        expect(await names({ search: 'arro', status: 'active', type: 'production' })).to.deep.equal([
          made.id,
        ]);
        expect(await names({ search: 'arro', type: 'non_production' })).to.deep.equal([]);
      });
    });
  });
});
