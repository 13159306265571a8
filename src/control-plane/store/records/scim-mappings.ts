import type { Listed, Page } from './place.js';
import type { WorkspaceRole } from './users.js';

/** The members of a group are members of a workspace. */
export interface ScimMapping {
  readonly id: string;
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly groupId: string;
  readonly groupName: string;
  readonly role: WorkspaceRole;
}

export interface ScimMappingFilter {
  readonly workspaceId?: string;
  readonly groupId?: string;
  readonly role?: WorkspaceRole;
}

/** How a user's place in a workspace changes because of groups. Null: no place. */
export interface ScimMove {
  readonly userId: string;
  readonly workspaceId: string;
  readonly from: WorkspaceRole | null;
  readonly to: WorkspaceRole | null;
  /** By groups alone, from now on; null: by none. */
  readonly byGroups: WorkspaceRole | null;
}

export interface ScimMappingStore {
  /** Those in force, oldest first. */
  list(organisationId: string, filter: ScimMappingFilter, page: Page): Promise<Listed<ScimMapping>>;
  /** null: there is none in force. */
  get(organisationId: string, id: string): Promise<ScimMapping | null>;
  /** `taken`: the group is mapped to the workspace already. */
  create(
    organisationId: string,
    input: { readonly workspaceId: string; readonly groupId: string; readonly role: WorkspaceRole },
  ): Promise<ScimMapping | 'taken'>;
  archive(organisationId: string, id: string): Promise<'archived' | 'missing'>;
  /** What the groups and mappings of this moment change for these users, or for everyone in a workspace. */
  moves(
    organisationId: string,
    about: { readonly userIds: readonly string[] } | { readonly workspaceId: string },
  ): Promise<ScimMove[]>;
  /** Makes the changes; keys of users in workspaces that they leave are gone. */
  apply(organisationId: string, moves: readonly ScimMove[]): Promise<void>;
}
