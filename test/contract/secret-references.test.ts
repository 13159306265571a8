import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import type {
  NewSecretReference,
  Place,
  SecretReference,
  Store,
} from '../../src/control-plane/store/store.js';
import { folder, forEachStore } from '../support/stores.js';

const token = 'hvs-0123456789-token';

describe('secret references in the store', () => {
  forEachStore(({ open }) => {
    let dataDir: string;
    let store: Store;
    let place: Place;

    before(async () => {
      dataDir = folder();
      store = await open(dataDir);
      await bootstrap(store, { dataDir, simulated: false });
      place = (await store.first())!;
    });
    after(() => store.close());

    async function make(slug: string, more: Partial<NewSecretReference> = {}): Promise<SecretReference> {
      const made = await store.secretReferences.create(place.organisationId, {
        slug,
        name: slug,
        description: null,
        managerType: 'hashicorp_vault',
        auth: new Secret(
          JSON.stringify({ vault_auth_type: 'token', vault_addr: 'http://v', vault_token: token }),
        ),
        shownAuth: { vault_auth_type: 'token', vault_addr: 'http://v', vault_token: '*****' },
        secretPath: 'kv/x',
        secretKey: null,
        workspaces: null,
        tags: null,
        createdBy: 'someone',
        ...more,
      });
      if (made === 'taken') throw new Error('taken');
      return made;
    }

    const provider = (slug: string, secretReferenceId: string) =>
      store.providers.create(place, {
        slug,
        name: slug,
        provider: 'openai',
        credential: null,
        configurations: { shown: {}, secrets: null, kept: [] },
        secretMappings: [{ targetField: 'key', secretReferenceId, secretKey: 'k', valueFormat: null }],
      });

    it('seal how the gateway signs in, and show masks', async () => {
      const { id } = await make('sealed');
      const shown = await store.secretReferences.get(place.organisationId, 'sealed');
      expect(JSON.stringify(shown)).to.include('*****').and.not.include(token);
      const auth = await store.secretReferences.openAuth(place.organisationId, id);
      expect(JSON.parse(auth!.reveal())).to.include({ vault_token: token });
      for (const file of readdirSync(dataDir, { recursive: true, withFileTypes: true }))
        if (file.isFile())
          expect(readFileSync(join(file.parentPath, file.name)).includes(token), file.name).to.equal(false);
    });

    it('belong to one organisation', async () => {
      const { id } = await make('own');
      for (const name of [id, 'own']) {
        expect(await store.secretReferences.get('another', name)).to.equal(null);
        expect(await store.secretReferences.openAuth('another', name)).to.equal(null);
        expect(await store.secretReferences.update('another', name, { name: 'x' })).to.equal('missing');
        expect(await store.secretReferences.delete('another', name)).to.equal('missing');
      }
    });

    it('have each slug once, and an id before a slug of the same text', async () => {
      const first = await make('once');
      expect(
        await store.secretReferences
          .create(place.organisationId, { ...first, slug: 'once' } as never)
          .catch(() => 'taken'),
      ).to.equal('taken');
      const second = await make(first.id);
      expect((await store.secretReferences.get(place.organisationId, first.id))?.id).to.equal(first.id);
      expect((await store.secretReferences.get(place.organisationId, second.id))?.id).to.equal(second.id);
    });

    it('are found by tags, manager and a part of the name, taken literally', async () => {
      await make('tagged', { tags: { team: 'a"b', stage: 'prod' }, name: '100%' });
      const list = async (filter: object): Promise<string[]> => {
        const { rows } = await store.secretReferences.list(place.organisationId, filter, {
          offset: 0,
          limit: 50,
        });
        return rows.map(({ slug }) => slug);
      };
      expect(await list({ tags: { team: 'a"b' } })).to.deep.equal(['tagged']);
      expect(await list({ tags: { team: 'a"b', stage: 'prod' } })).to.deep.equal(['tagged']);
      expect(await list({ tags: { team: 'prod' } })).to.deep.equal([]);
      expect(await list({ search: '0%' })).to.deep.equal(['tagged']);
      expect(await list({ search: '_' })).to.deep.equal([]);
      expect(await list({ managerType: 'env' })).to.deep.equal([]);
    });

    it('come with the records that are mapped to them, with what is needed to fetch the value', async () => {
      const made = await make('used');
      await provider('by-slug', 'used');
      await provider('by-id', made.id);
      for (const slug of ['by-slug', 'by-id']) {
        const found = await store.providers.find(place.workspaceId, slug);
        const [mapped] = found!.mapped!;
        expect(mapped).to.deep.include({ field: 'key', secretKey: 'k', isJson: false });
        expect(mapped!.reference).to.deep.include({
          id: made.id,
          slug: 'used',
          revision: 1,
          isAllowed: true,
        });
        expect(mapped!.reference!.auth).to.include({ vault_token: token });
        expect(found!.unresolved.map(({ field }) => field)).to.deep.equal(['key']);
      }
      await store.secretReferences.update(place.organisationId, made.id, { workspaces: ['another'] });
      const found = await store.providers.find(place.workspaceId, 'by-id');
      expect(found!.mapped![0]!.reference).to.include({ revision: 2, isAllowed: false });
    });

    it('stay while something is mapped to them, by slug or by id', async () => {
      const made = await make('kept');
      await provider('kept-by-slug', 'kept');
      await provider('kept-by-id', made.id);
      expect(await store.secretReferences.delete(place.organisationId, made.id)).to.deep.equal([
        { kind: 'virtual key', slug: 'kept-by-id' },
        { kind: 'virtual key', slug: 'kept-by-slug' },
      ]);
      for (const slug of ['kept-by-slug', 'kept-by-id']) await store.providers.delete(place, slug);
      expect(await store.secretReferences.delete(place.organisationId, made.id)).to.include({ id: made.id });
    });

    it('can be deleted although records of archived workspaces use them', async () => {
      const made = await make('outlived');
      const org = place.organisationId;
      const gone = await store.workspaces.create(org, { name: 'Gone', slug: 'gone' });
      if (gone === 'taken') throw new Error('The slug is taken.');
      const mapped = {
        slug: 'of-gone',
        name: 'P',
        provider: 'openai',
        hostTrusted: true,
        secretMappings: [
          { targetField: 'key', secretReferenceId: 'outlived', secretKey: null, valueFormat: null },
        ],
      };
      await store.providers.create(
        { organisationId: org, workspaceId: gone.id },
        { ...mapped, credential: null },
      );
      await store.integrations.create(org, { ...mapped, workspaceId: gone.id });
      expect(await store.secretReferences.delete(org, made.id)).to.deep.equal([
        { kind: 'integration', slug: 'of-gone' },
        { kind: 'virtual key', slug: 'of-gone' },
      ]);
      await store.workspaces.archive(org, gone.id);
      expect(await store.secretReferences.delete(org, made.id)).to.include({ id: made.id });
    });

    it('change only where the etag is the current one', async () => {
      const { id, etag } = await make('etag');
      const change = { name: 'one', etag };
      expect(await store.secretReferences.update(place.organisationId, id, change)).to.include({
        name: 'one',
      });
      expect(await store.secretReferences.update(place.organisationId, id, change)).to.equal('stale');
      expect(await store.secretReferences.delete(place.organisationId, id, etag)).to.equal('stale');
    });
  });
});
