import { nodeTransportCanShare } from '../../data-plane/transport/node/node.js';
import type { ProcessPart } from '../part-list.js';
import { WorkerGroup } from '../workers/worker-group.js';
import type { Base } from './base.js';

export interface WorkerProcesses {
  readonly workers: WorkerGroup;
}

/** The data workers' processes. They load their code while later parts start, and wait for their settings. */
export const workerProcesses: ProcessPart<Base, WorkerProcesses> = {
  name: 'data workers’ processes',
  start({ settings, log }) {
    const count = settings.transport === 'node' && !nodeTransportCanShare ? 1 : settings.workers;
    const canShare = settings.transport === 'uws' || nodeTransportCanShare;
    const workers = new WorkerGroup({ count, log, canShare });
    workers.fork();
    return { workers };
  },
  stop: ({ workers }) => workers.kill(),
};
