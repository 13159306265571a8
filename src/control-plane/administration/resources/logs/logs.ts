import type { ListLogsRequest } from '../../../../../proto/messages.js';
import type { LogOrder } from '../../../../common/ledger/logs/log-query.js';
import { isCursor, type LedgerRow } from '../../../../common/ledger/record.js';
import { pricing as builtIn } from '../../../../common/prices/pricing.js';
import type { Caller } from '../../access/caller.js';
import { VisibleLogs } from '../../access/visible-logs.js';
import { AdminError } from '../../admin-error.js';
import { timeOf } from '../../grpc/wire.js';
import type { AdminParts, Service } from '../../service.js';
import { filteredWorkspace, readLogFilters } from '../../usage/log-filters.js';
import { withSavedFilter } from '../../usage/saved-filter.js';
import { customLog } from './custom-logs.js';
import { feedbackOf, ownWorkspace } from './feedback.js';
import { importLines } from './import-lines.js';
import { costExplanation, pricesOfRow } from './log-costs.js';
import { namesOf, toMetrics } from './log-metrics.js';
import { loggedRequest, loggedResponse, providerSide } from './logged-messages.js';
import { createTraces } from './spans/create-traces.js';

function cursorOf(text: string): string {
  if (isCursor(text)) return text;
  throw AdminError.field('after', 'must be the cursor of an earlier answer, or 0.');
}

/** The requested page; `limit` and `page_size` mean the same. */
function pageOfLogs({ limit, page_size: size, current_page: page, after }: ListLogsRequest) {
  if (limit && size && limit !== size)
    throw AdminError.field('page_size', 'is given as limit too, and differently.');
  const count = size || limit || 50;
  if (count < 0) throw AdminError.field('limit', 'must not be negative.');
  if (after && page) throw AdminError.field('current_page', 'cannot be given together with after.');
  const isPage = Boolean(size) || (page !== undefined && page !== null);
  const most = Math.min(count, 1000);
  return { limit: most, offset: (page ?? 0) * most, isCounted: isPage && !after };
}

function orderOf({ order_by: by, order_by_type: way, after }: ListLogsRequest): LogOrder {
  if (after && by) throw AdminError.field('order_by', 'cannot be given together with after.');
  return { by: (by || 'created_at') as LogOrder['by'], isAscending: way === 'asc' };
}

const unknownLog = (): AdminError => new AdminError('AB08', 'There is no such log.');

/** What passed through the gateway. */
export function logsService({
  store,
  ledger,
  feedbacks,
  logWriter,
  pricing = builtIn,
}: AdminParts): Service<'Logs'> {
  /** Throws AB08 where the caller sees no such row. */
  async function seen(caller: Caller, id: string): Promise<[LedgerRow, VisibleLogs]> {
    const row = await ledger.get(caller.organisationId, id);
    if (row === null || !caller.sees(row.workspace)) throw unknownLog();
    const visible = await VisibleLogs.of(caller, row.workspace, 'logs');
    if (!visible.sees(row)) throw unknownLog();
    return [row, visible];
  }
  return {
    async ListLogs(caller, request) {
      const given = await withSavedFilter(caller, request);
      const filters = readLogFilters(given);
      const visible = await VisibleLogs.of(caller, filteredWorkspace(given), 'logs');
      if (Object.keys(filters.metadata).length > 0) visible.needMetadata();
      const { sight } = visible;
      const page = pageOfLogs(request);
      const order = orderOf(request);
      const { rows, cursor, total } = request.after
        ? {
            ...(await ledger.follow({ sight, filters, after: cursorOf(request.after), limit: page.limit })),
            total: null,
          }
        : await ledger.page({ sight, filters, order, ...page });
      const names = await namesOf(store, sight.org, rows);
      const data = rows.map((row) => toMetrics(row, visible.seesMetadata(row.workspace), names));
      return { object: 'list', data, cursor, total };
    },

    async GetLog(caller, { id, workspace_id: named, path_format: format, created_at: time }) {
      if (format === 'v2' && !time) throw AdminError.field('created_at', 'is needed with path_format v2.');
      const [row, visible] = await seen(caller, id);
      const { org, workspace, trace } = row;
      if (named && (await caller.place(named, { archived: true })).workspaceId !== workspace)
        throw unknownLog();
      const { client: bodies, provider: own } = await ledger.allBodies(org, id);
      const seesMetadata = visible.seesMetadata(workspace);
      return {
        id,
        log_id: id,
        request: loggedRequest(row, bodies, seesMetadata),
        response: loggedResponse(row, bodies, seesMetadata),
        ...(bodies !== null && providerSide(row, bodies, own, seesMetadata)),
        organisation_id: org,
        created_at: timeOf(row.at),
        metrics: toMetrics(row, seesMetadata, await namesOf(store, org, [row])),
        bodies_cut: bodies?.cut === true || own?.cut === true,
        feedbacks:
          workspace === null
            ? []
            : (await feedbacks.ofTrace(org, workspace, trace)).map((one) => feedbackOf(one, seesMetadata)),
      };
    },

    async GetUnredactedText(caller, { id }) {
      const [row] = await seen(caller, id);
      const text = await store.unredactedTexts.get(caller.organisationId, row.id);
      if (text === null) throw new AdminError('AB08', 'No unredacted text of this log is kept.');
      return { id: row.id, ...text };
    },

    async CreateLogs(caller, { logs }) {
      const workspace = ownWorkspace(caller);
      const rows = logs.map((log, i) => customLog(log, { caller, workspace, pricing, path: `logs[${i}]` }));
      await logWriter.addRows(rows.map(({ row }) => row));
      await logWriter.addBodies(rows.map(({ bodies }) => bodies));
      return { content_type: 'text/plain; charset=utf-8', data: Buffer.from('ok') };
    },

    async CreateTraces(caller, request) {
      const workspace = ownWorkspace(caller);
      const { organisationId: org, key } = caller;
      return createTraces(request, { org, workspace, key: key.keyId, pricing }, logWriter);
    },

    async ImportLogs(caller, { lines, first_line: first }) {
      return importLines(Buffer.from(lines), first ?? 1, { store, logWriter, org: caller.organisationId });
    },

    async ExplainCost(caller, { id }) {
      const [row] = await seen(caller, id);
      return costExplanation(row, pricing, await pricesOfRow(store, row));
    },
  };
}
