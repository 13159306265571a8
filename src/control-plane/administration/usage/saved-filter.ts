import type { Caller } from '../access/caller.js';
import { inSight } from '../records.js';
import { filteredWorkspace, type GivenFilters } from './log-filters.js';

/** Filters that may name a saved one. */
export interface FiltersOrSaved extends GivenFilters {
  readonly filter_id?: string | null;
}

/**
 * The filters of a request and of the saved filter that it names: what the request gives takes the place of the saved values.
 * Without a workspace the saved filter's own is meant. Throws AB08 for one that the caller does not see.
 */
export async function withSavedFilter(caller: Caller, given: FiltersOrSaved): Promise<GivenFilters> {
  const { filter_id, ...own } = given;
  if (!filter_id) return own;
  const found = await caller.store.savedFilters.get(caller.organisationId, filter_id);
  const saved = await inSight(caller, null, found, 'saved filter');
  const set = Object.fromEntries(
    Object.entries(own).filter(([, value]) => value !== undefined && value !== null && value !== ''),
  );
  const { workspace_id, workspace_slug, ...values } = saved.filters;
  const named = filteredWorkspace(set) ?? filteredWorkspace({ workspace_id, workspace_slug });
  const { workspace_id: _id, workspace_slug: _slug, ...others } = set;
  return { ...values, ...others, workspace_id: named ?? saved.workspaceId };
}
