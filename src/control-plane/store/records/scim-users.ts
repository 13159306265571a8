import type { Listed, Page } from './place.js';
import type { ScimQuery } from './scim-conditions.js';
import type { OrganisationRole, User } from './users.js';

/** A user, with what an identity provider has set. */
export interface ScimUser extends User {
  readonly externalId: string | null;
  /** null: made from the name. */
  readonly displayName: string | null;
  /** The other attributes, under the names of RFC 7643. */
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A group, as far as a user's record names it. */
export interface ScimGroupName {
  readonly id: string;
  readonly displayName: string;
}

export interface ScimUserChange {
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly role: OrganisationRole;
  readonly isActive: boolean;
  readonly externalId: string | null;
  readonly displayName: string | null;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Addresses among the attributes; null: the user's own alone. */
  readonly emails: readonly string[] | null;
}

export interface ScimUserStore {
  get(organisationId: string, id: string): Promise<ScimUser | null>;
  list(organisationId: string, query: ScimQuery, page: Page): Promise<Listed<ScimUser>>;
  /** `taken`: another user of the organisation has the address. */
  replace(
    organisationId: string,
    id: string,
    change: ScimUserChange,
    etag?: string,
  ): Promise<ScimUser | 'missing' | 'stale' | 'taken'>;
  /** Groups of each of these users, by name. */
  groupsOf(
    organisationId: string,
    userIds: readonly string[],
  ): Promise<ReadonlyMap<string, readonly ScimGroupName[]>>;
}
