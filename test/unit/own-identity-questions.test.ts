import { expect } from 'chai';
import { OwnIdentities } from '../../src/common/access/own-identity.js';
import type { Ask, OwnRequest } from '../../src/data-plane/providers/auth/ask.js';
import { ownAwsKeys } from '../../src/data-plane/providers/auth/aws-own-identity.js';
import { entraAuth } from '../../src/data-plane/providers/auth/entra.js';

/** Questions to a metadata service go where no other request may: each has to say that it is the gateway's own. */
describe('What the gateway asks a metadata service about its own identity', () => {
  const asked: OwnRequest[] = [];
  const answering =
    (answer: (url: URL) => string): Ask =>
    async (question) => {
      asked.push(question);
      return {
        status: 200,
        headers: ['content-type', 'application/json'],
        body: Buffer.from(answer(new URL(question.url))),
      };
    };
  const before: Record<string, string | undefined> = {};
  const cleared = [
    'AWS_ACCESS_KEY_ID',
    'AWS_ROLE_ARN',
    'AWS_CONTAINER_CREDENTIALS_FULL_URI',
    'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
    'IDENTITY_ENDPOINT',
    'MSI_ENDPOINT',
  ];

  beforeEach(() => {
    asked.length = 0;
    for (const name of cleared) {
      before[name] = process.env[name];
      delete process.env[name];
    }
  });
  afterEach(() => {
    for (const name of cleared) {
      delete process.env[name];
      if (before[name] !== undefined) process.env[name] = before[name];
    }
  });

  it('on an instance of AWS is marked as its own', async () => {
    const keys = JSON.stringify({ AccessKeyId: 'AKIA', SecretAccessKey: 's', Token: 't' });
    const ask = answering(({ pathname }) =>
      pathname.endsWith('/token') ? 'session' : pathname.endsWith('/role') ? keys : 'role\n',
    );
    expect(await ownAwsKeys('eu-west-1', ask, () => '')).to.include({ accessKeyId: 'AKIA' });
    expect(asked.map(({ url }) => new URL(url).hostname)).to.deep.equal(Array(3).fill('169.254.169.254'));
    expect(asked.every(({ ownIdentity }) => ownIdentity === true)).to.equal(true);
  });

  it('in a task of AWS is marked as its own', async () => {
    process.env['AWS_CONTAINER_CREDENTIALS_RELATIVE_URI'] = '/v2/x';
    const ask = answering(() => JSON.stringify({ AccessKeyId: 'AKIA', SecretAccessKey: 's' }));
    await ownAwsKeys('eu-west-1', ask, () => '');
    expect(asked).to.have.length(1);
    expect(asked[0]).to.include({ url: 'http://169.254.170.2/v2/x', ownIdentity: true });
  });

  it('on a machine of Azure is marked as its own, with the header Metadata', async function () {
    this.timeout(20_000);
    // As the tests of Azure expect it: Microsoft's library keeps its first client and its tokens for the whole process.
    const text = 'of-this-machine';
    const ask = answering(() =>
      JSON.stringify({ access_token: text, expires_in: '3600', token_type: 'Bearer', resource: 'r' }),
    );
    const stored: Record<string, string> = { azure_auth_mode: 'managed' };
    const auth = entraAuth((name) => stored[name] ?? null, { kind: 'bearer' });
    if (auth.kind !== 'per-call') throw new Error(auth.kind);
    const headers: string[] = [];
    await auth.authorizer.authorize({
      call: {
        target: null as never,
        provider: 'azure-openai',
        method: 'POST',
        url: 'https://x.openai.azure.com/',
        headers,
        body: null,
      },
      credential: null,
      fields: {
        get: (name: string) => stored[name] ?? null,
        stored: (name: string) => stored[name] ?? null,
      } as never,
      ask,
      tenant: { organisationId: 'o', workspaceId: 'w' },
      ownIdentities: new OwnIdentities(['azure']),
    });
    expect(headers).to.deep.equal(['authorization', `Bearer ${text}`]);
    const last = asked.at(-1)!;
    expect(new URL(last.url).hostname).to.equal('169.254.169.254');
    expect(last.headers[last.headers.indexOf('metadata') + 1]).to.equal('true');
    expect(asked.every(({ ownIdentity }) => ownIdentity === true)).to.equal(true);
  });
});
