/** What a provider may need beside its key: which field is whose. */
export interface CredentialField {
  /** null: any provider's. */
  readonly providers: readonly string[] | null;
  /** Goes with these values of another field alone. */
  readonly when?: readonly [field: string, ...values: readonly string[]];
  /** An integration needs it, where `when` holds. */
  readonly needed?: true;
  readonly secret?: true;
}

const any: CredentialField = { providers: null };
const of = (...providers: readonly string[]): CredentialField => ({ providers });
const azure = of('azure-openai', 'azure-ai');
const aws = of('bedrock', 'sagemaker');
const entra: CredentialField = { ...azure, when: ['azure_auth_mode', 'entra'], needed: true };
const sagemaker = of('sagemaker');
const oracle = of('oracle');

/** By the field names of the proto files. Those that only virtual keys and providers have come last. */
export const credentialFields: Readonly<Record<string, CredentialField>> = {
  custom_host: any,
  custom_headers: { ...any, secret: true },
  send_trace_context: any,
  openai_organization: of('openai'),
  openai_project: of('openai'),
  azure_auth_mode: { ...azure, needed: true },
  azure_resource_name: { ...of('azure-openai'), needed: true },
  azure_deployment_config: { ...of('azure-openai'), needed: true },
  azure_entra_tenant_id: entra,
  azure_entra_client_id: entra,
  azure_entra_client_secret: { ...entra, secret: true },
  azure_managed_client_id: { ...azure, when: ['azure_auth_mode', 'managed'] },
  azure_workload_client_id: { ...azure, when: ['azure_auth_mode', 'workload'] },
  azure_foundry_url: { ...of('azure-ai'), needed: true },
  azure_api_version: of('azure-ai'),
  azure_deployment_name: of('azure-ai'),
  aws_auth_type: { ...aws, needed: true },
  aws_region: { ...aws, needed: true },
  aws_access_key_id: { ...aws, when: ['aws_auth_type', 'accessKey'], needed: true },
  aws_secret_access_key: { ...aws, when: ['aws_auth_type', 'accessKey'], needed: true, secret: true },
  aws_role_arn: { ...aws, when: ['aws_auth_type', 'assumedRole'], needed: true },
  aws_external_id: { ...aws, when: ['aws_auth_type', 'assumedRole'] },
  amzn_sagemaker_custom_attributes: sagemaker,
  amzn_sagemaker_target_model: sagemaker,
  amzn_sagemaker_target_variant: sagemaker,
  amzn_sagemaker_target_container_hostname: sagemaker,
  amzn_sagemaker_inference_id: sagemaker,
  amzn_sagemaker_enable_explanations: sagemaker,
  amzn_sagemaker_inference_component: sagemaker,
  amzn_sagemaker_session_id: sagemaker,
  amzn_sagemaker_model_name: sagemaker,
  vertex_auth_type: { ...of('vertex-ai'), needed: true },
  vertex_region: { ...of('vertex-ai'), needed: true },
  vertex_project_id: {
    ...of('vertex-ai'),
    when: ['vertex_auth_type', 'basic', 'workloadIdentity'],
    needed: true,
  },
  vertex_service_account_json: {
    ...of('vertex-ai'),
    when: ['vertex_auth_type', 'serviceAccount'],
    needed: true,
    secret: true,
  },
  workers_ai_account_id: { ...of('workers-ai'), needed: true },
  huggingface_base_url: of('huggingface'),
  snowflake_account: { ...of('cortex'), needed: true },

  api_version: of('azure-openai'),
  deployment_name: of('azure-openai'),
  resource_name: of('azure-openai'),
  deployment_config: of('azure-openai'),
  azure_region: of('azure-ai'),
  azure_deployment_type: of('azure-ai'),
  azure_endpoint_name: of('azure-ai'),
  vertex_skip_ptu_cost_attribution: of('vertex-ai'),
  oracle_region: oracle,
  oracle_version: oracle,
  oracle_compartment_id: oracle,
  oracle_tenancy: oracle,
  oracle_user: oracle,
  oracle_fingerprint: oracle,
  oracle_private_key: { ...oracle, secret: true },
};
