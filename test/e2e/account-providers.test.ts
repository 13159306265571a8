// lane: shared gateway
import { createHash, generateKeyPairSync, verify } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { awsKeys, refuseAws } from '../../src/simulated/aws/aws-auth.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

const completion = {
  id: 'c',
  object: 'chat.completion',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

describe('Providers of an account of one’s own', () => {
  const oci = generateKeyPairSync('rsa', { modulusLength: 2048 });
  let gateway: SharedGateway;
  let provider: Server;
  let url: string;
  let got: { request: IncomingMessage; body: Buffer };

  before(async function () {
    this.timeout(30_000);
    provider = createServer(async (request, reply) => {
      got = { request, body: Buffer.concat(await request.toArray()) };
      reply.writeHead(200, { 'content-type': 'application/json' });
      const isNomic = request.url === '/v1/embedding/text';
      const vectors = { embeddings: [[0.5, -1]], usage: { prompt_tokens: 3, total_tokens: 3 }, model: 'n' };
      reply.end(JSON.stringify(isNomic ? vectors : completion));
    });
    await new Promise<void>((done) => provider.listen(0, '127.0.0.1', done));
    url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    gateway = await shareGateway();
    const { providers } = gateway.admin();
    await providers.create({
      slug: 'maker',
      provider: 'sagemaker',
      base_url: url,
      aws_auth_type: 'accessKey',
      aws_region: 'eu-west-1',
      aws_access_key_id: awsKeys.accessKeyId,
      aws_secret_access_key: awsKeys.secretAccessKey,
    });
    await providers.create({
      slug: 'oci',
      provider: 'oracle',
      base_url: `${url}/openai/v1`,
      oracle_compartment_id: 'ocid1.compartment.oc1..c',
      oracle_tenancy: 'ocid1.tenancy.oc1..t',
      oracle_user: 'ocid1.user.oc1..u',
      oracle_fingerprint: '20:3b:97:13',
      oracle_private_key: oci.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    });
    await providers.create({ slug: 'atlas', provider: 'nomic', base_url: `${url}/v1`, key: 'nk-1' });
    await providers.create({ slug: 'own', provider: 'ollama', base_url: `${url}/v1` });
  });
  after(async () => {
    await gateway?.stop();
    provider?.close();
  });

  const post = (slug: string, path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-provider': slug,
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify(body),
    });
  const chat = { model: 'm', messages: [{ role: 'user', content: 'Grüße' }] };

  it('SageMaker gets the body as received, signed, with the headers of its fields', async () => {
    const path = '/v1/endpoints/my-model/invocations';
    const headers = { 'x-gateway-amzn-sagemaker-target-variant': 'blue' };
    const answer = await post('@maker', path, { inputs: 'Grüße' }, headers);
    expect(answer.status, await answer.text()).to.equal(200);
    expect(got.request.url).to.equal('/endpoints/my-model/invocations');
    expect(got.body.toString()).to.equal('{"inputs":"Grüße"}');
    expect(refuseAws(got.request, got.body, 'sagemaker')).to.equal(null);
    expect(got.request.headers.authorization).to.include('/eu-west-1/sagemaker/aws4_request');
    expect(got.request.headers['x-amzn-sagemaker-target-variant']).to.equal('blue');
  });

  it('SageMaker has no chat of its own, and takes no API key', async () => {
    const refused = await post('@maker', '/v1/chat/completions', chat);
    expect(refused.status).to.equal(400);
    expect(await refused.text()).to.include('sagemaker has no chat endpoint');
    const key = { authorization: 'Bearer k', 'x-gateway-aws-region': 'eu-west-1' };
    const bare = await post('sagemaker', '/v1/endpoints/m/invocations', {}, key);
    expect(bare.status).to.equal(400);
    expect(await bare.text()).to.include('aws_access_key_id and aws_secret_access_key');
  });

  it('Oracle is called with a signature that its public key verifies', async () => {
    const answer = await post('@oci', '/v1/chat/completions', chat);
    expect(answer.status, await answer.text()).to.equal(200);
    const { headers, method, url: target } = got.request;
    expect(target).to.equal('/openai/v1/chat/completions');
    expect(headers['opc-compartment-id']).to.equal('ocid1.compartment.oc1..c');
    const [, keyId, names = '', signature = ''] =
      /^Signature version="1",keyId="([^"]*)",algorithm="rsa-sha256",headers="([^"]*)",signature="([^"]*)"$/.exec(
        headers.authorization ?? '',
      ) ?? [];
    expect(keyId).to.equal('ocid1.tenancy.oc1..t/ocid1.user.oc1..u/20:3b:97:13');
    // By what arrived: the headers that docs.oracle.com asks a POST to sign.
    expect(names).to.equal('date (request-target) host x-content-sha256 content-type content-length');
    const hash = createHash('sha256').update(got.body).digest('base64');
    expect(headers['x-content-sha256']).to.equal(hash);
    expect(headers['content-length']).to.equal(String(got.body.length));
    expect(Math.abs(Date.parse(headers.date ?? '') - Date.now())).to.be.below(300_000);
    const text = names
      .split(' ')
      .map((name) =>
        name === '(request-target)'
          ? `${name}: ${method?.toLowerCase()} ${target}`
          : `${name}: ${headers[name] as string}`,
      )
      .join('\n');
    const genuine = verify('sha256', Buffer.from(text), oci.publicKey, Buffer.from(signature, 'base64'));
    expect(genuine).to.equal(true);
  });

  it('Nomic is given texts, and its vectors come back as OpenAI’s', async () => {
    const body = { model: 'nomic-embed-text-v1.5', input: 'Grüße', dimensions: 2, user: 'u' };
    const answer = await post('@atlas', '/v1/embeddings', body);
    const json = (await answer.json()) as Record<string, unknown>;
    expect(answer.status, JSON.stringify(json)).to.equal(200);
    expect(JSON.parse(got.body.toString())).to.deep.equal({
      model: 'nomic-embed-text-v1.5',
      texts: ['Grüße'],
      task_type: 'search_document',
      dimensionality: 2,
    });
    expect(got.request.headers.authorization).to.equal('Bearer nk-1');
    expect(json['data']).to.deep.equal([{ object: 'embedding', index: 0, embedding: [0.5, -1] }]);
    expect(json['usage']).to.deep.equal({ prompt_tokens: 3, total_tokens: 3 });
  });

  it('Ollama needs no key, and gets the limit under the name that it reads', async () => {
    const answer = await post('@own', '/v1/chat/completions', { ...chat, max_completion_tokens: 7 });
    expect(answer.status, await answer.text()).to.equal(200);
    expect(JSON.parse(got.body.toString())).to.deep.equal({ ...chat, max_tokens: 7 });
    expect(got.request.headers.authorization).to.equal(undefined);
  });
});
