import type { AwsKeys } from './aws-signature.js';
import type { HeaderList } from './headers.js';

/**
 * No value was fetched. The message may be shown to callers: the middle of a sentence, such as `its secret manager does not
 * answer`, with nothing of the manager's answer but a status.
 */
export class SecretFailure extends Error {}

export interface SecretRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderList;
  readonly body: Buffer | null;
}

/** Sends a request under the rules for stored addresses. Rejects if no complete answer arrived. */
export type SecretAsk = (
  request: SecretRequest,
) => Promise<{ readonly status: number; readonly body: Buffer }>;

export type AzureIdentity =
  | { readonly kind: 'entra'; readonly tenant: string; readonly client: string; readonly secret: string }
  | { readonly kind: 'managed'; readonly client: string | null }
  | { readonly kind: 'default' };

/** The ways to secret managers, for the references of one organisation. */
export interface SecretAccess {
  readonly ask: SecretAsk;
  /** The gateway's own keys, or those of a role that it assumes. Rejects where there are none. */
  awsKeys(
    region: string,
    role: { readonly arn: string; readonly externalId: string | null } | null,
  ): Promise<AwsKeys>;
  /** An access token. */
  azureToken(identity: AzureIdentity, scope: string): Promise<string>;
}
