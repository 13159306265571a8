import type { WorkerInit } from '../../common/ipc/messages.js';
import type { UpstreamOptions } from '../../data-plane/upstream/dispatch.js';
import type { Upstream } from '../../data-plane/upstream/upstream.js';
import { descriptorLimit, upstreamConnections } from '../descriptors.js';

type Init = Pick<WorkerInit, 'upstreamConnections' | 'upstreamClient' | 'upstreamProxy' | 'egressAllow'>;

/** The client that the settings choose. The other one is not loaded. */
export async function openUpstream(init: Init): Promise<Upstream> {
  const options: UpstreamOptions = {
    connectionsPerOrigin: init.upstreamConnections,
    keepAliveMs: 30_000,
    egressAllow: init.egressAllow,
    maxOpen: upstreamConnections(descriptorLimit()),
  };
  if (init.upstreamClient === 'own')
    return (await import('../../data-plane/upstream/dispatch.js')).createUpstream(options);
  const { createUndiciUpstream } = await import('../../data-plane/upstream/undici/undici-upstream.js');
  return createUndiciUpstream({ ...options, proxy: init.upstreamProxy });
}
