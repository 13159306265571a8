import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';
import { expect } from 'chai';
import fc from 'fast-check';
import { type AwsKeys, type AwsScope, signAws } from '../../src/common/http/aws-signature.js';
import { getHeader, type HeaderList } from '../../src/common/http/headers.js';
import '../support/random-cases.js';

const at = new Date('2026-11-23T10:11:12.345Z');
const keys: AwsKeys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret/+=', sessionToken: null };
const scope: AwsScope = { service: 'bedrock', region: 'us-east-1' };

function authorizationOf(
  url: string,
  given: Partial<AwsKeys> = {},
  more: HeaderList = [],
  body = '{}',
): string {
  const headers: HeaderList = ['content-type', 'application/json', ...more];
  signAws({ method: 'POST', url, headers, body: Buffer.from(body) }, { ...keys, ...given }, scope, at);
  return getHeader(headers, 'authorization') as string;
}

/** The same by the library of AWS's own SDK. */
async function ofLibrary(
  url: string,
  given: Partial<AwsKeys>,
  more: HeaderList,
  body: string,
): Promise<string> {
  class Sha256 {
    readonly #hash: Hash | Hmac;
    constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
      this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret as Buffer);
    }
    update(data: Uint8Array): void {
      this.#hash.update(data);
    }
    async digest(): Promise<Uint8Array> {
      return this.#hash.digest();
    }
    reset(): void {}
  }
  const { accessKeyId, secretAccessKey, sessionToken } = { ...keys, ...given };
  const { host, hostname, pathname, protocol, searchParams } = new URL(url);
  const query: Record<string, string[]> = {};
  for (const name of new Set(searchParams.keys())) query[name] = searchParams.getAll(name);
  const headers: Record<string, string> = { host, 'content-type': 'application/json' };
  for (let i = 0; i < more.length; i += 2) headers[more[i] as string] = more[i + 1] as string;
  const credentials = { accessKeyId, secretAccessKey, ...(sessionToken !== null && { sessionToken }) };
  const signed = await new SignatureV4({ ...scope, sha256: Sha256, credentials }).sign(
    { method: 'POST', protocol, hostname, path: pathname, query, headers, body: Buffer.from(body) },
    { signingDate: at },
  );
  return signed.headers['authorization'] as string;
}

describe('the signature of calls to AWS', () => {
  it("is that of AWS's own library, whatever is in path, query, headers and body", async () => {
    const text = fc.string({ unit: 'binary-ascii', maxLength: 12 });
    const cases = fc.record({
      path: fc.array(text, { maxLength: 4 }),
      query: fc.array(fc.tuple(text, text), { maxLength: 3 }),
      token: fc.option(fc.base64String({ maxLength: 12 }), { nil: null }),
      target: fc.option(fc.string({ unit: fc.constantFrom('a', 'b', '.', ' '), minLength: 1 }), {
        nil: null,
      }),
      body: fc.string(),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ path, query, token, target, body }) => {
        const search = new URLSearchParams(query).toString();
        const url = `https://bedrock.test:8443/${path.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`;
        const given = { sessionToken: token === '' ? null : token };
        const more = target === null ? [] : ['x-amz-target', target];
        expect(authorizationOf(url, given, more, body)).to.equal(await ofLibrary(url, given, more, body));
      }),
      { numRuns: 300 },
    );
  });

  it('is another for each secret, however many there are', () => {
    const url = 'https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse';
    const secrets = Array.from({ length: 500 }, (_, i) => ({ secretAccessKey: `secret-${i}` }));
    const first = secrets.map((secret) => authorizationOf(url, secret));
    expect(new Set(first).size).to.equal(500);
    expect(secrets.map((secret) => authorizationOf(url, secret))).to.deep.equal(first);
  });
});
