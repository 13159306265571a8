import { ownIdentityIn, ownIdentityRefusal, type Tenant } from '../../../common/access/own-identity.js';
import type { NewConfigurations } from '../../store/store.js';
import { AdminError } from '../admin-error.js';
import type { AdminParts } from '../service.js';

/**
 * Throws AB03 where configurations sign in as the gateway itself and its operator has not allowed that tenant to.
 * `path`: how the request spells a field. `changed` absent: they stay as they are.
 */
export function checkOwnIdentity(
  { ownIdentities }: AdminParts,
  tenant: Tenant,
  changed: NewConfigurations | undefined,
  path: (field: string) => string,
): void {
  const use = changed === undefined ? null : ownIdentityIn(changed.shown);
  if (use === null || ownIdentities?.allow(use.cloud, tenant) === true) return;
  throw new AdminError('AB03', `${path(use.field)} ${ownIdentityRefusal(use.cloud)}`);
}
