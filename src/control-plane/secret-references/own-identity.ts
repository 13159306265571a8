import type { Cloud } from '../../common/access/own-identity.js';
import type { SecretReferenceRecord } from '../../common/ipc/records.js';

/** The cloud at which a reference signs in as the gateway itself; null: it has credentials of its own. */
export function ownIdentityOf({ managerType, auth }: SecretReferenceRecord): Cloud | null {
  if (managerType === 'aws_sm') return auth['aws_auth_type'] === 'accessKey' ? null : 'aws';
  if (managerType === 'azure_kv') return auth['azure_auth_mode'] === 'entra' ? null : 'azure';
  const isPod = managerType === 'hashicorp_vault' && auth['vault_auth_type'] === 'kubernetes';
  return isPod ? 'kubernetes' : null;
}
