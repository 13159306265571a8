import type { Secret } from '../../../common/access/secret.js';
import type { User } from './users.js';

/** A link that is accepted once: it sets the password of a user, or makes the first owner. */
export interface UserLink {
  readonly id: string;
  readonly organisationId: string;
  /** null: for the first owner. */
  readonly userId: string | null;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

/** A user as sign-in finds it. */
export interface SignInUser {
  readonly user: User;
  /** Algorithm, parameters, salt and hash; null: this user has no password. */
  readonly passwordHash: string | null;
}

/** How people prove who they are. */
export interface SignInStore {
  /** Active users of that address, in all organisations or in one. */
  findByEmail(email: string, organisationId?: string): Promise<readonly SignInUser[]>;
  passwordHash(organisationId: string, userId: string): Promise<string | null>;
  /** `missing`: there is no such user. */
  setPassword(organisationId: string, userId: string, hash: string): Promise<'set' | 'missing'>;
  /** A link that lasts a day; earlier links of the same user end. `userId` null: for the first owner. */
  makeLink(
    organisationId: string,
    userId: string | null,
  ): Promise<{ link: UserLink; token: Secret } | 'missing'>;
  /** Asked before a tenant is known. */
  findLink(token: string): Promise<UserLink | null>;
  /** Once: false where it was used before, or replaced. */
  useLink(organisationId: string, id: string): Promise<boolean>;
  /** Ends the links of a user. */
  endLinks(organisationId: string, userId: string): Promise<void>;
  /** The user who signed in as that subject of that OpenID provider before. */
  userOfIdentity(organisationId: string, issuer: string, subject: string): Promise<User | null>;
  addIdentity(organisationId: string, userId: string, issuer: string, subject: string): Promise<void>;
  /** False where that value was used before. `expiresAt`: until when it could be used. */
  useState(state: string, expiresAt: number): Promise<boolean>;
  prune(): Promise<void>;
}
