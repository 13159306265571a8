import type { Exchange } from '../core/exchange.js';
import { isJsonObject } from '../core/json.js';
import type { Target } from '../core/target.js';

/** The longest answer that was asked for, under whichever name the client's format has for it; null: none was named. */
export function maxTokens(x: Exchange, target: Target): number | null {
  const asked = limitIn(target.overrideParams) ?? limitIn(x.request.json) ?? limitIn(target.defaultParams);
  return typeof asked === 'number' ? asked : null;
}

function limitIn(body: Readonly<Record<string, unknown>> | null): unknown {
  if (body === null) return null;
  const config = body['generationConfig'];
  return (
    body['max_completion_tokens'] ??
    body['max_tokens'] ??
    body['max_output_tokens'] ??
    (isJsonObject(config) ? config['maxOutputTokens'] : null)
  );
}
