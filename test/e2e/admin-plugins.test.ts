import { expect } from 'chai';
import { type AdminPlane, startPlane } from '../support/admin-plane.js';

const secret = 'pat-0123456789-secret';
const path = '/v1/plugins';

describe('credentials of partners over the administration plane', () => {
  let plane: AdminPlane;

  before(async () => {
    plane = await startPlane();
  });
  after(() => plane.close());

  const ask = (verb: string, at: string, body?: object) => plane.rest(verb, at, body);

  it('are made, listed, read, changed and deleted, and never shown', async () => {
    const { organisation_id } = plane.first;
    const made = await ask('POST', path, {
      organisation_id,
      plugin_provider_id: 'patronus',
      credentials: { apiKey: secret, baseUrl: 'https://eu.example.com' },
    });
    expect(made.status, JSON.stringify(made.json)).to.equal(200);
    expect(made.json).to.have.keys('id', 'object');
    expect(plane.forgotten).to.deep.include({ kind: 'partner', workspace: null, name: '*' });
    const at = `${path}/${made.json.id}`;

    const { json: read } = await ask('GET', at);
    expect(read).to.deep.include({
      ...{ organisation_id, plugin_provider_id: 'patronus', name: 'Patronus AI', status: 'active' },
      credentials: { apiKey: 'pa*****ret', baseUrl: 'https://eu.example.com' },
    });
    const { json: list } = await ask('GET', path);
    expect(list).to.deep.include({ object: 'list', total: 1, data: [read] });

    // What was shown may come back: the mask keeps the secret.
    const { credentials } = read;
    expect((await ask('PUT', at, { name: 'Ours', status: 'archived', credentials })).status).to.equal(200);
    expect(await plane.store.partnerPlugins.open(organisation_id, made.json.id)).to.deep.equal({
      apiKey: secret,
      baseUrl: 'https://eu.example.com',
    });
    expect((await ask('GET', `${path}/patronus`)).json).to.deep.include({ name: 'Ours', status: 'archived' });
    expect((await ask('PUT', at, { credentials: { apiKey: 'another-key-000' } })).status).to.equal(200);
    expect((await ask('DELETE', at)).status).to.equal(200);
    expect((await ask('GET', at)).status).to.equal(404);

    const audit = await plane.rest(
      'GET',
      `/v1/audit-logs?start_time=2026-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z`,
    );
    expect(JSON.stringify(audit.json)).to.include('plugin');
    expect(JSON.stringify([audit.json, plane.logged])).to.not.include(secret);
  });

  it('are refused with the place of what is wrong', async () => {
    const refused = async (body: object): Promise<string> => {
      const { status, json } = await ask('POST', path, body);
      expect(status, JSON.stringify(json)).to.be.oneOf([400, 404]);
      return JSON.stringify(json);
    };
    const of = (plugin_provider_id: string, credentials: object, more: object = {}) =>
      refused({ plugin_provider_id, credentials, ...more });
    expect(await of('nobody', {})).to.include('plugin_provider_id');
    expect(await refused({ plugin_provider_id: 'patronus' })).to.include('credentials is required');
    expect(await of('patronus', {})).to.include('credentials.apiKey is required for Patronus AI');
    expect(await of('patronus', { apiKey: 'k', other: 'x' })).to.include(
      'credentials.other is no credential',
    );
    expect(await of('patronus', { apiKey: 'a\nb' })).to.include('credentials.apiKey');
    expect(await of('patronus', { apiKey: 7 })).to.include('credentials.apiKey must be text');
    expect(await of('patronus', { apiKey: 'pa*****ret' })).to.include('is the mask of a secret');
    expect(await of('patronus', { apiKey: 'k', baseUrl: 'file:///etc/passwd' })).to.include('http or https');
    expect(await of('pangea', { apiKey: 'k', domain: 'a/b' })).to.include('credentials.domain');
    expect(await of('bedrock', { accessKeyId: 'a', region: 'us-east-1' })).to.include('accessKeySecret');
    expect(await of('azure', { apiKey: 'k' })).to.include('credentials.resourceName is required');
    expect(await of('azure', { pii: { apiKey: 'k', resourceName: 'a.b/c' } })).to.include('pii.resourceName');
    expect(await of('patronus', {}, { integration_id: 'x' })).to.include('integration_id');
    expect(await of('mistral', {}, { integration_id: 'x' })).to.include('no such integration');
  });

  it('are read under the other spellings of their fields', async () => {
    const spelled = {
      'panw-prisma-airs': { AIRS_API_KEY: secret },
      bedrock: { awsAccessKeyId: 'AKIA', awsSecretAccessKey: secret, awsRegion: 'eu-central-1' },
      azure: {
        pii: { apiKey: secret, resourceName: 'lang' },
        contentSafety: { apiKey: secret, resourceName: 'safe' },
      },
      promptfoo: {},
    };
    for (const [plugin_provider_id, credentials] of Object.entries(spelled)) {
      const { status, json } = await ask('POST', path, { plugin_provider_id, credentials });
      expect(status, JSON.stringify(json)).to.equal(200);
    }
    const open = (id: string) => plane.store.partnerPlugins.find(plane.first.workspace_id, id);
    expect((await open('panw-prisma-airs'))?.credentials).to.deep.equal({ apiKey: secret });
    expect((await open('bedrock'))?.credentials).to.deep.equal({
      ...{ accessKeyId: 'AKIA', accessKeySecret: secret, region: 'eu-central-1' },
    });
    expect((await open('azure'))?.credentials).to.include({ 'pii.resourceName': 'lang' });
    const again = await ask('POST', path, {
      plugin_provider_id: 'panwPrismaAirs',
      credentials: { apiKey: 'k' },
    });
    expect(again.status, JSON.stringify(again.json)).to.equal(409);
  });

  it('are forgotten by workers with the integration that lends them', async () => {
    const made = await ask('POST', '/v1/integrations', {
      ...{ name: 'Mistral', slug: 'mistral', ai_provider_id: 'mistral-ai', key: secret },
    });
    expect(made.status, JSON.stringify(made.json)).to.equal(200);
    const of = { plugin_provider_id: 'mistral', credentials: {}, integration_id: 'mistral' };
    expect((await ask('POST', path, of)).status).to.equal(200);
    const open = () => plane.store.partnerPlugins.find(plane.first.workspace_id, 'mistral');
    expect((await open())?.credentials).to.deep.equal({ apiKey: secret });
    plane.forgotten.length = 0;
    expect((await ask('PUT', '/v1/integrations/mistral', { key: 'sk-another-key' })).status).to.equal(200);
    expect(plane.forgotten).to.deep.include({ kind: 'partner', workspace: null, name: '*' });
    expect((await open())?.credentials).to.deep.equal({ apiKey: 'sk-another-key' });

    const configurations = {
      aws_auth_type: 'accessKey',
      ...{ aws_access_key_id: 'AKIALENT', aws_secret_access_key: secret, aws_region: 'us-east-1' },
    };
    const lender = await ask('POST', '/v1/integrations', {
      ...{ name: 'AWS', slug: 'aws', ai_provider_id: 'bedrock', configurations },
    });
    expect(lender.status, JSON.stringify(lender.json)).to.equal(200);
    await ask('DELETE', `${path}/bedrock`);
    const lent = { plugin_provider_id: 'bedrock', credentials: {}, integration_id: 'aws' };
    expect((await ask('POST', path, lent)).status).to.equal(200);
    const found = await plane.store.partnerPlugins.find(plane.first.workspace_id, 'bedrock');
    expect(found?.credentials).to.deep.equal({
      ...{ accessKeyId: 'AKIALENT', accessKeySecret: secret, region: 'us-east-1' },
    });
  });

  it('are for keys of the organisation alone', async () => {
    const { status } = await plane.rest('GET', path, undefined, { key: plane.first.workspace_key });
    expect(status).to.equal(403);
  });
});
