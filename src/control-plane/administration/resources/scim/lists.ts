import type { ListScimUsersResponse } from '../../../../../proto/messages.js';
import type { Page } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';

/** Pages of RFC 7644, which count from 1. */

const usualCount = 100;

interface PageRequest {
  readonly start_index?: number | null;
  readonly count?: number | null;
}

/** `startIndex` below 1 is 1, and a negative `count` is 0. */
export const pageOfScim = (request: PageRequest, most: number): Page => ({
  offset: Math.max(1, request.start_index ?? 1) - 1,
  limit: Math.min(Math.max(0, request.count ?? usualCount), most),
});

export const listOf = (
  resources: readonly Readonly<Record<string, unknown>>[],
  total: number,
  startIndex: number,
): ListScimUsersResponse => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
  total_results: total,
  resources: [...resources],
  start_index: startIndex,
  items_per_page: resources.length,
});

/** The address of the organisation's SCIM, as clients reach it. */
export const baseOf = (publicUrl: string | undefined, { organisationId }: Caller): string =>
  `${publicUrl ?? 'http://localhost:8787'}/v1/scim/${organisationId}`;
