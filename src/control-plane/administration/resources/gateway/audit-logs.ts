import type { ExportAuditLogsRequest, ListAuditLogsRequest } from '../../../../../proto/messages.js';
import type { AuditFilter } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { AdminError } from '../../admin-error.js';
import { auditFile, auditFileType, auditLog } from '../../audit/audit-file.js';
import { pageOf } from '../../grpc/wire.js';
import type { AdminParts, Service } from '../../service.js';

/** A text that is not given asks for nothing. */
const given = <T extends string>(text: T | null | undefined): T | undefined => text || undefined;

async function filterOf(
  caller: Caller,
  request: ListAuditLogsRequest | ExportAuditLogsRequest,
): Promise<AuditFilter> {
  const from = Date.parse(request.start_time);
  const end = Date.parse(request.end_time);
  if (end <= from) throw AdminError.field('end_time', 'must be later than start_time.');
  return {
    from,
    to: end - 1,
    method: given(request.method),
    userId: given(request.user_id),
    userType: given(request.user_type),
    workspaceId: await workspaceOf(caller, request.workspace_id),
    resourceType: given(request.resource_type),
    action: given(request.action),
  };
}

/** Rows outlive their workspace: an id that is no longer one still finds them. */
async function workspaceOf(caller: Caller, idOrSlug: string | null | undefined): Promise<string | undefined> {
  if (!idOrSlug) return undefined;
  const workspace = await caller.store.workspaces.get(caller.organisationId, idOrSlug);
  return workspace?.id ?? idOrSlug;
}

/** Who changed what. */
export function auditLogsService({ store }: AdminParts): Service<'AuditLogs'> {
  return {
    async ListAuditLogs(caller, request) {
      const filter: AuditFilter = {
        ...(await filterOf(caller, request)),
        uri: given(request.uri),
        requestId: given(request.request_id),
        responseStatusCode: request.response_status_code ?? undefined,
        clientIp: given(request.client_ip),
        country: given(request.country),
      };
      const { rows, total } = await store.audit.list(caller.organisationId, filter, pageOf(request));
      return { records: rows.map(auditLog), total, object: 'analytics-graph' };
    },

    async *ExportAuditLogs(caller, request) {
      const format = request.format || 'jsonl';
      const rows = store.audit.export(caller.organisationId, await filterOf(caller, request));
      for await (const text of auditFile(rows, format))
        yield { content_type: auditFileType[format], data: Buffer.from(text) };
    },
  };
}
