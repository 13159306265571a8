import type { Message } from '../../../../../proto/codec.js';
import type { Shape } from '../../../../../proto/shape.js';
import type { AdminMethod, Binding } from '../../../../../proto/tree.js';
import { messageJson } from '../../grpc/message-bytes.js';
import { type RestAnswer, type RestRequest, valuesOf } from '../request.js';
import { scimType } from '../scim-form.js';

/** Statuses of RFC 7644: 201 with a Location for what was made, 204 for what was removed, 304 for what is known. */

interface Resource {
  readonly meta?: { readonly location?: string };
}

/** Do these validators name the state? Weak comparison. */
const isKnown = (validators: readonly string[], version: string): boolean =>
  validators
    .flatMap((text) => text.split(','))
    .some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === version.replace(/^W\//, ''));

export async function scimAnswer(
  method: AdminMethod,
  binding: Binding,
  response: Message,
  request: RestRequest,
): Promise<RestAnswer> {
  const { verb, responseBody } = binding;
  if (verb === 'DELETE') return { status: 204, headers: [], body: '' };
  const headers = ['content-type', scimType];
  if (responseBody === '')
    return { status: 200, headers, body: await messageJson(method.response, response) };
  const resource = response[responseBody] as Resource | null;
  // Empty: it never changes.
  const version = response['etag'] ? `W/"${response['etag']}"` : null;
  if (version !== null) headers.push('etag', version);
  if (verb === 'GET' && version !== null && isKnown(valuesOf(request.headers, 'if-none-match'), version))
    return { status: 304, headers: ['etag', version], body: '' };
  // Changed, and too long to be sent back with every change.
  if (resource === null) return { status: 204, headers: headers.slice(2), body: '' };
  const location = resource.meta?.location;
  if (verb === 'POST' && location !== undefined) headers.push('location', location);
  return { status: verb === 'POST' ? 201 : 200, headers, body: JSON.stringify(resource) };
}

/** The parts of a query that the method has a field for: identity providers add parameters of their own. */
export const scimQuery = (shape: Shape, query: string): string =>
  query
    .split('&')
    .filter((pair) => shape.spelt(pair.split('=')[0] ?? '') !== undefined)
    .join('&');
