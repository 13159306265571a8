import type { LogFilters } from '../../../common/ledger/log-filters.js';
import type { LogSight } from '../../../common/ledger/logs/log-sight.js';
import { type GroupName, groupColumns, type TimeRange } from '../../analytics/question.js';
import type { Caller } from '../access/caller.js';
import { VisibleLogs } from '../access/visible-logs.js';
import { AdminError } from '../admin-error.js';
import { filteredWorkspace, readLogFilters } from './log-filters.js';
import { type FiltersOrSaved, withSavedFilter } from './saved-filter.js';

/** Which requests a question is about, after all rules. */
export interface AboutLogs {
  readonly sight: LogSight;
  readonly filters: LogFilters;
}

export interface ReadingOptions {
  /** Name of metadata that the question groups by. */
  readonly metadata?: boolean;
  /** Without a workspace, an organisation's key asks about all of them; else about the default one. */
  readonly allWorkspaces?: boolean;
  /** Of the object that has the filters; the request itself unless given. */
  readonly path?: string;
}

/** Reads what a request to analytics gives. Throws AB01, AB02 and AB03. */
export async function aboutLogs(
  caller: Caller,
  request: FiltersOrSaved,
  { metadata = false, allWorkspaces = false, path = '' }: ReadingOptions = {},
): Promise<AboutLogs> {
  const given = await withSavedFilter(caller, request);
  const filters = readLogFilters(given, path);
  // A workspace's key has its own, whatever it names.
  const named = caller.workspaceId === null ? filteredWorkspace(given, path) : null;
  const workspace =
    named === null && caller.workspaceId === null && !allWorkspaces ? await defaultWorkspace(caller) : named;
  const visible = await VisibleLogs.of(caller, workspace, 'analytics');
  if (metadata || Object.keys(filters.metadata).length > 0) visible.needMetadata();
  return { sight: visible.sight, filters };
}

async function defaultWorkspace(caller: Caller): Promise<string | null> {
  const page = { offset: 0, limit: 1000 };
  const { rows } = await caller.store.workspaces.list(caller.organisationId, page);
  return rows.find(({ isDefault }) => isDefault)?.id ?? null;
}

/** Throws AB01 without both ends of the time. `before`: what their names come after in the request, as `filters.`. */
export function rangeOf({ at: { min, max } }: LogFilters, before = ''): TimeRange {
  const missing = [
    ...(min === undefined ? [`${before}time_of_generation_min`] : []),
    ...(max === undefined ? [`${before}time_of_generation_max`] : []),
  ];
  if (min === undefined || max === undefined)
    throw AdminError.fields(missing.map((path) => ({ path, problem: 'is required.' })));
  return { min, max };
}

export function groupName(text: string, path = 'group_by'): GroupName {
  if (!Object.hasOwn(groupColumns, text))
    throw AdminError.field(path, `must be one of ${Object.keys(groupColumns).join(', ')}.`);
  return text as GroupName;
}
