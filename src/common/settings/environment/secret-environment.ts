/** Environment variables of the control process that secret references and their managers are read from. */

/** null: it is not set. */
export const environmentVariable = (name: string): string | null => process.env[name] ?? null;

/** Who the gateway itself is to Azure, by the names that Microsoft's libraries read. */
export interface AzureEnvironment {
  readonly tenantId: string | null;
  readonly clientId: string | null;
  readonly clientSecret: string | null;
  readonly federatedTokenFile: string | null;
  /** Where tokens come from in place of https://login.microsoftonline.com. */
  readonly authorityHost: string | null;
}

export function azureEnvironment(): AzureEnvironment {
  const get = (name: string): string | null => process.env[name] || null;
  return {
    tenantId: get('AZURE_TENANT_ID'),
    clientId: get('AZURE_CLIENT_ID'),
    clientSecret: get('AZURE_CLIENT_SECRET'),
    federatedTokenFile: get('AZURE_FEDERATED_TOKEN_FILE'),
    authorityHost: get('AZURE_AUTHORITY_HOST'),
  };
}
