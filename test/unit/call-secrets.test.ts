// lane: heap
import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { GatewayError } from '../../src/common/core/errors.js';
import type { Exchange } from '../../src/common/core/exchange.js';
import type { Outgoing } from '../../src/data-plane/pipeline/outgoing/outgoing.js';
import { callSecrets, withoutSecrets } from '../../src/data-plane/pipeline/secrets/call-secrets.js';
import { StreamMask } from '../../src/data-plane/pipeline/secrets/secret-mask.js';
import { heapInUse } from '../support/heap.js';

interface Call {
  readonly credential?: string | null;
  /** Stored headers. */
  readonly stored?: readonly string[];
  readonly fields?: Readonly<Record<string, string | Secret>>;
  readonly given?: Readonly<Record<string, string | Secret>>;
  /** Headers of the call as it leaves. */
  readonly sent?: readonly string[];
  readonly auth?: object;
  readonly forwardHeaders?: readonly string[];
}

function outgoing({
  credential = null,
  stored = [],
  fields,
  given,
  sent,
  auth,
  forwardHeaders,
}: Call): Outgoing {
  return {
    address: {
      provider: { auth: auth ?? { kind: 'bearer' } },
      credential: credential === null ? null : new Secret(credential),
      headers: stored,
      fields: fields ?? null,
    },
    call: { headers: sent ?? [], target: { fields: given ?? {}, forwardHeaders: forwardHeaders ?? [] } },
  } as unknown as Outgoing;
}

const x = { get: () => null } as unknown as Exchange;
const stars = (text: string): string => '*'.repeat(Buffer.byteLength(text));
const masked = (text: string, call: Call, of: 'all' | 'errors' = 'all'): string =>
  callSecrets(outgoing(call), x, false)[of].bytes(Buffer.from(text)).toString();

