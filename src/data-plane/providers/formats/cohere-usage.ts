import type { JsonObject } from '../../../common/core/exchange.js';
import { noUsage, type Usage } from '../../../common/core/usage.js';
import { asObject, count, hasCounts } from './json-shape.js';

/**
 * The `usage` of a chat, or the `meta` of embeddings and reranks. `tokens` is what went through the model,
 * `billed_units` what is charged of it; the cache's share is part of the input.
 */
export function cohereUsage(raw: JsonObject): Usage {
  const usage = noUsage();
  const counts = asObject(raw['tokens']) ?? asObject(raw['billed_units']);
  usage.input = count(counts?.['input_tokens']);
  usage.output = count(counts?.['output_tokens']);
  usage.cached = Math.min(usage.input, count(raw['cached_tokens']));
  if (hasCounts(counts, ['input_tokens', 'output_tokens'])) usage.source = 'provider';
  return usage;
}
