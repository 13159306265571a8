import { expect } from 'chai';
import { type RunningGateway, startGateway } from '../support/gateway.js';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes, looked into by the tests.
  readonly json: any;
}

describe('the administration plane over REST', () => {
  let gateway: RunningGateway;

  before(async function () {
    this.timeout(30_000);
    gateway = await startGateway({
      env: { HEADGATE_HEADER_PREFIXES: 'x-gateway-,x-portkey-', HEADGATE_WORKERS: '2' },
    });
  });
  after(async function () {
    this.timeout(60_000);
    await gateway.stop();
  });

  async function ask(
    verb: string,
    path: string,
    body?: unknown,
    more: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await fetch(`${gateway.url}${path}`, {
      method: verb,
      headers: {
        'x-gateway-api-key': gateway.adminKey,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...more,
      },
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      json: text.startsWith('{') ? JSON.parse(text) : text,
    };
  }

  it('takes the organisation of its key in every request, and refuses another one', async () => {
    const own = gateway.organisationId;
    const other = '00000000-0000-4000-8000-000000000000';
    const config = { retry: { attempts: 2 } };
    const made = await ask('POST', '/v1/configs', { name: 'named', config, organisation_id: own });
    expect(made.status).to.equal(200);
    const path = `/v1/configs/${made.json.data.slug}`;
    const change = { name: 'renamed', organisation_id: own };
    expect((await ask('PUT', path, change)).status).to.equal(200);
    for (const read of [path, '/v1/configs', '/v1/admin/users', '/v1/admin/workspaces']) {
      expect((await ask('GET', `${read}?organisation_id=${own}`)).status, read).to.equal(200);
      const refused = await ask('GET', `${read}?organisation_id=${other}`);
      expect(refused.status, read).to.equal(404);
      expect(refused.json.data, read).to.deep.equal({
        message: 'organisation_id: there is no such organisation.',
        errorCode: 'AB02',
      });
    }
    expect((await ask('PUT', path, { ...change, organisation_id: other })).status).to.equal(404);
    expect((await ask('DELETE', `${path}?organisation_id=${own}`)).status).to.equal(200);
  });

  it('creates, lists, reads, updates and deletes a config, in the form that the specification gives', async () => {
    const made = await ask('POST', '/v1/configs', {
      name: 'rest',
      config: { retry: { attempts: 2 } },
      isDefault: 0,
    });
    expect(made.status).to.equal(200);
    expect(made.json).to.have.keys('success', 'data');
    const { slug } = made.json.data;
    expect(slug).to.match(/^pc-/);

    const one = await ask('GET', `/v1/configs/${slug}`);
    expect(one.json).to.include({ slug, name: 'rest', object: 'config', format: 'json', type: 'ORG_CONFIG' });
    expect(one.json.created_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(one.json.updated_by).to.be.a('string');
    expect(one.headers.get('etag')).to.equal(`"${one.json.etag}"`);
    expect(one.headers.get('x-request-id')).to.be.a('string');

    const list = await ask('GET', '/v1/configs?page_size=1&current_page=0');
    expect(list.json).to.include({ object: 'list' });
    expect(list.json.data).to.have.length(1);

    const changed = await ask(
      'PUT',
      `/v1/configs/${slug}`,
      { name: 'renamed' },
      { 'if-match': one.headers.get('etag')! },
    );
    expect(changed.json.data.version_id).to.equal(one.json.version_id);
    const late = await ask(
      'PUT',
      `/v1/configs/${slug}`,
      { name: 'again' },
      { 'if-match': one.headers.get('etag')! },
    );
    expect(late.status).to.equal(409);
    expect(late.json.data.errorCode).to.equal('AB07');

    expect((await ask('DELETE', `/v1/configs/${slug}`)).json).to.deep.equal({});
    expect((await ask('GET', `/v1/configs/${slug}`)).json.status).to.equal('archived');
  });

  it('accepts the key under every configured prefix and as a bearer token, and refuses the rest', async () => {
    const get = (headers: Record<string, string>) => fetch(`${gateway.url}/v1/configs`, { headers });
    expect((await get({ 'x-portkey-api-key': gateway.adminKey })).status).to.equal(200);
    expect((await get({ authorization: `Bearer ${gateway.adminKey}` })).status).to.equal(200);
    expect((await get({ authorization: 'Bearer nonsense' })).status).to.equal(401);
    const none = await get({});
    expect(none.status).to.equal(401);
    expect(await none.json()).to.have.nested.property('data.errorCode', 'AB05');
    const problem = await get({ accept: 'application/problem+json' });
    expect(problem.headers.get('content-type')).to.equal('application/problem+json');
    expect(await problem.json()).to.include({ status: 401, code: 'AB05' });
  });

  it('lists the methods that a path allows', async () => {
    const wrong = await ask('PATCH', '/v1/configs', {});
    expect(wrong.status).to.equal(405);
    expect(wrong.headers.get('allow')).to.equal('POST, GET, HEAD, OPTIONS');
    expect((await ask('OPTIONS', '/v1/configs')).status).to.equal(204);
    const head = await fetch(`${gateway.url}/v1/configs`, {
      method: 'HEAD',
      headers: { 'x-gateway-api-key': gateway.adminKey },
    });
    expect(head.status).to.equal(200);
  });

  it('serves its description, for programs and for people', async () => {
    const { json } = await ask('GET', '/v1/openapi.json');
    expect(json.openapi).to.equal('3.1.0');
    expect(json.paths['/v1/configs/{slug}'].put.operationId).to.equal('UpdateConfig');
    const page = await ask('GET', '/docs');
    expect(page.headers.get('content-security-policy')).to.include("default-src 'none'");
    expect(page.json)
      .to.include('PUT /v1/configs/{slug}')
      .and.not.match(/<script|(?:src|href)=["']?https?:/);
  });

  it('refuses what is no request, with its path', async () => {
    const bad: readonly [string, string, unknown, string][] = [
      [
        'POST',
        '/v1/configs',
        { name: 'x', config: {}, colour: 1 },
        '"colour" is not a field of the request.',
      ],
      ['POST', '/v1/configs', '{"name":"x","config":{},"__proto__":{}}', '"__proto__" is not a field'],
      ['POST', '/v1/configs', { name: 5, config: {} }, 'name must be text.'],
      ['POST', '/v1/configs', { name: 'x', config: {}, isDefault: 0.5 }, 'isDefault must be a whole number.'],
      ['POST', '/v1/configs', { config: {} }, 'name is required.'],
      ['POST', '/v1/configs', '{', 'The body is not JSON.'],
      ['GET', '/v1/configs?page_size=x', undefined, 'page_size must be a number.'],
      ['GET', '/v1/configs?page_size=-1', undefined, 'page_size must be at least 0.'],
      ['GET', '/v1/configs?workspace_id=a&workspace_id=b', undefined, 'workspace_id is given twice'],
      [
        'POST',
        '/v1/configs?workspace_id=a',
        { name: 'x', config: {}, workspace_id: 'b' },
        'workspace_id is given twice',
      ],
      ['GET', '/v1/configs/', undefined, 'slug is required'],
      ['GET', '/v1/configs/%zz', undefined, 'slug has a broken percent-encoding.'],
    ];
    for (const [verb, path, body, message] of bad) {
      const { status, json } = await ask(verb, path, body);
      expect(json, `${verb} ${path}`).to.have.nested.property('data.message').that.includes(message);
      expect(status).to.equal(400);
      expect(json.data.errorCode).to.equal('AB01');
    }
  });

  it('answers a create that is repeated with the same key once more the same, and another one not', async () => {
    const create = (name: string, key: string) =>
      ask('POST', '/v1/configs', { name, config: { retry: { attempts: 1 } } }, { 'idempotency-key': key });
    const [a, b] = await Promise.all([create('twin', 'k1'), create('twin', 'k1')]);
    expect(a.json).to.deep.equal(b.json);
    expect((await create('other', 'k1')).status).to.equal(409);
  });

  it('carries large bodies both ways in pieces', async () => {
    const config = { retry: { attempts: 1 }, override_params: { note: 'x'.repeat(250_000) } };
    const { json } = await ask('POST', '/v1/configs', { name: 'large', config });
    expect(json.data, JSON.stringify(json)).to.have.property('slug');
    const { json: read } = await ask('GET', `/v1/configs/${json.data.slug}`);
    expect(read.config).to.deep.equal(config);
    const huge = await ask('POST', '/v1/configs', `{"name":"${'x'.repeat(5 * 1024 * 1024)}"}`);
    expect(huge.status).to.equal(413);
  });

  it('leaves every path to the data plane that does not begin as one of its own', async () => {
    const workspaceKey = { 'x-gateway-api-key': gateway.workspaceKey };
    const other = await ask('GET', '/v1/things/a/b', undefined, workspaceKey);
    expect(other.status).to.equal(400);
    expect(other.json.error.code).to.equal('missing_provider');
    const own = await ask('GET', '/v1/configs/a/b/c/d', undefined, workspaceKey);
    expect(own.status).to.equal(404);
    expect(own.json).to.have.nested.property('data.errorCode', 'AB08');
  });
});
