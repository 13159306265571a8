import { isJsonObject } from '../../../common/json/json.js';

/** The longest answer that a body asks for, under whichever name its format has for it; null or undefined: it names none. */
export function maxTokensIn(body: Readonly<Record<string, unknown>>): unknown {
  // Of the Gemini API.
  const config = body['generationConfig'];
  return (
    body['max_completion_tokens'] ??
    body['max_tokens'] ??
    body['max_output_tokens'] ??
    (config !== undefined && isJsonObject(config) ? config['maxOutputTokens'] : null)
  );
}
