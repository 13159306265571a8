import type { JsonObject } from '../../../common/core/exchange.js';
import { noUsage, serviceTier, setKinds, type Usage } from '../../../common/core/usage.js';
import { asObject, count, hasCounts } from './json-shape.js';

const totals = ['prompt_tokens', 'input_tokens', 'completion_tokens', 'output_tokens', 'total_tokens'];

/**
 * The `usage` of an OpenAI-shaped answer or chunk (platform.openai.com/docs/api-reference/chat/object), and of those
 * who put it elsewhere: Groq's `x_groq.usage`, DeepSeek's `prompt_cache_hit_tokens`. xAI counts thinking beside the
 * completion and not within it, as its total shows (docs.x.ai/docs/key-information/consumption-and-rate-limits).
 * null where there is none that can be used.
 */
export function openAiUsage(body: JsonObject): Usage | null {
  const raw = asObject(body['usage']) ?? asObject(asObject(body['x_groq'])?.['usage']);
  if (raw === null || !hasCounts(raw, raw['type'] === 'duration' ? ['seconds'] : totals)) return null;
  const usage = noUsage();
  // The Responses and audio endpoints have input/output where chat has prompt/completion.
  usage.output = count(raw['completion_tokens'] ?? raw['output_tokens']);
  // Some report the sum alone, of embeddings for example.
  usage.input = count(
    raw['prompt_tokens'] ?? raw['input_tokens'] ?? Math.max(0, count(raw['total_tokens']) - usage.output),
  );
  const prompt = asObject(raw['prompt_tokens_details']) ?? asObject(raw['input_tokens_details']);
  const completion = asObject(raw['completion_tokens_details']) ?? asObject(raw['output_tokens_details']);
  usage.cached = Math.min(usage.input, count(prompt?.['cached_tokens'] ?? raw['prompt_cache_hit_tokens']));
  usage.cacheWrite = Math.min(usage.input - usage.cached, count(prompt?.['cache_write_tokens']));
  const reasoning = count(completion?.['reasoning_tokens']);
  if (reasoning > 0 && count(raw['total_tokens']) === usage.input + usage.output + reasoning)
    usage.output += reasoning;
  usage.reasoning = Math.min(usage.output, reasoning);
  const cached = asObject(prompt?.['cached_tokens_details']);
  setKinds(
    usage,
    {
      audioInput: count(prompt?.['audio_tokens']),
      audioCached: count(cached?.['audio_tokens']),
      imageInput: count(prompt?.['image_tokens']),
      imageCached: count(cached?.['image_tokens']),
      audioOutput: count(completion?.['audio_tokens']),
      imageOutput: count(completion?.['image_tokens']),
      // Whisper is billed by time, in whole seconds.
      seconds: raw['type'] === 'duration' ? count(raw['seconds']) : 0,
    },
    serviceTier(body['service_tier']),
  );
  usage.source = 'provider';
  return usage;
}
