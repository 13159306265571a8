import type { Message } from '../../../../proto/codec.js';
import type { AdminMethod } from '../../../../proto/tree.js';
import type { Caller } from '../access/caller.js';
import { AdminError } from '../admin-error.js';
import { checkStoredAddresses } from '../references/stored-addresses.js';
import type { AdminParts } from '../service.js';
import { checkRules } from './rules.js';

/** Throws AB03 unless the caller may call the method. Deny by default: no scope, no way in. */
export function checkAccess({ name, access }: AdminMethod, caller: Caller): void {
  if (access.organisationOnly && caller.key.keyType !== 'organisation-service')
    throw new AdminError('AB03', `${name} is for keys of the whole organisation.`);
  if (access.scopes.length > 0 && !access.scopes.some((scope) => caller.has(scope))) {
    if (access.scopes.includes('session') && caller.person === null)
      throw new AdminError('AB03', `${name} is for people who are signed in, and not for keys.`);
    if (caller.person !== null)
      throw new AdminError('AB03', `Your role does not allow ${access.scopes.join(' or ')}.`);
    throw new AdminError('AB03', `This key lacks the scope ${access.scopes.join(' or ')}.`);
  }
  // One of the scopes of calls is enough for a key, but not where the setting hides the logs from its user.
  if (access.scopes.includes('logs.view') && !caller.seesLogs)
    throw new AdminError('AB03', 'The security settings hide the logs from this user.');
}

/** The request, if the caller may make it and it is as it must be; nothing is read for one who may not. */
export function admit(parts: AdminParts, method: AdminMethod, caller: Caller, read: () => Message): Message {
  const { access, request: shape } = method;
  checkAccess(method, caller);
  const request = read();
  checkRules(shape, request);
  checkStoredAddresses(shape, request, parts.egressAllow);
  const { organisation_id: organisation, ...others } = request;
  if (organisation && access.scopes.length > 0 && organisation !== caller.organisationId)
    throw new AdminError('AB02', 'organisation_id: there is no such organisation.');
  // REST requests may name it where their method has no such field.
  return shape.field('organisation_id') === undefined ? others : request;
}
