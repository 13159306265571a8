import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import type {
  IntegrationAccess,
  IntegrationUse,
  NewIntegration,
  Place,
  Store,
} from '../../src/control-plane/store/store.js';
import { folder, forEachStore } from '../support/stores.js';

const everything = { offset: 0, limit: 1000 };
const both = ['organisation', 'workspace'] as const;

function here<T>(value: T | 'missing' | 'taken' | 'stale' | readonly IntegrationUse[] | null): T {
  if (typeof value === 'string' || value === null || Array.isArray(value)) throw new Error(`got ${value}`);
  return value as T;
}

const input = (slug: string, more: Partial<NewIntegration> = {}): NewIntegration => ({
  slug,
  name: slug,
  provider: 'openai',
  workspaceId: null,
  hostTrusted: true,
  ...more,
});

const access = (workspaceId: string, more: Partial<IntegrationAccess> = {}): IntegrationAccess => ({
  workspaceId,
  enabled: true,
  usageLimits: null,
  rateLimits: [],
  ...more,
});

const workspaceOf = async (store: Store, organisationId: string, slug: string): Promise<Place> => ({
  organisationId,
  workspaceId: here(await store.workspaces.create(organisationId, { name: slug, slug })).id,
});

describe('integrations in the store', () => {
  forEachStore(({ open }) => {
    let store: Store;
    let dataDir: string;
    let org: string;
    let place: Place;
    let other: Place;
    let now = 1_800_000_000_000;

    before(async () => {
      dataDir = folder();
      store = await open(dataDir, () => ++now);
      const first = here(await bootstrap(store, { dataDir, simulated: false }));
      org = first.organisation_id;
      place = { organisationId: org, workspaceId: first.workspace_id };
      const second = here(await store.workspaces.create(org, { name: 'Two', slug: 'two' }));
      other = { organisationId: org, workspaceId: second.id };
    });
    after(() => store.close());

    it('keep secrets sealed, show masks, and hand secrets to who calls the provider', async () => {
      const made = here(
        await store.integrations.create(
          org,
          input('sealed', {
            key: new Secret('sk-canary-0123456789'),
            configurations: {
              shown: {
                custom_host: 'https://llm.example/v1',
                openai_project: 'p1',
                masked_custom_headers: {},
              },
              secrets: new Secret(
                '{"custom_headers":{"X-Team":"canary-header"},"aws_secret_access_key":"canary-1","vertex_service_account_json":{"private_key":"canary-2"}}',
              ),
              kept: [],
            },
          }),
        ),
      );
      expect(made.maskedKey).to.equal('sk*****789');
      expect(JSON.stringify(await store.integrations.get(org, 'sealed'))).to.not.include('canary');
      await store.integrations.putAccess(org, made.id, [access(place.workspaceId)]);
      here(await store.providers.create(place, { slug: 'lent', name: 'L', integrationId: 'sealed' }));
      expect(await store.providers.find(place.workspaceId, 'lent')).to.include({
        provider: 'openai',
        credential: 'sk-canary-0123456789',
        baseUrl: 'https://llm.example/v1',
        integration: 'sealed',
        models: null,
      });
      expect((await store.providers.find(place.workspaceId, 'lent'))?.headers).to.deep.equal([
        'x-team',
        'canary-header',
      ]);
      expect((await store.providers.find(place.workspaceId, 'lent'))?.fields).to.include({
        openai_project: 'p1',
      });
      expect((await store.providers.find(place.workspaceId, 'lent'))?.secrets).to.deep.equal({
        aws_secret_access_key: 'canary-1',
        vertex_service_account_json: '{"private_key":"canary-2"}',
      });
      for (const file of readdirSync(dataDir))
        expect(readFileSync(join(dataDir, file)).includes('canary'), file).to.equal(false);
    });

    it('change a key, keep the secrets that the change names as kept, and drop the others', async () => {
      const { id } = here(await store.integrations.get(org, 'sealed'));
      const secrets = new Secret('{"custom_headers":{"a":"1"},"aws_secret_access_key":"two"}');
      await store.integrations.update(org, id, { configurations: { shown: {}, secrets, kept: [] } });
      await store.integrations.update(org, id, {
        key: new Secret('another-key-0123'),
        configurations: { shown: {}, secrets: null, kept: ['custom_headers'] },
      });
      const found = here(await store.providers.find(place.workspaceId, 'lent'));
      expect([found.credential, found.headers]).to.deep.equal(['another-key-0123', ['a', '1']]);
    });

    it('belong to one organisation, and hold a slug once in it while they are active', async () => {
      const { id, etag } = here(await store.integrations.create(org, input('once')));
      expect(await store.integrations.create(org, input('once'))).to.equal('taken');
      expect(await store.integrations.get('another', 'once')).to.equal(null);
      expect(await store.integrations.update('another', id, { name: 'x' })).to.equal('missing');
      expect(await store.integrations.delete('another', id)).to.equal('missing');
      expect((await store.integrations.list('another', { levels: both }, everything)).rows).to.deep.equal([]);
      expect(await store.integrations.create(org, input('x', { workspaceId: 'nowhere' }))).to.equal(
        'missing',
      );
      here(await store.integrations.update(org, id, { name: 'renamed' }));
      expect(await store.integrations.update(org, id, { name: 'again', etag })).to.equal('stale');
      expect(here(await store.integrations.delete(org, id)).status).to.equal('archived');
      expect(await store.integrations.delete(org, id)).to.equal('missing');
      const next = here(await store.integrations.create(org, input('once')));
      expect(here(await store.integrations.get(org, 'once')).id).to.equal(next.id);
      expect(here(await store.integrations.get(org, id)).status).to.equal('archived');
    });

    it('are usable where their workspace, their access or global access allows it', async () => {
      const own = here(
        await store.integrations.create(org, input('own', { workspaceId: place.workspaceId })),
      );
      const lent = here(await store.integrations.create(org, input('lent-out')));
      const usable = async (at: Place): Promise<string[]> => {
        const { rows } = await store.integrations.list(
          org,
          { levels: both, workspaceId: at.workspaceId },
          everything,
        );
        const found: string[] = [];
        for (const { slug, id } of rows) {
          expect((await store.integrations.usable(at, slug))?.id).to.equal(id);
          found.push(slug);
        }
        return found.filter((slug) => slug === 'own' || slug === 'lent-out').sort();
      };
      expect(await usable(place)).to.deep.equal(['own']);
      await store.integrations.putAccess(org, lent.id, [access(place.workspaceId)]);
      expect(await usable(place)).to.deep.equal(['lent-out', 'own']);
      expect(await usable(other)).to.deep.equal([]);
      const globalAccess = { enabled: true, usageLimits: null, rateLimits: [] };
      here(await store.integrations.update(org, lent.id, { globalAccess }));
      expect(await usable(other)).to.deep.equal(['lent-out']);
      await store.integrations.putAccess(org, lent.id, [access(other.workspaceId, { enabled: false })]);
      expect(await usable(other)).to.deep.equal([]);
      expect(await store.integrations.usable(other, own.id)).to.equal(null);
      const reach = await store.integrations.reach(org, lent.id);
      expect(reach.map(({ workspaceId, own: said }) => [workspaceId, said?.enabled ?? null])).to.deep.equal([
        [place.workspaceId, true],
        [other.workspaceId, false],
      ]);
    });

    it('are not usable once access ends, and bring the budget of the workspace', async () => {
      const { id } = here(await store.integrations.get(org, 'lent-out'));
      const provider = { slug: 'of-lent', name: 'P', integrationId: 'lent-out' };
      expect(await store.providers.create(other, provider)).to.equal('missing');
      here(await store.providers.create(place, provider));
      const usageLimits = {
        type: 'cost',
        creditLimit: 1,
        alertThreshold: null,
        periodicReset: null,
        periodicResetDays: null,
        nextUsageResetAt: null,
        lastResetAt: 1_700_000_000_000,
      } as const;
      await store.integrations.putAccess(org, id, [access(place.workspaceId, { usageLimits })]);
      expect((await store.providers.find(place.workspaceId, 'of-lent'))?.budgets).to.deep.equal([
        {
          budget: `${org}/integration/${id}:${place.workspaceId}/cost`,
          of: 'integration',
          name: 'lent-out',
          measure: 'cost',
          limit: 1_000_000_000,
          threshold: null,
          shadow: false,
          since: 1_700_000_000_000,
          nextResetAt: null,
          periodicReset: null,
          periodicResetDays: null,
        },
      ]);
      await store.integrations.putAccess(org, id, [access(place.workspaceId, { enabled: false })]);
      expect(await store.providers.find(place.workspaceId, 'of-lent')).to.equal(null);
      expect(await store.integrations.delete(org, id)).to.deep.equal([
        { workspace: 'default', slug: 'of-lent' },
      ]);
      expect(await store.integrations.providers(org, id)).to.deep.equal([
        { workspaceId: place.workspaceId, slug: 'of-lent' },
      ]);
    });

    it('can be deleted although providers of archived workspaces use them', async () => {
      const gone = await store.workspaces.create(org, { name: 'Gone', slug: 'gone' });
      if (gone === 'taken') throw new Error('The slug is taken.');
      const { id } = here(await store.integrations.create(org, input('outlived', { workspaceId: gone.id })));
      const of = { organisationId: org, workspaceId: gone.id };
      for (const slug of ['b', 'a'])
        here(await store.providers.create(of, { slug, name: 'P', integrationId: id }));
      expect(await store.integrations.delete(org, id)).to.deep.equal([
        { workspace: 'gone', slug: 'a' },
        { workspace: 'gone', slug: 'b' },
      ]);
      await store.workspaces.archive(org, gone.id);
      expect(await store.integrations.delete(org, id)).to.include({ id, status: 'archived' });
    });

    it('list the models that they allow', async () => {
      const { id } = here(
        await store.integrations.create(org, input('picky', { workspaceId: place.workspaceId })),
      );
      here(await store.providers.create(place, { slug: 'picky', name: 'P', integrationId: id }));
      const model = {
        enabled: false,
        isCustom: true,
        isFinetune: false,
        baseModelSlug: null,
        customHost: null,
        pricingConfig: { type: 'static' },
      };
      await store.integrations.putModels(org, id, [{ ...model, slug: '__proto__' }]);
      await store.integrations.putModels(org, id, [
        { ...model, slug: '__proto__', enabled: true, customHost: 'https://m.example/v1' },
      ]);
      here(await store.integrations.update(org, id, { allowAllModels: false }));
      expect((await store.providers.find(place.workspaceId, 'picky'))?.models).to.deep.equal({
        others: false,
        named: [{ model: '__proto__', enabled: true, baseUrl: 'https://m.example/v1' }],
      });
      await store.integrations.deleteModels(org, id, ['__proto__', 'none']);
      expect(await store.integrations.models(org, id)).to.deep.equal([]);
    });

    it('are made of a provider, whose calls go on as before', async () => {
      const credential = new Secret('sk-migrated-0123');
      const configurations = { shown: { openai_project: 'p' }, secrets: null, kept: [] };
      const secretMappings = [
        { targetField: 'model_config.x', secretReferenceId: 'r', secretKey: null, valueFormat: null },
      ];
      const own = { provider: 'openai', credential, configurations, secretMappings };
      here(
        await store.providers.create(place, { ...own, slug: 'once', name: 'Own', baseUrl: 'https://a/v1' }),
      );
      const before = await store.providers.find(place.workspaceId, 'once');
      expect(before!.unresolved.map(({ field }) => field)).to.deep.equal(['x']);
      const made = here(await store.providers.migrate(place, 'once'));
      expect(made).to.include({ workspaceId: place.workspaceId, maskedKey: 'sk*****123' });
      expect(made.slug).to.match(/^own-[0-9a-f]{6}$/);
      expect(made.secretMappings[0]?.targetField).to.equal('configurations.x');
      const { fields, ...after } = here(await store.providers.find(place.workspaceId, 'once'));
      expect({ ...after, fields: { openai_project: fields['openai_project'] } }).to.deep.equal({
        ...before,
        integration: made.slug,
      });
      expect(here(await store.providers.migrate(place, 'once')).id).to.equal(made.id);
    });

    it('give a provider its twin, credential and all', async () => {
      const credential = new Secret('sk-twin-01234567');
      here(await store.providers.create(place, { slug: 'a', name: 'A', provider: 'anthropic', credential }));
      const twin = here(await store.providers.duplicate(place, 'a', { slug: 'b', name: 'B', note: 'n' }));
      expect(twin).to.include({ provider: 'anthropic', name: 'B', note: 'n', maskedKey: 'sk*****567' });
      expect((await store.providers.find(place.workspaceId, 'b'))?.credential).to.equal('sk-twin-01234567');
      expect(await store.providers.duplicate(other, 'a', { slug: 'b', name: 'B' })).to.equal('missing');
    });

    it('leave providers to be found by their tags, to the letter', async () => {
      const credential = null;
      const tagged = { name: 'T', provider: 'openai', credential };
      here(await store.providers.create(place, { ...tagged, slug: 't1', tags: { team: 'a"b', Env: 'x' } }));
      here(await store.providers.create(place, { ...tagged, slug: 't2', tags: { team: '"Env":"x"' } }));
      const found = async (name: string, value: string | null): Promise<string[]> =>
        (await store.providers.list(place, everything, { tags: [{ name, value }] })).rows
          .map(({ slug }) => slug)
          .sort();
      expect(await found('team', null)).to.deep.equal(['t1', 't2']);
      expect(await found('team', 'a"b')).to.deep.equal(['t1']);
      expect(await found('Env', 'x')).to.deep.equal(['t1']);
      expect(await found('env', null)).to.deep.equal([]);
    });

    it('leave the providers that calls can use now, with the models that each allows', async () => {
      const usageLimits = {
        type: 'cost',
        creditLimit: 1,
        alertThreshold: null,
        periodicReset: null,
        periodicResetDays: null,
        nextUsageResetAt: null,
        lastResetAt: null,
      } as const;
      const place = await workspaceOf(store, org, 'usable');
      const usable = async (slug?: string): Promise<string[]> => {
        const rows = await store.providers.usable(place, { limit: 10, ...(slug && { slug }) });
        return rows.map((row) => row.slug);
      };
      const own = { name: 'P', provider: 'openai', credential: null };
      await store.providers.create(place, { ...own, slug: 'brief', expiresAt: now + 1000 });
      await store.providers.create(place, {
        ...own,
        slug: 'poor',
        usageLimits,
      });
      await store.providers.create(place, { ...own, slug: 'no-address', baseUrlAtRunTime: true });
      for (const slug of ['open', 'closed', 'limited']) {
        const made = here(await store.integrations.create(org, input(`u-${slug}`)));
        await store.integrations.putAccess(org, made.id, [access(place.workspaceId)]);
        here(await store.providers.create(place, { slug, name: slug, integrationId: made.id }));
        if (slug === 'open') {
          const model = {
            isCustom: true,
            isFinetune: false,
            baseModelSlug: null,
            customHost: null,
            pricingConfig: null,
          };
          await store.integrations.putModels(org, made.id, [{ ...model, slug: 'a/b', enabled: true }]);
          await store.integrations.update(org, made.id, { allowAllModels: false });
        } else {
          const change: Partial<IntegrationAccess> = slug === 'closed' ? { enabled: false } : { usageLimits };
          await store.integrations.putAccess(org, made.id, [access(place.workspaceId, change)]);
        }
      }
      expect(await usable()).to.deep.equal(['brief', 'limited', 'open', 'poor']);
      expect(await usable('closed')).to.deep.equal([]);
      expect(await store.providers.usable(place, { slug: 'open', limit: 1 })).to.deep.equal([
        {
          slug: 'open',
          provider: 'openai',
          models: { others: false, named: [{ model: 'a/b', enabled: true, baseUrl: null }] },
          budgets: [],
        },
      ]);
      now += 1000;
      expect(await usable()).to.deep.equal(['limited', 'open', 'poor']);
      const [poor] = await store.providers.usable(place, { slug: 'poor', limit: 1 });
      expect(poor?.budgets).to.have.length(1);
      expect(poor?.budgets[0]).to.deep.include({ of: 'virtual_key', limits: usageLimits });
      const [limited] = await store.providers.usable(place, { slug: 'limited', limit: 1 });
      const lender = here(await store.integrations.get(org, 'u-limited'));
      expect(limited?.budgets).to.deep.equal([
        {
          of: 'integration',
          id: `${lender.id}:${place.workspaceId}`,
          limits: usageLimits,
          createdAt: lender.createdAt,
        },
      ]);
    });
  });
});