describe('The secrets of a call, in its answer', () => {
  it('are the credential, under as many asterisks', () => {
    const key = 'sk-0123456789';
    expect(masked(`no ${key} “here” ${key}`, { credential: key })).to.equal(
      `no ${stars(key)} “here” ${stars(key)}`,
    );
  });

  it('are secret fields, stored or given with the call', () => {
    const call = {
      fields: { aws_secret_access_key: new Secret('stored/secret'), aws_region: 'eu-west-1' },
      given: { azure_ad_token: new Secret('given-token') },
    };
    expect(masked('stored/secret given-token eu-west-1', call)).to.equal(
      `${stars('stored/secret')} ${stars('given-token')} eu-west-1`,
    );
  });

  it('are stored headers whose name or value looks like one, and in errors all of them', () => {
    const stored = ['x-key', 'open sesame', 'x-tag', 'a1b2c3d4e5f6g7h8', 'x-stage', 'production'];
    const text = 'open sesame a1b2c3d4e5f6g7h8 production';
    expect(masked(text, { stored })).to.equal(`${'*'.repeat(11)} ${'*'.repeat(16)} production`);
    expect(masked(text, { stored }, 'errors')).to.equal(`${'*'.repeat(11)} ${'*'.repeat(16)} **********`);
  });

  it('are tokens and signatures that were got for the call, and credentials that it forwards', () => {
    const perCall = { auth: { kind: 'per-call' } };
    const token = 'ya29.token-0123';
    expect(masked(`bad ${token}`, { ...perCall, sent: ['authorization', `Bearer ${token}`] })).to.equal(
      `bad ${stars(token)}`,
    );
    const signature = 'f'.repeat(64);
    const value = `AWS4-HMAC-SHA256 Credential=AKIA/1, SignedHeaders=host, Signature=${signature}`;
    const signed = { ...perCall, sent: ['authorization', value, 'x-amz-security-token', 'session+token=='] };
    expect(masked(`${value} ${signature} session+token== session%2Btoken%3D%3D`, signed)).to.not.match(
      /ffff|session/,
    );
    const forwarded = { forwardHeaders: ['x-api-key'], sent: ['x-api-key', 'callers-own-key'] };
    expect(masked('no callers-own-key', forwarded)).to.equal(`no ${stars('callers-own-key')}`);
  });

  it('are user and password of a Basic credential, encoded or not', () => {
    const basic = Buffer.from('robot:pass word 1').toString('base64');
    const call = { stored: ['authorization', `Basic ${basic}`] };
    expect(masked(`Basic ${basic}, robot:pass word 1, pass word 1`, call)).to.equal(
      `Basic ${stars(basic)}, robot:${stars('pass word 1')}, ${stars('pass word 1')}`,
    );
  });

  it('are the private key of a key file', () => {
    const key = `-----BEGIN PRIVATE KEY-----\n${'MIIE'.repeat(20)}\n-----END PRIVATE KEY-----\n`;
    const json = JSON.stringify({ client_email: 'a@b', private_key: key, token_uri: 'https://example.com' });
    const said = JSON.stringify({ error: `cannot read ${key}` });
    expect(masked(said, { fields: { vertex_service_account_json: new Secret(json) } })).to.not.include(
      'MIIE',
    );
    expect(masked(said, { credential: json })).to.not.include('MIIE');
  });

  it('are found as JSON, URLs, forms and HTML write them', () => {
    const secret = 'a/b+c=<"d"> é\'&0';
    const call = { credential: secret };
    const json = JSON.stringify(secret).slice(1, -1);
    for (const form of [
      secret,
      json,
      json.replaceAll('/', '\\/'),
      encodeURIComponent(secret),
      encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase()),
      new URLSearchParams({ a: secret }).toString().slice(2),
      'a/b+c=&lt;&quot;d&quot;&gt; é&#39;&amp;0',
      'a/b\\u002bc=\\u003c\\"d\\"\\u003e \\u00e9\\u0027\\u00260',
    ]) {
      expect(masked(`x ${form} y`, call), form).to.equal(`x ${stars(form)} y`);
    }
    const { all } = callSecrets(outgoing(call), x, false);
    const latin1 = Buffer.from(secret, 'latin1');
    expect(all.bytes(latin1).toString('latin1')).to.equal('*'.repeat(secret.length));
  });

  it('of fewer than eight characters are not searched for', () => {
    const call = { credential: 'sk-1234', stored: ['x-key', 'abc'] };
    expect(callSecrets(outgoing(call), x, false).errors.isEmpty).to.equal(true);
  });

  it('are a client’s own key, whichever object of its call holds it', () => {
    const masks = [0, 1].map(() => {
      const call = outgoing({ credential: 'sk-clients-own' });
      const own = { get: () => call.address.credential } as unknown as Exchange;
      return callSecrets(call, own, false);
    });
    expect(masks[0]).to.equal(masks[1]);
    expect(masks[0]!.all.text('no sk-clients-own')).to.equal(`no ${stars('sk-clients-own')}`);
  });

  it('are prepared once for a stored credential', () => {
    const call = outgoing({ credential: 'sk-0123456789', stored: ['x-key', 'team-secret'] });
    const again = { ...call, address: { ...call.address } };
    expect(callSecrets(again, x, false)).to.equal(callSecrets(call, x, false));
    const other = { ...call, address: { ...call.address, headers: ['x-key', 'other-secret'] } };
    expect(callSecrets(other, x, false)).to.not.equal(callSecrets(call, x, false));
  });

  it('are taken out of error messages, with the cause that may quote them', () => {
    const { errors } = callSecrets(outgoing({ credential: 'sk-0123456789' }), x, false);
    const error = new GatewayError('upstream_stream_error', 'no sk-0123456789', {
      cause: new Error('sk-0123456789'),
      retryAfterMs: 5,
    });
    const clean = withoutSecrets(error, errors);
    expect(clean).to.include({ code: 'upstream_stream_error', retryAfterMs: 5 });
    expect(clean.message).to.equal(`no ${stars('sk-0123456789')}`);
    expect(clean.cause).to.equal(undefined);
    const plain = new GatewayError('upstream_tls', 'no connection', { cause: error });
    expect(withoutSecrets(plain, errors)).to.equal(plain);
  });

  it('are found whole where another of them is a part of one', () => {
    const key = 'sk-tenant-01-0123456789';
    const call = { credential: key, stored: ['x-tenant-token', 'tenant-01'] };
    expect(masked(`${key} tenant-01`, call)).to.equal(`${stars(key)} ${stars('tenant-01')}`);
    const sent = {
      ...call,
      credential: null,
      forwardHeaders: ['cookie'],
      sent: ['cookie', 'tenant-01=abcdefghi'],
    };
    expect(masked('tenant-01=abcdefghi', sent)).to.equal(stars('tenant-01=abcdefghi'));
  });

  it('are not the values of headers that are public', () => {
    const beta = 'prompt-caching-2024-07-31';
    const call = { stored: ['anthropic-beta', beta] };
    expect(masked(`the header is ${beta}`, call)).to.equal(`the header is ${beta}`);
    expect(masked(beta, call, 'errors')).to.equal(stars(beta));
  });

  it('have no line breaks around them, at which streams would wait', () => {
    const call = { fields: { oracle_private_key: new Secret('\n-----BEGIN KEY-----\nabc\n') } };
    const stream = new StreamMask(callSecrets(outgoing(call), x, false).all);
    expect(stream.push(Buffer.from('data: {}\n\n'))?.toString()).to.equal('data: {}\n\n');
  });

  it('take bounded memory, however many configs bring a key of their own', function () {
    this.timeout(30_000);
    const before = heapInUse();
    // As the configs that are kept keep theirs.
    const kept: Outgoing[] = [];
    const answer = Buffer.alloc(8_000, 'x');
    for (let i = 0; i < 300; i++) {
      const call = outgoing({
        credential: `${i}${'é/"+'.repeat(250)}`,
        forwardHeaders: ['cookie'],
        sent: ['cookie', `${i}${'+/'.repeat(2_000)}`],
      });
      kept.push(call);
      callSecrets(call, x, false).all.bytes(answer);
    }
    expect((heapInUse() - before) / 2 ** 20).to.be.below(64);
    expect(kept).to.have.length(300);
  });
});
