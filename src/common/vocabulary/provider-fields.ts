import { Secret } from '../access/secret.js';

/** Fields of the providers' own in configs (headers spell them with hyphens): those that have an effect. */
export const providerFields = [
  'openai_organization',
  'openai_project',
  'openai_beta',
  'anthropic_version',
  'anthropic_beta',
  'resource_name',
  'deployment_id',
  'api_version',
  'azure_resource_name',
  'azure_deployment_id',
  'azure_deployment_name',
  'azure_deployment_type',
  'azure_api_version',
  'azure_model_name',
  'azure_ad_token',
  'azure_auth_mode',
  'azure_managed_client_id',
  'azure_workload_client_id',
  'azure_entra_client_id',
  'azure_entra_client_secret',
  'azure_entra_tenant_id',
  'azure_entra_scope',
  'azure_foundry_url',
  'azure_endpoint_name',
  'azure_region',
  'azure_extra_params',
  'vertex_project_id',
  'vertex_region',
  'vertex_service_account_json',
  'vertex_auth_type',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
  'aws_region',
  'aws_role_arn',
  'aws_auth_type',
  'aws_external_id',
  'aws_bedrock_model',
  'amzn_sagemaker_custom_attributes',
  'amzn_sagemaker_target_model',
  'amzn_sagemaker_target_variant',
  'amzn_sagemaker_target_container_hostname',
  'amzn_sagemaker_inference_id',
  'amzn_sagemaker_enable_explanations',
  'amzn_sagemaker_inference_component',
  'amzn_sagemaker_session_id',
  'workers_ai_account_id',
  'oracle_region',
  'oracle_version',
  'oracle_compartment_id',
  'oracle_serving_mode',
  'oracle_tenancy',
  'oracle_user',
  'oracle_fingerprint',
  'oracle_private_key',
  'oracle_key_passphrase',
] as const;

export type ProviderField = (typeof providerFields)[number];

/** Of these, what is a credential or holds one. */
export const secretFields: ReadonlySet<string> = new Set<ProviderField>([
  'azure_ad_token',
  'azure_entra_client_secret',
  'vertex_service_account_json',
  'aws_secret_access_key',
  'aws_session_token',
  'oracle_private_key',
  'oracle_key_passphrase',
]);

/** Those of these fields that choose the host of a call: a stored credential is not sent to a host that a caller chose. */
export const addressFields: ReadonlySet<string> = new Set<ProviderField>([
  'resource_name',
  'azure_resource_name',
  'azure_foundry_url',
  'azure_endpoint_name',
  'azure_region',
]);

/** Fields by their names in snake case. */
export type FieldValues = Readonly<Record<string, string | Secret>>;

/** A field's value as it is kept: what is secret cannot be printed. */
export function fieldValue(name: string, text: string): string | Secret {
  return secretFields.has(name) ? new Secret(text) : text;
}
