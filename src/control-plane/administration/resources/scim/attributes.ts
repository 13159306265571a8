import { invalidValue } from './scim-error.js';

/** The attributes of users and groups, RFC 7643: what is kept of what an identity provider sends, and in which form. */

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const enterpriseSchema = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

export interface Attribute {
  readonly name: string;
  readonly type: 'string' | 'boolean' | 'reference' | 'complex';
  readonly description: string;
  readonly multiValued?: true;
  readonly required?: true;
  readonly mutability?: 'readOnly' | 'immutable';
  readonly uniqueness?: 'server';
  readonly caseExact?: true;
  readonly canonicalValues?: readonly string[];
  readonly referenceTypes?: readonly string[];
  /** The parts of a complex attribute. */
  readonly parts?: readonly Attribute[];
}

const text = (name: string, description: string, more: Partial<Attribute> = {}): Attribute => ({
  name,
  type: 'string',
  description,
  ...more,
});
const primary: Attribute = { name: 'primary', type: 'boolean', description: 'The preferred one.' };
const kinds = (canonicalValues: readonly string[]): Attribute =>
  text('type', 'What it is used for.', { canonicalValues });
const several = (name: string, description: string, parts: readonly Attribute[]): Attribute => ({
  name,
  type: 'complex',
  multiValued: true,
  description,
  parts,
});

const name: Attribute = {
  name: 'name',
  type: 'complex',
  description: 'Parts of the name.',
  parts: [
    text('formatted', 'The whole name.'),
    text('familyName', 'Last name.'),
    text('givenName', 'First name.'),
    text('middleName', 'Middle name.'),
    text('honorificPrefix', 'Title before the name.'),
    text('honorificSuffix', 'Title after the name.'),
  ],
};

const externalId = text('externalId', "The identity provider's own id.", { caseExact: true });

export const userAttributes: readonly Attribute[] = [
  text('userName', 'E-mail address, which the user signs in with.', { required: true, uniqueness: 'server' }),
  externalId,
  name,
  text('displayName', 'Name as it is shown; made from the name where it is absent.'),
  text('nickName', 'Name among colleagues.'),
  {
    name: 'profileUrl',
    type: 'reference',
    referenceTypes: ['external'],
    description: 'Page about the user.',
  },
  text('title', 'Position, such as Engineer.'),
  text('userType', 'Relation to the organisation, such as Employee.'),
  text('preferredLanguage', 'Language of the user.'),
  text('locale', 'Place whose conventions the user expects.'),
  text('timezone', 'Time zone, such as Europe/Paris.'),
  {
    name: 'active',
    type: 'boolean',
    description: 'false: the keys and sessions of the user are refused.',
  },
  several('emails', 'E-mail addresses.', [
    text('value', 'Address.'),
    text('display', 'Name of the address.'),
    kinds(['work', 'home', 'other']),
    primary,
  ]),
  several('phoneNumbers', 'Telephone numbers.', [
    text('value', 'Number.'),
    kinds(['work', 'home', 'mobile', 'fax', 'pager', 'other']),
    primary,
  ]),
  several('addresses', 'Postal addresses.', [
    text('formatted', 'The whole address.'),
    text('streetAddress', 'Street.'),
    text('locality', 'City.'),
    text('region', 'State or region.'),
    text('postalCode', 'Postal code.'),
    text('country', 'Country.'),
    kinds(['work', 'home', 'other']),
    primary,
  ]),
  several('roles', 'Role in the organisation: owner, admin or member.', [
    text('value', 'Role.', { canonicalValues: ['owner', 'admin', 'member', 'group'] }),
    text('display', 'Name of the role.'),
    text('displayName', 'Name of the role.'),
    text('type', 'Kind of the role.'),
    primary,
  ]),
  {
    ...several('groups', 'Groups that the user is a member of; changed through the groups.', [
      text('value', 'Id of the group.', { mutability: 'readOnly' }),
      {
        name: '$ref',
        type: 'reference',
        referenceTypes: ['Group'],
        mutability: 'readOnly',
        description: 'Address of the group.',
      },
      text('display', 'Name of the group.', { mutability: 'readOnly' }),
      text('type', 'direct.', { mutability: 'readOnly' }),
    ]),
    mutability: 'readOnly',
  },
];

export const enterpriseAttributes: readonly Attribute[] = [
  text('employeeNumber', 'Number of the employee.'),
  text('costCenter', 'Cost centre.'),
  text('organization', 'Organisation.'),
  text('division', 'Division.'),
  text('department', 'Department.'),
  {
    name: 'manager',
    type: 'complex',
    description: 'Manager of the user.',
    parts: [
      text('value', 'Id of the manager.'),
      { name: '$ref', type: 'reference', referenceTypes: ['User'], description: 'Address of the manager.' },
      text('displayName', 'Name of the manager.'),
    ],
  },
];

