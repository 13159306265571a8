import { createHmac, randomUUID, type webcrypto } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { CompactSign, exportSPKI } from 'jose';
import { type IssuerKey, nowS, signToken } from './token-issuer.js';

export interface ForgerTools {
  /** In the organisation's key set, and allowed. */
  readonly key: IssuerKey;
  /** In the set, of an algorithm that the organisation has not allowed. */
  readonly ofOtherAlgorithm: readonly IssuerKey[];
  /** In no set. */
  readonly stranger: IssuerKey;
  /** Claims of a token that is accepted. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** A server of the forger's, which has the stranger's key. */
  readonly jku: string;
}

const encoded = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** Every byte as given: `head` and `claims` may be no JSON. */
async function signedBytes(key: IssuerKey, head: string, claims: string | Buffer): Promise<string> {
  const first = Buffer.from(head).toString('base64url');
  const second = Buffer.from(claims).toString('base64url');
  const { privateKey } = key.pair;
  const input = Buffer.from(`${first}.${second}`);
  const signature = await crypto.subtle.sign('RSASSA-PKCS1-v1_5', privateKey as webcrypto.CryptoKey, input);
  return `${first}.${second}.${Buffer.from(signature).toString('base64url')}`;
}

function hmacToken(secret: string | Buffer, kid: unknown, claims: object): string {
  const input = `${encoded({ alg: 'HS256', typ: 'JWT', kid })}.${encoded(claims)}`;
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
}

const replaced = (text: string, at: number): string => {
  const other = text[at] === 'A' ? 'B' : 'A';
  return text.slice(0, at) + other + text.slice(at + 1);
};

