import { azureFoundry } from './azure-foundry.js';
import { azureOpenAi } from './azure-openai.js';
import { bedrock } from './bedrock.js';
import { cohere } from './cohere.js';
import { compatibleProviders } from './compatible.js';
import { google } from './google.js';
import type { Provider } from './provider.js';
import { vertex } from './vertex.js';

const bearer = { kind: 'bearer' } as const;

const chat = { 'openai-chat': '/chat/completions' } as const;
const completions = { 'openai-completions': '/completions' } as const;
const embeddings = { 'openai-embeddings': '/embeddings' } as const;

const native: readonly Provider[] = [
  {
    name: 'openai',
    base: 'https://api.openai.com/v1',
    auth: bearer,
    passHeaders: [
      'openai-organization',
      'openai-project',
      'openai-beta',
      'x-client-request-id',
      'idempotency-key',
    ],
    paths: {
      ...chat,
      ...completions,
      ...embeddings,
      'openai-moderations': '/moderations',
      'openai-responses': '/responses',
    },
    source: 'https://platform.openai.com/docs/api-reference',
  },
  {
    name: 'anthropic',
    base: 'https://api.anthropic.com/v1',
    // OAuth tokens are refused as API keys (BerriAI/litellm#21039).
    auth: { kind: 'header', name: 'x-api-key', bearerPrefix: 'sk-ant-oat' },
    // The version whose request still has temperature, top_p and top_k; 2026-10-21 refuses them
    // (platform.claude.com/docs/en/api/versioning). A client's own version goes on instead.
    headers: { 'anthropic-version': '2023-06-01' },
    passHeaders: [
      'anthropic-version',
      'anthropic-beta',
      'anthropic-dangerous-direct-browser-access',
      'anthropic-user-profile-id',
      'anthropic-workspace-id',
    ],
    paths: { 'anthropic-messages': '/messages', 'anthropic-count-tokens': '/messages/count_tokens' },
    source: 'https://platform.claude.com/docs/en/api/messages',
  },
];

/** Every provider that can be named, by its name. */
export const providers: ReadonlyMap<string, Provider> = new Map(
  [...native, azureOpenAi, azureFoundry, bedrock, cohere, google, vertex, ...compatibleProviders].map(
    (provider) => [provider.name, provider],
  ),
);
