/** Where a secret reference's value comes from, by the names of the API. */
export const secretManagers = ['aws_sm', 'azure_kv', 'hashicorp_vault', 'env', 'file'] as const;
export type SecretManager = (typeof secretManagers)[number];