/** Tokens that no gateway may take, by what is wrong with each. */
export async function forgedTokens(tools: ForgerTools): Promise<readonly (readonly [string, string])[]> {
  const { key, ofOtherAlgorithm, stranger, jku } = tools;
  const times = { iat: nowS(), exp: nowS() + 3600 };
  const claims: Readonly<Record<string, unknown>> = { ...times, ...tools.claims };
  const sign = (more: object = {}, head: object = {}): Promise<string> =>
    signToken(key, { ...tools.claims, ...more }, head as Record<string, unknown>);
  const byStranger = (head: object = {}): Promise<string> =>
    signToken(stranger, tools.claims, { kid: key.kid, ...head });
  const good = await sign();
  const [head = '', payload = '', signature = ''] = good.split('.');
  const headOf = (more: object): string =>
    encoded(JSON.parse(JSON.stringify({ alg: 'RS256', typ: 'JWT', kid: key.kid, ...more })));
  const sameKey = async (alg: string): Promise<string> => {
    const { importJWK, exportJWK } = await import('jose');
    const jwk = await exportJWK(key.pair.privateKey);
    const privateKey = await importJWK({ ...jwk, alg }, alg);
    const text = Buffer.from(JSON.stringify(claims));
    return new CompactSign(text).setProtectedHeader({ alg, kid: key.kid }).sign(privateKey);
  };
  const spki = await exportSPKI(key.pair.publicKey);
  const raw = JSON.stringify({ alg: 'RS256', kid: key.kid });
  const json = JSON.stringify(claims);

  const list: [string, string | Promise<string>][] = [
    ['alg none without a signature', `${headOf({ alg: 'none' })}.${payload}.`],
    ['alg none with a signature', `${headOf({ alg: 'none' })}.${payload}.${signature}`],
    ['alg None', `${headOf({ alg: 'None' })}.${payload}.${signature}`],
    ['alg nOnE', `${headOf({ alg: 'nOnE' })}.${payload}.AA`],
    ['alg empty', `${headOf({ alg: '' })}.${payload}.${signature}`],
    ['alg missing', `${headOf({ alg: undefined })}.${payload}.${signature}`],
    ['alg in lower case', signedBytes(key, JSON.stringify({ alg: 'rs256', kid: key.kid }), json)],
    ['alg as a list', signedBytes(key, JSON.stringify({ alg: ['RS256'], kid: key.kid }), json)],
    ['HMAC with the public key as PEM', hmacToken(spki, key.kid, claims)],
    ['HMAC with the PEM without its last line break', hmacToken(spki.trim(), key.kid, claims)],
    ['HMAC with the public key as JWK', hmacToken(JSON.stringify(key.jwk), key.kid, claims)],
    ['HMAC with the modulus', hmacToken(Buffer.from(key.jwk.n ?? '', 'base64url'), key.kid, claims)],
    ['HMAC with an empty secret', hmacToken('', key.kid, claims)],
    ['HMAC with a kid that names a file', hmacToken('', '../../../../dev/null', claims)],
    ['RS384 by the same key', sameKey('RS384')],
    ['RS512 by the same key', sameKey('RS512')],
    ['PS256 by the same key', sameKey('PS256')],
    ...ofOtherAlgorithm.map((other): [string, Promise<string>] => [
      `${other.alg}, which is not allowed`,
      signToken(other, tools.claims),
    ]),
    ['another key under the same kid', byStranger()],
    ['another key under its own kid', signToken(stranger, tools.claims)],
    ['a kid that is a query', byStranger({ kid: "x' UNION SELECT 'key" })],
    ['no kid', sign({}, { kid: undefined })],
    ['an empty kid', sign({}, { kid: '' })],
    ['a kid of null', sign({}, { kid: null })],
    ['a kid that is a number', sign({}, { kid: 1 })],
    ['a kid of 600 characters', sign({}, { kid: 'k'.repeat(600) })],
    ['its own key in jwk', byStranger({ jwk: stranger.jwk })],
    ['its own key set in jku', byStranger({ jku })],
    ['its own key set in jku, under its own kid', byStranger({ jku, kid: stranger.kid })],
    ['its own certificate in x5u', byStranger({ x5u: jku })],
    ['its own certificate in x5c', byStranger({ x5c: ['MIIB'] })],
    ['an extension in crit', signedBytes(key, `{"alg":"RS256","kid":"${key.kid}","crit":["x"],"x":1}`, json)],
    ['an empty crit', signedBytes(key, `{"alg":"RS256","kid":"${key.kid}","crit":[]}`, json)],
    ['unencoded claims (b64)', signedBytes(key, `{"alg":"RS256","kid":"${key.kid}","b64":false}`, json)],
    [
      'compression (zip)',
      signedBytes(key, `{"alg":"RS256","kid":"${key.kid}","zip":"DEF"}`, deflateRawSync(json)),
    ],
    ['a token of a logout', sign({}, { typ: 'logout+jwt' })],
    ['a type that is no text', sign({}, { typ: 1 })],
    ['no exp', sign({ exp: undefined })],
    ['exp of null', sign({ exp: null })],
    ['exp as a text', sign({ exp: String(times.exp) })],
    ['exp a second ago', sign({ exp: nowS() - 1 })],
    ['exp a year ago', sign({ iat: 1, exp: nowS() - 31_536_000 })],
    ['exp negative', sign({ exp: -1 })],
    ['exp of 1e20', sign({ exp: 1e20 })],
    ['exp in milliseconds', sign({ exp: Date.now() * 1000 })],
    ['nbf in the future', sign({ nbf: nowS() + 60 })],
    ['nbf as a text', sign({ nbf: '0' })],
    ['iat in the future', sign({ iat: nowS() + 60 })],
    ['iat as a text', sign({ iat: 'now' })],
    ['another issuer', sign({ iss: 'https://id.evil.example' })],
    ['an issuer that only begins alike', sign({ iss: `${String(claims['iss'])}.evil.example` })],
    ['no issuer', sign({ iss: undefined })],
    ['another audience', sign({ aud: 'someone-else' })],
    ['an audience inside of a text', sign({ aud: `not-${String(claims['aud'])}` })],
    ['no audience', sign({ aud: undefined })],
    ['no organisation', sign({ gateway_oid: undefined })],
    ['another organisation', sign({ gateway_oid: randomUUID() })],
    ['two organisations', sign({ organisation_id: randomUUID() })],
    ['a list of organisations', sign({ gateway_oid: [claims['gateway_oid']] })],
    ['a long organisation', sign({ gateway_oid: 'a'.repeat(200) })],
    ['no workspace', sign({ gateway_workspace: undefined })],
    ['two workspaces', sign({ workspace_slug: 'another' })],
    ['a user with a line break', sign({ sub: 'alice\nadmin' })],
    ['a user that is an object', sign({ sub: { name: 'alice' } })],
    ['scopes that are a number', sign({ scopes: 5 })],
    ['a rate limit without a unit', sign({ rate_limits: [{ type: 'requests', value: 5 }] })],
    ['a budget below zero', sign({ usage_limits: { type: 'cost', credit_limit: -1 } })],
    ['defaults that are a text', sign({ defaults: 'config' })],
    ['claims changed after signing', `${head}.${encoded({ ...claims, sub: 'root' })}.${signature}`],
    ['a head changed after signing', `${headOf({ typ: 'at+jwt' })}.${payload}.${signature}`],
    [
      'the signature of another token',
      sign({ sub: 'bob' }).then((other) => `${head}.${payload}.${other.split('.')[2]}`),
    ],
    ['the first bit of the signature changed', `${head}.${payload}.${replaced(signature, 0)}`],
    ['the last character of the signature changed', replaced(good, good.length - 1)],
    ['half a signature', `${head}.${payload}.${signature.slice(0, signature.length / 2)}`],
    ['no signature', `${head}.${payload}.`],
    ['two parts', `${head}.${payload}`],
    ['four parts', `${good}.${signature}`],
    ['five parts, as encrypted tokens have', `${head}.${payload}.${signature}.AA.AA`],
    [
      'an encrypted token with a costly password',
      `${encoded({ alg: 'PBES2-HS512+A256KW', enc: 'A256GCM', p2c: 1e9, p2s: 'AA' })}.AA.AA.AA.AA`,
    ],
    ['padding', `${good}=`],
    ['a space inside', `${head}. ${payload}.${signature}`],
    ['characters of plain base64', `${head}.${payload}.${signature.slice(0, -2)}+/`],
    ['alg twice', signedBytes(key, `{"alg":"none","alg":"RS256","kid":"${key.kid}"}`, json)],
    ['an organisation twice', signedBytes(key, raw, `{"gateway_oid":"x",${json.slice(1)}`)],
    ['a claim twice, once escaped', signedBytes(key, raw, `{"s\\u0075b":"root",${json.slice(1)}`)],
    ['claims that are a list', signedBytes(key, raw, `[${json}]`)],
    ['claims that are no JSON', signedBytes(key, raw, json.slice(0, -1))],
    [
      'claims that are not UTF-8',
      signedBytes(
        key,
        raw,
        Buffer.concat([Buffer.from(`${json.slice(0, -1)},"x":"`), Buffer.from([0xff, 0x22, 0x7d])]),
      ),
    ],
    ['claims behind a byte order mark', signedBytes(key, raw, `\uFEFF${json}`)],
    ['another token as its claims', signedBytes(key, `{"alg":"RS256","kid":"${key.kid}","cty":"JWT"}`, good)],
    ['more than 16 KiB', sign({ more: 'x'.repeat(16_384) })],
    ['the same first 200 characters', `${good.slice(0, 200)}${'A'.repeat(good.length - 200)}`],
  ];
  return Promise.all(list.map(async ([name, text]) => [name, await text] as const));
}
