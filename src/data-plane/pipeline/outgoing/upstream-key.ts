import type { Awaitable, Directory } from '../../../common/core/directory.js';
import type { Exchange } from '../../../common/core/exchange.js';
import type { Target } from '../../../common/core/target.js';
import type { ProviderDefinition } from '../../providers/provider.js';
import { type Address, resolveAddress } from './address.js';
import { digestOf } from './credential-digest.js';

const keyOf = ({ provider, base, credential }: Address): string =>
  `${provider.name}\n${base}\n${credential === null ? '' : digestOf(credential)}`;

/**
 * Identifies a target's upstream: an address with a credential, whichever workspaces use it. Rejects, or throws,
 * as the attempt would.
 */
export function upstreamKey(
  parts: { readonly directory: Directory; readonly providers: ReadonlyMap<string, ProviderDefinition> },
  x: Exchange,
  target: Target,
): Awaitable<string> {
  const address = resolveAddress(x, target, parts.directory, parts.providers);
  return address instanceof Promise ? address.then(keyOf) : keyOf(address);
}
