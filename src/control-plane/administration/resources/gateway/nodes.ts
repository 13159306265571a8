import type { Node as NodeMessage } from '../../../../../proto/messages.js';
import type { Node } from '../../../store/store.js';
import { timeOf } from '../../grpc/wire.js';
import type { AdminParts, Service } from '../../service.js';

/** The gateways that share the store. */
export function nodesService({ store }: AdminParts): Service<'Nodes'> {
  return {
    async ListNodes() {
      const nodes = await store.nodes.list();
      return { object: 'list', total: nodes.length, data: nodes.map(toMessage) };
    },
  };
}

const toMessage = (node: Node): NodeMessage => ({
  id: node.id,
  name: node.name,
  version: node.version,
  role: node.role,
  state: node.state,
  started_at: timeOf(node.startedAt),
  last_seen_at: timeOf(node.lastSeenAt),
  workers: node.workers,
  journal_behind_s: Math.round(node.journalBehindMs) / 1000,
});
