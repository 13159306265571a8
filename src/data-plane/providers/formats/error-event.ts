import type { JsonObject } from '../../../common/core/exchange.js';

/** Is an event of a stream in OpenAI's format an error? Some servers send one without the `error` around it (vLLM). */
export function reportsError(name: string, event: JsonObject): boolean {
  return name === 'error' || (event['error'] ?? null) !== null || event['object'] === 'error';
}
