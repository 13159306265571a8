import { entraAuth } from '../auth/entra.js';
import type { ProviderDefinition, RowCall } from '../provider.js';
import { deploymentFor } from './azure-deployments.js';
import { apiVersion, azureFields, hostLabel, missing } from './azure-fields.js';

/**
 * Azure OpenAI: OpenAI's wire at a resource of one's own. With a dated `api-version` the deployment is in the path;
 * by `v1` (the default; also `preview` and `latest`) it is the model. A custom host replaces what comes before
 * `/deployments/…`, or for everything up to `/v1`.
 */
export const azureOpenAi: ProviderDefinition = {
  name: 'azure-openai',
  base: 'http://azure-openai.needs-a-resource-name.invalid/openai/v1',
  auth: { kind: 'header', name: 'api-key' },
  paths: {
    'openai-chat': '/chat/completions',
    'openai-completions': '/completions',
    'openai-embeddings': '/embeddings',
    'openai-responses': '/responses',
  },
  passHeaders: ['x-ms-client-request-id', 'x-client-request-id'],
  forCall,
  source: 'https://learn.microsoft.com/en-us/azure/foundry/openai/api-version-lifecycle',
};

function forCall({ format, model, hasBase, fields }: RowCall): ProviderDefinition {
  const field = azureFields(fields);
  const resource = field('azure_resource_name', 'resource_name');
  if (resource === null && !hasBase)
    throw missing('azure_resource_name', 'is missing: calls go to <resource>.openai.azure.com.');
  const host = resource === null ? '' : hostLabel(resource, 'azure_resource_name');
  const root = `https://${host}.openai.azure.com/openai`;
  const deployment = deploymentFor(model, field);
  const version = apiVersion(
    deployment?.apiVersion ?? field('azure_api_version', 'api_version') ?? undatedVersion,
  );
  const row = { ...azureOpenAi, auth: entraAuth(field, azureOpenAi.auth) };
  if (!/^\d/.test(version)) {
    return {
      ...row,
      base: `${root}/v1`,
      ...(version === undatedVersion ? {} : { query: `api-version=${version}` }),
      ...(deployment === null ? {} : { model: deployment.name }),
    };
  }
  const query = `api-version=${version}`;
  if (deployment === null) return { ...row, base: root, query };
  const at = `/deployments/${encodeURIComponent(deployment.name)}`;
  return {
    ...row,
    base: root,
    query,
    // Responses have no deployment in their path.
    ...(format === 'openai-responses' ? { model: deployment.name } : {}),
    paths: {
      'openai-chat': `${at}/chat/completions`,
      'openai-completions': `${at}/completions`,
      'openai-embeddings': `${at}/embeddings`,
      'openai-responses': '/responses',
    },
  };
}

const undatedVersion = 'v1';
