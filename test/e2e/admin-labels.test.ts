import { expect } from 'chai';
import { type AdminPlane, refused, startPlane } from '../support/admin-plane.js';

describe('labels and collections over the administration plane', () => {
  let plane: AdminPlane;

  before(async () => {
    plane = await startPlane();
  });
  after(() => plane.close());

  const ask = (verb: string, path: string, body?: object) =>
    plane.rest(verb, path, body, { key: plane.first.workspace_key });
  const codeOf = async (asked: ReturnType<typeof ask>): Promise<[number, string]> => {
    const { status, json } = await asked;
    return [status, json.data.errorCode];
  };

  describe('labels', () => {
    it('are made, listed with the built-in ones, read, changed and deleted for good', async () => {
      const label = { name: 'canary', description: 'Few', color_code: '#ff8800' };
      const { json: made } = await ask('POST', '/v1/labels', label);
      expect(made).to.have.keys('id');
      const { json: list } = await ask('GET', '/v1/labels');
      expect(list).to.have.keys('data', 'total');
      expect(list.data.map(({ name }: { name: string }) => name)).to.deep.equal([
        'canary',
        'development',
        'production',
        'staging',
      ]);
      const { json: one } = await ask('GET', `/v1/labels/${made.id}`);
      expect(one).to.deep.include({
        ...label,
        id: made.id,
        organisation_id: plane.first.organisation_id,
        workspace_id: plane.first.workspace_id,
        is_universal: false,
        status: 'active',
      });
      expect(
        (await ask('PUT', `/v1/labels/${made.id}`, { name: 'few', description: null })).json,
      ).to.deep.equal({});
      const { json: found } = await ask('GET', '/v1/labels?search=EW');
      expect(found.data).to.have.length(1);
      expect(found.data[0]).to.include({ name: 'few', description: null, color_code: '#ff8800' });
      expect((await ask('DELETE', `/v1/labels/${made.id}`)).json).to.deep.equal({});
      expect(await codeOf(ask('GET', `/v1/labels/${made.id}`))).to.deep.equal([404, 'AB08']);
    });

    it('have names that prompts can be asked for by, each once', async () => {
      for (const name of ['latest', 'default', '12', 'a b', 'a@b'])
        expect(await codeOf(ask('POST', '/v1/labels', { name })), name).to.deep.equal([400, 'AB01']);
      await ask('POST', '/v1/labels', { name: 'beta' });
      for (const name of ['beta', 'production'])
        expect(await codeOf(ask('POST', '/v1/labels', { name })), name).to.deep.equal([409, 'AB07']);
      expect(
        (await plane.rest('POST', '/v1/labels', { name: 'beta', workspace_id: 'other' })).status,
      ).to.equal(200);
    });

    it('that are built in stay as they are', async () => {
      const { json } = await ask('GET', '/v1/labels?search=staging');
      const [staging] = json.data;
      expect(staging).to.include({ is_universal: true, workspace_id: null });
      for (const key of [plane.first.admin_key, plane.first.workspace_key]) {
        for (const verb of ['PUT', 'DELETE']) {
          const body = verb === 'PUT' ? { description: 'x' } : undefined;
          expect(await codeOf(plane.rest(verb, `/v1/labels/${staging.id}`, body, { key }))).to.deep.equal([
            403,
            'AB03',
          ]);
        }
      }
    });

    it('of the organisation are seen by every workspace, and changed by the organisation alone', async () => {
      const { organisation_id } = plane.first;
      const { json: made } = await plane.rest('POST', '/v1/labels', { name: 'common', organisation_id });
      expect((await ask('GET', `/v1/labels/${made.id}`)).json).to.include({ workspace_id: null });
      expect(await codeOf(ask('DELETE', `/v1/labels/${made.id}`))).to.deep.equal([403, 'AB03']);
      expect(await codeOf(ask('POST', '/v1/labels', { name: 'common' }))).to.deep.equal([409, 'AB07']);
      const { json: list } = await plane.rest('GET', `/v1/labels?organisation_id=${organisation_id}`);
      expect(list.total).to.equal(4);
      expect((await plane.rest('DELETE', `/v1/labels/${made.id}`)).status).to.equal(200);
    });

    it('of another workspace are not there', async () => {
      const { json: theirs } = await plane.rest('POST', '/v1/labels', { name: 'x', workspace_id: 'other' });
      for (const verb of ['GET', 'PUT', 'DELETE']) {
        const body = verb === 'PUT' ? { name: 'y' } : undefined;
        expect(await codeOf(ask(verb, `/v1/labels/${theirs.id}`, body)), verb).to.deep.equal([404, 'AB08']);
      }
    });
  });

  it('are the same over gRPC', async () => {
    const { labels, collections } = plane.workspace.api;
    const { id } = await labels.createLabel({ name: 'rpc' });
    await labels.updateLabel({ id, description: 'By gRPC' });
    expect(await labels.getLabel({ id })).to.include({ name: 'rpc', description: 'By gRPC' });
    expect((await labels.listLabels({ search: 'rpc' })).total).to.equal(1);
    await labels.deleteLabel({ id });
    await refused(labels.getLabel({ id }), 'NOT_FOUND', 'AB08');

    const made = await collections.createCollection({ name: 'Rpc' });
    await collections.updateCollection({ id: made.id, name: 'Renamed' });
    expect((await collections.getCollection({ id: made.slug })).name).to.equal('Renamed');
    expect((await collections.listCollections({ search: 'renam' })).total).to.equal(1);
    await collections.deleteCollection({ id: made.id });
    await refused(collections.deleteCollection({ id: made.id }), 'NOT_FOUND', 'AB08');
  });

  describe('collections', () => {
    const make = async (name: string, parent_collection_id?: string, workspace_id = 'default') => {
      const body = { name, workspace_id, ...(parent_collection_id && { parent_collection_id }) };
      const { json } = await plane.rest('POST', '/v1/collections', body);
      expect(json, JSON.stringify(json)).to.have.keys('id', 'slug');
      return json as { id: string; slug: string };
    };

    it('are made, listed, read with what is in them, moved and deleted', async () => {
      const top = await make('Top');
      const inner = await make('Inner', top.slug);
      const { json: list } = await ask('GET', '/v1/collections?search=top');
      expect(list).to.include({ object: 'list', total: 1 });
      const common = {
        id: top.id,
        name: 'Top',
        workspace_id: plane.first.workspace_id,
        slug: top.slug,
        parent_collection_id: null,
        is_default: false,
        status: 'active',
      };
      expect(list.data[0]).to.deep.include(common);
      expect(list.data[0].collection_details).to.include({
        child_collections_count: 1,
        prompts_count: 0,
        prompts_last_updated_at: null,
      });
      const { json: one } = await ask('GET', `/v1/collections/${top.slug}`);
      expect(one).to.deep.include(common);
      expect(one.child_collections).to.have.length(1);
      expect(one.child_collections[0]).to.include({ id: inner.id, name: 'Inner' });

      const move = (id: string, parent: string | null) =>
        ask('PUT', `/v1/collections/${id}`, { parent_collection_id: parent });
      expect(await codeOf(move(top.id, inner.id))).to.deep.equal([400, 'AB01']);
      expect((await move(inner.id, null)).json).to.deep.equal({});
      expect((await move(inner.id, top.id)).json).to.deep.equal({});
      expect(await codeOf(ask('DELETE', `/v1/collections/${top.id}`))).to.deep.equal([409, 'AB07']);
      expect((await ask('DELETE', `/v1/collections/${top.id}?cascade=true`)).json).to.deep.equal({});
      expect(await codeOf(ask('GET', `/v1/collections/${inner.id}`))).to.deep.equal([404, 'AB08']);
    });

    it('have a default, which can be renamed but stays where it is', async () => {
      const { json } = await ask('GET', '/v1/collections');
      const standard = json.data.find((one: { is_default: boolean }) => one.is_default);
      const path = `/v1/collections/${standard.id}`;
      expect((await ask('PUT', path, { name: 'Ours' })).status).to.equal(200);
      const { id } = await make('Folder');
      expect(await codeOf(ask('PUT', path, { parent_collection_id: id }))).to.deep.equal([400, 'AB01']);
      expect(await codeOf(ask('DELETE', path))).to.deep.equal([404, 'AB08']);
    });

    it('stay in their workspace', async () => {
      const theirs = await make('Theirs', undefined, 'other');
      const mine = await make('Mine');
      for (const verb of ['GET', 'PUT', 'DELETE']) {
        const body = verb === 'PUT' ? { name: 'y' } : undefined;
        const refusal = ask(verb, `/v1/collections/${theirs.slug}`, body);
        expect(await codeOf(refusal), verb).to.deep.equal([404, 'AB08']);
      }
      const body = { parent_collection_id: theirs.id };
      expect(await codeOf(ask('PUT', `/v1/collections/${mine.id}`, body))).to.deep.equal([404, 'AB02']);
      const inTheirs = ask('POST', '/v1/collections', { name: 'x', ...body });
      expect(await codeOf(inTheirs)).to.deep.equal([404, 'AB02']);
    });
  });
});
