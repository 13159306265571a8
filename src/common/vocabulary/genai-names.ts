import type { EndpointName } from '../core/endpoint.js';

/**
 * Names of OpenTelemetry's conventions for generative AI, which are still in development
 * (https://github.com/open-telemetry/semantic-conventions-genai). Kept in one place, since they change.
 */

const operations: Partial<Record<EndpointName, string>> = {
  chat: 'chat',
  messages: 'chat',
  responses: 'chat',
  completions: 'text_completion',
  embeddings: 'embeddings',
  'gemini-embed': 'embeddings',
  'gemini-generate': 'generate_content',
};

/** `gen_ai.operation.name` of an endpoint; null: the conventions have none for it. */
export const genAiOperation = (endpoint: string): string | null =>
  operations[endpoint as EndpointName] ?? null;

/** By the name of the provider's row. */
export const genAiProviderNames: Readonly<Record<string, string>> = {
  bedrock: 'aws.bedrock',
  sagemaker: 'aws.sagemaker',
  'azure-openai': 'azure.ai.openai',
  'azure-ai': 'azure.ai.inference',
  google: 'gcp.gemini',
  'vertex-ai': 'gcp.vertex_ai',
  'mistral-ai': 'mistral_ai',
  moonshot: 'moonshot_ai',
  'perplexity-ai': 'perplexity',
  'x-ai': 'x_ai',
};

/** `gen_ai.provider.name` of a provider row; those that the conventions do not list keep their names. */
export const genAiProvider = (provider: string): string => genAiProviderNames[provider] ?? provider;
