import type { Secret } from '../../../common/access/secret.js';
import type { Listed, Page } from './place.js';
import type { Membership } from './users.js';

/** Keys to be made in each workspace for the one who accepts. */
export interface InviteKeyDetails {
  readonly scopes: readonly string[];
  /** null: after the workspace. */
  readonly name: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** Unix milliseconds; null: as in the workspace's settings. */
  readonly expiresAt: number | null;
}

export type InviteStatus = 'pending' | 'cancelled' | 'accepted' | 'expired';

export interface Invite {
  readonly id: string;
  readonly organisationId: string;
  readonly email: string;
  readonly role: 'admin' | 'member';
  readonly workspaces: readonly Membership[];
  readonly keyDetails: InviteKeyDetails | null;
  readonly status: InviteStatus;
  /** User or key. */
  readonly invitedBy: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly acceptedAt: number | null;
}

/** An invitation with the token of its link: of this, only a hash is kept. */
export interface MadeInvite {
  readonly invite: Invite;
  readonly token: Secret;
}

export type NewInvite = Pick<Invite, 'email' | 'role' | 'workspaces' | 'keyDetails' | 'invitedBy'>;

export interface InviteFilter {
  readonly role?: Invite['role'];
  /** The whole address, in any case. */
  readonly email?: string;
  /** Part of the address, in any case. */
  readonly search?: string;
  readonly status?: InviteStatus;
}

/** Invitations to an organisation; each is open for seven days. */
export interface InviteStore {
  get(organisationId: string, id: string): Promise<Invite | null>;
  /** Newest first. */
  list(organisationId: string, filter: InviteFilter, page: Page): Promise<Listed<Invite>>;
  create(organisationId: string, input: NewInvite): Promise<MadeInvite>;
  /** `settled`: accepted or cancelled before. */
  cancel(organisationId: string, id: string): Promise<Invite | 'missing' | 'settled'>;
  /** Another token and seven more days; the token before opens nothing. */
  renew(organisationId: string, id: string): Promise<MadeInvite | 'missing' | 'settled'>;
  /** The one question asked before a tenant is known. Finds what is pending and has not expired. */
  findByToken(token: string): Promise<Invite | null>;
  /** Once: `missing` where it is not pending any more. */
  accept(organisationId: string, id: string): Promise<Invite | 'missing'>;
}
