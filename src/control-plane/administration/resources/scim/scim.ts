import type { ScimResource } from '../../../../../proto/messages.js';
import { AdminError } from '../../admin-error.js';
import type { AdminParts, Service } from '../../service.js';
import { scimGroups } from './groups.js';
import { baseOf, listOf } from './lists.js';
import { resourceTypes, schemas, serviceProviderConfig } from './schemas.js';
import { scimUsers } from './users.js';

type Json = Readonly<Record<string, unknown>>;

/** It never changes: it has no etag. */
const fixed = (resource: Json): ScimResource => ({ resource, etag: '' });

function withId(all: readonly Json[], id: string, noun: string): ScimResource {
  const found = all.find((one) => String(one['id']).toLowerCase() === id.toLowerCase());
  if (found === undefined) throw new AdminError('AB08', `There is no such ${noun}.`);
  return fixed(found);
}

/** SCIM 2.0: users, groups, and the description of the service. */
export function scimService(parts: AdminParts): Service<'Scim'> {
  const { publicUrl } = parts;
  return {
    ...scimUsers(parts),
    ...scimGroups(parts),

    async GetScimServiceProviderConfig(caller) {
      return fixed(serviceProviderConfig(baseOf(publicUrl, caller)));
    },

    async ListScimResourceTypes(caller) {
      const all = resourceTypes(baseOf(publicUrl, caller));
      return listOf(all, all.length, 1);
    },

    async GetScimResourceType(caller, { name }) {
      return withId(resourceTypes(baseOf(publicUrl, caller)), name, 'kind of resource');
    },

    async ListScimSchemas(caller) {
      const all = schemas(baseOf(publicUrl, caller));
      return listOf(all, all.length, 1);
    },

    async GetScimSchema(caller, { schema_id }) {
      return withId(schemas(baseOf(publicUrl, caller)), schema_id, 'schema');
    },
  };
}
