import type { Secret } from '../../../common/access/secret.js';
import type { Listed, Page } from './place.js';

/** A person who is signed in. Times are Unix milliseconds. */
export interface Session {
  readonly id: string;
  readonly organisationId: string;
  readonly userId: string;
  /** Where it was last used from. */
  readonly address: string;
  readonly userAgent: string;
  readonly createdAt: number;
  /** Accurate to a minute. */
  readonly seenAt: number;
  readonly expiresAt: number;
}

/** A new session with its token: of this, only a hash is stored. */
export interface MadeSession {
  readonly session: Session;
  readonly token: Secret;
}

export type NewSession = Pick<Session, 'userId' | 'address' | 'userAgent'>;

export interface SessionFilter {
  readonly userId?: string;
  /** Only those that began after it. */
  readonly since?: number;
}

/** The sessions of people. What has expired is not found. */
export interface SessionStore {
  /** A user has at most 100: one more ends the oldest. `missing`: there is no such user, or it was deactivated. */
  create(organisationId: string, input: NewSession): Promise<MadeSession | 'missing'>;
  get(organisationId: string, id: string): Promise<Session | null>;
  /** Asked before a tenant is known. */
  findByToken(token: string): Promise<Session | null>;
  /** Newest first. */
  list(organisationId: string, filter: SessionFilter, page: Page): Promise<Listed<Session>>;
  /** Records that it was used; writes at most once a minute. */
  seen(session: Session, address: string, userAgent: string): Promise<void>;
  end(organisationId: string, id: string): Promise<Session | 'missing'>;
  /** Ends all sessions of a user; returns how many there were. */
  endAll(organisationId: string, userId: string): Promise<number>;
  /** What a client sends back with changes, to prove that it read an answer of its session. */
  csrfToken(token: string): Secret;
  prune(): Promise<void>;
}
