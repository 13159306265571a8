import { emailKey, emailProblem, normalEmail } from '../../../../../common/access/email.js';
import type { OidcSettings, Store, User } from '../../../../store/store.js';
import { AdminError } from '../../../admin-error.js';
import { endSessions } from '../end-sessions.js';
import type { OidcClaims } from './provider.js';

/** A person as the provider describes them, after the checks of the settings. */
export interface KnownPerson {
  readonly subject: string;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  /** null: the provider does not decide on roles. */
  readonly role: 'admin' | 'member' | null;
}

const refused = (message: string): AdminError => new AdminError('AB03', message);
const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim().slice(0, 255) : '');

/** The highest role that a value of the claim is mapped to; `member` where none is. */
function roleOf(claims: OidcClaims, { roleClaim, roleMapping }: OidcSettings): KnownPerson['role'] {
  if (roleClaim === null) return null;
  const value = Object.hasOwn(claims, roleClaim) ? claims[roleClaim] : undefined;
  const roles = [value]
    .flat()
    .filter((one) => typeof one === 'string')
    .map((one) => (Object.hasOwn(roleMapping, one) ? roleMapping[one] : undefined));
  return roles.includes('admin') ? 'admin' : 'member';
}

/** Throws AB03 for a person who may not sign in. */
export function personOf(claims: OidcClaims, settings: OidcSettings): KnownPerson {
  const { sub, email, email_verified: isVerified } = claims;
  if (typeof sub !== 'string' || sub === '' || sub.length > 255)
    throw refused('The OpenID Connect provider sent no subject (sub): ask your administrator.');
  if (typeof email !== 'string' || emailProblem(email.trim()) !== null)
    throw refused('The OpenID Connect provider sent no valid e-mail address: ask your administrator.');
  if (isVerified !== true && isVerified !== 'true')
    throw refused(
      'The OpenID Connect provider has not verified your e-mail address: verify it there, and sign in again.',
    );
  const key = emailKey(email);
  const domain = key.slice(key.lastIndexOf('@') + 1);
  const { allowedEmailDomains: allowed } = settings;
  if (allowed.length > 0 && !allowed.includes(domain))
    throw refused('E-mail addresses of this domain may not sign in here: ask your administrator.');
  return {
    subject: sub,
    email: normalEmail(email),
    firstName: textOf(claims['given_name']),
    lastName: textOf(claims['family_name']),
    role: roleOf(claims, settings),
  };
}

/** The user of a person, and what signing in has made of that user's record. */
export interface FoundUser {
  readonly user: User;
  readonly change: 'create' | 'update' | null;
}

/**
 * The user of that person: the one who signed in as that subject before, else the one of that verified address, else a
 * new one. Within a unit of work.
 */
export async function userOf(
  store: Store,
  organisationId: string,
  issuer: string,
  person: KnownPerson,
): Promise<FoundUser> {
  const { signIn, users } = store;
  const before =
    (await signIn.userOfIdentity(organisationId, issuer, person.subject)) ??
    (await signIn.findByEmail(person.email, organisationId))[0]?.user ??
    null;
  if (before === null) return makeUser(store, organisationId, issuer, person);
  await signIn.addIdentity(organisationId, before.id, issuer, person.subject);
  // Only owners can make a user an owner, or take that role away.
  if (person.role === null || before.role === 'owner' || before.role === person.role)
    return { user: before, change: null };
  const user = await users.update(organisationId, before.id, { role: person.role });
  if (typeof user === 'string')
    throw AdminError.lost('The user was changed during the sign-in: sign in again.');
  await endSessions(store, organisationId, before.id);
  return { user, change: 'update' };
}

async function makeUser(
  store: Store,
  organisationId: string,
  issuer: string,
  { subject, role, ...person }: KnownPerson,
): Promise<FoundUser> {
  const user = await store.users.create(organisationId, { ...person, role: role ?? 'member' });
  // The address belongs to a user who is not active.
  if (typeof user === 'string') throw refused('Your account is not active: ask your administrator.');
  await store.signIn.addIdentity(organisationId, user.id, issuer, subject);
  return { user, change: 'create' };
}
