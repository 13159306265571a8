import type { SavedFilter as SavedFilterMessage } from '../../../../../proto/messages.js';
import type { FilterValues, SavedFilter } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { AdminError } from '../../admin-error.js';
import { setOf } from '../../audit/mask.js';
import { pageOf, textOf, timeOf } from '../../grpc/wire.js';
import { inSight, settled } from '../../records.js';
import type { AdminParts, Service } from '../../service.js';
import { filteredWorkspace, readOnlyLogFilters } from '../../usage/log-filters.js';

/** Characters of the JSON of filters. */
const longestFilters = 16_384;

const toMessage = (saved: SavedFilter): SavedFilterMessage => ({
  id: saved.id,
  name: saved.name,
  filters: saved.filters,
  workspace_id: saved.workspaceId,
  organisation_id: saved.organisationId,
  created_by: saved.createdBy,
  created_at: timeOf(saved.createdAt),
  last_updated_at: timeOf(saved.updatedAt),
  object: 'analytics-filter',
  etag: saved.etag,
});

/** Filters that could be used as they are. Throws AB01 with the path, and AB02 for a workspace that the caller does not see. */
async function checkedFilters(caller: Caller, filters: FilterValues): Promise<FilterValues> {
  readOnlyLogFilters(filters, 'filters');
  if (JSON.stringify(filters).length > longestFilters)
    throw AdminError.field('filters', `must be no longer than ${longestFilters} characters.`);
  const named = filteredWorkspace(filters, 'filters');
  if (named === null) return filters;
  const workspace = await caller.store.workspaces.get(caller.organisationId, named);
  if (workspace !== null && caller.sees(workspace.id)) return filters;
  const name = filters['workspace_id'] ? 'workspace_id' : 'workspace_slug';
  throw new AdminError('AB02', `filters.${name}: there is no such workspace.`);
}

/** Filters of logs and analytics that are kept under a name. */
export function savedFiltersService({ store }: AdminParts): Service<'SavedFilters'> {
  async function found(
    caller: Caller,
    { id, workspace_id }: { readonly id: string; readonly workspace_id?: string | null },
  ): Promise<SavedFilter> {
    const saved = await store.savedFilters.get(caller.organisationId, id);
    return inSight(caller, workspace_id, saved, 'saved filter');
  }

  return {
    async CreateSavedFilter(caller, request) {
      const place = await caller.place(request.workspace_id);
      const made = await store.savedFilters.create(place, {
        name: textOf('name', request.name),
        filters: await checkedFilters(caller, request.filters ?? {}),
        createdBy: caller.id,
      });
      if (made === 'missing') throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
      caller.changed(made);
      return toMessage(made);
    },

    async ListSavedFilters(caller, request) {
      const place = await caller.place(request.workspace_id, { archived: true });
      const { total, rows } = await store.savedFilters.list(place, pageOf(request));
      return { object: 'list', total, data: rows.map(toMessage) };
    },

    async GetSavedFilter(caller, request) {
      return toMessage(await found(caller, request));
    },

    async UpdateSavedFilter(caller, request) {
      const before = await found(caller, request);
      const filters = setOf(request, 'filters');
      const saved = await store.savedFilters.update(caller.organisationId, before.id, {
        name: setOf(request, 'name')?.trim(),
        filters: filters === undefined ? undefined : await checkedFilters(caller, filters),
        etag: request.etag ?? undefined,
      });
      caller.changed(settled(saved, 'saved filter'));
      return {};
    },

    async DeleteSavedFilter(caller, request) {
      const { id } = await found(caller, request);
      const gone = await store.savedFilters.delete(caller.organisationId, id, request.etag ?? undefined);
      caller.changed(settled(gone, 'saved filter'));
      return {};
    },
  };
}
