import { entraAuth } from '../auth/entra.js';
import type { ProviderDefinition, RowCall } from '../provider.js';
import { type AzureFields, apiVersion, azureFields, hostLabel, missing } from './azure-fields.js';

/**
 * Models of every maker in Microsoft Foundry, at the address that its portal shows: `…/models` (the model inference
 * API), `…/openai/v1`, or `…/anthropic` (platform.claude.com/docs/en/build-with-claude/claude-in-microsoft-foundry).
 */
export const azureFoundry: ProviderDefinition = {
  name: 'azure-ai',
  base: 'http://azure-ai.needs-a-foundry-url.invalid/models',
  auth: { kind: 'header', name: 'api-key' },
  paths: {
    'openai-chat': '/chat/completions',
    'openai-completions': '/completions',
    'openai-embeddings': '/embeddings',
  },
  passHeaders: ['extra-parameters', 'azureml-model-deployment', 'x-ms-client-request-id'],
  forCall,
  source: 'https://learn.microsoft.com/en-us/rest/api/aifoundry/modelinference/',
};

/** Of the model inference API, which has no `v1`. */
const inferenceVersion = '2024-05-01-preview';

function forCall({ model, hasBase, fields }: RowCall): ProviderDefinition {
  const field = azureFields(fields);
  const given = addressOf(field);
  if (given === null && !hasBase)
    throw missing(
      'azure_foundry_url',
      'is missing: it is the address that Foundry shows for the deployment.',
    );
  const url = given ?? azureFoundry.base;
  const deployment = field('azure_deployment_name', 'deployment_name') ?? model;
  const extra = field('azure_extra_params');
  const row: ProviderDefinition = {
    ...azureFoundry,
    auth: entraAuth(field, azureFoundry.auth),
    ...(given === null ? {} : { givenBase: true }),
    ...(deployment === null ? {} : { model: deployment }),
    ...(extra === null ? {} : { headers: { 'extra-parameters': extra } }),
  };
  if (/\/anthropic(?:\/|$)/.test(url)) {
    return {
      ...row,
      base: `${url.replace(/\/v1(?:\/messages)?$/, '')}/v1`,
      headers: { 'anthropic-version': '2023-06-01' },
      passHeaders: ['anthropic-version', 'anthropic-beta'],
      paths: { 'anthropic-messages': '/messages', 'anthropic-count-tokens': '/messages/count_tokens' },
    };
  }
  const base = url.replace(/\/(?:chat\/completions|completions|embeddings)$/, '');
  const version = field('azure_api_version', 'api_version');
  if (/\/openai\/v1$/.test(base)) {
    return {
      ...row,
      base,
      paths: { ...azureFoundry.paths, 'openai-responses': '/responses' },
      ...(version === null || version === 'v1' ? {} : { query: `api-version=${apiVersion(version)}` }),
    };
  }
  return { ...row, base, query: `api-version=${apiVersion(version ?? inferenceVersion)}` };
}

/** The URL, or that of a serverless endpoint by its name and region. */
function addressOf(field: AzureFields): string | null {
  const given = field('azure_foundry_url');
  if (given === null) {
    const [name, region] = [field('azure_endpoint_name'), field('azure_region')];
    if (name === null || region === null) return null;
    return `https://${hostLabel(name, 'azure_endpoint_name')}.${hostLabel(region, 'azure_region')}.models.ai.azure.com`;
  }
  if (!/^https?:\/\/[^\s\\?#@/]+(?:\/[^\s\\?#]*)?$/i.test(given) || !URL.canParse(given))
    throw missing('azure_foundry_url', 'must be a whole http or https URL without user, query and fragment.');
  const { origin, pathname, hostname } = new URL(given);
  const path = pathname.replace(/\/+$/, '');
  return origin + (path === '' && hostname.endsWith('.services.ai.azure.com') ? '/models' : path);
}
