import type { Caller } from './access/caller.js';
import { AdminError } from './admin-error.js';
import { stale } from './grpc/wire.js';

/**
 * A record that was found by its organisation, if the request may be about it: in the workspace that it names, else
 * anywhere in the key's sight. Records of the organisation are visible to every key. Throws AB08 as if there were none.
 */
export async function inSight<T extends { readonly workspaceId: string | null }>(
  caller: Caller,
  workspace: string | null | undefined,
  record: T | null,
  noun: string,
): Promise<T> {
  const within = workspace ? (await caller.place(workspace, { archived: true })).workspaceId : null;
  const isThere =
    record !== null &&
    (record.workspaceId === null ||
      (caller.sees(record.workspaceId) && (within === null || within === record.workspaceId)));
  if (!isThere) throw new AdminError('AB08', `There is no such ${noun}.`);
  return record;
}

interface Scoped {
  readonly workspace_id?: string | null;
  readonly organisation_id?: string | null;
}

/** The workspace that a request is about; null: it names the organisation, and no workspace. */
export const scopeOf = async (
  caller: Caller,
  { workspace_id, organisation_id }: Scoped,
  how: { readonly archived?: boolean } = {},
): Promise<string | null> =>
  organisation_id && !workspace_id ? null : (await caller.place(workspace_id, how)).workspaceId;

/** Throws AB03 where a key of one workspace would change what belongs to all of them. */
export function needReach(
  caller: Caller,
  record: { readonly workspaceId: string | null },
  noun: string,
): void {
  if (record.workspaceId === null && caller.workspaceId !== null)
    throw new AdminError('AB03', `The ${noun} is the organisation's: it takes a key of the organisation.`);
}

/** The record that the store returns of a change; throws for a failure. */
export function settled<T extends object>(answer: T | 'missing' | 'stale', noun: string): T {
  if (answer === 'missing') throw new AdminError('AB08', `There is no such ${noun}.`);
  if (answer === 'stale') throw stale();
  return answer;
}
