import type { ListAnomaliesRequest, ListAnomaliesResponse } from '../../../../../proto/messages.js';
import { anomalyMetrics } from '../../../../common/ledger/alerts.js';
import { anomalyMessage } from '../../../alerts/message.js';
import type { Caller } from '../../access/caller.js';
import { VisibleLogs } from '../../access/visible-logs.js';
import { msOf, pageOf } from '../../grpc/wire.js';
import type { AdminParts } from '../../service.js';
import { filteredWorkspace } from '../../usage/log-filters.js';

/** Anomalies of the workspaces whose figures the caller sees. */
export async function listAnomalies(
  { alerts }: Pick<AdminParts, 'alerts'>,
  caller: Caller,
  request: ListAnomaliesRequest,
): Promise<ListAnomaliesResponse> {
  const named = caller.workspaceId === null ? filteredWorkspace(request) : null;
  const { sight } = await VisibleLogs.of(caller, named, 'analytics');
  const filter = {
    metric: anomalyMetrics.find((metric) => metric === request.metric),
    since: msOf(request.since) ?? undefined,
  };
  if (alerts === undefined) return { object: 'list', data: [], total: 0 };
  const { anomalies, total } = await alerts.listAnomalies(sight, filter, pageOf(request));
  return { object: 'list', data: anomalies.map(anomalyMessage), total };
}
