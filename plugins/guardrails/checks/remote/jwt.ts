import { verify } from 'node:crypto';
import { getHeader } from '../../../../src/common/http/headers.js';
import type { CheckParameters, CheckResult, RemoteCheck, RemoteContext } from '../../check.js';
import { isPlain } from '../request/values.js';
import { parse, ServiceFailed } from './calls.js';
import { keySetOf } from './key-set.js';

interface Jwt {
  readonly jwksUri: string;
  readonly headerKey: string;
  /** Seconds. */
  readonly cacheMaxAge: number;
  readonly clockTolerance: number;
  /** As in `1d`, `12h`, `30m` or `90s`. */
  readonly maxTokenAge: string;
  readonly algorithms?: readonly string[];
  readonly issuer?: string;
  readonly audience?: string;
  readonly claims?: Readonly<Record<string, unknown>>;
}

type Claims = Readonly<Record<string, unknown>>;

interface Algorithm {
  readonly keyType: string;
  readonly hash: string | null;
  readonly options: object;
  readonly curve?: string;
}

const rsa = (hash: string): Algorithm => ({ keyType: 'rsa', hash, options: {} });
/** RSA_PKCS1_PSS_PADDING, the salt as long as the hash. */
const pss = (hash: string): Algorithm => ({ keyType: 'rsa', hash, options: { padding: 6, saltLength: -1 } });
const ecdsa = (hash: string, curve: string): Algorithm => ({
  keyType: 'ec',
  hash,
  options: { dsaEncoding: 'ieee-p1363' },
  curve,
});

/** Signatures with public keys only: with a secret of a public key set anyone could sign. */
const algorithms: Readonly<Record<string, Algorithm>> = {
  RS256: rsa('sha256'),
  RS384: rsa('sha384'),
  RS512: rsa('sha512'),
  PS256: pss('sha256'),
  PS384: pss('sha384'),
  PS512: pss('sha512'),
  ES256: ecdsa('sha256', 'prime256v1'),
  ES384: ecdsa('sha384', 'secp384r1'),
  ES512: ecdsa('sha512', 'secp521r1'),
  EdDSA: { keyType: 'ed25519', hash: null, options: {} },
};

const maxTokenLength = 16_384;
const units: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
  y: 31_557_600,
};

/** Seconds. */
export function secondsOf(age: string): number {
  const [, count = '', unit = ''] = /^\s*(\d+(?:\.\d+)?)\s*(s|m|h|d|w|y)[a-z]*\s*$/i.exec(age) ?? [];
  const seconds = Number(count) * (units[unit.toLowerCase()] ?? Number.NaN);
  if (count === '' || Number.isNaN(seconds))
    throw new ServiceFailed('maxTokenAge must be a time as in 1d, 12h, 30m or 90s.');
  return seconds;
}

/** Why the claims are refused; null: they are not. `now`: Unix seconds. */
function refusal(claims: Claims, options: Jwt, now: number): string | null {
  const { clockTolerance, maxTokenAge, issuer, audience, claims: wanted = {} } = options;
  const { exp, nbf, iat, iss, aud } = claims;
  const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
  if (exp !== undefined && (!isTime(exp) || exp <= now - clockTolerance)) return 'it has expired';
  if (nbf !== undefined && (!isTime(nbf) || nbf > now + clockTolerance)) return 'it is not valid yet';
  if (!isTime(iat)) return 'it does not say when it was issued';
  if (iat > now + clockTolerance) return 'it was issued in the future';
  if (now - iat > secondsOf(maxTokenAge) + clockTolerance) return 'it is older than maxTokenAge';
  if (issuer !== undefined && iss !== issuer) return 'its issuer is another';
  if (audience !== undefined && ![aud].flat().includes(audience)) return 'its audience is another';
  const wrong = Object.entries(wanted).find(([name, value]) => ![claims[name]].flat().includes(value));
  return wrong === undefined ? null : `its claim ${wrong[0].slice(0, 100)} has another value`;
}

const part = (text: string): Claims | null => {
  const value = parse(Buffer.from(text, 'base64url'));
  return isPlain(value) ? value : null;
};

const refused = (why: string): CheckResult => ({
  verdict: false,
  data: { explanation: `The token was refused: ${why}.` },
});

async function judge(
  context: RemoteContext,
  parameters: CheckParameters,
  token: string,
): Promise<CheckResult> {
  const options = parameters as unknown as Jwt;
  const [first = '', second = '', third = '', ...more] = token.split('.');
  const [header, claims] = [part(first), part(second)];
  if (header === null || claims === null || more.length > 0) return refused('it is no JSON web token');
  const { alg, kid } = header;
  const algorithm = typeof alg === 'string' && Object.hasOwn(algorithms, alg) ? algorithms[alg] : undefined;
  const allowed = options.algorithms === undefined || options.algorithms.includes(alg as string);
  if (algorithm === undefined || !allowed) return refused('its algorithm is not allowed');
  if (header['crit'] !== undefined) return refused('it needs an extension that is not known here');
  if (typeof kid !== 'string') return refused('it names no key');
  const key = await keySetOf(parameters).key(context, kid);
  if (key === undefined) return refused('its key is not in the key set');
  const { keyType, curve, hash, options: how } = algorithm;
  if (key.asymmetricKeyType !== keyType) return refused('its key is for another algorithm');
  if (curve !== undefined && key.asymmetricKeyDetails?.namedCurve !== curve)
    return refused('its key is for another algorithm');
  const signed = Buffer.from(`${first}.${second}`, 'latin1');
  if (!verify(hash, signed, { key, ...how }, Buffer.from(third, 'base64url')))
    return refused('its signature is wrong');
  const why = refusal(claims, options, Date.now() / 1000);
  return why === null ? { verdict: true, data: { explanation: 'The token is valid.' } } : refused(why);
}

/** Has the request a valid JSON web token in a header, signed by a key of the set? */
export const jwt: RemoteCheck = {
  id: 'default.jwt',
  runs: 'remote',
  async run(context, parameters) {
    const { headerKey } = parameters as unknown as Jwt;
    const given = getHeader(context.headers, headerKey.toLowerCase());
    if (given === undefined) return refused(`the request has no header ${headerKey.slice(0, 100)}`);
    const token = given.replace(/^Bearer\s+/i, '').trim();
    if (token.length > maxTokenLength) return refused('it is too long');
    try {
      return await judge(context, parameters, token);
    } catch (error) {
      // An error would count as passed, and let everyone in while the server of the keys is away.
      const { message } = error instanceof Error ? error : new ServiceFailed(String(error));
      return refused(`it could not be checked: ${message.slice(0, 300)}`);
    }
  },
};
