import { setTimeout } from 'node:timers/promises';
import type { LogExportAnswer, LogExport as LogExportMessage } from '../../../../../proto/messages.js';
import { newestFirst } from '../../../../common/ledger/logs/log-query.js';
import { exportFileName } from '../../../exports/exporter.js';
import type { FilterValues, LogExport } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { VisibleLogs } from '../../access/visible-logs.js';
import { AdminError } from '../../admin-error.js';
import { pageOf, timeOf } from '../../grpc/wire.js';
import { inSight } from '../../records.js';
import type { AdminParts, Service } from '../../service.js';
import { contentTypes, readExportFilters, restrictedFields } from '../../usage/export-form.js';
import { isSigned, linkSeconds, signedUrl } from '../../usage/export-link.js';
import { filteredWorkspace } from '../../usage/log-filters.js';
import { withSavedFilter } from '../../usage/saved-filter.js';

/** Characters of the JSON of filters. */
const longestFilters = 16_384;
/** Milliseconds that counting may take: others wait for the unit of work. */
const countingMs = 2000;
/** Exports of a workspace that are written or wait for that: those of others wait for them. */
const mostUnfinished = 5;
/** Files that may be read at once on one node, of one organisation and of all. */
const mostReaders = { own: 16, all: 64 } as const;

const toMessage = (one: LogExport): LogExportMessage => ({
  id: one.id,
  organisation_id: one.organisationId,
  workspace_id: one.workspaceId,
  filters: one.filters,
  requested_data: [...one.requestedData],
  status: one.status,
  description: one.description,
  created_at: timeOf(one.createdAt),
  last_updated_at: timeOf(one.updatedAt),
  created_by: one.createdBy,
  object: 'export',
  total_records: one.records,
  format: one.format,
  restricted_fields: one.sight === null ? [] : [...restrictedFields(one.sight.metadata)],
  error: one.error,
});

interface Named {
  readonly export_id: string;
  readonly workspace_id?: string | null;
}

const wrongState = (one: LogExport, deed: string): AdminError =>
  new AdminError('AB01', `An export that is ${one.status} cannot be ${deed}.`);

