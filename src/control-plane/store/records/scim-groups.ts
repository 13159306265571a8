import type { Listed, Page } from './place.js';
import type { ScimQuery } from './scim-conditions.js';
import type { ScimGroupName } from './scim-users.js';

export interface ScimGroup extends ScimGroupName {
  readonly organisationId: string;
  readonly externalId: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly etag: string;
}

/** Absent: stays as it is. */
export interface ScimGroupChange {
  readonly displayName?: string;
  readonly externalId?: string | null;
}

export interface ScimGroupMember {
  readonly userId: string;
  /** Name of the user. */
  readonly display: string;
}

export interface ScimGroupStore {
  get(organisationId: string, id: string): Promise<ScimGroup | null>;
  /** In any case; null: there is none. */
  named(organisationId: string, displayName: string): Promise<ScimGroup | null>;
  list(organisationId: string, query: ScimQuery, page: Page): Promise<Listed<ScimGroup>>;
  /** By name. `search`: part of the name, in any case. */
  names(organisationId: string, search: string | undefined, page: Page): Promise<Listed<ScimGroupName>>;
  /** `taken`: the organisation has a group of this name. */
  create(
    organisationId: string,
    input: { readonly displayName: string; readonly externalId: string | null },
  ): Promise<ScimGroup | 'taken'>;
  /** A new revision even where nothing but the members has changed. */
  update(
    organisationId: string,
    id: string,
    change: ScimGroupChange,
    etag?: string,
  ): Promise<ScimGroup | 'missing' | 'stale' | 'taken'>;
  delete(organisationId: string, id: string, etag?: string): Promise<ScimGroup | 'missing' | 'stale'>;
  /** Members of each of these groups, oldest first. */
  members(
    organisationId: string,
    groupIds: readonly string[],
  ): Promise<ReadonlyMap<string, readonly ScimGroupMember[]>>;
  /** How many members each of these groups has; none: absent. */
  sizes(organisationId: string, groupIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  memberIds(organisationId: string, groupId: string): Promise<string[]>;
  /** Those of the ids that are no users of the organisation. */
  unknown(organisationId: string, userIds: readonly string[]): Promise<string[]>;
  /** Users who are members already stay so. */
  add(organisationId: string, groupId: string, userIds: readonly string[]): Promise<void>;
  /** Users who are no members are passed over. */
  remove(organisationId: string, groupId: string, userIds: readonly string[]): Promise<void>;
}
