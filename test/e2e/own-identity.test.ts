// lane: slow
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { awsKeys } from '../../src/simulated/aws/aws-auth.js';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { type RunningGateway, startGateway } from '../support/gateway.js';

interface Answer {
  readonly status: number;
  readonly json: {
    readonly id?: string;
    readonly slug?: string;
    readonly message?: string;
    readonly error?: { readonly message: string; readonly code: string; readonly param: string | null };
  };
}

/** One data directory from start to start: what an operator allows, and takes back again. */
describe('The gateway’s own identity at a cloud', () => {
  let gateway: RunningGateway;
  let aws: SimulatedProvider;
  let agent: Server;

  /** Where the gateway runs there is an agent, as in a pod, that has keys for whoever asks. */
  let environment: Record<string, string>;

  before(async function () {
    this.timeout(30_000);
    const { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey } = awsKeys;
    agent = createServer((_request, response) =>
      response.end(JSON.stringify({ AccessKeyId, SecretAccessKey })),
    );
    await new Promise<void>((listening) => agent.listen(0, '127.0.0.1', listening));
    aws = await startSimulated({ record: true });
    environment = {
      AWS_ACCESS_KEY_ID: '',
      AWS_ROLE_ARN: '',
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://127.0.0.1:${(agent.address() as AddressInfo).port}/keys`,
      AWS_ENDPOINT_URL_STS: `${aws.url}/sts/`,
    };
    gateway = await startGateway({ env: environment });
  });
  after(async () => {
    await gateway?.stop();
    await aws?.close();
    agent?.close();
  });

  async function allow(clouds: string): Promise<void> {
    await gateway.stop({ keep: true });
    gateway = await startGateway({
      dataDir: gateway.dataDir,
      env: { ...environment, HEADGATE_OWN_IDENTITY: clouds },
    });
  }

  async function ask(
    method: string,
    path: string,
    body: object,
    key = gateway.adminKey,
    more: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await fetch(gateway.url + path, {
      method,
      headers: { 'x-gateway-api-key': key, 'content-type': 'application/json', ...more },
      body: JSON.stringify(body),
    });
    return { status: response.status, json: (await response.json()) as Answer['json'] };
  }

  const chat = (slug: string): Promise<Answer> =>
    ask(
      'POST',
      '/v1/chat/completions',
      { model: 'us.amazon.nova-pro-v1:0', messages: [{ role: 'user', content: 'Hello' }] },
      gateway.workspaceKey,
      { 'x-gateway-provider': `@${slug}` },
    );

  const role = 'arn:aws:iam::123456789012:role/bedrock';
  const pod = { provider: 'bedrock', awsRegion: 'us-east-1', awsRoleArn: role };
  const own: readonly (readonly [path: string, body: object, field: string])[] = [
    ['/v1/providers', { name: 'a', ...pod }, 'awsRoleArn'],
    ['/v1/providers', { name: 'b', provider: 'azure-openai', azureAuthMode: 'managed' }, 'azureAuthMode'],
    [
      '/v1/providers',
      { name: 'c', provider: 'azure-openai', azureAuthMode: 'workload', azureWorkloadClientId: 'w' },
      'azureAuthMode',
    ],
    [
      '/v1/providers',
      { name: 'd', provider: 'vertex-ai', vertexAuthType: 'workloadIdentity', vertexProjectId: 'p' },
      'vertexAuthType',
    ],
    ['/v1/virtual-keys', { name: 'e', ...pod }, 'awsRoleArn'],
    [
      '/v1/integrations',
      {
        name: 'f',
        ai_provider_id: 'vertex-ai',
        configurations: {
          vertex_auth_type: 'workloadIdentity',
          vertex_region: 'us-central1',
          vertex_project_id: 'p',
        },
      },
      'configurations.vertex_auth_type',
    ],
  ];

  it('cannot be stored where the operator has not allowed it, nor be changed to', async () => {
    for (const [path, body, field] of own) {
      const { status, json } = await ask('POST', path, body);
      expect(status, JSON.stringify(json)).to.equal(403);
      expect(JSON.stringify(json)).to.include('AB03').and.include(`${field} signs in as the gateway itself`);
      expect(JSON.stringify(json)).to.include('HEADGATE_OWN_IDENTITY');
    }
    const keys = {
      awsAccessKeyId: awsKeys.accessKeyId,
      awsSecretAccessKey: awsKeys.secretAccessKey,
    };
    const made = await ask('POST', '/v1/providers', { slug: 'keyed', custom_host: aws.url, ...pod, ...keys });
    expect(made.status, JSON.stringify(made.json)).to.equal(200);
    expect((await chat('keyed')).status, 'a role assumed with keys of its own').to.equal(200);
    const changed = await ask('PUT', '/v1/providers/keyed', {
      awsAccessKeyId: null,
      awsSecretAccessKey: null,
    });
    expect(changed.status, JSON.stringify(changed.json)).to.equal(403);
  });

  it('is stored and used where it is allowed, in that workspace alone if it is limited to one', async function () {
    this.timeout(30_000);
    const other = await ask('POST', '/v1/admin/workspaces', { name: 'Other' });
    expect(other.status, JSON.stringify(other.json)).to.equal(200);
    await allow(`aws:${gateway.workspaceId},azure,google`);
    const here = { workspace_id: gateway.workspaceId };
    for (const [path, body] of own) {
      const { status, json } = await ask('POST', path, path.endsWith('s') ? { ...body, ...here } : body);
      expect(status, JSON.stringify(json)).to.equal(200);
    }
    const stored = await ask('POST', '/v1/providers', {
      slug: 'pod',
      custom_host: aws.url,
      ...pod,
      ...here,
    });
    expect(stored.status, JSON.stringify(stored.json)).to.equal(200);
    const there = await ask('POST', '/v1/providers', { name: 'x', ...pod, workspace_id: other.json.id });
    expect(there.status, JSON.stringify(there.json)).to.equal(403);
    aws.reset();
    const answer = await chat('pod');
    expect(answer.status, JSON.stringify(answer.json)).to.equal(200);
    expect(aws.requests.map(({ path }) => path)).to.deep.equal([
      '/sts/',
      '/model/us.amazon.nova-pro-v1%3A0/converse',
    ]);
  });

  it('is used no more once the operator takes that back, whatever is stored', async function () {
    this.timeout(30_000);
    await allow('google');
    aws.reset();
    const { status, json } = await chat('pod');
    expect(status).to.equal(403);
    expect(json.error).to.include({ code: 'own_identity_blocked', param: 'aws_role_arn' });
    expect(json.error?.message).to.include('HEADGATE_OWN_IDENTITY');
    expect(aws.requests).to.deep.equal([]);
    const renamed = await ask('PUT', '/v1/providers/pod', {
      name: 'still here',
      workspace_id: gateway.workspaceId,
    });
    expect(renamed.status, JSON.stringify(renamed.json)).to.equal(200);
  });
});
