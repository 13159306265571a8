import type { JsonObject } from '../../core/exchange.js';
import { noUsage, type Usage } from '../../core/usage.js';
import { asObject, count } from './json-shape.js';

/**
 * The `usage` of an OpenAI-shaped answer or chunk (platform.openai.com/docs/api-reference/chat/object), and of those
 * who put it elsewhere: Groq's `x_groq.usage`, DeepSeek's `prompt_cache_hit_tokens`. null where there is none.
 */
export function openAiUsage(body: JsonObject): Usage | null {
  const raw = asObject(body['usage']) ?? asObject(asObject(body['x_groq'])?.['usage']);
  if (raw === null) return null;
  const usage = noUsage();
  // The Responses and audio endpoints say input/output where chat says prompt/completion.
  usage.input = count(raw['prompt_tokens'] ?? raw['input_tokens']);
  usage.output = count(raw['completion_tokens'] ?? raw['output_tokens']);
  const prompt = asObject(raw['prompt_tokens_details']) ?? asObject(raw['input_tokens_details']);
  const completion = asObject(raw['completion_tokens_details']) ?? asObject(raw['output_tokens_details']);
  usage.cached = Math.min(usage.input, count(prompt?.['cached_tokens'] ?? raw['prompt_cache_hit_tokens']));
  usage.cacheWrite = Math.min(usage.input - usage.cached, count(prompt?.['cache_write_tokens']));
  usage.reasoning = Math.min(usage.output, count(completion?.['reasoning_tokens']));
  usage.source = 'provider';
  return usage;
}
