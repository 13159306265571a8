import { expect } from 'chai';
import type { Ask, OwnRequest } from '../../src/data-plane/providers/auth/ask.js';
import { ownAwsKeys } from '../../src/data-plane/providers/auth/aws-own-identity.js';

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
});
