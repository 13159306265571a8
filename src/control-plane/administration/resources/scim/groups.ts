import type { ScimResource } from '../../../../../proto/messages.js';
import type { ScimGroup, ScimGroupMember } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { AdminError } from '../../admin-error.js';
import { timeOf } from '../../grpc/wire.js';
import type { AdminParts, Service } from '../../service.js';
import { groupAttributes, groupSchema, readAttributes } from './attributes.js';
import { readQuery } from './filter.js';
import { type GroupEdit, groupEdit, memberIdsOf, noEdit } from './group-patch.js';
import { baseOf, listOf, pageOfScim } from './lists.js';
import { settleMemberships } from './memberships.js';
import { readOperations } from './patch.js';
import { mostGroups } from './schemas.js';
import { changedSince, invalidValue } from './scim-error.js';
import { Shown } from './shown.js';
import { groupLocation, userLocation, versionOf } from './user-resource.js';

type GroupMethods = Pick<
  Service<'Scim'>,
  | 'ListScimGroups'
  | 'CreateScimGroup'
  | 'GetScimGroup'
  | 'ReplaceScimGroup'
  | 'PatchScimGroup'
  | 'DeleteScimGroup'
>;

type Json = Readonly<Record<string, unknown>>;

/** A PATCH of a group with more members is answered without the group. */
const mostMembersAnswered = 1000;
/** A page of groups ends when its groups have this many members together. */
const mostMembersShown = 20_000;
const longestName = 255;
const everything = { offset: 0, limit: 1_000_000 };

/** Everything but the members, which are read separately, since there may be many. */
const nameAttributes = groupAttributes.filter(({ name }) => name !== 'members');

const noGroup = (): AdminError => new AdminError('AB08', 'There is no such group.');
const nameTaken = (name: string): AdminError =>
  new AdminError('AB07', `displayName: the organisation already has a group ${name}: choose another name.`);

function groupResource(
  group: ScimGroup,
  members: readonly ScimGroupMember[] | null,
  base: string,
): Readonly<Record<string, unknown>> {
  return {
    schemas: [groupSchema],
    id: group.id,
    ...(group.externalId !== null && { externalId: group.externalId }),
    displayName: group.displayName,
    ...(members !== null && {
      members: members.map(({ userId, display }) => ({
        value: userId,
        $ref: userLocation(base, userId),
        display,
        type: 'User',
      })),
    }),
    meta: {
      resourceType: 'Group',
      created: timeOf(group.createdAt),
      lastModified: timeOf(group.updatedAt),
      location: groupLocation(base, group.id),
      version: versionOf(group.etag),
    },
  };
}

/** Reads the body of a POST or PUT. Without `members`, the members stay as they are. */
function editOf(resource: Json): GroupEdit & { displayName: string } {
  const { displayName, externalId } = readAttributes(nameAttributes, resource);
  if (displayName === undefined) throw invalidValue('displayName', 'is required.');
  const key = Object.keys(resource).find((name) => name.toLowerCase() === 'members');
  const given = key === undefined ? undefined : resource[key];
  const ids = given === undefined ? [] : memberIdsOf(given, 'members');
  return {
    ...noEdit(),
    displayName: displayName as string,
    externalId: (externalId as string | undefined) ?? null,
    isReplaced: given !== undefined,
    added: new Set(ids),
  };
}

function checkNames({ displayName, externalId }: Pick<GroupEdit, 'displayName' | 'externalId'>): void {
  for (const [path, text] of Object.entries({ displayName, externalId }))
    if (text && [...text].length > longestName)
      throw invalidValue(path, `must be at most ${longestName} characters long.`);
}

