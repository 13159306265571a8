import type { Format } from '../../../src/common/core/endpoint.js';
import type { JsonObject } from '../../../src/common/core/exchange.js';
import { isJsonObject } from '../../../src/common/json/json.js';
import type { BodyTexts, TextPart } from './parts.js';

type Path = readonly (string | number)[];
const items = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function content(value: unknown, path: Path): TextPart[] {
  if (typeof value === 'string') return [{ path, text: value }];
  return items(value).flatMap((part, i) => {
    const text = isJsonObject(part) && part['thought'] !== true ? part['text'] : undefined;
    return typeof text === 'string' ? [{ path: [...path, i, 'text'], text }] : [];
  });
}

/** Of several choices the first is judged. */
function choices(
  list: unknown,
  key: string,
  read: (choice: JsonObject, path: Path) => TextPart[],
): BodyTexts {
  const [judged = [], ...others] = items(list).map((choice, i) =>
    isJsonObject(choice) ? read(choice, [key, i]) : [],
  );
  return { judged, others: others.flat() };
}

const readers: Partial<Record<Format, (json: JsonObject) => BodyTexts>> = {
  'openai-chat': (json) =>
    choices(json['choices'], 'choices', ({ message }, path) =>
      isJsonObject(message) ? content(message['content'], [...path, 'message', 'content']) : [],
    ),
  'openai-completions': (json) =>
    choices(json['choices'], 'choices', ({ text }, path) => content(text, [...path, 'text'])),
  'openai-responses': ({ output }) => ({
    judged: items(output).flatMap((item, i) =>
      isJsonObject(item) && item['type'] === 'message'
        ? content(item['content'], ['output', i, 'content'])
        : [],
    ),
    others: [],
  }),
  'anthropic-messages': (json) => ({ judged: content(json['content'], ['content']), others: [] }),
  'gemini-generate-content': (json) =>
    choices(json['candidates'], 'candidates', (candidate, path) =>
      isJsonObject(candidate['content'])
        ? content(candidate['content']['parts'], [...path, 'content', 'parts'])
        : [],
    ),
};

/** The texts of an answer; null: answers of this format are not judged. */
export function answerTexts(format: Format, json: JsonObject): BodyTexts | null {
  return readers[format]?.(json) ?? null;
}

export const hasAnswerTexts = (format: Format): boolean => readers[format] !== undefined;
