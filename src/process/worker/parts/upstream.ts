import type { UpstreamOptions } from '../../../data-plane/upstream/dispatch.js';
import type { Upstream } from '../../../data-plane/upstream/upstream.js';
import { descriptorLimit, upstreamConnections } from '../../descriptors.js';
import type { ProcessPart } from '../../part-list.js';
import type { WorkerBase } from './base.js';

export interface UpstreamGiven {
  readonly upstream: Upstream;
}

/** The connections to providers, by the client that the settings choose. The other one is not loaded. */
export const upstreamPart: ProcessPart<WorkerBase, UpstreamGiven> = {
  name: 'upstream',
  async start({ init }) {
    const options: UpstreamOptions = {
      connectionsPerOrigin: init.upstreamConnections,
      keepAliveMs: 30_000,
      egressAllow: init.egressAllow,
      maxOpen: upstreamConnections(descriptorLimit()),
    };
    if (init.upstreamClient === 'own') {
      const { createUpstream } = await import('../../../data-plane/upstream/dispatch.js');
      return { upstream: createUpstream(options) };
    }
    const { createUndiciUpstream } = await import('../../../data-plane/upstream/undici/undici-upstream.js');
    return { upstream: createUndiciUpstream({ ...options, proxy: init.upstreamProxy }) };
  },
  stop: ({ upstream }) => upstream.close(),
};
