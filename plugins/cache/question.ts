import type { Exchange, JsonObject } from '../../src/common/core/exchange.js';
import { isJsonObject, stringifyJson } from '../../src/common/json/json.js';
import { factsOf } from './config-facts.js';
import { isConvertible } from './key.js';

/** A request taken apart: its question, and everything else. */
export interface Said {
  /** The last user message, or the prompt. */
  readonly text: string;
  /** The body without that text, as JSON: system prompts, earlier messages, tools, model, every parameter. */
  readonly rest: string;
}

/** In longer conversations the last message alone does not carry the meaning. */
const maxMessages = 4;

/** null: calls of this kind are not compared by meaning. */
export function questionIn(x: Exchange): Said | null {
  const json = x.request.json!;
  if (factsOf(x.config).byWords) return null;
  switch (x.endpoint.name) {
    case 'completions':
      return typeof json['prompt'] === 'string' ? said(x, json['prompt'], { ...json, prompt: null }) : null;
    case 'chat':
    case 'messages':
      return inMessages(x, json);
    default:
      return null;
  }
}

function inMessages(x: Exchange, json: JsonObject): Said | null {
  const { messages } = json;
  if (!Array.isArray(messages) || messages.length > maxMessages) return null;
  const at = messages.findLastIndex((message) => isJsonObject(message) && message['role'] === 'user');
  if (at < 0) return null;
  const message = messages[at] as JsonObject;
  const { content } = message;
  const text = typeof content === 'string' ? content : textOf(content);
  if (text === null) return null;
  const without = Array.isArray(content) ? content.map((part) => ({ ...part, text: null })) : null;
  return said(x, text, { ...json, messages: messages.with(at, { ...message, content: without }) });
}

/** The text of a list of texts; null: the list has other parts. */
function textOf(content: unknown): string | null {
  if (!Array.isArray(content)) return null;
  const texts = content.map((part) =>
    isJsonObject(part) && part['type'] === 'text' ? part['text'] : undefined,
  );
  return texts.every((text) => typeof text === 'string') ? texts.join('\n') : null;
}

function said(x: Exchange, text: string, rest: JsonObject): Said | null {
  if (text.trim() === '') return null;
  if (isConvertible(x)) {
    delete rest['stream'];
    delete rest['stream_options'];
  }
  return { text, rest: stringifyJson(rest) };
}
