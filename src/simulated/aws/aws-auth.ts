import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Keys that the simulated AWS accepts; temporary keys of a role end in `-ROLE`. */
export const awsKeys = { accessKeyId: 'AKIASIMULATED', secretAccessKey: 'simulated/secret+key' } as const;
export const roleKeys = {
  accessKeyId: 'ASIASIMULATED-ROLE',
  secretAccessKey: 'simulated/role/secret',
  sessionToken: 'simulated-session-token==',
} as const;

const secrets: Readonly<Record<string, string>> = {
  [awsKeys.accessKeyId]: awsKeys.secretAccessKey,
  [roleKeys.accessKeyId]: roleKeys.secretAccessKey,
};

/** Why AWS would refuse a request: the exception's name and its words. */
export interface AwsRefusal {
  readonly exception: string;
  readonly message: string;
}

/**
 * Checks Signature Version 4, written down from docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 * and not from the library that signs; or an API key as a bearer. null: let in.
 */
export function refuseAws(request: IncomingMessage, body: Buffer, service: string): AwsRefusal | null {
  const authorization = request.headers.authorization ?? '';
  if (authorization === '') {
    return { exception: 'MissingAuthenticationTokenException', message: 'Missing Authentication Token' };
  }
  if (authorization.startsWith('Bearer ')) {
    return authorization.startsWith('Bearer sk-invalid')
      ? { exception: 'AccessDeniedException', message: 'Invalid API Key format' }
      : null;
  }
  const given =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([a-z0-9-]+)\/([a-z0-9-]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      authorization,
    );
  if (given === null)
    return { exception: 'IncompleteSignatureException', message: 'Authorization header requires parts.' };
  const [, key, date, region, named, names, signature] = given as unknown as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const secret = secrets[key];
  const token = request.headers['x-amz-security-token'];
  if (secret === undefined || (key === roleKeys.accessKeyId && token !== roleKeys.sessionToken)) {
    return {
      exception: 'UnrecognizedClientException',
      message: 'The security token included in the request is invalid.',
    };
  }
  const at = String(request.headers['x-amz-date'] ?? '');
  const mismatch = (what: string): AwsRefusal => ({
    exception: 'InvalidSignatureException',
    message: `The request signature we calculated does not match the signature you provided: ${what}.`,
  });
  if (named !== service) return mismatch('service');
  if (!at.startsWith(date)) return mismatch('date');
  const signed = names.split(';');
  for (const must of ['host', 'x-amz-date', ...(token === undefined ? [] : ['x-amz-security-token'])]) {
    if (!signed.includes(must)) return mismatch(must);
  }
  const sent = request.headers['x-amz-content-sha256'];
  if (sent !== undefined && sent !== sha256(body)) return mismatch('payload');
  const canonical = [
    request.method,
    ...canonicalUrl(request.url ?? '/'),
    ...signed.map((name) => `${name}:${String(request.headers[name] ?? '').trim()}`),
    '',
    names,
    sha256(body),
  ].join('\n');
  const scope = `${date}/${region}/${service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', at, scope, sha256(canonical)].join('\n');
  let signing: string | Buffer = `AWS4${secret}`;
  for (const part of [date, region, service, 'aws4_request']) signing = hmac(signing, part);
  return hmac(signing, text).toString('hex') === signature ? null : mismatch('signature');
}

/** Each segment of a path is encoded once more, as every service but S3 has it; the query is sorted. */
function canonicalUrl(url: string): [string, string] {
  const at = url.indexOf('?');
  const path = at < 0 ? url : url.slice(0, at);
  const query = at < 0 ? [] : url.slice(at + 1).split('&');
  return [path.split('/').map(encode).join('/'), query.sort().join('&')];
}

const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, data: string): Buffer => createHmac('sha256', key).update(data).digest();
