import { controlConnections, descriptorLimit } from '../descriptors.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { Records } from './store.js';

export interface SimulatedGiven {
  /** null: the settings ask for none. */
  readonly simulated: { close(): Promise<void> } | null;
}

/** The provider `@simulated`: a server of this process, in OpenAI's wire format, on the loopback. */
export const simulatedProvider: ProcessPart<Base & Records, SimulatedGiven> = {
  name: 'simulated provider',
  async start({ settings, store }) {
    if (!settings.simulated) return { simulated: null };
    const { startSimulated } = await import('../../simulated/index.js');
    const { simulated: maxConnections } = controlConnections(descriptorLimit());
    const server = await startSimulated({ record: false, maxConnections });
    store.providers.setRuntimeBaseUrl('simulated', `${server.url}/v1`);
    return { simulated: server };
  },
  stop: ({ simulated }) => simulated?.close(),
};
