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

/** How many answers a body asks for, and is billed; of `best_of`, one is returned. 1 to 128. */
export function answersIn(body: Readonly<Record<string, unknown>>): number {
  // Of the Gemini API.
  const config = body['generationConfig'];
  const candidates = config !== undefined && isJsonObject(config) ? config['candidateCount'] : 1;
  return Math.max(several(body['n']), several(body['best_of']), several(candidates));
}

const several = (asked: unknown): number =>
  typeof asked === 'number' && Number.isInteger(asked) && asked > 1 ? Math.min(asked, 128) : 1;
