import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { OwnIdentities } from '../../src/common/access/own-identity.js';
import { Secret } from '../../src/common/access/secret.js';
import { GatewayError } from '../../src/common/core/errors.js';
import type { UpstreamCall } from '../../src/common/core/exchange.js';
import type { Target } from '../../src/common/core/target.js';
import type { FieldValues } from '../../src/common/vocabulary/provider-fields.js';
import type { Ask } from '../../src/data-plane/providers/auth/ask.js';
import { AwsAuthorizer } from '../../src/data-plane/providers/auth/aws.js';
import { AwsCredentials } from '../../src/data-plane/providers/auth/aws-credentials.js';
import { CallFields } from '../../src/data-plane/providers/call-fields.js';
import { bedrock } from '../../src/data-plane/providers/kinds/bedrock.js';
import { awsKeys } from '../../src/simulated/aws/aws-auth.js';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';

const given: FieldValues = {
  aws_region: 'eu-central-1',
  aws_access_key_id: awsKeys.accessKeyId,
  aws_secret_access_key: new Secret(awsKeys.secretAccessKey),
};
const role = 'arn:aws:iam::123456789012:role/bedrock';
const body = Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: [{ text: 'Grüße' }] }] }));

describe('Credentials of AWS', () => {
  let aws: SimulatedProvider;
  let asked: number;
  let authorizer: AwsAuthorizer;
  let ownIdentities: OwnIdentities;
  const tenant = { organisationId: 'o', workspaceId: 'w' };

  /** Sends as the gateway's own pools do. */
  const ask: Ask = async ({ method, url, headers, body }) => {
    asked++;
    const list = headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1] as string]] : [])) as [
      string,
      string,
    ][];
    const reply = await fetch(url, { method, headers: list, body });
    return { status: reply.status, headers: [], body: Buffer.from(await reply.arrayBuffer()) };
  };

  const call = (path = '/model/m/converse', over: Partial<UpstreamCall> = {}): UpstreamCall => ({
    target: {} as Target,
    provider: 'bedrock',
    method: 'POST',
    url: aws.url + path,
    headers: ['content-type', 'application/json', 'user-agent', 'headgate'],
    body,
    ...over,
  });

  async function send(to: UpstreamCall): Promise<{ status: number; message: string }> {
    const { status, body } = await ask({
      method: to.method,
      url: to.url,
      headers: to.headers,
      body: to.body as Buffer,
    });
    return { status, message: (JSON.parse(body.toString('utf8')) as { message?: string }).message ?? '' };
  }

  async function authorized(
    fields: CallFields,
    to = call(),
    credential: Secret | null = null,
  ): Promise<UpstreamCall> {
    await authorizer.authorize({ call: to, credential, fields, ask, tenant, ownIdentities });
    return to;
  }

  async function refusal(fields: CallFields): Promise<GatewayError> {
    try {
      await authorized(fields);
    } catch (error) {
      if (error instanceof GatewayError) return error;
      throw error;
    }
    throw new Error('it was not refused');
  }

  const fromTarget = (fields: FieldValues) => new CallFields(null, fields);
  const fromStore = (fields: FieldValues, target: FieldValues = {}) => new CallFields(fields, target);

  before(async () => {
    aws = await startSimulated({ record: true });
  });
  beforeEach(() => {
    aws.reset();
    asked = 0;
    ownIdentities = new OwnIdentities(['aws']);
    const own = () => Promise.resolve({ ...awsKeys, sessionToken: null });
    authorizer = new AwsAuthorizer('bedrock', new AwsCredentials(() => `${aws.url}/sts/`, own));
  });
  after(() => aws.close());

  for (const [what, path] of [
    [
      'a model with a version',
      `/model/${encodeURIComponent('us.anthropic.claude-sonnet-4-5-20250929-v1:0')}/converse`,
    ],
    [
      'an ARN',
      `/model/${encodeURIComponent('arn:aws:bedrock:us-east-1:1:inference-profile/us.x.y-v1:0')}/converse`,
    ],
    ['a query', '/model/m/converse?b=2&a=1%201&a=0&c='],
  ] as const) {
    it(`signs a call of ${what} so that an independent check lets it in`, async () => {
      expect(await send(await authorized(fromTarget(given), call(path)))).to.deep.equal({
        status: 200,
        message: '',
      });
    });
  }

  it('signs the content of the body: a changed one is refused', async () => {
    const to = await authorized(fromTarget(given));
    to.body = Buffer.from(String(body).replace('Grüße', 'Others'));
    expect((await send(to)).message).to.include('does not match');
  });

  it('reads a body that arrives over time, since the signature covers it', async () => {
    const to = call('/model/m/converse', {
      body: {
        start(sink) {
          for (let i = 0; i < body.length; i += 5) sink.data(body.subarray(i, i + 5));
          sink.end();
        },
        resume() {},
        cancel() {},
      },
    });
    expect((await send(await authorized(fromTarget(given), to))).status).to.equal(200);
  });

  it('refuses nothing itself of a wrong secret: AWS does', async () => {
    const wrong = fromTarget({ ...given, aws_secret_access_key: new Secret('x') });
    expect((await send(await authorized(wrong))).status).to.equal(403);
  });

  it('sends an API key as a bearer, without a promise', async () => {
    const to = call();
    const fields = fromTarget({ aws_region: 'us-east-1' });
    const credential = new Secret('ABSK-key');
    const ready = authorizer.authorize({ call: to, credential, fields, ask, tenant, ownIdentities });
    expect(ready).to.equal(undefined);
    expect(to.headers).to.include('Bearer ABSK-key');
    expect((await send(to)).status).to.equal(200);
  });

  it('assumes a role with the keys given, once for all that wait, and keeps it', async () => {
    const fields = fromTarget({ ...given, aws_role_arn: role });
    const calls = await Promise.all(Array.from({ length: 20 }, () => authorized(fields)));
    expect(asked).to.equal(1);
    for (const to of calls) expect((await send(to)).status).to.equal(200);
    expect(calls[0]?.headers).to.include('x-amz-security-token');
    await authorized(fields);
    expect(asked).to.equal(21);
  });

  it('assumes a stored role by who the gateway is', async () => {
    const stored = fromStore({ aws_region: 'us-east-1', aws_auth_type: 'assumedRole', aws_role_arn: role });
    expect((await send(await authorized(stored))).status).to.equal(200);
  });

  it('assumes none by who the gateway is where its operator does not let it', async () => {
    const stored = fromStore({ aws_region: 'us-east-1', aws_role_arn: role });
    await authorized(stored);
    asked = 0;
    ownIdentities = new OwnIdentities(['azure', 'aws:another']);
    expect(await refusal(stored)).to.include({ code: 'own_identity_blocked', param: 'aws_role_arn' });
    expect(asked, 'keys that were kept').to.equal(0);
    ownIdentities = new OwnIdentities(['aws:w']);
    expect((await send(await authorized(stored))).status).to.equal(200);
  });

  describe('as the gateway itself', () => {
    const names = [
      'AWS_ACCESS_KEY_ID',
      'AWS_SECRET_ACCESS_KEY',
      'AWS_SESSION_TOKEN',
      'AWS_ROLE_ARN',
      'AWS_WEB_IDENTITY_TOKEN_FILE',
      'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
      'AWS_CONTAINER_CREDENTIALS_FULL_URI',
      'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
    ];
    let kept: (string | undefined)[];
    let folder: string;
    const stored = fromStore({ aws_region: 'us-east-1', aws_role_arn: role });

    beforeEach(() => {
      kept = names.map((name) => process.env[name]);
      for (const name of names) delete process.env[name];
      folder = mkdtempSync(join(tmpdir(), 'headgate-aws-'));
      authorizer = new AwsAuthorizer('bedrock', new AwsCredentials(() => `${aws.url}/sts/`));
    });
    afterEach(() => {
      names.forEach((name, i) => {
        if (kept[i] === undefined) delete process.env[name];
        else process.env[name] = kept[i];
      });
      rmSync(folder, { recursive: true });
    });

    it('takes the keys of its environment', async () => {
      process.env['AWS_ACCESS_KEY_ID'] = awsKeys.accessKeyId;
      process.env['AWS_SECRET_ACCESS_KEY'] = awsKeys.secretAccessKey;
      expect((await send(await authorized(stored))).status).to.equal(200);
    });

    it('takes the service account of its pod', async () => {
      const file = join(folder, 'token');
      writeFileSync(file, 'simulated-jwt\n');
      process.env['AWS_ROLE_ARN'] = `${role}-of-the-pod`;
      process.env['AWS_WEB_IDENTITY_TOKEN_FILE'] = file;
      expect((await send(await authorized(stored))).status).to.equal(200);
      expect(aws.requests.map(({ path }) => path)).to.deep.equal(['/sts/', '/sts/', '/model/m/converse']);
    });

    it('takes the keys of its container', async () => {
      const file = join(folder, 'token');
      writeFileSync(file, 'pod-token');
      const agent = createServer((request, response) => {
        const known = request.headers.authorization === 'pod-token';
        const { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey } = awsKeys;
        response.writeHead(known ? 200 : 403).end(JSON.stringify({ AccessKeyId, SecretAccessKey }));
      });
      await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
      process.env['AWS_CONTAINER_CREDENTIALS_FULL_URI'] =
        `http://127.0.0.1:${(agent.address() as AddressInfo).port}/v1/credentials`;
      process.env['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE'] = file;
      expect((await send(await authorized(stored))).status).to.equal(200);
      writeFileSync(file, 'wrong');
      authorizer = new AwsAuthorizer('bedrock', new AwsCredentials(() => `${aws.url}/sts/`));
      expect((await refusal(stored)).message).to.include('no AWS identity');
      agent.close();
    });
  });

  it('sends the external id, and passes on the reason of an STS refusal', async () => {
    const fields = { ...given, aws_role_arn: `${role}-guarded` };
    expect((await send(await authorized(fromTarget({ ...fields, aws_external_id: 'sim' })))).status).to.equal(
      200,
    );
    const error = await refusal(fromTarget({ ...fields, aws_external_id: 'other' }));
    expect(error.code).to.equal('upstream_invalid_response');
    expect(error.message)
      .to.include('AccessDenied')
      .and.include(role)
      .and.not.include(awsKeys.secretAccessKey);
  });

  it('never mixes stored credentials with those of a caller', async () => {
    const { aws_region: _, ...keys } = given;
    const stored = fromStore(keys, {
      aws_region: 'us-west-2',
      aws_role_arn: `${role}-of-mine`,
      aws_session_token: 'x',
    });
    const to = await authorized(stored);
    expect(asked).to.equal(0);
    expect(to.headers).to.not.include('x-amz-security-token');
    expect((await send(to)).status).to.equal(200);
  });

  it('does not lend a caller the identity of the gateway', async () => {
    const error = await refusal(fromTarget({ aws_region: 'us-east-1', aws_role_arn: role }));
    expect(error.param).to.equal('aws_role_arn');
    expect(asked).to.equal(0);
  });

  it('names the field that is missing or wrong', async () => {
    const { aws_secret_access_key: _, ...half } = given;
    expect((await refusal(fromTarget(half))).param).to.equal('aws_secret_access_key');
    expect((await refusal(fromTarget({ aws_region: 'us-east-1' }))).param).to.equal('aws_access_key_id');
    for (const region of ['', 'nowhere', 'us-east-1.example.com', 'us-east-1@x', 'us-east-1/..']) {
      expect((await refusal(fromTarget({ ...given, aws_region: region }))).param, region).to.equal(
        'aws_region',
      );
    }
  });

  describe('and the address of Bedrock', () => {
    const row = (model: string, streaming: boolean, fields: FieldValues) =>
      bedrock.forCall?.({ format: 'openai-chat', model, streaming, fields: fromTarget(fields) } as never);

    it('has the region in its host and the model, encoded, in its path', () => {
      const found = row('arn:aws:bedrock:eu-west-1:1:inference-profile/eu.amazon.nova-pro-v1:0', true, {});
      expect(found?.base).to.equal('https://bedrock-runtime.eu-west-1.amazonaws.com');
      expect(found?.paths['bedrock-converse']).to.equal(
        '/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Feu.amazon.nova-pro-v1%3A0/converse-stream',
      );
      const china = row('m', false, { aws_region: 'cn-north-1' });
      expect(china?.base).to.equal('https://bedrock-runtime.cn-north-1.amazonaws.com.cn');
      expect(china?.paths['bedrock-embeddings']).to.equal('/model/m/invoke');
    });

    it('is refused for a region that is none', () => {
      expect(() => row('m', false, { aws_region: 'evil.example.com#' })).to.throw('aws_region');
    });
  });
});
