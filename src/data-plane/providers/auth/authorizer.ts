import {
  type Cloud,
  type OwnIdentities,
  ownIdentityRefusal,
  type Tenant,
} from '../../../common/access/own-identity.js';
import type { Secret } from '../../../common/access/secret.js';
import type { Awaitable } from '../../../common/core/directory.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { UpstreamCall } from '../../../common/core/exchange.js';
import type { CallFields } from '../call-fields.js';
import type { Ask } from './ask.js';

/** A call about to leave: all of it final but its credential. */
export interface Unauthorized {
  /** The credential is written to its headers. */
  readonly call: UpstreamCall;
  /** The key, where there is one: the caller's own or the stored provider's. */
  readonly credential: Secret | null;
  readonly fields: CallFields;
  /** For tokens: goes out by the gateway's own pools and rules. */
  readonly ask: Ask;
  /** Who calls. */
  readonly tenant: Tenant;
  readonly ownIdentities: OwnIdentities;
}

/**
 * A credential that has to be got first (a token) or made of the call itself (a signature). One per row, shared by all
 * calls; a promise only where something has to be fetched. Throws or rejects with `invalid_request` and the field at
 * fault, or with what kept the token away.
 */
export interface Authorizer {
  authorize(call: Unauthorized): Awaitable<void>;
}

/** Throws `own_identity_blocked` unless the operator lets this call's tenant sign in as the gateway itself. */
export function checkOwnIdentity({ tenant, ownIdentities }: Unauthorized, cloud: Cloud, field: string): void {
  if (ownIdentities.allow(cloud, tenant)) return;
  throw new GatewayError('own_identity_blocked', `${field} ${ownIdentityRefusal(cloud)}`, { param: field });
}
