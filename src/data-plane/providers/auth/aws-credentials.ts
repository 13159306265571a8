import type { Awaitable } from '../../../common/core/directory.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { AwsKeys } from '../../../common/http/aws-signature.js';
import type { Ask } from './ask.js';
import { checkOwnIdentity, type Unauthorized } from './authorizer.js';
import { type OwnIdentity, ownAwsKeys } from './aws-own-identity.js';
import { assumeRole, type RoleKeys, stsOf } from './aws-sts.js';
import { TokenCache, tokenKey } from './token-cache.js';

/** A role to be assumed, and by whom. */
interface Role {
  readonly arn: string;
  readonly externalId: string | null;
  readonly region: string;
  /** null: the gateway itself. */
  readonly base: AwsKeys | null;
}

/**
 * Keys out of a call's `aws_*` fields: those given, or those of the role given, assumed at STS. null: there are none,
 * so that an API key must do.
 */
export class AwsCredentials {
  readonly #roles = new TokenCache<RoleKeys>();

  /** `sts`: address of the token service of a region. */
  constructor(
    readonly sts: (region: string) => string = stsOf,
    readonly own: OwnIdentity = ownAwsKeys,
  ) {}

  keys(to: Unauthorized, region: string): Awaitable<AwsKeys | null> {
    const { fields, ask } = to;
    // All from one side: a caller must not have a role of its choice assumed with stored keys.
    const stored = fields.stored('aws_access_key_id') !== null || fields.stored('aws_role_arn') !== null;
    const get = (name: string): string | null => (stored ? fields.stored(name) : fields.get(name));
    const base = givenKeys(get);
    const arn = get('aws_role_arn');
    const type = get('aws_auth_type');
    if (type === 'apiKey') return null;
    if (arn === null || type === 'accessKey') return base;
    if (base === null && !stored) {
      throw new GatewayError(
        'invalid_request',
        'aws_role_arn needs the keys that may assume it: send aws_access_key_id and aws_secret_access_key with it, or store the role with a provider.',
        { param: 'aws_role_arn' },
      );
    }
    if (base === null) checkOwnIdentity(to, 'aws', 'aws_role_arn');
    const role: Role = { arn, externalId: get('aws_external_id'), region, base };
    const key = tokenKey(
      base?.accessKeyId ?? null,
      base?.secretAccessKey ?? null,
      arn,
      role.externalId,
      region,
    );
    return this.#roles.get(key, () => this.#assume(role, ask));
  }

  async #assume(role: Role, ask: Ask): Promise<RoleKeys> {
    const { region, base } = role;
    const keys = base ?? (await this.own(region, ask, this.sts));
    return assumeRole(role, keys, { region, url: this.sts(region) }, ask);
  }
}

function givenKeys(get: (name: string) => string | null): AwsKeys | null {
  const accessKeyId = get('aws_access_key_id');
  const secretAccessKey = get('aws_secret_access_key');
  if (accessKeyId === null && secretAccessKey === null) return null;
  const missing =
    accessKeyId === null ? 'aws_access_key_id' : secretAccessKey === null ? 'aws_secret_access_key' : null;
  if (missing !== null) {
    throw new GatewayError('invalid_request', `${missing} is missing: the two go together.`, {
      param: missing,
    });
  }
  return {
    accessKeyId: accessKeyId as string,
    secretAccessKey: secretAccessKey as string,
    sessionToken: get('aws_session_token'),
  };
}
