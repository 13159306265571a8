import type { JsonObject } from '../../../common/core/exchange.js';
import { noUsage, serviceTier, setKinds, type Usage } from '../../../common/core/usage.js';
import { asObject, count, hasCounts } from './json-shape.js';

const totals = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens', 'output_tokens'];

/**
 * The `usage` object of a message or of a stream's last `message_delta`. Anthropic counts cache reads and writes
 * beside `input_tokens`; the whole input is their sum (SDK reference, `RawMessageDeltaEvent.usage`).
 */
export function anthropicUsage(raw: JsonObject): Usage {
  const usage = noUsage();
  usage.cached = count(raw['cache_read_input_tokens']);
  usage.cacheWrite = count(raw['cache_creation_input_tokens']);
  usage.input = count(raw['input_tokens']) + usage.cached + usage.cacheWrite;
  usage.output = count(raw['output_tokens']);
  usage.reasoning = Math.min(
    usage.output,
    count(asObject(raw['output_tokens_details'])?.['thinking_tokens']),
  );
  const writes = asObject(raw['cache_creation']);
  setKinds(
    usage,
    { cacheWriteHour: Math.min(usage.cacheWrite, count(writes?.['ephemeral_1h_input_tokens'])) },
    serviceTier(raw['service_tier']),
  );
  if (hasCounts(raw, totals)) usage.source = 'provider';
  return usage;
}

/** `message_delta` counts are cumulative and replace those of `message_start`; where it has none, those remain. */
export function mergeCounts(start: JsonObject | null, delta: JsonObject): JsonObject {
  const merged: JsonObject = { ...start };
  for (const key in delta) {
    if (delta[key] !== null && delta[key] !== undefined) merged[key] = delta[key];
  }
  return merged;
}
