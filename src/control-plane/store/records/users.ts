import type { Listed, Page } from './place.js';

export type OrganisationRole = 'owner' | 'admin' | 'member';
export type WorkspaceRole = 'admin' | 'manager' | 'member';

const ranks: Readonly<Record<WorkspaceRole, number>> = { member: 1, manager: 2, admin: 3 };

/** The higher one of two roles in a workspace; null: no role. */
export const higherRole = (one: WorkspaceRole | null, other: WorkspaceRole | null): WorkspaceRole | null => {
  if (one === null || other === null) return one ?? other;
  return ranks[one] >= ranks[other] ? one : other;
};

export interface Membership {
  readonly workspaceId: string;
  readonly role: WorkspaceRole;
}

/** A person of an organisation. */
export interface User {
  readonly id: string;
  readonly organisationId: string;
  /** Unique in the organisation, whatever its case and the spelling of its domain. */
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly role: OrganisationRole;
  /** false: keys and sessions of the user are refused. */
  readonly isActive: boolean;
  /** Of the workspaces that they were added to. */
  readonly workspaceIds: readonly string[];
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly etag: string;
}

export interface NewUser {
  readonly email: string;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly role: OrganisationRole;
  /** Of the organisation. */
  readonly workspaces?: readonly Membership[];
}

export interface UserFilter {
  readonly role?: OrganisationRole;
  /** The whole address, in any case and spelling of its domain. */
  readonly email?: string;
}

export interface UserStore {
  get(organisationId: string, id: string): Promise<User | null>;
  /** Newest first. */
  list(organisationId: string, filter: UserFilter, page: Page): Promise<Listed<User>>;
  /** `taken`: the organisation has a user of this address. `missing`: it has not one of the workspaces. */
  create(organisationId: string, input: NewUser): Promise<User | 'taken' | 'missing'>;
  /** Joins the workspaces named, or changes the role there; others stay. */
  update(
    organisationId: string,
    id: string,
    change: {
      readonly role?: OrganisationRole;
      readonly workspaces?: readonly Membership[];
      readonly etag?: string;
    },
  ): Promise<User | 'missing' | 'stale'>;
  /** Leaves every workspace; the user's keys are gone. */
  delete(organisationId: string, id: string, etag?: string): Promise<User | 'missing' | 'stale'>;
  /** How many active owners the organisation has. */
  owners(organisationId: string): Promise<number>;
}
