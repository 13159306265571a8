import {
  type Attribute,
  enterpriseAttributes,
  enterpriseSchema,
  groupAttributes,
  groupSchema,
  userAttributes,
  userSchema,
} from './attributes.js';

/** The description of the service that identity providers read: RFC 7643, sections 5 to 7. */

type Json = Readonly<Record<string, unknown>>;

const schemaSchema = 'urn:ietf:params:scim:schemas:core:2.0:Schema';
const typeSchema = 'urn:ietf:params:scim:schemas:core:2.0:ResourceType';
const configSchema = 'urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig';

/** Users or groups on one page at most. */
export const mostUsers = 1000;
export const mostGroups = 100;

export const serviceProviderConfig = (base: string): Json => ({
  schemas: [configSchema],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: mostUsers },
  changePassword: { supported: false },
  sort: { supported: true },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'Admin key',
      description: 'A key of the organisation, as Bearer token.',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
});

const typeOf = (base: string, name: 'User' | 'Group'): Json => ({
  schemas: [typeSchema],
  id: name,
  name,
  endpoint: `/${name}s`,
  description: name === 'User' ? 'People of the organisation.' : 'Groups of people.',
  schema: name === 'User' ? userSchema : groupSchema,
  schemaExtensions: name === 'User' ? [{ schema: enterpriseSchema, required: false }] : [],
  meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
});

export const resourceTypes = (base: string): readonly Json[] => [typeOf(base, 'User'), typeOf(base, 'Group')];

const attributeOf = (attribute: Attribute): Json => ({
  name: attribute.name,
  type: attribute.type,
  multiValued: attribute.multiValued === true,
  description: attribute.description,
  required: attribute.required === true,
  ...(attribute.type !== 'complex' &&
    attribute.type !== 'boolean' && { caseExact: attribute.caseExact === true }),
  mutability: attribute.mutability ?? 'readWrite',
  returned: 'default',
  uniqueness: attribute.uniqueness ?? 'none',
  ...(attribute.canonicalValues !== undefined && { canonicalValues: attribute.canonicalValues }),
  ...(attribute.referenceTypes !== undefined && { referenceTypes: attribute.referenceTypes }),
  ...(attribute.parts !== undefined && { subAttributes: attribute.parts.map(attributeOf) }),
});

const schemaOf = (
  base: string,
  id: string,
  name: string,
  description: string,
  attributes: readonly Attribute[],
): Json => ({
  schemas: [schemaSchema],
  id,
  name,
  description,
  // Common to all resources, and part of no schema.
  attributes: attributes.filter((one) => one.name !== 'externalId').map(attributeOf),
  meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` },
});

export const schemas = (base: string): readonly Json[] => [
  schemaOf(base, userSchema, 'User', 'A person of the organisation.', userAttributes),
  schemaOf(base, groupSchema, 'Group', 'A group of people.', groupAttributes),
  schemaOf(base, enterpriseSchema, 'EnterpriseUser', 'A person in a company.', enterpriseAttributes),
];
