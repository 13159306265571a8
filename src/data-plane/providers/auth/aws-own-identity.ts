import { readFile } from 'node:fs/promises';
import { GatewayError } from '../../../common/core/errors.js';
import type { AwsKeys } from '../../../common/http/aws-signature.js';
import type { HeaderList } from '../../../common/http/headers.js';
import { isJsonObject } from '../../../common/json/json.js';
import { type AwsEnvironment, awsEnvironment } from '../../../common/settings/environment/aws-environment.js';
import { type Ask, askOwnIdentity } from './ask.js';
import { askSts } from './aws-sts.js';

/** Who the gateway itself is to AWS. `sts`: address of the token service of a region. */
export type OwnIdentity = (region: string, ask: Ask, sts: (region: string) => string) => Promise<AwsKeys>;

const taskHost = 'http://169.254.170.2';
const instanceHost = 'http://169.254.169.254';

/**
 * Keys of the place where the gateway runs, in the order of AWS's own libraries: the environment, the service account
 * of a pod, the task or pod, the instance (docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html).
 */
export const ownAwsKeys: OwnIdentity = async (region, ask, sts) => {
  const env = awsEnvironment();
  const { accessKeyId, secretAccessKey, sessionToken } = env;
  if (accessKeyId !== null && secretAccessKey !== null) return { accessKeyId, secretAccessKey, sessionToken };
  if (env.roleArn !== null && env.webIdentityTokenFile !== null) {
    const form = new URLSearchParams({
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      RoleArn: env.roleArn,
      RoleSessionName: 'headgate',
      WebIdentityToken: (await readFile(env.webIdentityTokenFile, 'utf8')).trim(),
    });
    return askSts(sts(region), form, ask);
  }
  const container = containerUrl(env);
  if (container !== null) {
    const file = env.containerTokenFile;
    const headers = file === null ? [] : ['authorization', (await readFile(file, 'utf8')).trim()];
    return keysIn(await get(askOwnIdentity(ask), container, headers));
  }
  return instanceKeys(askOwnIdentity(ask));
};

function containerUrl({ containerFullUri, containerRelativeUri }: AwsEnvironment): string | null {
  return containerRelativeUri === null ? containerFullUri : taskHost + containerRelativeUri;
}

/** IMDSv2: docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html. */
async function instanceKeys(ask: Ask): Promise<AwsKeys> {
  const host = awsEnvironment().metadataEndpoint?.replace(/\/+$/, '') ?? instanceHost;
  const token = await ask({
    method: 'PUT',
    url: `${host}/latest/api/token`,
    headers: ['x-aws-ec2-metadata-token-ttl-seconds', '60'],
    body: null,
  });
  if (token.status !== 200) throw nobody();
  const headers = ['x-aws-ec2-metadata-token', token.body.toString('utf8')];
  const folder = `${host}/latest/meta-data/iam/security-credentials/`;
  const role = (await get(ask, folder, headers)).split('\n')[0] as string;
  return keysIn(await get(ask, folder + role, headers));
}

async function get(ask: Ask, url: string, headers: HeaderList): Promise<string> {
  const { status, body } = await ask({ method: 'GET', url, headers, body: null });
  if (status !== 200) throw nobody();
  return body.toString('utf8');
}

function keysIn(text: string): AwsKeys {
  let found: unknown = null;
  try {
    found = JSON.parse(text);
  } catch {
    // Reported below.
  }
  if (!isJsonObject(found)) throw nobody();
  const { AccessKeyId, SecretAccessKey, Token } = found;
  if (typeof AccessKeyId !== 'string' || typeof SecretAccessKey !== 'string') throw nobody();
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: typeof Token === 'string' ? Token : null,
  };
}

function nobody(): GatewayError {
  return new GatewayError(
    'upstream_invalid_response',
    'The gateway has no AWS identity of its own to assume the role with: run it with one, or store keys beside the role.',
  );
}
