import type { JsonObject } from '../../../common/core/exchange.js';
import { noUsage, setKinds, type Usage } from '../../../common/core/usage.js';
import { asArray, asObject, count, hasCounts } from './json-shape.js';

const totals = ['promptTokenCount', 'toolUsePromptTokenCount', 'candidatesTokenCount', 'thoughtsTokenCount'];

/**
 * A `usageMetadata` (types of @google/genai 2.32). Gemini counts thoughts beside the candidates and what tools of its
 * own have read beside the prompt; here output includes the former and input the latter, so that the figures add up.
 */
export function geminiUsage(raw: JsonObject): Usage {
  const usage = noUsage();
  usage.input = count(raw['promptTokenCount']) + count(raw['toolUsePromptTokenCount']);
  usage.reasoning = count(raw['thoughtsTokenCount']);
  usage.output = count(raw['candidatesTokenCount']) + usage.reasoning;
  usage.cached = Math.min(usage.input, count(raw['cachedContentTokenCount']));
  setKinds(usage, {
    audioInput: ofModality(raw['promptTokensDetails'], 'AUDIO'),
    audioCached: ofModality(raw['cacheTokensDetails'], 'AUDIO'),
    imageInput: ofModality(raw['promptTokensDetails'], 'IMAGE'),
    imageCached: ofModality(raw['cacheTokensDetails'], 'IMAGE'),
    audioOutput: ofModality(raw['candidatesTokensDetails'], 'AUDIO'),
    imageOutput: ofModality(raw['candidatesTokensDetails'], 'IMAGE'),
  });
  if (hasCounts(raw, totals)) usage.source = 'provider';
  return usage;
}

/** OpenAI's `usage`, with the sound in it where there is some. */
export function canonicalGeminiUsage(raw: JsonObject): JsonObject {
  const usage = geminiUsage(raw);
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cached, ...sound(raw['promptTokensDetails']) },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning,
      ...sound(raw['candidatesTokensDetails']),
    },
  };
}

function sound(details: unknown): JsonObject {
  const tokens = ofModality(details, 'AUDIO');
  return tokens === 0 ? {} : { audio_tokens: tokens };
}

const ofModality = (details: unknown, modality: string): number =>
  (asArray(details) ?? [])
    .map(asObject)
    .reduce((sum, entry) => sum + (entry?.['modality'] === modality ? count(entry['tokenCount']) : 0), 0);
