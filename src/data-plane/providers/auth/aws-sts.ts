import { GatewayError } from '../../../common/core/errors.js';
import { type AwsKeys, signAws } from '../../../common/http/aws-signature.js';
import type { HeaderList } from '../../../common/http/headers.js';
import { awsEnvironment } from '../../../common/settings/environment/aws-environment.js';
import type { Ask } from './ask.js';
import type { Expiring } from './token-cache.js';

/** Keys that end. */
export type RoleKeys = AwsKeys & Expiring;

/**
 * Regional, as AWS advises (docs.aws.amazon.com/general/latest/gr/sts.html), unless the environment names another
 * (docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html).
 */
export function stsOf(region: string): string {
  return awsEnvironment().stsEndpoint ?? `https://sts.${region}.${awsDomain(region)}/`;
}

export function awsDomain(region: string): string {
  return region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
}

interface StsCall {
  readonly method: 'POST';
  readonly url: string;
  readonly headers: HeaderList;
  readonly body: Buffer;
}

/** A role, by its ARN. `externalId` null: it needs none. */
export interface AssumedRole {
  readonly arn: string;
  readonly externalId: string | null;
}

/** docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html. `keys`: of who takes the role. `url`: of STS. */
export function assumeRole(
  { arn, externalId }: AssumedRole,
  keys: AwsKeys,
  { region, url }: { readonly region: string; readonly url: string },
  ask: Ask,
): Promise<RoleKeys> {
  const form = new URLSearchParams({
    Action: 'AssumeRole',
    Version: '2011-06-15',
    RoleArn: arn,
    RoleSessionName: 'headgate',
  });
  if (externalId !== null) form.set('ExternalId', externalId);
  return askSts(url, form, ask, (call) => signAws(call, keys, { service: 'sts', region }));
}

/** Asks STS for temporary keys; its answers are XML of a few plain elements. */
export async function askSts(
  url: string,
  form: URLSearchParams,
  ask: Ask,
  sign: (call: StsCall) => void = () => {},
): Promise<RoleKeys> {
  const call: StsCall = {
    method: 'POST',
    url,
    headers: ['content-type', 'application/x-www-form-urlencoded'],
    body: Buffer.from(form.toString()),
  };
  sign(call);
  const { status, body } = await ask(call);
  const text = body.toString('utf8');
  const keys = {
    accessKeyId: element(text, 'AccessKeyId'),
    secretAccessKey: element(text, 'SecretAccessKey'),
    sessionToken: element(text, 'SessionToken'),
    expiresAt: Date.parse(element(text, 'Expiration')),
  };
  if (status === 200 && keys.accessKeyId !== '' && keys.secretAccessKey !== '' && keys.expiresAt > 0)
    return keys;
  const said = [element(text, 'Code'), element(text, 'Message')].filter((part) => part !== '').join(': ');
  throw new GatewayError(
    'upstream_invalid_response',
    `AWS STS gave no keys for ${form.get('RoleArn')}: ${said === '' ? `it answered with status ${status}` : said}.`,
  );
}

function element(xml: string, name: string): string {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]?.trim() ?? '';
}
