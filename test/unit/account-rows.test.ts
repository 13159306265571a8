import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { OwnIdentities } from '../../src/common/access/own-identity.js';
import { Secret } from '../../src/common/access/secret.js';
import type { Format } from '../../src/common/core/endpoint.js';
import type { UpstreamCall } from '../../src/common/core/exchange.js';
import type { Target } from '../../src/common/core/target.js';
import { getHeader } from '../../src/common/http/headers.js';
import type { FieldValues } from '../../src/common/vocabulary/provider-fields.js';
import { OciAuthorizer } from '../../src/data-plane/providers/auth/oci.js';
import { CallFields } from '../../src/data-plane/providers/call-fields.js';
import { providers } from '../../src/data-plane/providers/rows.js';

interface Over {
  readonly format?: Format;
  readonly hasBase?: boolean;
  readonly stored?: FieldValues;
}

const rowFor = (
  name: string,
  said: FieldValues,
  { format = 'openai-chat', hasBase = false, stored }: Over = {},
) =>
  providers.get(name)?.forCall?.({
    format,
    model: 'm',
    streaming: false,
    fields: new CallFields(stored ?? null, said),
    hasBase,
  });

describe('Rows at an address for each account', () => {
  it('workers-ai goes to the account, and to its models’ own addresses where it is passed through', () => {
    const account = { workers_ai_account_id: '023e105f4ecef8ad9ca31a8372d0c353' };
    const ai = 'https://api.cloudflare.com/client/v4/accounts/023e105f4ecef8ad9ca31a8372d0c353/ai';
    expect(rowFor('workers-ai', account)?.base).to.equal(`${ai}/v1`);
    expect(rowFor('workers-ai', account, { format: 'none' })?.base).to.equal(ai);
    expect(() => rowFor('workers-ai', {})).to.throw('workers_ai_account_id is missing');
    expect(() => rowFor('workers-ai', { workers_ai_account_id: '../x' })).to.throw(
      'workers_ai_account_id must',
    );
    expect(
      () => rowFor('workers-ai', account, { stored: {} }),
      'a caller’s account with a stored token',
    ).to.throw('workers_ai_account_id is missing');
    expect(rowFor('workers-ai', {}, { hasBase: true })?.base).to.include('.invalid/');
  });

  it('oracle goes to its region, by its current address or that of a version', () => {
    const at = 'https://inference.generativeai.eu-frankfurt-1.oci.oraclecloud.com';
    const region = { oracle_region: 'eu-frankfurt-1' };
    expect(rowFor('oracle', region)?.base).to.equal(`${at}/openai/v1`);
    expect(rowFor('oracle', { ...region, oracle_version: '20231130' })?.base).to.equal(
      `${at}/20231130/actions/v1`,
    );
    for (const [bad, message] of [
      [{}, 'oracle_region is missing'],
      [{ oracle_region: 'x.evil.example/' }, 'oracle_region must be'],
      [{ ...region, oracle_version: '../..' }, 'oracle_version must be'],
      [{ ...region, oracle_serving_mode: 'DEDICATED' }, 'oracle_serving_mode must be ON_DEMAND'],
      [{ ...region, oracle_compartment_id: 'a\r\nb: c' }, 'oracle_compartment_id must be'],
    ] as const)
      expect(() => rowFor('oracle', bad as FieldValues), JSON.stringify(bad)).to.throw(message);
  });

  it('sagemaker goes to its region, in China to the domain there, and refuses what no header can hold', () => {
    const none: Over = { format: 'none' };
    expect(rowFor('sagemaker', { aws_region: 'eu-west-1' }, none)?.base).to.equal(
      'https://runtime.sagemaker.eu-west-1.amazonaws.com',
    );
    expect(rowFor('sagemaker', { aws_region: 'cn-north-1' }, none)?.base).to.equal(
      'https://runtime.sagemaker.cn-north-1.amazonaws.com.cn',
    );
    expect(() => rowFor('sagemaker', {}, none)).to.throw('aws_region is missing');
    const bad = { aws_region: 'eu-west-1', amzn_sagemaker_session_id: 'a\nb' };
    expect(() => rowFor('sagemaker', bad, none)).to.throw('amzn_sagemaker_session_id must be');
  });
});

describe('The signature of Oracle', () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const good: FieldValues = {
    oracle_tenancy: 'ocid1.tenancy.oc1..t',
    oracle_user: 'ocid1.user.oc1..u',
    oracle_fingerprint: 'aa:bb',
    oracle_private_key: new Secret(pem),
  };
  const call = (method = 'POST'): UpstreamCall => ({
    target: {} as Target,
    provider: 'oracle',
    method,
    url: 'https://inference.example/openai/v1/responses?a=b',
    headers: [],
    body: method === 'GET' ? null : Buffer.from('{}'),
  });
  const authorize = async (fields: CallFields, to = call(), credential: Secret | null = null) => {
    await new OciAuthorizer().authorize({
      call: to,
      credential,
      fields,
      ask: () => Promise.reject(new Error('nothing is asked for')),
      tenant: { organisationId: 'o', workspaceId: 'w' },
      ownIdentities: new OwnIdentities([]),
    });
    return getHeader(to.headers, 'authorization');
  };

  it('covers no body where there is none', async () => {
    expect(await authorize(new CallFields(null, good), call('GET'))).to.include(
      'headers="date (request-target) host",',
    );
  });

  it('takes a key on one line, encrypted too', async () => {
    const oneLine = { ...good, oracle_private_key: new Secret(pem.replaceAll('\n', '\\n')) };
    expect(await authorize(new CallFields(null, oneLine))).to.match(/^Signature version="1",/);
    const cipher = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'open' } as const;
    const locked = { ...good, oracle_private_key: new Secret(privateKey.export(cipher).toString()) };
    const opened = { ...locked, oracle_key_passphrase: new Secret('open') };
    expect(await authorize(new CallFields(null, opened))).to.match(/^Signature version="1",/);
  });

  it('is refused for want of a part, or for a key of another kind, without a word of the key', async () => {
    const { privateKey: ec } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const other = new Secret(ec.export({ type: 'pkcs8', format: 'pem' }).toString());
    for (const [fields, message] of [
      [{ ...good, oracle_user: '' }, 'oracle_user is missing'],
      [
        { ...good, oracle_private_key: new Secret('canary') },
        'oracle_private_key must be a private key in PEM',
      ],
      [{ ...good, oracle_private_key: other }, 'oracle_private_key must be an RSA key'],
      [{ ...good, oracle_user: 'u"' }, 'oracle_tenancy and oracle_user must be OCIDs'],
      [{}, 'Oracle needs credentials'],
    ] as const) {
      const thrown = await authorize(new CallFields(null, fields as FieldValues)).then(
        () => null,
        (error: Error) => error,
      );
      expect(thrown?.message).to.include(message);
      expect(thrown?.message).to.not.include('canary');
    }
  });

  it('is not made with a caller’s fields where a stored provider takes part; its API key goes as a bearer', async () => {
    expect(await authorize(new CallFields({}, good), call(), new Secret('sk-oci'))).to.equal('Bearer sk-oci');
  });
});
