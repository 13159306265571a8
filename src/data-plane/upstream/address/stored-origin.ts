import { GatewayError } from '../../../common/core/errors.js';
import type { Egress } from './egress.js';
import type { Resolve } from './resolver.js';

/** An origin that administrators have stored, and how its host is resolved. */
export interface StoredOrigin {
  readonly url: URL;
  readonly resolve: Resolve;
}

/** Throws the error for the client if nothing may be sent there. `origin`: scheme, host and port. */
export function storedOrigin(origin: string, egress: Egress): StoredOrigin {
  if (!URL.canParse(origin)) throw notSendable('it is not an absolute http(s) URL');
  const url = new URL(origin);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw notSendable('only http and https are spoken');
  if (url.username !== '' || url.password !== '')
    throw notSendable('it must not hold a user name or password');
  return { url, resolve: egress.stored(url) };
}

function notSendable(why: string): GatewayError {
  return new GatewayError('invalid_request', `The provider's URL cannot be used: ${why}.`);
}
