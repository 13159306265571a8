import { noUsage, type Usage } from '../../../../common/core/usage.js';

/** What the bodies of requests show that went another way than through the gateway, in the formats of the usual providers. */

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;

/** A body may be given as its text. */
function bodyOf(body: unknown): Fields | null {
  if (typeof body !== 'string') return fieldsOf(body);
  try {
    return fieldsOf(JSON.parse(body));
  } catch {
    return null;
  }
}

export function bodyModel(body: unknown): string | null {
  const fields = bodyOf(body);
  const model = fields?.['model'] ?? fields?.['modelVersion'];
  return typeof model === 'string' && model !== '' ? model.slice(0, 256) : null;
}

const count = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0
    ? Math.min(Math.round(value), 1_000_000_000)
    : 0;

export function bodyUsage(body: unknown): Usage {
  const fields = bodyOf(body);
  const usage = fieldsOf(fields?.['usage']);
  const gemini = fieldsOf(fields?.['usageMetadata']);
  const found = usage !== null ? usageOf(usage) : gemini !== null ? geminiUsage(gemini) : noUsage();
  return found.input + found.output > 0 ? { ...found, source: 'provider' } : noUsage();
}

/** OpenAI's two formats, and Anthropic's, whose input is without what its cache has. */
function usageOf(usage: Fields): Usage {
  const inputs = fieldsOf(usage['prompt_tokens_details'] ?? usage['input_tokens_details']);
  const outputs = fieldsOf(usage['completion_tokens_details'] ?? usage['output_tokens_details']);
  const read = count(usage['cache_read_input_tokens']);
  const cacheWrite = count(usage['cache_creation_input_tokens']);
  return {
    ...noUsage(),
    input: count(usage['prompt_tokens'] ?? usage['input_tokens']) + read + cacheWrite,
    output: count(usage['completion_tokens'] ?? usage['output_tokens']),
    cached: read + count(inputs?.['cached_tokens']),
    cacheWrite,
    reasoning: count(outputs?.['reasoning_tokens']),
  };
}

function geminiUsage(usage: Fields): Usage {
  const reasoning = count(usage['thoughtsTokenCount']);
  return {
    ...noUsage(),
    input: count(usage['promptTokenCount']),
    output: count(usage['candidatesTokenCount']) + reasoning,
    cached: count(usage['cachedContentTokenCount']),
    reasoning,
  };
}

const hosts: Readonly<Record<string, string>> = {
  'api.openai.com': 'openai',
  'api.anthropic.com': 'anthropic',
  'generativelanguage.googleapis.com': 'google',
  'api.mistral.ai': 'mistral-ai',
  'api.groq.com': 'groq',
  'api.cohere.com': 'cohere',
  'api.deepseek.com': 'deepseek',
  'api.x.ai': 'x-ai',
  'api.together.xyz': 'together-ai',
  'api.fireworks.ai': 'fireworks-ai',
  'openrouter.ai': 'openrouter',
};

/** The provider that a request names by a header such as x-gateway-provider, else the one of its URL; null: not known. */
export function providerOf(url: string, headers: Readonly<Record<string, string>>): string | null {
  const named = Object.entries(headers).find(([name]) => /^x-[a-z]+-provider$/i.test(name))?.[1];
  if (named) return named.slice(0, 128);
  return URL.canParse(url) ? (hosts[new URL(url).hostname] ?? null) : null;
}