export const groupAttributes: readonly Attribute[] = [
  text('displayName', 'Name, unique in the organisation.', { required: true, uniqueness: 'server' }),
  externalId,
  several('members', 'Users in the group.', [
    text('value', 'Id of the user.', { mutability: 'immutable' }),
    {
      name: '$ref',
      type: 'reference',
      referenceTypes: ['User'],
      mutability: 'immutable',
      description: 'Address of the user.',
    },
    text('display', 'Name of the user.', { mutability: 'readOnly' }),
    text('type', 'User.', { mutability: 'immutable', canonicalValues: ['User'] }),
  ]),
];

/** Attributes of RFC 7643 that are accepted, but not stored. */
const passedOver = new Set(['password', 'ims', 'photos', 'entitlements', 'x509certificates']);

/** Is it a name of RFC 7643 whose values are not kept? */
export const isPassedOver = (name: string): boolean => passedOver.has(name.toLowerCase());

/** The attribute of that name, in upper or lower case. */
export const attributeNamed = (attributes: readonly Attribute[], wanted: string): Attribute | undefined => {
  const key = wanted.toLowerCase();
  return attributes.find((one) => one.name.toLowerCase() === key);
};

/** Most characters of a text, and most values of an attribute. */
const longestText = 1024;
const mostValues = 100;

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function readText(value: unknown, path: string): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') throw invalidValue(path, 'must be text.');
  if (value.length > longestText) throw invalidValue(path, `must be at most ${longestText} characters long.`);
  return value;
}

/** Entra ID sends `"False"`. */
function readBoolean(value: unknown, path: string): boolean {
  if (typeof value === 'boolean') return value;
  const word = typeof value === 'string' ? value.toLowerCase() : '';
  if (word === 'true' || word === 'false') return word === 'true';
  throw invalidValue(path, 'must be true or false.');
}

/** Entra ID sends a role as the JSON text of an object. */
function unpacked(value: string): unknown {
  if (!value.startsWith('{')) return { value };
  try {
    const json: unknown = JSON.parse(value);
    return isObject(json) ? json : { value };
  } catch {
    return { value };
  }
}

function readComplex({ parts = [], multiValued }: Attribute, value: unknown, path: string): Json {
  const given = typeof value === 'string' ? unpacked(value) : value;
  if (!isObject(given)) throw invalidValue(path, 'must be an object.');
  const inner = given['value'];
  const whole =
    multiValued && typeof inner === 'string' && inner.startsWith('{')
      ? { ...given, ...(unpacked(inner) as Json) }
      : given;
  return readAttributes(parts, whole, path);
}

/** The value of an attribute in its form; undefined: none. */
export function readValue(attribute: Attribute, value: unknown, path: string): unknown {
  if (value === null || value === undefined) return undefined;
  if (!attribute.multiValued) return readSingle(attribute, value, path);
  const items = Array.isArray(value) ? value : [value];
  if (items.length > mostValues) throw invalidValue(path, `must have at most ${mostValues} values.`);
  const read = items
    .filter((item) => item !== null && item !== '')
    .map((item, i) => readComplex(attribute, item, `${path}[${i}]`) as Record<string, unknown>)
    .filter((item) => Object.keys(item).length > 0);
  const last = read.findLastIndex((item) => item['primary'] === true);
  for (const [i, item] of read.entries()) if (item['primary'] === true && i !== last) item['primary'] = false;
  return read.length === 0 ? undefined : read;
}

function readSingle(attribute: Attribute, value: unknown, path: string): unknown {
  if (attribute.type === 'complex') {
    const read = readComplex(attribute, value, path);
    return Object.keys(read).length === 0 ? undefined : read;
  }
  if (attribute.type === 'boolean') return readBoolean(value, path);
  const text = readText(value, path);
  return text === '' ? undefined : text;
}

/** The known attributes of an object, with their names and values normalised; others are left out. */
export function readAttributes(attributes: readonly Attribute[], json: Json, path = ''): Json {
  const read: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(json)) {
    const attribute = attributeNamed(attributes, name);
    if (attribute === undefined) continue;
    const known = readValue(attribute, value, path === '' ? attribute.name : `${path}.${attribute.name}`);
    if (known !== undefined) read[attribute.name] = known;
  }
  return read;
}

/** A user as it was sent: its attributes and those of the enterprise extension. */
export function readUser(json: Json): Json {
  const own = readAttributes(userAttributes, json);
  const key = Object.keys(json).find((name) => name.toLowerCase() === enterpriseSchema.toLowerCase());
  const extension = key === undefined ? undefined : json[key];
  if (!isObject(extension)) return own;
  const read = readAttributes(enterpriseAttributes, extension, enterpriseSchema);
  return Object.keys(read).length === 0 ? own : { ...own, [enterpriseSchema]: read };
}
