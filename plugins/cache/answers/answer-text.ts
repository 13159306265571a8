import type { Exchange, JsonObject } from '../../../src/common/core/exchange.js';
import { isJsonObject, stringifyJson } from '../../../src/common/json/json.js';

/** The text of a whole answer, its tool calls included; null: none, or its form is not supported. */
export function answerText(x: Exchange, bytes: Buffer): string | null {
  let answer: unknown;
  try {
    answer = JSON.parse(bytes.toString('utf8'));
  } catch {
    return null;
  }
  if (!isJsonObject(answer)) return null;
  const texts = x.endpoint.format === 'anthropic-messages' ? saidIn(answer) : choicesIn(answer);
  return texts.length === 0 ? null : texts.join('\n');
}

/** Ids of tool calls are new each time. */
const withoutId = (call: unknown): string => (isJsonObject(call) ? stringifyJson({ ...call, id: null }) : '');

const saidIn = ({ content }: JsonObject): string[] =>
  objects(content).map((part) => (typeof part['text'] === 'string' ? part['text'] : withoutId(part)));

const choicesIn = ({ choices }: JsonObject): string[] =>
  objects(choices).flatMap(({ text, message }) => {
    if (typeof text === 'string') return [text];
    if (!isJsonObject(message)) return [];
    const { content, tool_calls: calls } = message;
    return [...(typeof content === 'string' ? [content] : []), ...objects(calls).map(withoutId)];
  });

function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
