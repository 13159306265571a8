import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import type { UpstreamCall } from '../core/exchange.js';
import { getHeader, setHeader } from './headers.js';

/** Keys of AWS, given or got; `sessionToken` null for keys that do not expire. */
export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | null;
}

/** What a signature holds for. */
export interface AwsScope {
  /** `bedrock`, `sts`, … */
  readonly service: string;
  readonly region: string;
}

/** What of a call is signed. */
type Signable = Pick<UpstreamCall, 'method' | 'url' | 'headers'> & { readonly body: Buffer | null };

/** SHA-256, or HMAC-SHA-256 of a secret, as the signer wants it. */
class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash =
      secret === undefined
        ? createHash('sha256')
        : createHmac('sha256', typeof secret === 'string' ? secret : bytesOf(secret));
  }

  update(data: Uint8Array): void {
    this.#hash.update(data);
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  reset(): void {
    throw new Error('a hash is used once');
  }
}

function bytesOf(data: ArrayBuffer | ArrayBufferView): Buffer {
  return ArrayBuffer.isView(data)
    ? Buffer.from(data.buffer, data.byteOffset, data.byteLength)
    : Buffer.from(data);
}

/** Besides `host` and what the signer adds: the rest may be changed on the way. */
const signedHeaders = ['content-type', 'x-amz-target'];

/** Writes the headers of Signature Version 4 to a call (docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html). */
export async function signAws(
  call: Signable,
  keys: AwsKeys,
  { service, region }: AwsScope,
  at = new Date(),
): Promise<void> {
  // Loaded with the first call that needs it: most gateways never call AWS.
  const { SignatureV4 } = await import('@smithy/signature-v4');
  const { host, hostname, pathname, protocol, searchParams } = new URL(call.url);
  const headers: Record<string, string> = { host };
  for (const name of signedHeaders) {
    const value = getHeader(call.headers, name);
    if (value !== undefined) headers[name] = value;
  }
  const query: Record<string, string | string[]> = {};
  for (const name of new Set(searchParams.keys())) query[name] = searchParams.getAll(name);
  const signer = new SignatureV4({
    service,
    region,
    sha256: Sha256,
    credentials: {
      accessKeyId: keys.accessKeyId,
      secretAccessKey: keys.secretAccessKey,
      ...(keys.sessionToken === null ? {} : { sessionToken: keys.sessionToken }),
    },
  });
  const signed = await signer.sign(
    { method: call.method, protocol, hostname, path: pathname, query, headers, body: call.body ?? undefined },
    { signingDate: at },
  );
  for (const name in signed.headers) {
    if (name !== 'host') setHeader(call.headers, name, signed.headers[name] as string);
  }
}
