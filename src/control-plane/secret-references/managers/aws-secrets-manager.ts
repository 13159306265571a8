import { signAws } from '../../../common/http/aws-signature.js';
import type { HeaderList } from '../../../common/http/headers.js';
import { type SecretAccess, SecretFailure } from '../../../common/http/secret-access.js';
import type { SecretReferenceRecord } from '../../../common/ipc/records.js';
import { awsEnvironment } from '../../../common/settings/environment/aws-environment.js';
import { answeredJson } from '../answers.js';
import type { SecretSource } from '../secret-source.js';

/** docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html */
export const awsSecretsManager: SecretSource = {
  async fetch(reference, access) {
    const region = regionOf(reference);
    const keys = await keysOf(reference, region, access);
    const headers: HeaderList = [
      ...['content-type', 'application/x-amz-json-1.1'],
      ...['x-amz-target', 'secretsmanager.GetSecretValue'],
    ];
    const body = Buffer.from(JSON.stringify({ SecretId: reference.secretPath }));
    const call = { method: 'POST', url: endpointOf(region), headers, body };
    signAws(call, keys, { service: 'secretsmanager', region });
    const { SecretString: text, SecretBinary: bytes } = answeredJson(await access.ask(call));
    if (typeof text === 'string') return text;
    if (typeof bytes === 'string') return Buffer.from(bytes, 'base64').toString('utf8');
    throw new SecretFailure('its secret manager answered with something else than a secret');
  },
};

async function keysOf({ auth }: SecretReferenceRecord, region: string, access: SecretAccess) {
  const { aws_access_key_id: accessKeyId = '', aws_secret_access_key: secretAccessKey = '' } = auth;
  if (auth['aws_auth_type'] === 'accessKey') return { accessKeyId, secretAccessKey, sessionToken: null };
  const arn = auth['aws_role_arn'];
  const isRole = auth['aws_auth_type'] === 'assumedRole' && arn !== undefined;
  return access.awsKeys(region, isRole ? { arn, externalId: auth['aws_external_id'] ?? null } : null);
}

/** It becomes part of a host name. */
const regionName = /^[a-z]{2,4}(?:-[a-z]{2,12}){1,3}-\d{1,2}$/;

function regionOf({ auth, secretPath }: SecretReferenceRecord): string {
  const inArn = /^arn:[a-z-]+:secretsmanager:([a-z0-9-]+):/.exec(secretPath)?.[1];
  const region = auth['aws_region'] ?? inArn ?? awsEnvironment().region;
  if (region !== null && region !== undefined && regionName.test(region)) return region;
  throw new SecretFailure('its auth_config has no aws_region, and neither has the environment');
}

function endpointOf(region: string): string {
  const own = awsEnvironment().secretsManagerEndpoint;
  if (own !== null) return `${own.replace(/\/+$/, '')}/`;
  return `https://secretsmanager.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}/`;
}
