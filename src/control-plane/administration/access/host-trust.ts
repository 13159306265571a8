import { AdminError } from '../admin-error.js';
import type { Caller } from './caller.js';

type Configurations = Readonly<Record<string, unknown>>;

/** Where calls go by these configurations; null: to the provider's own address. */
export function addressIn(configurations: Configurations): string | null {
  const {
    custom_host: custom,
    huggingface_base_url: huggingface,
    azure_foundry_url: foundry,
  } = configurations;
  return ((custom ?? huggingface ?? foundry) as string | undefined) ?? null;
}

/** Is an address of this caller's the organisation's word? Calls to others pass the rules for hosts of callers. */
export const speaksForAll = (caller: Caller): boolean => caller.workspaceId === null;

interface Move {
  readonly from: string | null;
  readonly to: string | null;
  /** Does a key or secret stay that was given for `from`? */
  readonly keepsSecrets: boolean;
  /** Its place in the request. */
  readonly path: string;
}

/**
 * Whose word the address is after an update; absent: as before. A stored credential goes along to another host by the
 * organisation's word alone: who may only use it must not get to see it.
 */
export function movedHost(
  caller: Caller,
  { from, to, keepsSecrets, path }: Move,
): { readonly hostTrusted?: boolean } {
  if (to === from) return {};
  if (to !== null && keepsSecrets && !speaksForAll(caller))
    throw AdminError.field(
      path,
      'is another host than the stored credential was given for: give the credential again with it.',
    );
  return { hostTrusted: speaksForAll(caller) };
}

/** Are there secrets among configurations as they are shown? */
export const hasSecrets = (shown: Configurations): boolean =>
  Object.keys(shown).some((name) => name.startsWith('masked_'));
