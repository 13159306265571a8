import type { Format } from '../../../src/common/core/endpoint.js';
import type { JsonObject } from '../../../src/common/core/exchange.js';
import { isJsonObject } from '../../../src/common/json/json.js';
import type { BodyTexts, TextPart } from './parts.js';

type Path = readonly (string | number)[];

/** Collects the texts of one message. */
class Message {
  readonly parts: TextPart[] = [];

  text(value: unknown, ...path: Path): void {
    if (typeof value === 'string') this.parts.push({ path, text: value });
  }

  /** A text, or a list of parts of which some have a `text`. */
  content(value: unknown, ...path: Path): void {
    if (!Array.isArray(value)) return this.text(value, ...path);
    for (const [i, part] of value.entries()) {
      if (typeof part === 'string') this.text(part, ...path, i);
      if (!isJsonObject(part)) continue;
      this.text(part['text'], ...path, i, 'text');
      // A result of a tool has content of its own.
      if (part['type'] === 'tool_result') this.content(part['content'], ...path, i, 'content');
    }
  }
}

function message(fill: (message: Message) => void): readonly TextPart[] {
  const made = new Message();
  fill(made);
  return made.parts;
}

type Messages = (readonly TextPart[])[];

const items = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** What is beside the messages comes first; of the list the last item is judged. */
function texts(messages: Messages, besides: Messages = []): BodyTexts {
  return { judged: messages.at(-1) ?? [], others: [...besides, ...messages.slice(0, -1)].flat() };
}

const withContent = (list: unknown, key: string): Messages =>
  items(list).map((item, i) =>
    message((one) => isJsonObject(item) && one.content(item['content'], key, i, 'content')),
  );

function geminiContents(list: unknown, ...path: Path): Messages {
  return items(list).map((item, i) =>
    message((one) => isJsonObject(item) && one.content(item['parts'], ...path, i, 'parts')),
  );
}

function gemini(json: JsonObject, path: Path = []): BodyTexts {
  const besides = ['systemInstruction', 'system_instruction'].map((name) =>
    message((one) => isJsonObject(json[name]) && one.content(json[name]['parts'], ...path, name, 'parts')),
  );
  return texts(geminiContents(json['contents'], ...path, 'contents'), besides);
}

function responses(json: JsonObject): BodyTexts {
  const { input } = json;
  const besides = [message((one) => one.text(json['instructions'], 'instructions'))];
  if (!Array.isArray(input)) return texts([message((one) => one.text(input, 'input'))], besides);
  const list = input.map((item, i) =>
    message((one) => {
      if (!isJsonObject(item)) return;
      one.content(item['content'], 'input', i, 'content');
      one.content(item['output'], 'input', i, 'output');
    }),
  );
  return texts(list, besides);
}

const listOf = (json: JsonObject, key: string): BodyTexts =>
  texts([message((one) => one.content(json[key], key))]);

function rerank(json: JsonObject): BodyTexts {
  return texts([
    message((one) => {
      one.text(json['query'], 'query');
      one.content(json['documents'], 'documents');
    }),
  ]);
}

const readers: Partial<Record<Format, (json: JsonObject) => BodyTexts>> = {
  'openai-chat': ({ messages }) => texts(withContent(messages, 'messages')),
  'openai-completions': (json) => listOf(json, 'prompt'),
  'openai-embeddings': (json) => listOf(json, 'input'),
  'openai-moderations': (json) => listOf(json, 'input'),
  'openai-responses': responses,
  'anthropic-messages': anthropic,
  'anthropic-count-tokens': anthropic,
  'gemini-generate-content': (json) => gemini(json),
  'gemini-count-tokens': (json) => {
    const inner = json['generateContentRequest'];
    return isJsonObject(inner) ? gemini(inner, ['generateContentRequest']) : gemini(json);
  },
  'gemini-embed-content': ({ content }) =>
    texts([message((one) => isJsonObject(content) && one.content(content['parts'], 'content', 'parts'))]),
  'gemini-batch-embed-contents': ({ requests }) =>
    texts([
      items(requests).flatMap((request, i) =>
        message((one) => {
          const content = isJsonObject(request) ? request['content'] : null;
          if (isJsonObject(content)) one.content(content['parts'], 'requests', i, 'content', 'parts');
        }),
      ),
    ]),
  rerank,
  'cohere-rerank': rerank,
  'jina-rerank': rerank,
  'voyage-rerank': rerank,
};

function anthropic(json: JsonObject): BodyTexts {
  const besides = [message((one) => one.content(json['system'], 'system'))];
  return texts(withContent(json['messages'], 'messages'), besides);
}

/** The texts of a request; null: bodies of this format have none. */
export function requestTexts(format: Format, json: JsonObject): BodyTexts | null {
  return readers[format]?.(json) ?? null;
}
