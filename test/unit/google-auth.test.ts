import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { OwnIdentities } from '../../src/common/access/own-identity.js';
import { Secret } from '../../src/common/access/secret.js';
import { GatewayError } from '../../src/common/core/errors.js';
import type { UpstreamCall } from '../../src/common/core/exchange.js';
import { getHeader } from '../../src/common/http/headers.js';
import type { Ask, OwnRequest } from '../../src/data-plane/providers/auth/ask.js';
import type { Unauthorized } from '../../src/data-plane/providers/auth/authorizer.js';
import { GoogleAuthorizer, type GoogleTokens } from '../../src/data-plane/providers/auth/google.js';
import { TokenCache, tokenKey } from '../../src/data-plane/providers/auth/token-cache.js';
import { CallFields } from '../../src/data-plane/providers/call-fields.js';

const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});
const account = {
  type: 'service_account',
  project_id: 'a-project',
  private_key_id: 'k1',
  private_key: privateKey,
  client_email: 'robot@a-project.iam.gserviceaccount.com',
  // Not used: whoever stores a key does not choose where it goes.
  token_uri: 'https://evil.example/token',
};
const key = JSON.stringify(account);

type Given = Readonly<Record<string, string | Secret>>;

function callWith(ask: Ask, target: Given, stored: Given | null = null, credential: string | null = null) {
  const call = {
    headers: [],
    url: 'https://us-central1-aiplatform.googleapis.com/v1/x',
  } as unknown as UpstreamCall;
  const given: Unauthorized = {
    call,
    credential: credential === null ? null : new Secret(credential),
    fields: new CallFields(stored, target),
    ask,
    tenant: { organisationId: 'o', workspaceId: 'w' },
    ownIdentities: new OwnIdentities(['google:w']),
  };
  return { call, given };
}

const unasked: Ask = () => Promise.reject(new Error('nobody was to be asked'));

const authorization = (call: UpstreamCall): string | undefined => getHeader(call.headers, 'authorization');

