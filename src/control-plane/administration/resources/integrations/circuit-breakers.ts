import type { BreakerReport } from '../../../../common/ipc/breaker.js';
import { timeOf } from '../../grpc/wire.js';
import type { AdminParts, Service } from '../../service.js';

/** Circuit breakers that are not closed. */
export function circuitBreakersService({ breakers }: AdminParts): Service<'CircuitBreakers'> {
  return {
    async ListCircuitBreakers(caller, { workspace_id }) {
      const isNarrow = caller.workspaceId !== null || Boolean(workspace_id);
      const workspace = isNarrow ? (await caller.place(workspace_id)).workspaceId : null;
      const data = (breakers?.list(caller.organisationId, workspace) ?? []).map(toMessage);
      return { object: 'list', data, total: data.length };
    },
  };
}

function toMessage(report: BreakerReport) {
  return {
    workspace_id: report.workspace,
    config: report.slug ?? undefined,
    fingerprint: report.config,
    path: report.path,
    provider: report.provider,
    state: report.state,
    reason: report.reason,
    opened_at: timeOf(report.openedAt),
    next_probe_at: timeOf(report.nextProbeAt),
    requests: report.requests,
    failures: report.failures,
  };
}
