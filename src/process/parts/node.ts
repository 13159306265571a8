import type { NodeReport } from '../../control-plane/store/store.js';
import { NodeReports } from '../node/node-reports.js';
import { placeOf } from '../node/place.js';
import { version } from '../node/version.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { DataDirectory } from './data-directory.js';
import type { Records } from './store.js';
import type { WorkerProcesses } from './worker-processes.js';

export interface NodeGiven {
  readonly node: NodeReports;
  /** Asked for each report; set by the ingestion of journals, which starts later. */
  readonly journal: { behindMs: () => number };
}

/** This node among those of the deployment: refused where another one with its id is alive, reported until it has left. */
export const nodePart: ProcessPart<Base & DataDirectory & Records & WorkerProcesses, NodeGiven> = {
  name: 'entry of this node',
  async start({ settings, nodeId, store, workers, log }) {
    let hasServed = false;
    const journal = { behindMs: () => 0 };
    const state = (): NodeReport['state'] => {
      if (workers.leaving) return 'draining';
      hasServed ||= workers.ready > 0;
      return hasServed ? 'up' : 'starting';
    };
    const node = new NodeReports({
      id: nodeId,
      name: settings.nodeName,
      version: version(),
      role: settings.role,
      place: placeOf(settings.dataDir),
      nodes: store.nodes,
      now: () => ({ state: state(), workers: workers.ready, journalBehindMs: journal.behindMs() }),
      end(reason) {
        log.error({}, `${reason} This node stops.`);
        process.exitCode = 1;
        // As an operator would stop it: requests under way end in order.
        process.kill(process.pid, 'SIGTERM');
      },
      log,
    });
    await node.begin();
    return { node, journal };
  },
  drain: ({ node }) => node.reportSoon(),
  stop: ({ node }) => node.leave(),
};
