import type { LookupKind, LookupRecords } from '../../common/ipc/messages.js';
import type { Store } from '../../control-plane/store/store.js';
import type { ProcessPart } from '../part-list.js';
import { workerInit } from '../workers/worker-init.js';
import type { Administration } from './administration.js';
import type { Base } from './base.js';
import type { DataDirectory } from './data-directory.js';
import type { DeploymentGiven } from './deployment.js';
import type { Records } from './store.js';
import type { WorkerProcesses } from './worker-processes.js';

/** A worker that has not ended with its requests is killed two seconds later. Milliseconds. */
const afterDrainMs = 4000;

/** The data workers, serving: from here on there are requests. */
export const workersPart: ProcessPart<
  Base & DataDirectory & Records & DeploymentGiven & WorkerProcesses & Administration,
  { readonly port: number }
> = {
  name: 'data workers',
  stopMs: ({ settings }) => settings.drainTimeoutMs + afterDrainMs,
  async start({ settings, journalDir, nodeId, deployment, store, workers, admin }) {
    const pepper = store.pepper.toString('hex');
    const node = { journalDir, nodeId, deployment: deployment?.id ?? null };
    const port = await workers.serve({
      init: (worker) => workerInit(settings, worker, workers.options.count, node, pepper),
      lookup: (kind, workspace, name) => lookup(store, kind, workspace, name),
      admin(request) {
        // Workers of such a node answer by themselves.
        if (admin === null) throw new Error('This node has no administration plane.');
        return admin.rest(request);
      },
    });
    return { port };
  },
  stop: ({ settings, workers }) => workers.stop(settings.drainTimeoutMs),
};

async function lookup(
  store: Store,
  kind: LookupKind,
  workspace: string | null,
  name: string,
): Promise<LookupRecords[LookupKind] | null> {
  if (kind === 'key') return store.keys.findByHash(name);
  if (kind === 'deployment') return store.deployments.rules(name);
  if (workspace === null) return null;
  if (kind === 'policies') return store.rateLimitsPolicies.inForce(workspace);
  return kind === 'config' ? store.configs.find(workspace, name) : store.providers.find(workspace, name);
}
