import type { ScimMapping as MappingMessage } from '../../../../../proto/messages.js';
import type { ScimGroup, ScimMapping } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { checkMemberships } from '../../access/grants.js';
import { AdminError } from '../../admin-error.js';
import { pageOf } from '../../grpc/wire.js';
import type { AdminParts, Service } from '../../service.js';
import { settleMemberships } from './memberships.js';

const usualPage = 100;

const toMessage = (mapping: ScimMapping): MappingMessage => ({
  id: mapping.id,
  workspace_id: mapping.workspaceId,
  scim_group: mapping.groupName,
  scim_group_id: mapping.groupId,
  role: mapping.role,
});

interface PageRequest {
  readonly page?: number | null;
  readonly page_size?: number | null;
}

const page = ({ page: current_page, page_size }: PageRequest) =>
  pageOf({ current_page: current_page ?? null, page_size: page_size ?? null }, usualPage);

/** Groups mapped to workspaces. */
export function scimMappingsService({ store }: AdminParts): Service<'ScimMappings'> {
  async function groupOf(
    caller: Caller,
    id: string | null | undefined,
    name: string | null | undefined,
  ): Promise<ScimGroup> {
    if (!id && !name) throw AdminError.field('scim_group_id', 'or scim_group_name is required.');
    const { organisationId } = caller;
    const group = id
      ? await store.scimGroups.get(organisationId, id)
      : await store.scimGroups.named(organisationId, (name ?? '').trim());
    if (group === null)
      throw new AdminError('AB02', `${id ? 'scim_group_id' : 'scim_group_name'}: there is no such group.`);
    if (id && name && group.displayName.toLowerCase() !== name.trim().toLowerCase())
      throw AdminError.field('scim_group_name', 'is not the name of the group scim_group_id.');
    return group;
  }

  return {
    async ListScimMappings(caller, request) {
      const named = request.workspace_id;
      const workspace = named ? await store.workspaces.get(caller.organisationId, named) : null;
      if (named && workspace === null) return { mappings: [], total_count: 0 };
      const filter = {
        workspaceId: workspace?.id,
        groupId: request.scim_group_id || undefined,
        role: request.role || undefined,
      };
      const { total, rows } = await store.scimMappings.list(caller.organisationId, filter, page(request));
      return { mappings: rows.map(toMessage), total_count: total };
    },

    async CreateScimMapping(caller, request) {
      const { workspaceId } = await caller.place(request.workspace_id);
      const group = await groupOf(caller, request.scim_group_id, request.scim_group_name);
      checkMemberships(caller, 'create', 'workspace_id');
      const { role } = request;
      const mapping = await store.scimMappings.create(caller.organisationId, {
        workspaceId,
        groupId: group.id,
        role,
      });
      if (mapping === 'taken')
        throw new AdminError(
          'AB07',
          `The group ${group.displayName} is mapped to this workspace already: delete that mapping first.`,
        );
      caller.changed({ id: mapping.id, workspaceId });
      await settleMemberships(caller, { workspaceId });
      return toMessage(mapping);
    },

    async DeleteScimMapping(caller, { scim_workspace_group_id: id }) {
      const mapping = await store.scimMappings.get(caller.organisationId, id);
      if (mapping === null || (await store.scimMappings.archive(caller.organisationId, id)) === 'missing')
        throw new AdminError('AB08', 'There is no such mapping.');
      caller.changed({ id, workspaceId: mapping.workspaceId });
      await settleMemberships(caller, { workspaceId: mapping.workspaceId });
      return { success: true };
    },

    async ListScimMappingGroups(caller, request) {
      const search = request.search?.trim() || undefined;
      const { total, rows } = await store.scimGroups.names(caller.organisationId, search, page(request));
      return { groups: rows.map(({ id, displayName }) => ({ id, name: displayName })), total_count: total };
    },
  };
}
