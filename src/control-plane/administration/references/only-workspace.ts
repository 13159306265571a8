import type { Place } from '../../store/store.js';
import type { Caller } from '../access/caller.js';
import { AdminError } from '../admin-error.js';

interface Named {
  readonly slug: string;
  readonly workspace_id?: string | null;
}

interface Kind {
  /** As in "There is no config fast." */
  readonly name: string;
  /** Ids of the workspaces that have a record of that slug or id. */
  workspacesWith(organisationId: string, slugOrId: string): Promise<readonly string[]>;
}

/** The workspace whose record is meant: an organisation's key may leave it out where only one has such a record. */
export async function onlyWorkspace(
  caller: Caller,
  { slug, workspace_id }: Named,
  kind: Kind,
  options: { readonly archived?: boolean } = {},
): Promise<Place> {
  if (workspace_id || caller.workspaceId !== null) return caller.place(workspace_id, options);
  const having = await kind.workspacesWith(caller.organisationId, slug);
  const [workspace, another] = having.filter((id) => caller.sees(id));
  if (workspace === undefined) throw new AdminError('AB08', `There is no ${kind.name} ${slug}.`);
  if (another !== undefined)
    throw AdminError.field('workspace_id', `is required: several workspaces have a ${kind.name} ${slug}.`);
  return caller.place(workspace, options);
}