/** Groups of people. */
export function scimGroups({ store, publicUrl }: AdminParts): GroupMethods {
  async function answer(caller: Caller, group: ScimGroup, shown = new Shown({})): Promise<ScimResource> {
    const members = shown.wants('members')
      ? await store.scimGroups.members(caller.organisationId, [group.id])
      : null;
    const shownMembers = members === null ? null : (members.get(group.id) ?? []);
    const resource = groupResource(group, shownMembers, baseOf(publicUrl, caller));
    return { resource: shown.of(resource), etag: group.etag };
  }

  async function groupAt(caller: Caller, id: string): Promise<ScimGroup> {
    const group = await store.scimGroups.get(caller.organisationId, id);
    if (group === null) throw noGroup();
    return group;
  }

  /** Changes the members of a group, and their memberships in the workspaces that it is mapped to. */
  async function changeMembers(caller: Caller, groupId: string, edit: GroupEdit): Promise<void> {
    const { organisationId } = caller;
    const unknown = await store.scimGroups.unknown(organisationId, [...edit.added]);
    if (unknown[0] !== undefined)
      throw invalidValue(
        'members',
        `names ${JSON.stringify(unknown[0].slice(0, 80))}: there is no such user.`,
      );
    const before = new Set(edit.isReplaced ? await store.scimGroups.memberIds(organisationId, groupId) : []);
    const added = [...edit.added].filter((id) => !before.has(id));
    const removed = edit.isReplaced ? [...before].filter((id) => !edit.added.has(id)) : [...edit.removed];
    await store.scimGroups.add(organisationId, groupId, added);
    await store.scimGroups.remove(organisationId, groupId, removed);
    await settleMemberships(caller, { userIds: [...added, ...removed] });
  }

  async function change(
    caller: Caller,
    id: string,
    edit: GroupEdit,
    etag: string | null | undefined,
  ): Promise<ScimGroup> {
    checkNames(edit);
    const { displayName, externalId } = edit;
    const group = await store.scimGroups.update(
      caller.organisationId,
      id,
      { displayName: displayName?.trim(), externalId },
      etag ?? undefined,
    );
    if (group === 'missing') throw noGroup();
    if (group === 'stale') throw changedSince();
    if (group === 'taken') throw nameTaken(displayName ?? '');
    caller.changed({ id, workspaceId: null });
    await changeMembers(caller, id, edit);
    return group;
  }

  /** The first groups of a page whose members fit into one answer; at least one group. */
  async function fitting(caller: Caller, groups: readonly ScimGroup[]): Promise<readonly ScimGroup[]> {
    const sizes = await store.scimGroups.sizes(
      caller.organisationId,
      groups.map(({ id }) => id),
    );
    let sum = 0;
    const end = groups.findIndex(({ id }) => {
      sum += sizes.get(id) ?? 0;
      return sum > mostMembersShown;
    });
    return end === -1 ? groups : groups.slice(0, Math.max(1, end));
  }

  return {
    async ListScimGroups(caller, request) {
      const shown = new Shown(request);
      const page = pageOfScim(request, mostGroups);
      const query = readQuery(request, 'Group');
      const { total, rows } = await store.scimGroups.list(caller.organisationId, query, page);
      const hasMembers = shown.wants('members');
      const groups = hasMembers ? await fitting(caller, rows) : rows;
      const ids = groups.map(({ id }) => id);
      const members = hasMembers ? await store.scimGroups.members(caller.organisationId, ids) : null;
      const base = baseOf(publicUrl, caller);
      const resources = groups.map((group) =>
        shown.of(groupResource(group, members?.get(group.id) ?? null, base)),
      );
      return listOf(resources, total, page.offset + 1);
    },

    async CreateScimGroup(caller, { resource }) {
      const edit = editOf(resource ?? {});
      checkNames(edit);
      const group = await store.scimGroups.create(caller.organisationId, {
        displayName: edit.displayName.trim(),
        externalId: edit.externalId ?? null,
      });
      if (group === 'taken') throw nameTaken(edit.displayName);
      caller.changed({ id: group.id, workspaceId: null });
      await changeMembers(caller, group.id, edit);
      return answer(caller, group);
    },

    async GetScimGroup(caller, request) {
      return answer(caller, await groupAt(caller, request.group_id), new Shown(request));
    },

    async ReplaceScimGroup(caller, { group_id, resource, etag }) {
      return answer(caller, await change(caller, group_id, editOf(resource ?? {}), etag));
    },

    async PatchScimGroup(caller, { group_id, patch, etag }) {
      const group = await change(caller, group_id, groupEdit(readOperations(patch ?? {})), etag);
      const sizes = await store.scimGroups.sizes(caller.organisationId, [group_id]);
      const isLarge = (sizes.get(group_id) ?? 0) > mostMembersAnswered;
      return isLarge ? { resource: null, etag: group.etag } : answer(caller, group);
    },

    async DeleteScimGroup(caller, { group_id, etag }) {
      const { organisationId } = caller;
      const userIds = await store.scimGroups.memberIds(organisationId, group_id);
      const { rows } = await store.scimMappings.list(organisationId, { groupId: group_id }, everything);
      for (const { id } of rows) await store.scimMappings.archive(organisationId, id);
      const gone = await store.scimGroups.delete(organisationId, group_id, etag ?? undefined);
      if (gone === 'missing') throw noGroup();
      if (gone === 'stale') throw changedSince();
      caller.changed({ id: group_id, workspaceId: null });
      await settleMemberships(caller, { userIds });
      return {};
    },
  };
}
