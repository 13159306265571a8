import { type AzureIdentity, SecretFailure } from '../../../common/http/secret-access.js';
import type { SecretReferenceRecord } from '../../../common/ipc/records.js';
import { answeredJson } from '../answers.js';
import type { SecretSource } from '../secret-source.js';

/** learn.microsoft.com/en-us/rest/api/keyvault/secrets/get-secret/get-secret */
export const azureKeyVault: SecretSource = {
  async fetch(reference, { ask, azureToken }) {
    const vault = reference.auth['azure_vault_url'] ?? '';
    const token = await azureToken(identityOf(reference), scopeOf(vault));
    const path = reference.secretPath
      .split('/')
      .filter((part) => part !== '')
      .map(encodeURIComponent)
      .join('/');
    const answer = await ask({
      method: 'GET',
      url: `${vault.replace(/\/+$/, '')}/secrets/${path}?api-version=7.4`,
      headers: ['authorization', `Bearer ${token}`, 'accept', 'application/json'],
      body: null,
    });
    const { value } = answeredJson(answer);
    if (typeof value === 'string') return value;
    throw new SecretFailure('its secret manager answered with something else than a secret');
  },
};

function identityOf({ auth }: SecretReferenceRecord): AzureIdentity {
  const mode = auth['azure_auth_mode'];
  if (mode === 'managed') return { kind: 'managed', client: auth['azure_managed_client_id'] ?? null };
  if (mode === 'default') return { kind: 'default' };
  return {
    kind: 'entra',
    tenant: auth['azure_entra_tenant_id'] ?? '',
    client: auth['azure_entra_client_id'] ?? '',
    secret: auth['azure_entra_client_secret'] ?? '',
  };
}

/** Vaults of national clouds have tokens of their own. */
function scopeOf(vault: string): string {
  const domain = /\.(vault\.(?:azure\.net|azure\.cn|usgovcloudapi\.net))$/.exec(new URL(vault).hostname)?.[1];
  return `https://${domain ?? 'vault.azure.net'}/.default`;
}
