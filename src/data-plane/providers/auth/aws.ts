import { isSource } from '../../../common/bytes/body.js';
import type { Awaitable } from '../../../common/core/directory.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { UpstreamCall } from '../../../common/core/exchange.js';
import { type AwsKeys, type AwsScope, signAws } from '../../../common/http/aws-signature.js';
import { setHeader } from '../../../common/http/headers.js';
import type { CallFields } from '../call-fields.js';
import type { Authorizer, Unauthorized } from './authorizer.js';
import { AwsCredentials } from './aws-credentials.js';
import { signedBody } from './signed-body.js';

/** Signature Version 4 with the keys or the role of the call's `aws_*` fields, else its API key as a bearer. */
export class AwsAuthorizer implements Authorizer {
  /** Bedrock alone has keys that are sent as a bearer (docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html). */
  readonly takesApiKeys: boolean;

  /** `service`: the name that signatures for it carry. */
  constructor(
    readonly service: string,
    readonly credentials = new AwsCredentials(),
  ) {
    this.takesApiKeys = service === 'bedrock';
  }

  authorize(to: Unauthorized): Awaitable<void> {
    const { call, credential, fields } = to;
    const region = awsRegion(fields, decodeURIComponent(call.url));
    const keys = this.credentials.keys(to, region);
    if (keys !== null) return this.#sign(to, region, keys);
    if (credential === null || !this.takesApiKeys) {
      throw new GatewayError(
        'invalid_request',
        `AWS needs credentials: aws_access_key_id and aws_secret_access_key, ${this.takesApiKeys ? 'a stored role, or an API key' : 'or a stored role'}.`,
        { param: 'aws_access_key_id' },
      );
    }
    setHeader(call.headers, 'authorization', `Bearer ${credential.reveal()}`);
  }

  /** A promise only where keys have to be fetched or the body has not come yet: most calls have both. */
  #sign({ call }: Unauthorized, region: string, keys: Awaitable<AwsKeys | null>): Awaitable<void> {
    const scope = { service: this.service, region };
    const { method, url, headers, body } = call;
    if (keys instanceof Promise || isSource(body)) return signLater(call, keys, scope);
    if (keys !== null) signAws({ method, url, headers, body }, keys, scope);
  }
}

async function signLater(
  call: UpstreamCall,
  coming: Awaitable<AwsKeys | null>,
  scope: AwsScope,
): Promise<void> {
  const keys = await coming;
  if (keys === null) return;
  const body = await signedBody(call, 'AWS');
  const { method, url, headers } = call;
  signAws({ method, url, headers, body }, keys, scope);
}

/** It becomes part of a host name: nothing else may be in it. */
const regionName = /^[a-z]{2,4}(?:-[a-z]{2,12}){1,3}-\d{1,2}$/;

/** `aws_region`, or that of the ARN in this text, a model or an address. Throws `invalid_request` where there is none. */
export function awsRegion(fields: CallFields, text: string | null): string {
  const region =
    fields.get('aws_region') ?? /\barn:[a-z-]+:bedrock:([a-z0-9-]+):/.exec(text ?? '')?.[1] ?? null;
  if (region !== null && regionName.test(region)) return region;
  throw new GatewayError(
    'invalid_request',
    region === null
      ? 'aws_region is missing: say where, as in us-east-1.'
      : 'aws_region must be the name of a region, as in us-east-1.',
    { param: 'aws_region' },
  );
}
