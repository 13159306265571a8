import { hash } from 'node:crypto';
import { Secret } from '../../src/common/access/secret.js';
import type { StoredProvider } from '../../src/common/core/directory.js';

const known = new WeakMap<StoredProvider, string>();

/**
 * Distinguishes a stored provider in its current state from any other and from its earlier states: its credential, its
 * address, its enabled models. An answer is never shared across a rotation.
 */
export function identityOf(provider: StoredProvider, now: number): string {
  let identity = known.get(provider);
  if (identity === undefined) {
    identity = hash('sha256', describe(provider), 'base64url');
    known.set(provider, identity);
  }
  return provider.expiresAt !== null && provider.expiresAt <= now ? `${identity} expired` : identity;
}

function describe(provider: StoredProvider): string {
  const { id, workspaceId, slug, credential, baseUrl, hostTrusted, headers, fields, models, unresolved } =
    provider;
  const revealed = Object.entries(fields).map(([name, value]) => [
    name,
    value instanceof Secret ? value.reveal() : value,
  ]);
  return JSON.stringify([
    id,
    workspaceId,
    slug,
    provider.provider,
    credential?.reveal() ?? null,
    baseUrl,
    hostTrusted,
    headers,
    revealed,
    unresolved ?? [],
    models === null ? null : [models.others, [...models.named]],
  ]);
}
