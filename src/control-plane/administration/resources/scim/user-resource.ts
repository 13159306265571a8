import { emailKey, emailProblem, normalEmail } from '../../../../common/access/email.js';
import type { OrganisationRole, ScimGroupName, ScimUser, ScimUserChange } from '../../../store/store.js';
import { timeOf } from '../../grpc/wire.js';
import { enterpriseSchema, userSchema } from './attributes.js';
import { invalidValue, ScimError } from './scim-error.js';

/** Users as SCIM shows them, and what of a user that was sent is kept where. */

type Json = Readonly<Record<string, unknown>>;

/** Most bytes of the attributes that are stored together as JSON. */
const mostBytes = 16 * 1024;
const longestName = 255;

const roleNames: Readonly<Record<OrganisationRole, string>> = {
  owner: 'Owner',
  admin: 'Admin',
  member: 'Member',
};

const fullName = ({ firstName, lastName }: ScimUser): string => `${firstName} ${lastName}`.trim();
const displayNameOf = (user: ScimUser): string => user.displayName ?? (fullName(user) || user.email);
const ownEmails = (email: string): Json[] => [{ value: email, type: 'work', primary: true }];

interface Name {
  readonly givenName?: string;
  readonly familyName?: string;
  readonly formatted?: string;
}

/** The attributes of a user, in the form of `readUser`: what an identity provider may change. */
export function userAttributesOf(user: ScimUser): Json {
  const { name, ...rest } = user.attributes as { readonly name?: Name };
  const formatted = name?.formatted ?? fullName(user);
  return {
    userName: user.email,
    ...(user.externalId !== null && { externalId: user.externalId }),
    name: {
      ...(formatted !== '' && { formatted }),
      ...(user.lastName !== '' && { familyName: user.lastName }),
      ...(user.firstName !== '' && { givenName: user.firstName }),
      ...name,
    },
    displayName: displayNameOf(user),
    emails: ownEmails(user.email),
    active: user.isActive,
    roles: [
      { value: user.role, display: roleNames[user.role], displayName: roleNames[user.role], primary: true },
    ],
    ...rest,
  };
}

/** Addresses of resources. `base`: of the organisation's SCIM, without a slash at its end. */
export const groupLocation = (base: string, id: string): string => `${base}/Groups/${id}`;
export const userLocation = (base: string, id: string): string => `${base}/Users/${id}`;

export const versionOf = (etag: string): string => `W/"${etag}"`;

export function userResource(user: ScimUser, groups: readonly ScimGroupName[], base: string): Json {
  const hasExtension = Object.hasOwn(user.attributes, enterpriseSchema);
  return {
    schemas: [userSchema, ...(hasExtension ? [enterpriseSchema] : [])],
    id: user.id,
    ...userAttributesOf(user),
    groups: groups.map(({ id, displayName }) => ({
      value: id,
      $ref: groupLocation(base, id),
      display: displayName,
      type: 'direct',
    })),
    meta: {
      resourceType: 'User',
      created: timeOf(user.createdAt),
      lastModified: timeOf(user.updatedAt),
      location: userLocation(base, user.id),
      version: versionOf(user.etag),
    },
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

function nameOf(value: unknown, path: string): string {
  const text = textOf(value);
  if ([...text].length > longestName)
    throw invalidValue(path, `must be at most ${longestName} characters long.`);
  return text;
}

/** The address that the user signs in with. */
function emailOf({ userName }: Json): string {
  if (textOf(userName) === '') throw invalidValue('userName', 'is required: the e-mail address of the user.');
  const problem = emailProblem(textOf(userName));
  if (problem !== null) throw invalidValue('userName', problem);
  return normalEmail(textOf(userName));
}

const ranked: readonly OrganisationRole[] = ['owner', 'admin', 'member'];

/** The highest of the roles in `roles`; null: there is none. */
function roleOf({ roles }: Json): OrganisationRole | null {
  const values = ((roles ?? []) as { readonly value?: string }[]).map(({ value }) => value ?? '');
  const strange = values.find((value) => ![...ranked, 'group', ''].includes(value.toLowerCase()));
  if (strange !== undefined)
    throw invalidValue(
      'roles.value',
      `must be owner, admin or member, and is ${JSON.stringify(strange.slice(0, 80))}.`,
    );
  return ranked.find((role) => values.some((value) => value.toLowerCase() === role)) ?? null;
}

/** E-mail addresses other than the one that the user signs in with; null: there are none. */
function otherEmails(emails: readonly Json[] | undefined, own: readonly string[]): readonly Json[] | null {
  if (emails === undefined) return null;
  for (const [i, { value }] of emails.entries()) {
    const problem = emailProblem(textOf(value));
    if (problem !== null) throw invalidValue(`emails[${i}].value`, problem);
  }
  const [only] = emails;
  const isOwn =
    emails.length === 1 && own.some((email) => emailKey(email) === emailKey(textOf(only?.['value'])));
  return isOwn && (only?.['type'] ?? 'work') === 'work' ? null : emails;
}

/** The attributes that are stored together as JSON: those without a column of their own. */
function keptAttributes(sent: Json, emails: readonly Json[] | null, before: ScimUser | null): Json {
  const { userName, externalId, displayName, active, roles, groups, name, emails: _, ...rest } = sent;
  const { givenName, familyName, formatted, ...parts } = (name ?? {}) as Name & Json;
  // A display name that was made from first and last name is made again.
  const isMade = formatted === undefined || (before !== null && formatted === fullName(before));
  const keptName = { ...parts, ...(!isMade && { formatted }) };
  const kept = {
    ...(Object.keys(keptName).length > 0 && { name: keptName }),
    ...(emails !== null && { emails }),
    ...rest,
  };
  if (Buffer.byteLength(JSON.stringify(kept)) > mostBytes)
    throw new ScimError('invalidValue', `The attributes are larger than ${mostBytes} bytes together.`);
  return kept;
}

/**
 * A user after it was sent, in the form of `readUser`. `before`: as it is by now; null: it is new. `isWhole`: a role that is
 * not named stays, as in a resource that replaces another.
 */
export function changeOfUser(sent: Json, before: ScimUser | null, isWhole: boolean): ScimUserChange {
  const email = emailOf(sent);
  const name = (sent['name'] ?? {}) as Name;
  const firstName = nameOf(name.givenName, 'name.givenName');
  const lastName = nameOf(name.familyName, 'name.familyName');
  const emails = otherEmails(sent['emails'] as readonly Json[] | undefined, [
    email,
    ...(before === null ? [] : [before.email]),
  ]);
  const displayName = nameOf(sent['displayName'], 'displayName') || null;
  const isMade = before !== null && before.displayName === null && displayName === displayNameOf(before);
  const kept = isWhole ? (before?.role ?? 'member') : 'member';
  return {
    email,
    firstName,
    lastName,
    role: roleOf(sent) ?? kept,
    isActive: (sent['active'] as boolean | undefined) ?? before?.isActive ?? true,
    externalId: nameOf(sent['externalId'], 'externalId') || null,
    displayName: isMade ? null : displayName,
    attributes: keptAttributes(sent, emails, before),
    emails: emails === null ? null : emails.map(({ value }) => textOf(value)),
  };
}
