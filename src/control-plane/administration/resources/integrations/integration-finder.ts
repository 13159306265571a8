import type { Integration, Store } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { AdminError } from '../../admin-error.js';

type Action = 'create' | 'read' | 'update' | 'delete' | 'list';

export const scopeOf = (workspaceId: string | null, action: Action): string =>
  `${workspaceId === null ? 'organisation' : 'workspace'}_integrations.${action}`;

export const noIntegration = (): AdminError => new AdminError('AB08', 'There is no such integration.');

/** What a method is about: the integration, and the right to do that with it. */
export type Find = (
  caller: Caller,
  request: { readonly slug: string; readonly workspace_id?: string | null },
  action: Action,
) => Promise<Integration>;

/** Finds integrations. One that the caller cannot see is answered as if it did not exist. */
export function integrationFinder(store: Store): Find {
  return async (caller, { slug, workspace_id }, action) => {
    const { organisationId } = caller;
    const workspaceId = workspace_id ? (await caller.place(workspace_id)).workspaceId : caller.workspaceId;
    const integration = await store.integrations.get(organisationId, slug);
    if (integration === null) throw noIntegration();
    const isForeign =
      integration.workspaceId === null
        ? caller.workspaceId !== null &&
          (await store.integrations.usable(
            { organisationId, workspaceId: caller.workspaceId },
            integration.id,
          )) === null
        : workspaceId !== null && integration.workspaceId !== workspaceId;
    if (isForeign) throw noIntegration();
    caller.need(scopeOf(integration.workspaceId, action));
    if (action !== 'read' && integration.status !== 'active') throw noIntegration();
    return integration;
  };
}
