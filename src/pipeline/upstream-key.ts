import { createHash } from 'node:crypto';
import type { Awaitable, Directory } from '../core/directory.js';
import type { Exchange } from '../core/exchange.js';
import type { Secret } from '../core/secret.js';
import type { Target } from '../core/target.js';
import type { Provider } from '../providers/provider.js';
import { type Address, resolveAddress } from './address.js';

const digests = new WeakMap<Secret, string>();

/** What tells one credential from another, made once for each: nothing can be read from it. */
function digestOf(credential: Secret): string {
  let digest = digests.get(credential);
  if (digest === undefined) {
    digest = createHash('sha256').update(credential.reveal()).digest('base64url').slice(0, 22);
    digests.set(credential, digest);
  }
  return digest;
}

const keyOf = ({ provider, base, credential }: Address): string =>
  `${provider.name}\n${base}\n${credential === null ? '' : digestOf(credential)}`;

/**
 * The upstream that a target leads to: an address with a credential, whichever workspaces name it. Rejects, or throws,
 * as the attempt would.
 */
export function upstreamKey(
  parts: { readonly directory: Directory; readonly providers: ReadonlyMap<string, Provider> },
  x: Exchange,
  target: Target,
): Awaitable<string> {
  const address = resolveAddress(x, target, parts.directory, parts.providers);
  return address instanceof Promise ? address.then(keyOf) : keyOf(address);
}
