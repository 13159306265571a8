import type { webcrypto } from 'node:crypto';
import type { JWK } from 'jose';
import type { KeySetDocument, TokenAlgorithm } from '../store/store.js';

/** A public key with which signatures of tokens are checked. */
export interface TokenKey {
  readonly kid: string;
  readonly alg: TokenAlgorithm;
  /** Hash of the key: two keys with the same `kid` have different ones. */
  readonly thumbprint: string;
  readonly key: webcrypto.CryptoKey;
}

/** Keys of a set that are used; the rest is ignored. */
const mostKeys = 100;
const longestKid = 512;
/** Bits of an RSA modulus. Smaller keys can be broken, larger ones take milliseconds for each check. */
const rsaBits = { least: 2048, most: 8192 };
/** Characters of a public exponent: 65537 has four, and a long one makes each check expensive. */
const longestExponent = 6;

type Member = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Member =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The public members of a key and its algorithm; null: its algorithm is not supported. */
function publicPart({ kty, crv, n, e, x, y }: Member): { alg: TokenAlgorithm; jwk: JWK } | null {
  const isText = (member: unknown): member is string => typeof member === 'string';
  if (kty === 'RSA' && isText(n) && isText(e) && isExponent(e)) return { alg: 'RS256', jwk: { kty, n, e } };
  if (kty === 'EC' && crv === 'P-256' && isText(x) && isText(y))
    return { alg: 'ES256', jwk: { kty, crv, x, y } };
  if (kty === 'OKP' && crv === 'Ed25519' && isText(x)) return { alg: 'EdDSA', jwk: { kty, crv, x } };
  return null;
}

/** An odd number of at least 3: with an exponent of 1 anyone could sign. */
function isExponent(text: string): boolean {
  if (text.length > longestExponent) return false;
  const value = Number.parseInt(`0${Buffer.from(text, 'base64url').toString('hex')}`, 16);
  return value >= 3 && value % 2 === 1;
}

/** Ed25519 has a second name (RFC 9864). */
const namesOf: Readonly<Record<TokenAlgorithm, readonly unknown[]>> = {
  RS256: [undefined, 'RS256'],
  ES256: [undefined, 'ES256'],
  EdDSA: [undefined, 'EdDSA', 'Ed25519'],
};

async function keyOf(member: unknown): Promise<TokenKey | null> {
  if (!isObject(member)) return null;
  const { kid, use, key_ops: operations } = member;
  if (typeof kid !== 'string' || kid === '' || kid.length > longestKid) return null;
  if (use !== undefined && use !== 'sig') return null;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) return null;
  const found = publicPart(member);
  if (found === null || !namesOf[found.alg].includes(member['alg'])) return null;
  const { alg, jwk } = found;
  // Imported here, since most gateways never read a key set.
  const { calculateJwkThumbprint, importJWK } = await import('jose');
  try {
    const key = (await importJWK(jwk, alg)) as webcrypto.CryptoKey;
    const { modulusLength: bits = rsaBits.least } = key.algorithm as Partial<webcrypto.RsaHashedKeyAlgorithm>;
    if (bits < rsaBits.least || bits > rsaBits.most) return null;
    return { kid, alg, thumbprint: await calculateJwkThumbprint(jwk), key };
  } catch {
    return null;
  }
}

/** The same key set with the public members of keys that may be used, and nothing else. */
export function publicKeySet(document: unknown): KeySetDocument {
  const members = isObject(document) ? document['keys'] : undefined;
  if (!Array.isArray(members)) return { keys: [] };
  const keys = members.slice(0, mostKeys).flatMap((member) => {
    if (!isObject(member)) return [];
    const { kid, use, key_ops, alg } = member;
    const found = publicPart(member);
    return found === null ? [] : [{ ...found.jwk, kid, use, key_ops, alg }];
  });
  return { keys };
}

/** The keys of a JSON Web Key Set that can be used; null: this is no key set. */
export async function keysIn(document: unknown): Promise<readonly TokenKey[] | null> {
  const members = isObject(document) ? document['keys'] : undefined;
  if (!Array.isArray(members)) return null;
  const keys = await Promise.all(members.slice(0, mostKeys).map(keyOf));
  return keys.filter((key) => key !== null);
}
