import type { Listed, Page, Place } from './place.js';
import type { OrganisationRole, WorkspaceRole } from './users.js';

/** A user's place in one workspace. */
export interface Member {
  readonly userId: string;
  readonly workspaceId: string;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly organisationRole: OrganisationRole;
  /** false: keys and sessions of the user are refused. */
  readonly isActive: boolean;
  readonly role: WorkspaceRole;
  /** The part of it that came by SCIM groups; null: none of it. */
  readonly roleByGroups: WorkspaceRole | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface MemberFilter {
  readonly role?: WorkspaceRole;
  /** The whole address, in any case. */
  readonly email?: string;
}

/** What a user is, in the organisation and in one of its workspaces. */
export interface Roles {
  readonly organisation: OrganisationRole;
  /** Owners and admins enter every workspace as its admin. null: not in there. */
  readonly workspace: WorkspaceRole | null;
}

export interface MemberStore {
  get(place: Place, userId: string): Promise<Member | null>;
  /** Newest first. */
  list(place: Place, filter: MemberFilter, page: Page): Promise<Listed<Member>>;
  /** `taken`: is one already. `missing`: no such user in the organisation, or no such workspace. */
  add(place: Place, userId: string, role: WorkspaceRole): Promise<'added' | 'taken' | 'missing'>;
  setRole(place: Place, userId: string, role: WorkspaceRole): Promise<'changed' | 'missing'>;
  /** The user's keys in the workspace are gone with it. */
  remove(place: Place, userId: string): Promise<'removed' | 'missing'>;
  /** null: the workspace's organisation has no such active user. */
  roleOf(workspaceId: string, userId: string): Promise<Roles | null>;
}
