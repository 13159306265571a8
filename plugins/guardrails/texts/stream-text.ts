import type { Format } from '../../../src/common/core/endpoint.js';
import type { JsonObject } from '../../../src/common/core/exchange.js';
import { isJsonObject } from '../../../src/common/json/json.js';
import { answerTexts } from './answer-parts.js';

/** The text of the first choice of a whole stream, or of its received part: server-sent events, or one JSON array. */
export function textOfStream(format: Format, bytes: Buffer): string {
  const text = bytes.toString('utf8');
  if (text.trimStart().startsWith('['))
    return eventsOfArray(text)
      .map((event) => pieceOf(format, event))
      .join('');
  let out = '';
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (!line.startsWith('data:')) continue;
    const event = parsed(line.slice(5));
    if (event !== null) out += pieceOf(format, event);
  }
  return out;
}

function eventsOfArray(text: string): JsonObject[] {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list.filter(isJsonObject) : [];
  } catch {
    return [];
  }
}

function parsed(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

function pieceOf(format: Format, event: JsonObject): string {
  const { delta } = event;
  switch (format) {
    case 'openai-responses':
      return event['type'] === 'response.output_text.delta' && typeof delta === 'string' ? delta : '';
    case 'anthropic-messages':
      return isJsonObject(delta) && typeof delta['text'] === 'string' ? delta['text'] : '';
    case 'openai-chat':
      return firstChoice(event, (choice) => {
        const content = isJsonObject(choice['delta']) ? choice['delta']['content'] : null;
        return typeof content === 'string' ? content : '';
      });
    case 'openai-completions':
      return firstChoice(event, ({ text }) => (typeof text === 'string' ? text : ''));
    default:
      return (answerTexts(format, event)?.judged ?? []).map(({ text }) => text).join('');
  }
}

function firstChoice({ choices }: JsonObject, read: (choice: JsonObject) => string): string {
  if (!Array.isArray(choices)) return '';
  return choices
    .filter((choice) => isJsonObject(choice) && (choice['index'] ?? 0) === 0)
    .map(read)
    .join('');
}