/** Logs of a workspace, written to a file. */
export function logExportsService({
  store,
  ledger,
  logExporter,
  publicUrl = 'http://localhost:8787',
}: AdminParts): Service<'LogExports'> {
  const readers = new Map<string, number>();
  let allReaders = 0;

  function exporter() {
    if (logExporter === undefined) throw new AdminError('unavailable', 'This node writes no exports.');
    return logExporter;
  }

  /** Throws AB08 where the caller sees no such export: who sees the requests of its own keys alone sees its own alone. */
  async function found(caller: Caller, named: Named): Promise<[LogExport, VisibleLogs]> {
    const one = await inSight(
      caller,
      named.workspace_id,
      await store.logExports.get(caller.organisationId, named.export_id),
      'export',
    );
    const visible = await VisibleLogs.of(caller, one.workspaceId, 'logs');
    if (visible.sight.keys !== null && one.createdBy !== caller.id)
      throw new AdminError('AB08', 'There is no such export.');
    return [one, visible];
  }

  /** Throws AB01 with the path, and AB03 for a filter by what the caller may not see. */
  function checked(given: FilterValues, workspace: { id: string; slug: string }, visible: VisibleLogs) {
    if (JSON.stringify(given).length > longestFilters)
      throw AdminError.field('filters', `must be no longer than ${longestFilters} characters.`);
    const { filters } = readExportFilters(given);
    const named = filteredWorkspace(given, 'filters');
    if (named !== null && named !== workspace.id && named !== workspace.slug)
      throw AdminError.field('filters.workspace_slug', 'names another workspace than that of the export.');
    if (Object.keys(filters.metadata).length > 0) visible.needMetadata();
    return filters;
  }

  /**
   * The filters with the values of the saved filter that `filter_id` names: an export keeps them as they are now. `workspace`: that
   * of the export takes the place of the saved one; null: the saved filter decides. Throws AB08 for one that the caller does not see.
   */
  async function resolved(
    caller: Caller,
    { filter_id: saved, ...own }: FilterValues,
    workspace: string | null,
  ): Promise<FilterValues> {
    if (saved === undefined || saved === null || saved === '') return own;
    if (typeof saved !== 'string') throw AdminError.field('filters.filter_id', 'must be text.');
    const named = workspace !== null && filteredWorkspace(own, 'filters') === null;
    return {
      ...(await withSavedFilter(caller, {
        ...own,
        filter_id: saved,
        ...(named && { workspace_id: workspace }),
      })),
    };
  }

  async function workspaceOf(caller: Caller, id: string) {
    const workspace = await store.workspaces.get(caller.organisationId, id);
    if (workspace === null) throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
    return workspace;
  }

  /** null: it takes too long to count them. */
  async function countOf(given: FilterValues, visible: VisibleLogs): Promise<number | null> {
    const { filters, skip, most } = readExportFilters(given);
    const query = { filters, order: newestFirst, offset: 0, limit: 1, isCounted: true };
    const counted = ledger.page({ ...query, sight: visible.sight }).then(
      ({ total }) => total,
      () => null,
    );
    const total = await Promise.race([counted, setTimeout(countingMs, null, { ref: false })]);
    return typeof total === 'number' ? Math.min(most, Math.max(0, total - skip)) : null;
  }

  const answer = ({ id, records }: LogExport): LogExportAnswer => ({ id, total: records, object: 'export' });

  /** Throws AB03 where who reads it sees less than who started it. */
  function needSight({ sight }: LogExport, visible: VisibleLogs, workspaceId: string): void {
    const { keys } = visible.sight;
    const isWider = keys !== null && (sight?.keys ?? null)?.every((key) => keys.includes(key)) !== true;
    if (isWider || (sight?.metadata === true && !visible.seesMetadata(workspaceId)))
      throw new AdminError('AB03', 'The security settings hide some of what this export contains.');
  }

  return {
    async CreateLogExport(caller, request) {
      const filters = await resolved(caller, request.filters ?? {}, request.workspace_id || null);
      const place = await caller.place(request.workspace_id || filteredWorkspace(filters, 'filters'));
      const visible = await VisibleLogs.of(caller, place.workspaceId, 'logs');
      checked(filters, await workspaceOf(caller, place.workspaceId), visible);
      const made = await store.logExports.create(place, {
        filters,
        requestedData: request.requested_data ?? [],
        description: request.description?.trim() || null,
        format: request.format || 'jsonl',
        records: await countOf(filters, visible),
        createdBy: caller.id,
      });
      if (made === 'missing') throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
      caller.changed(made);
      return answer(made);
    },

    async ListLogExports(caller, request) {
      const place = await caller.place(request.workspace_id, { archived: true });
      const { sight } = await VisibleLogs.of(caller, place.workspaceId, 'logs');
      const createdBy = sight.keys === null ? null : caller.id;
      const { total, rows } = await store.logExports.list(place, createdBy, pageOf(request));
      return { object: 'list', total, data: rows.map(toMessage) };
    },

    async GetFieldRestrictions(caller, { workspace_id: named }) {
      const { workspaceId } = await caller.place(named, { archived: true });
      const visible = await VisibleLogs.of(caller, workspaceId, 'logs');
      return { restricted_fields: [...restrictedFields(visible.seesMetadata(workspaceId))] };
    },

    async GetLogExport(caller, request) {
      const [one] = await found(caller, request);
      return toMessage(one);
    },

    async UpdateLogExport(caller, request) {
      const [before, visible] = await found(caller, request);
      const { description } = request;
      const filters = request.filters && (await resolved(caller, request.filters, before.workspaceId));
      if (filters) checked(filters, await workspaceOf(caller, before.workspaceId), visible);
      const requested = request.requested_data ?? [];
      const changed = await store.logExports.update(caller.organisationId, before.id, {
        ...(filters && { filters, records: await countOf(filters, visible) }),
        ...(requested.length > 0 && { requestedData: requested }),
        ...(typeof description === 'string' && { description: description.trim() || null }),
        ...(request.format && { format: request.format }),
      });
      if (changed === null) throw wrongState(before, 'changed');
      caller.changed(changed);
      return answer(changed);
    },

    async StartLogExport(caller, request) {
      const [before, visible] = await found(caller, request);
      checked(before.filters, await workspaceOf(caller, before.workspaceId), visible);
      const place = { organisationId: caller.organisationId, workspaceId: before.workspaceId };
      if ((await store.logExports.unfinished(place)) >= mostUnfinished)
        throw new AdminError(
          'AB06',
          `${mostUnfinished} exports of this workspace are being written: wait for one to end.`,
        );
      const started = await store.logExports.start(caller.organisationId, before.id, {
        keys: visible.sight.keys,
        metadata: visible.seesMetadata(before.workspaceId),
      });
      if (started === null) throw wrongState(before, 'started');
      caller.changed({ ...started, action: 'update' });
      // Where this node writes none, another one finds it.
      logExporter?.wake();
      return { message: 'The export was started.', object: 'export' };
    },

    async CancelLogExport(caller, request) {
      const [before] = await found(caller, request);
      const stopped = await store.logExports.cancel(caller.organisationId, before.id);
      if (stopped === null) throw wrongState(before, 'cancelled');
      caller.changed({ ...stopped, action: 'update' });
      return { message: 'The export was stopped.', object: 'export' };
    },

    async DownloadLogExport(caller, request) {
      const [one, visible] = await found(caller, request);
      needSight(one, visible, one.workspaceId);
      if (one.status !== 'success') throw wrongState(one, 'downloaded');
      if (one.fileRemovedAt !== null)
        throw new AdminError(
          'AB01',
          'The file of this export was removed, since its time is over: make another.',
        );
      const expires = Math.floor(Date.now() / 1000) + linkSeconds;
      const link = { organisationId: one.organisationId, exportId: one.id, expires };
      return { signed_url: signedUrl(link, store.pepper, publicUrl) };
    },

    async *ReadLogExportFile(_caller, request, gone) {
      const { export_id: exportId, organisation_id: organisationId, expires, signature } = request;
      if (!isSigned({ organisationId, exportId, expires }, signature, store.pepper, Date.now()))
        throw new AdminError('AB03', 'This address is not valid, or not any more: ask for another one.');
      const one = await store.logExports.get(organisationId, exportId);
      if (one?.status !== 'success') throw new AdminError('AB08', 'There is no such export.');
      const open = readers.get(organisationId) ?? 0;
      if (open >= mostReaders.own || allReaders >= mostReaders.all)
        throw new AdminError('AB06', 'Too many exports are being read: try again later.');
      readers.set(organisationId, open + 1);
      allReaders++;
      try {
        const file = await exporter().destination.read(exportFileName(one));
        if (file === null) throw new AdminError('AB08', 'The file of this export is not there any more.');
        const type = contentTypes[one.format];
        let isEmpty = true;
        for await (const data of file) {
          if (gone.aborted) return;
          isEmpty = false;
          yield { content_type: type, data };
        }
        if (isEmpty) yield { content_type: type, data: Buffer.alloc(0) };
      } finally {
        allReaders--;
        const left = (readers.get(organisationId) ?? 1) - 1;
        if (left === 0) readers.delete(organisationId);
        else readers.set(organisationId, left);
      }
    },
  };
}
