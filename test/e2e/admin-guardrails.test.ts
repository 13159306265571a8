import { expect } from 'chai';
import { type AdminPlane, refused, startPlane } from '../support/admin-plane.js';

const path = '/v1/guardrails';
const checks = [{ id: 'default.wordCount', parameters: { maxWords: 10 } }];
const actions = {
  deny: true,
  async: false,
  on_success: { feedback: {} },
  on_fail: { feedback: { value: -1, weight: 0.5, metadata: 'too long' } },
};

describe('guardrails over the administration plane', () => {
  let plane: AdminPlane;

  before(async () => {
    plane = await startPlane();
  });
  after(() => plane.close());

  const ask = (verb: string, at: string, body?: object) =>
    plane.rest(verb, at, body, { key: plane.first.workspace_key });
  const make = async (body: object = {}, key = plane.first.workspace_key) => {
    const made = await plane.rest('POST', path, { name: 'Short', checks, actions, ...body }, { key });
    expect(made.json, JSON.stringify(made.json)).to.have.keys('id', 'slug', 'version_id');
    return made.json as { id: string; slug: string; version_id: string };
  };

  it('are read by id and by slug, with what was left out filled in', async () => {
    const made = await make();
    expect(made.slug).to.match(/^pg-short-/);
    for (const name of [made.id, made.slug]) {
      const { json } = await ask('GET', `${path}/${name}`);
      expect(json).to.deep.include({
        id: made.id,
        name: 'Short',
        slug: made.slug,
        organisation_id: plane.first.organisation_id,
        workspace_id: plane.first.workspace_id,
        status: 'active',
        version_id: made.version_id,
        checks: [{ ...checks[0], name: null, is_enabled: true }],
        actions: {
          deny: true,
          async: false,
          sequential: false,
          on_success: { feedback: { value: 5, weight: 1, metadata: '' } },
          on_fail: { feedback: { value: -1, weight: 0.5, metadata: 'too long' } },
        },
      });
      expect(json.owner_id).to.equal(json.updated_by).and.be.a('string');
    }
    const { json: list } = await ask('GET', path);
    expect(list).to.have.keys('data', 'total');
    expect(list.data[0]).to.include({ id: made.id }).and.not.have.any.keys('checks', 'actions');
  });

  it('have a new version only when their content is other', async () => {
    const made = await make();
    const put = (body: object) => ask('PUT', `${path}/${made.slug}`, body);
    const { id, slug } = made;
    expect((await put({ name: 'Renamed', checks })).json).to.deep.equal({ id, slug, version_id: null });
    const { json } = await put({ checks: [{ id: 'default.notNull', is_enabled: false }] });
    expect(json.version_id).to.be.a('string').and.not.equal(made.version_id);
    const { json: one } = await ask('GET', `${path}/${id}`);
    expect(one.name).to.equal('Renamed');
    expect(one.checks).to.deep.equal([
      { id: 'default.notNull', parameters: {}, name: null, is_enabled: false },
    ]);
  });

  it('name checks that there are, with the parameters that these take', async () => {
    const bad: readonly [object, string][] = [
      [{ checks: [{ id: 'default.magic' }] }, 'checks[0].id names no check'],
      [
        { checks: [checks[0], { id: 'default.regexMatch', parameters: { rule: '(' } }] },
        'checks[1].parameters.rule',
      ],
      [{ checks: [{ id: 'default.contains', parameters: {} }] }, 'checks[0].parameters.words is required'],
      [
        { checks: [{ id: 'default.wordCount', parameters: { words: 1 } }] },
        'is not a parameter of this check',
      ],
      [{ checks: [] }, 'checks is required.'],
      [{ actions: { deny: true } }, 'actions.async is required.'],
    ];
    for (const [more, message] of bad) {
      const { status, json } = await ask('POST', path, { name: 'x', checks, actions, ...more });
      expect(json.data.message).to.include(message);
      expect([status, json.data.errorCode]).to.deep.equal([400, 'AB01']);
    }
    const both = { workspace_id: 'default', organisation_id: plane.first.organisation_id };
    const { json } = await plane.rest('POST', path, { name: 'x', checks, actions, ...both });
    expect(json.data.message).to.equal('organisation_id does not go together with workspace_id.');
  });

  it("of the organisation are everybody's to read, and changed by its own keys alone", async () => {
    const organisation_id = plane.first.organisation_id;
    const common = await make({ name: 'Common', organisation_id }, plane.first.admin_key);
    const { json } = await ask('GET', `${path}/${common.id}`);
    expect(json).to.include({ workspace_id: null, organisation_id });
    const { json: list } = await ask('GET', `${path}?organisation_id=${organisation_id}`);
    expect(list.data.map(({ id }: { id: string }) => id)).to.deep.equal([common.id]);
    for (const [verb, at, body] of [
      ['PUT', `${path}/${common.id}`, { name: 'x' }],
      ['DELETE', `${path}/${common.id}`, undefined],
      ['POST', path, { name: 'x', checks, actions, organisation_id }],
    ] as const) {
      const refusal = await ask(verb, at, body);
      expect([refusal.status, refusal.json.data.errorCode], verb).to.deep.equal([403, 'AB03']);
    }
    expect((await plane.rest('PUT', `${path}/${common.id}`, { name: 'y' })).status).to.equal(200);
  });

  it('of another workspace are not there', async () => {
    const theirs = await make({ workspace_id: 'other' }, plane.first.admin_key);
    const missing = await ask('GET', `${path}/none`);
    for (const name of [theirs.id, theirs.slug]) {
      for (const verb of ['GET', 'PUT', 'DELETE']) {
        const { status, json } = await ask(
          verb,
          `${path}/${name}`,
          verb === 'PUT' ? { name: 'x' } : undefined,
        );
        expect([status, json]).to.deep.equal([404, missing.json]);
      }
    }
    expect((await plane.rest('GET', `${path}/${theirs.id}?workspace_id=default`)).status).to.equal(404);
    expect((await plane.rest('GET', `${path}/${theirs.id}`)).status).to.equal(200);
  });

  it('are archived by DELETE, and lose no update', async () => {
    const made = await make();
    const { headers } = await ask('GET', `${path}/${made.id}`);
    const how = { key: plane.first.workspace_key, headers: { 'if-match': headers.get('etag')! } };
    expect((await plane.rest('PUT', `${path}/${made.id}`, { name: 'a' }, how)).status).to.equal(200);
    expect((await plane.rest('DELETE', `${path}/${made.id}`, undefined, how)).status).to.equal(409);
    // The public client sends the id in a body too.
    const gone = await ask('DELETE', `${path}/${made.id}`, { guardrail_id: made.id });
    expect([gone.status, gone.json]).to.deep.equal([200, {}]);
    expect((await ask('GET', `${path}/${made.id}`)).json.status).to.equal('archived');
    expect((await ask('PUT', `${path}/${made.id}`, { name: 'b' })).status).to.equal(404);
    expect((await ask('DELETE', `${path}/${made.id}`)).status).to.equal(404);
  });

  it('are the same over gRPC', async () => {
    const { guardrails } = plane.workspace.api;
    const { id, version_id } = await guardrails.createGuardrail({ name: 'g', checks, actions });
    expect((await guardrails.listGuardrails({})).data.map((one) => one.id)).to.include(id);
    const saved = await guardrails.updateGuardrail({ id, checks: [{ id: 'default.notNull' }] });
    expect(saved.version_id).to.be.a('string').and.not.equal(version_id);
    expect((await guardrails.getGuardrail({ id })).checks[0]).to.include({
      id: 'default.notNull',
      is_enabled: true,
    });
    await guardrails.deleteGuardrail({ id });
    await refused(guardrails.deleteGuardrail({ id }), 'NOT_FOUND', 'AB08');
  });
});
