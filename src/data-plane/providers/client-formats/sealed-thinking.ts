import type { JsonObject } from '../../../common/core/exchange.js';
import { stringifyJson } from '../../../common/json/json.js';
import { asArray, asObject, asString } from '../formats/json-shape.js';
import type { InnerJson } from '../inner-json.js';

/** What a client wants of the model's thinking (`reasoning.summary`, `include`). Nothing is the default. */
export interface ThinkingWanted {
  /** As text to be read. */
  readonly shown: boolean;
  /** To be given back with the next turn. */
  readonly sealed: boolean;
}

export function thinkingWanted(body: JsonObject): ThinkingWanted {
  const reasoning = asObject(body['reasoning']);
  return {
    shown: asString(reasoning?.['summary'] ?? reasoning?.['generate_summary']) !== null,
    sealed: asArray(body['include'])?.includes('reasoning.encrypted_content') === true,
  };
}

const mark = 'thinking:';

/**
 * A provider's thinking block as `encrypted_content`: opaque to the client, and back again. It needs no encryption of
 * ours: the provider that signed a block refuses a changed one, and those that sign nothing have only the text. null for
 * an empty block.
 */
export function sealThinking(block: JsonObject): string | null {
  const hasContent = ['thinking', 'signature'].some((key) => (asString(block[key]) ?? '') !== '');
  return hasContent || block['type'] === 'redacted_thinking'
    ? Buffer.from(mark + stringifyJson(block)).toString('base64')
    : null;
}

/** null: not one of ours. */
export function openThinking(sealed: unknown, inner: InnerJson): JsonObject | null {
  if (typeof sealed !== 'string') return null;
  const text = Buffer.from(sealed, 'base64').toString();
  if (!text.startsWith(mark)) return null;
  try {
    return asObject(inner.parse(text.slice(mark.length)));
  } catch {
    return null;
  }
}

/** Thinking as OpenAI-compatible servers put it beside the content (DeepSeek, vLLM; OpenRouter, Groq). */
export function reasoningText(message: JsonObject): string {
  return asString(message['reasoning_content']) ?? asString(message['reasoning']) ?? '';
}
