import type { JsonObject } from '../../../common/core/exchange.js';
import { asObject, asString } from './json-shape.js';

/**
 * Google's thought signature of a tool call or of a message, where Google's own OpenAI-shaped endpoint puts it
 * (ai.google.dev/gemini-api/docs/openai); null: there is none.
 */
export function googleSignature(of: JsonObject | null): string | null {
  const extra = of?.['extra_content'];
  if (extra === undefined) return null;
  const signature = asString(asObject(asObject(extra)?.['google'])?.['thought_signature']);
  return signature === '' ? null : signature;
}

/** The `extra_content` of what has this signature. */
export const googleExtra = (signature: string): JsonObject => ({ google: { thought_signature: signature } });
