import type { ProviderDefinition } from '../provider.js';

/** Cohere's API, version 2. */
export const cohere: ProviderDefinition = {
  name: 'cohere',
  base: 'https://api.cohere.com/v2',
  auth: { kind: 'bearer' },
  passHeaders: ['x-client-name'],
  paths: { 'cohere-chat': '/chat', 'cohere-embed': '/embed', 'cohere-rerank': '/rerank' },
  source: 'https://docs.cohere.com/reference/about',
};
