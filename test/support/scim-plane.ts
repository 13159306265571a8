import type { AdminPlane, RestOptions, RestResult } from './admin-plane.js';

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const enterpriseSchema = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
export const errorSchema = 'urn:ietf:params:scim:api:messages:2.0:Error';
const patchSchema = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

/** The body of a PATCH. */
export const patchOf = (...Operations: readonly object[]): object => ({ schemas: [patchSchema], Operations });

/** A client of SCIM, as an identity provider is one. */
export interface ScimClient {
  send(verb: string, path: string, body?: unknown, options?: RestOptions): Promise<RestResult>;
  /** The one resource of a list with this filter. */
  find(kind: 'Users' | 'Groups', filter: string): Promise<RestResult>;
  user(userName: string, more?: object): Promise<{ readonly id: string }>;
  group(displayName: string, userIds?: readonly string[]): Promise<{ readonly id: string }>;
  patch(path: string, ...operations: readonly object[]): Promise<RestResult>;
}

export function scimClient(plane: AdminPlane, organisation = plane.first.organisation_id): ScimClient {
  const send: ScimClient['send'] = (verb, path, body, { headers, ...options } = {}) =>
    plane.rest(verb, `/v1/scim/${organisation}${path}`, body, {
      ...options,
      headers: { ...(body !== undefined && { 'content-type': 'application/scim+json' }), ...headers },
    });
  const made = async (path: string, body: object): Promise<{ readonly id: string }> => {
    const { status, json } = await send('POST', path, body);
    if (status !== 201) throw new Error(`${status} ${JSON.stringify(json)}`);
    return json;
  };
  return {
    send,
    find: (kind, filter) => send('GET', `/${kind}?filter=${encodeURIComponent(filter)}`),
    user: (userName, more = {}) => made('/Users', { schemas: [userSchema], userName, ...more }),
    group: (displayName, userIds = []) =>
      made('/Groups', {
        schemas: [groupSchema],
        displayName,
        members: userIds.map((value) => ({ value })),
      }),
    patch: (path, ...operations) => send('PATCH', path, patchOf(...operations)),
  };
}
