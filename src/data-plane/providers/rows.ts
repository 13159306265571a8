import { azureFoundry } from './kinds/azure-foundry.js';
import { azureOpenAi } from './kinds/azure-openai.js';
import { bedrock } from './kinds/bedrock.js';
import { cohere } from './kinds/cohere.js';
import { compatibleProviders } from './kinds/compatible.js';
import { google } from './kinds/google.js';
import { nomic } from './kinds/nomic.js';
import { oracle } from './kinds/oracle.js';
import { sagemaker } from './kinds/sagemaker.js';
import { vertex } from './kinds/vertex.js';
import { workersAi } from './kinds/workers-ai.js';
import { isPlaceholder, type ProviderDefinition } from './provider.js';

const bearer = { kind: 'bearer' } as const;

const chat = { 'openai-chat': '/chat/completions' } as const;
const completions = { 'openai-completions': '/completions' } as const;
const embeddings = { 'openai-embeddings': '/embeddings' } as const;

const native: readonly ProviderDefinition[] = [
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

const shaped = [
  azureOpenAi,
  azureFoundry,
  bedrock,
  cohere,
  google,
  nomic,
  oracle,
  sagemaker,
  vertex,
  workersAi,
];

/** Every provider that can be named, by its name. */
export const providers: ReadonlyMap<string, ProviderDefinition> = new Map(
  [...native, ...shaped, ...compatibleProviders].map((provider) => [provider.name, provider]),
);

/** What can be asked of the rows without seeing them. */
export const providerRows = {
  has: (name: string): boolean => providers.has(name),
  names: (): Iterable<string> => providers.keys(),
  /** Is it a server of one's own, or at an address for each customer, that cannot be called without its address? */
  needsAddress: (name: string): boolean => isPlaceholder(providers.get(name)?.base ?? ''),
};
