import { type AlertFilter, alertEvents } from '../../../../common/ledger/alerts.js';
import { alertMessage } from '../../../alerts/message.js';
import { msOf, pageOf } from '../../grpc/wire.js';
import type { AdminParts, Service } from '../../service.js';

/** What happened to budgets, and anomalies. */
export function alertsService({ alerts }: AdminParts): Service<'Alerts'> {
  return {
    async ListAlerts(caller, request) {
      const isNarrow = caller.workspaceId !== null || Boolean(request.workspace_id);
      const filter: AlertFilter = {
        event: alertEvents.find((event) => event === request.event),
        holder: (request.holder_type as AlertFilter['holder']) || undefined,
        holderId: request.holder_id || undefined,
        workspace: isNarrow
          ? (await caller.place(request.workspace_id, { archived: true })).workspaceId
          : undefined,
        keys: (await caller.keysInSight()) ?? undefined,
        since: msOf(request.since) ?? undefined,
      };
      const page = pageOf(request);
      if (alerts === undefined) return { object: 'list', data: [], total: 0 };
      const { alerts: found, total } = await alerts.list(caller.organisationId, filter, page);
      // Addresses of people are for administrators of the organisation.
      const seesPeople = caller.workspaceId === null;
      const data = found.map((alert) => alertMessage(seesPeople ? alert : { ...alert, recipients: [] }));
      return { object: 'list', data, total };
    },
  };
}
