import type { ProviderDefinition } from '../provider.js';

/** Nomic's Atlas: embeddings of text, in a shape of its own. */
export const nomic: ProviderDefinition = {
  name: 'nomic',
  base: 'https://api-atlas.nomic.ai/v1',
  auth: { kind: 'bearer' },
  paths: { 'nomic-embed': '/embedding/text' },
  source: 'https://docs.nomic.ai/reference/api/embed-text-v-1-embedding-text-post',
};
