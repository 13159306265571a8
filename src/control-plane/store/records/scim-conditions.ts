/** How an attribute is compared, by RFC 7644; `pr`: it has a value. */
export type ScimOperator = 'eq' | 'ne' | 'co' | 'sw' | 'ew' | 'gt' | 'ge' | 'lt' | 'le' | 'pr';

/** One comparison of a filter. */
export interface ScimComparison {
  readonly op: ScimOperator;
  /** One of the store's names: `scimUserAttributes`, `scimGroupAttributes`. */
  readonly attribute: string;
  /** Null for `pr`. Times are Unix milliseconds. */
  readonly value: string | number | boolean | null;
}

/** What a filter asks for, as the store takes it. */
export type ScimCondition =
  | { readonly op: 'and' | 'or'; readonly conditions: readonly ScimCondition[] }
  | { readonly op: 'not'; readonly condition: ScimCondition }
  | ScimComparison;

type AttributeKind = 'text' | 'exact' | 'boolean' | 'time' | 'reference';

/**
 * Attributes of users that a filter can name, in lower case, and how they are compared: `exact` minds case; `reference`
 * is the id of another record.
 */
export const scimUserAttributes: Readonly<Record<string, AttributeKind>> = {
  id: 'exact',
  externalid: 'exact',
  username: 'text',
  displayname: 'text',
  'name.givenname': 'text',
  'name.familyname': 'text',
  'emails.value': 'text',
  active: 'boolean',
  'roles.value': 'text',
  'groups.value': 'reference',
  'meta.created': 'time',
  'meta.lastmodified': 'time',
};

/** The same of groups. */
export const scimGroupAttributes: Readonly<Record<string, AttributeKind>> = {
  id: 'exact',
  externalid: 'exact',
  displayname: 'text',
  'members.value': 'reference',
  'meta.created': 'time',
  'meta.lastmodified': 'time',
};

/** What a list of users or groups is narrowed to, and its order. */
export interface ScimQuery {
  /** null: all. */
  readonly condition: ScimCondition | null;
  /** One of the attributes; null: oldest first. */
  readonly sortBy: string | null;
  readonly descending: boolean;
}