describe('Google’s tokens', () => {
  /** What a token endpoint gives, and what it was asked. */
  function endpoint(answer: (n: number) => { status: number; body: unknown }): {
    ask: Ask;
    asked: OwnRequest[];
  } {
    const asked: OwnRequest[] = [];
    const ask: Ask = async (question) => {
      asked.push(question);
      const { status, body } = answer(asked.length);
      const headers = ['content-type', 'application/json'];
      return { status, headers, body: Buffer.from(JSON.stringify(body)) };
    };
    return { ask, asked };
  }

  it('are got for a service account by a signed assertion, from Google alone', async () => {
    const { ask, asked } = endpoint(() => ({
      status: 200,
      body: { access_token: 'ya29.a', expires_in: 3600 },
    }));
    const { call, given } = callWith(ask, { vertex_service_account_json: new Secret(key) });
    await new GoogleAuthorizer().authorize(given);
    expect(authorization(call)).to.equal('Bearer ya29.a');
    expect(asked).to.have.length(1);
    expect(asked[0]?.url).to.equal('https://oauth2.googleapis.com/token');
    const form = new URLSearchParams(asked[0]?.body?.toString());
    const [head = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.');
    const signed = Buffer.from(`${head}.${claims}`);
    expect(
      verify('sha256', signed, createPublicKey(publicKey), Buffer.from(signature, 'base64url')),
    ).to.equal(true);
    const { iss, scope, aud } = JSON.parse(Buffer.from(claims, 'base64url').toString());
    expect(iss).to.equal(account.client_email);
    expect(scope).to.equal('https://www.googleapis.com/auth/cloud-platform');
    expect(aud).to.equal('https://oauth2.googleapis.com/token');
  });

  it('are got once, however many calls wait, and kept', async () => {
    const { ask, asked } = endpoint((n) => ({
      status: 200,
      body: { access_token: `ya29.${n}`, expires_in: 3600 },
    }));
    const authorizer = new GoogleAuthorizer();
    const calls = Array.from({ length: 50 }, () => callWith(ask, { vertex_service_account_json: key }));
    await Promise.all(calls.map(({ given }) => authorizer.authorize(given)));
    expect(new Set(calls.map(({ call }) => authorization(call)))).to.deep.equal(new Set(['Bearer ya29.1']));
    const later = callWith(ask, { vertex_service_account_json: key });
    expect(authorizer.authorize(later.given), 'no promise for a token at hand').to.equal(undefined);
    expect(authorization(later.call)).to.equal('Bearer ya29.1');
    const other = callWith(ask, {
      vertex_service_account_json: JSON.stringify({ ...account, private_key_id: '2' }),
    });
    await authorizer.authorize(other.given);
    expect(authorization(other.call)).to.equal('Bearer ya29.2');
    expect(asked).to.have.length(2);
  });

  it('fail for all that wait, with Google’s reason and without the key, and are asked for again after', async () => {
    const { ask, asked } = endpoint((n) =>
      n === 1
        ? { status: 400, body: { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' } }
        : { status: 200, body: { access_token: 'ya29.b', expires_in: 3600 } },
    );
    const authorizer = new GoogleAuthorizer();
    const calls = Array.from({ length: 3 }, () => callWith(ask, { vertex_service_account_json: key }));
    const ends = await Promise.allSettled(calls.map(({ given }) => authorizer.authorize(given)));
    for (const end of ends) {
      const error = (end as PromiseRejectedResult).reason as GatewayError;
      expect(error).to.be.instanceOf(GatewayError);
      expect(error.code).to.equal('upstream_invalid_response');
      expect(error.message).to.match(/invalid_grant|Invalid JWT Signature/);
      expect(error.message).to.not.include('PRIVATE KEY');
    }
    expect(asked).to.have.length(1);
    await authorizer.authorize(calls[0]!.given);
    expect(authorization(calls[0]!.call)).to.equal('Bearer ya29.b');
  });

  it('pass a failed connection on as what it was', async () => {
    const ask: Ask = () => Promise.reject(new GatewayError('upstream_connect_failed', 'no way there'));
    const { given } = callWith(ask, { vertex_service_account_json: key });
    const error = await Promise.resolve(new GoogleAuthorizer().authorize(given)).catch(
      (thrown: unknown) => thrown,
    );
    expect((error as GatewayError).code).to.equal('upstream_connect_failed');
  });

  it('are not asked for with a file that names addresses or files to read', async () => {
    for (const text of [
      '{"type":"external_account","credential_source":{"file":"/etc/passwd"},"token_url":"https://evil.example"}',
      '{"type":"service_account","client_email":"a"}',
      JSON.stringify({ ...account, universe_domain: 'evil.example' }),
      '{',
    ]) {
      const { given } = callWith(unasked, { vertex_service_account_json: text });
      const error = await Promise.resolve()
        .then(() => new GoogleAuthorizer().authorize(given))
        .catch((thrown: unknown) => thrown);
      expect((error as GatewayError).param).to.equal('vertex_service_account_json');
    }
  });

  it('of the caller’s own go on as they are, API keys of express mode in their own header', () => {
    const token = callWith(unasked, {}, null, 'ya29.mine');
    new GoogleAuthorizer().authorize(token.given);
    expect(token.call.headers).to.deep.equal(['authorization', 'Bearer ya29.mine']);
    const express = callWith(unasked, {}, null, 'AIzaSyKey');
    new GoogleAuthorizer().authorize(express.given);
    expect(express.call.headers).to.deep.equal(['x-goog-api-key', 'AIzaSyKey']);
  });

  it('of the gateway’s own identity are a stored provider’s alone', async () => {
    let asked = 0;
    const tokens: GoogleTokens = {
      ofServiceAccount: () => Promise.reject(new Error('not this')),
      ofOwnIdentity: async () => ({ text: `own-${++asked}`, expiresAt: Date.now() + 3_600_000 }),
    };
    const authorizer = new GoogleAuthorizer(tokens);
    const mode = { vertex_auth_type: 'workloadIdentity' };
    expect(() => authorizer.authorize(callWith(unasked, mode).given)).to.throw(
      GatewayError,
      'stored provider',
    );
    expect(() => authorizer.authorize(callWith(unasked, mode, { vertex_auth_type: 'basic' }).given)).to.throw(
      GatewayError,
    );
    const { call, given } = callWith(unasked, {}, mode);
    await authorizer.authorize(given);
    await authorizer.authorize(given);
    expect(authorization(call)).to.equal('Bearer own-1');
    const refused = { ...given, ownIdentities: new OwnIdentities(['aws', 'google:another']) };
    expect(() => authorizer.authorize(refused))
      .to.throw(GatewayError)
      .that.includes({ code: 'own_identity_blocked', param: 'vertex_auth_type', status: 403 });
    for (const url of ['https://evil.example/v1', 'https://aiplatform.googleapis.com.evil.example/v1'])
      expect(() => authorizer.authorize({ ...given, call: { ...call, url } })).to.throw(
        'googleapis.com alone',
      );
  });

  describe('of the gateway’s own identity, by Google’s own library', () => {
    const names = [
      'GOOGLE_APPLICATION_CREDENTIALS',
      'GCE_METADATA_HOST',
      'METADATA_SERVER_DETECTION',
      'HOME',
    ] as const;
    const kept = names.map((name) => process.env[name]);
    let folder: string;
    let place: Server;
    let url: string;
    let asked: string[];

    before(async () => {
      // The metadata server of a machine and the token service of a federation, both.
      place = createServer(async (request, response) => {
        let body = '';
        for await (const chunk of request) body += chunk;
        asked.push(`${request.url?.split('?')[0]} ${body}`);
        response.setHeader('metadata-flavor', 'Google').setHeader('content-type', 'application/json');
        const text = body === '' ? 'of-this-machine' : 'of-this-federation';
        response.end(JSON.stringify({ access_token: text, expires_in: 3600, token_type: 'Bearer' }));
      });
      await new Promise<void>((listening) => place.listen(0, '127.0.0.1', listening));
      url = `127.0.0.1:${(place.address() as AddressInfo).port}`;
    });
    beforeEach(() => {
      asked = [];
      folder = mkdtempSync(join(tmpdir(), 'headgate-google-'));
      for (const name of names) delete process.env[name];
      process.env['HOME'] = folder;
    });
    afterEach(() => {
      names.forEach((name, i) => {
        if (kept[i] === undefined) delete process.env[name];
        else process.env[name] = kept[i];
      });
      rmSync(folder, { recursive: true });
    });
    after(() => place.close());

    async function token(): Promise<string | undefined> {
      const { call, given } = callWith(unasked, {}, { vertex_auth_type: 'workloadIdentity' });
      await new GoogleAuthorizer().authorize(given);
      return authorization(call);
    }

    it('come from the metadata server of its machine', async () => {
      process.env['GCE_METADATA_HOST'] = url;
      process.env['METADATA_SERVER_DETECTION'] = 'assume-present';
      expect(await token()).to.equal('Bearer of-this-machine');
      expect(asked).to.deep.equal(['/computeMetadata/v1/instance/service-accounts/default/token ']);
    });

    it('come from the federation that its environment names, without a look-up of the project', async () => {
      writeFileSync(join(folder, 'token'), 'pod-token');
      const file = join(folder, 'federation.json');
      const federation = {
        type: 'external_account',
        audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/k',
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        token_url: `http://${url}/v1/token`,
        credential_source: { file: join(folder, 'token') },
      };
      writeFileSync(file, JSON.stringify(federation));
      process.env['GOOGLE_APPLICATION_CREDENTIALS'] = file;
      expect(await token()).to.equal('Bearer of-this-federation');
      expect(asked).to.have.length(1);
      expect(asked[0]).to.include('/v1/token ').and.include('pod-token');
    });

    it('are reported as missing where there is no such identity', async () => {
      process.env['METADATA_SERVER_DETECTION'] = 'none';
      const error = await token().catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(GatewayError);
      expect((error as GatewayError).message).to.include('no Google identity of its own');
    });
  });
});

describe('Kept tokens', () => {
  it('are not used in their last minute', async () => {
    let now = 0;
    let made = 0;
    const cache = new TokenCache(() => now);
    const get = () => cache.get('k', async () => ({ n: ++made, expiresAt: now + 600_000 }));
    expect(await get()).to.include({ n: 1 });
    now = 539_000;
    expect(await get()).to.include({ n: 1 });
    now = 541_000;
    expect(await get()).to.include({ n: 2 });
  });

  it('are identified by keys that do not contain their secrets', () => {
    expect(tokenKey('a', 'b')).to.not.equal(tokenKey('ab', ''));
    expect(tokenKey('a', null)).to.not.equal(tokenKey('a', 'null'));
    expect(tokenKey('secret')).to.not.include('secret');
  });
});
