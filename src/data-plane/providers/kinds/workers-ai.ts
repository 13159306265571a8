import type { ProviderDefinition, RowCall } from '../provider.js';
import { hostLabel, missing } from './azure-fields.js';

const accounts = 'https://api.cloudflare.com/client/v4/accounts';

/**
 * Cloudflare Workers AI: OpenAI's wire below an account of one's own. What is passed through goes below `/ai`, where
 * the models' own addresses are (`/run/@cf/…`, for pictures and sound).
 */
export const workersAi: ProviderDefinition = {
  name: 'workers-ai',
  base: 'http://workers-ai.needs-an-account-id.invalid/ai/v1',
  auth: { kind: 'bearer' },
  paths: {
    'openai-chat': '/chat/completions',
    'openai-embeddings': '/embeddings',
    'openai-responses': '/responses',
  },
  forCall,
  source: 'https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility/',
};

function forCall({ format, hasBase, fields }: RowCall): ProviderDefinition {
  if (hasBase) return workersAi;
  // A stored account goes with its stored token: the caller's own is not asked beside it.
  const account =
    fields.fromStore === null ? fields.get('workers_ai_account_id') : fields.stored('workers_ai_account_id');
  if (account === null)
    throw missing('workers_ai_account_id', 'is missing: calls go to an account of Cloudflare.');
  const ai = `${accounts}/${hostLabel(account, 'workers_ai_account_id')}/ai`;
  return { ...workersAi, base: format === 'none' ? ai : `${ai}/v1` };
}
