import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto';
import type { Awaitable } from '../../../common/core/directory.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { UpstreamCall } from '../../../common/core/exchange.js';
import { getHeader, setHeader } from '../../../common/http/headers.js';
import type { CallFields } from '../call-fields.js';
import type { Authorizer, Unauthorized } from './authorizer.js';
import { signedBody } from './signed-body.js';

/** Who signs: `tenancy/user/fingerprint`, and the private half of the key that has this fingerprint. */
interface OciKey {
  readonly keyId: string;
  readonly key: KeyObject;
}

const names = ['oracle_tenancy', 'oracle_user', 'oracle_fingerprint', 'oracle_private_key'] as const;

/** Parsed keys; reading one takes about 0.1 ms, and stored providers are called again and again. */
const mostKeys = 64;

/**
 * Oracle Cloud's request signature, version 1, with an API signing key (RSA, PEM) of a user
 * (docs.oracle.com/en-us/iaas/Content/API/Concepts/signingrequests.htm), else the call's API key as a bearer. Session
 * tokens and the principals of instances and resources are not supported.
 */
export class OciAuthorizer implements Authorizer {
  readonly #keys = new Map<string, KeyObject>();

  constructor(readonly now: () => Date = () => new Date()) {}

  authorize({ call, credential, fields }: Unauthorized): Awaitable<void> {
    // A stored key signs with what is stored beside it; a caller's fields do not replace a stored API key.
    const read = fields.fromStore === null ? fields.get.bind(fields) : fields.stored.bind(fields);
    const given = names.map((name) => read(name));
    if (given.some((value) => value !== null)) return this.#sign(call, this.#keyOf(given, read));
    if (credential === null) {
      throw new GatewayError(
        'invalid_request',
        `Oracle needs credentials: an API key, or ${names.join(', ')}.`,
        { param: 'oracle_private_key' },
      );
    }
    setHeader(call.headers, 'authorization', `Bearer ${credential.reveal()}`);
  }

  #keyOf(given: readonly (string | null)[], read: CallFields['get']): OciKey {
    for (const [i, name] of names.entries()) if (given[i] === null) throw refused(name, 'is missing.');
    const [tenancy, user, fingerprint, pem] = given as string[];
    const keyId = `${tenancy}/${user}/${fingerprint}`;
    // It becomes a quoted part of a header.
    if (!/^[\w.:/-]{1,600}$/.test(keyId))
      throw refused('oracle_tenancy', 'and oracle_user must be OCIDs, and oracle_fingerprint a fingerprint.');
    const passphrase = read('oracle_key_passphrase') ?? undefined;
    const at = createHash('sha256')
      .update(`${pem}\0${passphrase ?? ''}`)
      .digest('base64');
    let key = this.#keys.get(at);
    if (key === undefined) {
      key = privateKey(pem ?? '', passphrase);
      if (this.#keys.size >= mostKeys) this.#keys.clear();
      this.#keys.set(at, key);
    }
    return { keyId, key };
  }

  async #sign(call: UpstreamCall, { keyId, key }: OciKey): Promise<void> {
    const { host, pathname, search } = new URL(call.url);
    const { headers } = call;
    const method = call.method.toLowerCase();
    setHeader(headers, 'date', this.now().toUTCString());
    const lines: [string, string][] = [
      ['date', getHeader(headers, 'date') ?? ''],
      ['(request-target)', `${method} ${pathname}${search}`],
      ['host', host],
    ];
    if (method === 'post' || method === 'put' || method === 'patch') {
      const body = (await signedBody(call, 'Oracle')) ?? Buffer.alloc(0);
      // An empty body too is sent with the length that is signed.
      call.body = body;
      if (getHeader(headers, 'content-type') === undefined)
        setHeader(headers, 'content-type', 'application/json');
      setHeader(headers, 'x-content-sha256', createHash('sha256').update(body).digest('base64'));
      lines.push(
        ['x-content-sha256', getHeader(headers, 'x-content-sha256') ?? ''],
        ['content-type', getHeader(headers, 'content-type') ?? ''],
        ['content-length', String(body.length)],
      );
    }
    const text = lines.map(([name, value]) => `${name}: ${value}`).join('\n');
    const signature = sign('sha256', Buffer.from(text), key).toString('base64');
    const signed = lines.map(([name]) => name).join(' ');
    setHeader(
      headers,
      'authorization',
      `Signature version="1",keyId="${keyId}",algorithm="rsa-sha256",headers="${signed}",signature="${signature}"`,
    );
  }
}

/** Throws `invalid_request`: the message never quotes the key. */
function privateKey(pem: string, passphrase: string | undefined): KeyObject {
  let key: KeyObject;
  try {
    // Stored on one line, a key has its line ends written out.
    key = createPrivateKey({
      key: pem.replaceAll('\\n', '\n'),
      ...(passphrase === undefined ? {} : { passphrase }),
    });
  } catch {
    throw refused(
      'oracle_private_key',
      'must be a private key in PEM; one that is encrypted needs oracle_key_passphrase.',
    );
  }
  if (key.asymmetricKeyType !== 'rsa') throw refused('oracle_private_key', 'must be an RSA key.');
  return key;
}

const refused = (field: string, what: string): GatewayError =>
  new GatewayError('invalid_request', `${field} ${what}`, { param: field });
