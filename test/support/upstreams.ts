import { createUpstream, type UpstreamOptions } from '../../src/data-plane/upstream/dispatch.js';
import { createUndiciUpstream } from '../../src/data-plane/upstream/undici/undici-upstream.js';
import type { Upstream } from '../../src/data-plane/upstream/upstream.js';

export interface UpstreamKind {
  readonly name: 'own' | 'undici';
  create(options: UpstreamOptions): Upstream;
}

const kinds: readonly UpstreamKind[] = [
  { name: 'own', create: createUpstream },
  { name: 'undici', create: createUndiciUpstream },
];

/** A suite that is run on each client of the outgoing side. */
export function forEachUpstream(suite: (kind: UpstreamKind) => void): void {
  for (const kind of kinds) describe(`by the client "${kind.name}"`, () => suite(kind));
}
