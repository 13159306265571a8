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

  it('name the places of texts in calls that are passed through', async () => {
    const passed = { ...actions, passthrough: 'allow', passthrough_paths: ['messages[*].content'] };
    const { id } = await make({ actions: passed });
    const { json } = await ask('GET', `${path}/${id}`);
    expect(json.actions).to.deep.include({
      passthrough: 'allow',
      passthrough_paths: ['messages[*].content'],
    });
    for (const wrong of ['', 'a[', 'a..b', '$.a', 'a'.repeat(257)]) {
      const refused = await ask('PUT', `${path}/${id}`, {
        actions: { ...passed, passthrough_paths: [wrong] },
      });
      expect(refused.status, wrong).to.equal(400);
      expect(JSON.stringify(refused.json)).to.include('actions.passthrough_paths[0]');
    }
  });

  it('judge streams at their end unless they are incremental', async () => {
    const { id } = await make({ actions: { ...actions, stream: 'incremental' } });
    expect((await ask('GET', `${path}/${id}`)).json.actions).to.include({ stream: 'incremental' });
    const refused = await ask('PUT', `${path}/${id}`, { actions: { ...actions, stream: 'sometimes' } });
    expect(refused.status).to.equal(400);
    expect(JSON.stringify(refused.json)).to.include('actions.stream');
  });

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
        checks: [{ ...checks[0], is_enabled: true }],
        actions: {
          deny: true,
          async: false,
          soft_deny_200: false,
          passthrough: 'refuse',
          passthrough_paths: [],
          sequential: false,
          stream: 'end',
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
    expect((await put({ name: 'Renamed', checks })).json).to.deep.equal({ id, slug });
    const { json } = await put({ checks: [{ id: 'default.notNull', is_enabled: false }] });
    expect(json.version_id).to.be.a('string').and.not.equal(made.version_id);
    const { json: one } = await ask('GET', `${path}/${id}`);
    expect(one.name).to.equal('Renamed');
    expect(one.checks).to.deep.equal([{ id: 'default.notNull', parameters: {}, is_enabled: false }]);
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
    for (const name of ['workspace_id', 'organisation_id']) {
      const empty = await ask('POST', path, { name: 'x', checks, actions, [name]: '' });
      expect([empty.status, empty.json.data.message]).to.deep.equal([
        400,
        `${name} is empty: give an id, or leave it out.`,
      ]);
    }
  });

  it('of the organisation are readable with every key, and changed by its own keys alone', async () => {
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

  describe('that something names', () => {
    const gone = (id: string) => plane.rest('DELETE', `${path}/${id}`);
    const refusal = (slug: string, uses: string) => [
      409,
      { message: `${slug} is still used by ${uses}: remove it there first.`, errorCode: 'AB07' },
    ];
    const own = () => ({ organisation_id: plane.first.organisation_id });

    it('are not deleted while they are a default of a workspace', async () => {
      const { id, slug } = await make();
      const defaults = (names: readonly string[]) =>
        plane.rest('PUT', '/v1/admin/workspaces/default', { defaults: { output_guardrails: names } });
      expect((await defaults([slug])).status).to.equal(200);
      const refused = await gone(id);
      expect([refused.status, refused.json.data]).to.deep.equal(
        refusal(slug, 'the defaults of workspace default'),
      );
      expect((await ask('GET', `${path}/${id}`)).json.status).to.equal('active');
      await defaults([]);
      expect((await gone(id)).status).to.equal(200);
    });

    it('are not deleted while they are a default of the organisation', async () => {
      const { id, slug } = await make(own(), plane.first.admin_key);
      const defaults = (names: readonly string[]) =>
        plane.rest('PUT', '/v1/admin/organisation/defaults', { input_guardrails: names });
      expect((await defaults([slug])).status).to.equal(200);
      const refused = await gone(id);
      expect([refused.status, refused.json.data]).to.deep.equal(
        refusal(slug, 'the defaults of the organisation'),
      );
      await defaults([]);
      expect((await gone(id)).status).to.equal(200);
    });

    it('are not deleted while active configs use them, at any level, by id or by slug', async () => {
      const { id, slug } = await make(own(), plane.first.admin_key);
      const config = (workspace_id: string, name: string, config: object) =>
        plane.rest('POST', '/v1/configs', { workspace_id, name, slug: `pc-${name}`, config });
      const target = { provider: 'openai', api_key: 'k', before_request_hooks: [{ id: slug }] };
      await config('default', 'nested', { strategy: { mode: 'fallback' }, targets: [target] });
      await config('other', 'named', { input_guardrails: [id] });
      await config('default', 'text', { provider: 'openai', api_key: 'k', override_params: { user: slug } });
      const refused = await gone(slug);
      expect([refused.status, refused.json.data]).to.deep.equal(
        refusal(slug, 'config pc-named of workspace other, config pc-nested of workspace default'),
      );
      await plane.rest('DELETE', '/v1/configs/pc-nested?workspace_id=default');
      await plane.rest('PUT', '/v1/configs/pc-named', { workspace_id: 'other', config: { retry: {} } });
      expect((await gone(id)).status).to.equal(200);
    });

    it('that are deleted keep configs archived that name them', async () => {
      const { id, slug } = await make();
      const config = { input_guardrails: [slug] };
      await plane.rest('POST', '/v1/configs', { workspace_id: 'default', name: 'c', slug: 'pc-old', config });
      const put = (change: object) =>
        plane.rest('PUT', '/v1/configs/pc-old', { workspace_id: 'default', ...change });
      await put({ status: 'archived' });
      expect((await put({ status: 'active' })).status).to.equal(200);
      await put({ status: 'archived' });
      expect((await gone(id)).status).to.equal(200);
      const refused = await put({ status: 'active' });
      expect([refused.status, refused.json.data]).to.deep.equal([
        404,
        { message: 'config.input_guardrails[0]: there is no such guardrail.', errorCode: 'AB02' },
      ]);
      expect((await put({ status: 'active', config: { retry: {} } })).status).to.equal(200);
    });

    it('are named in full up to a number, over gRPC too', async () => {
      const { id, slug } = await make();
      const { configs, guardrails } = plane.workspace.api;
      for (let i = 0; i < 12; i++)
        await configs.createConfig({ name: 'c', slug: `pc-many-${i}`, config: { input_guardrails: [slug] } });
      const message = await refused(guardrails.deleteGuardrail({ id }), 'ALREADY_EXISTS', 'AB07');
      expect(message).to.match(
        /config pc-many-\d+ of workspace default and others: remove it there first\.$/,
      );
    });
  });

  it('show masks of their secrets, and keep those whose masks are sent back', async () => {
    const { organisation_id } = plane.first;
    const hook = (webhookURL: string, headers: object) => [
      { id: 'default.webhook', parameters: { webhookURL, headers } },
    ];
    const url = 'https://user:secret-1@example.com/in?token=secret-2';
    const made = await make({ checks: hook(url, { 'X-One': 'secret-number-3', 'X-Two': 'secret-4' }) });
    const parametersOf = async () => (await ask('GET', `${path}/${made.id}`)).json.checks[0].parameters;
    const inClear = async () => (await plane.store.guardrails.open(organisation_id, made.id))![0]!.parameters;
    const put = (its: object, body: object = {}) =>
      ask('PUT', `${path}/${made.id}`, { checks: its, ...body });

    const masked = await parametersOf();
    const shown = 'https://*****@example.com/in?*****';
    expect(masked).to.deep.equal({
      webhookURL: shown,
      headers: { 'X-One': 'se*****r-3', 'X-Two': '*****' },
    });
    const same = await put(hook(masked.webhookURL, masked.headers));
    expect([same.status, same.json]).to.deep.equal([200, { id: made.id, slug: made.slug }]);

    const headers = { ...masked.headers, 'X-Two': 'secret-5', 'X-Three': 'secret-6' };
    expect((await put(hook(shown, headers))).json.version_id).to.be.a('string');
    const now = { 'X-One': 'secret-number-3', 'X-Two': 'secret-5', 'X-Three': 'secret-6' };
    expect(await inClear()).to.deep.equal({ webhookURL: url, headers: now });
    expect((await put(hook('https://example.com/in?token=secret-7', masked.headers))).status).to.equal(200);
    expect(await parametersOf()).to.deep.equal({
      webhookURL: 'https://example.com/in?*****',
      headers: { 'X-One': 'se*****r-3', 'X-Two': '*****' },
    });

    const { guardrails } = plane.workspace.api;
    const over = await guardrails.getGuardrail({ id: made.id });
    expect(JSON.stringify(over)).to.not.match(/secret-\d/);
    await guardrails.updateGuardrail({ id: made.id, checks: over.checks });
    expect(await inClear()).to.deep.equal({
      webhookURL: 'https://example.com/in?token=secret-7',
      headers: { 'X-One': 'secret-number-3', 'X-Two': 'secret-5' },
    });
    const { id } = await make({}, plane.first.workspace_key);
    for (const [verb, at, its, field] of [
      ['POST', path, hook(shown, {}), 'webhookURL'],
      ['PUT', `${path}/${id}`, hook('https://a.example', masked.headers), 'headers.X-One'],
      ['PUT', `${path}/${made.id}`, hook('https://a.example?*****', {}), 'webhookURL'],
    ] as const) {
      const { status, json } = await ask(verb, at, { name: 'x', checks: its, actions });
      expect([status, json.data]).to.deep.equal([
        400,
        {
          message: `checks[0].parameters.${field} is the mask of a secret: give the secret itself.`,
          errorCode: 'AB01',
        },
      ]);
    }
  });

  it('are audited without their secrets', async () => {
    const parameters = { webhookURL: 'https://example.com/in?token=hush-hush', headers: { a: 'hush-hush' } };
    const { id } = await make({ checks: [{ id: 'default.webhook', parameters }] });
    const query = encodeURIComponent(JSON.stringify([{ id: 'default.webhook', parameters }]));
    await ask('PUT', `${path}/${id}?checks=${query}`, { name: 'x' });
    const page = { offset: 0, limit: 100 };
    const { rows } = await plane.store.audit.list(plane.first.organisation_id, {}, page);
    const text = JSON.stringify(rows);
    expect(text).to.include('https://example.com/in?').and.not.include('hush-hush');
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
