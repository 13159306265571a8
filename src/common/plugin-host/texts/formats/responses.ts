import type { JsonObject } from '../../../core/exchange.js';
import { isJsonObject } from '../../../json/json.js';
import { items, type TextPath, withTexts } from '../found-text.js';
import { besideMessages, messageTexts, plainTexts, roleOf } from '../messages.js';
import type { EventText, EventTexts, RequestTexts, TextFormat } from '../text-format.js';
import type { TextKind } from '../text-piece.js';

/** Events with a piece of a text: what it is, and the member whose index names its part. */
const deltas: Readonly<Record<string, readonly [TextKind, string | null]>> = {
  'response.output_text': ['content', 'content_index'],
  'response.refusal': ['refusal', 'content_index'],
  'response.reasoning_text': ['thinking', 'content_index'],
  'response.reasoning_summary_text': ['thinking', 'summary_index'],
  'response.function_call_arguments': ['arguments', null],
  'response.custom_tool_call_input': ['arguments', null],
  'response.mcp_call_arguments': ['arguments', null],
};

/** The same texts in an item: the list that has them, or their own member. */
const lists = { content: 'content', summary: 'summary' } as const;
const ownMembers = ['arguments', 'input'] as const;

const keyOf = (output: unknown, list: string, index: unknown): string => `${output}/${list}/${index}/`;

interface Found {
  readonly texts: EventText[];
}

function add({ texts }: Found, value: unknown, path: TextPath, part: TextKind, key: string): void {
  if (typeof value === 'string')
    texts.push({ path, text: value, role: 'assistant', part, index: 0, key, whole: true });
}

function partTexts(into: Found, part: unknown, path: TextPath, list: string, key: string): void {
  if (!isJsonObject(part)) return;
  const isThinking = list === lists.summary || part['type'] === 'reasoning_text';
  add(into, part['text'], [...path, 'text'], isThinking ? 'thinking' : 'content', key);
  add(into, part['refusal'], [...path, 'refusal'], 'refusal', key);
}

/** Texts of an item of the output, under the keys of their pieces. */
function itemTexts(into: Found, item: unknown, output: unknown, path: TextPath): void {
  if (!isJsonObject(item)) return;
  for (const list of Object.values(lists))
    for (const [i, part] of items(item[list]).entries())
      partTexts(into, part, [...path, list, i], list, keyOf(output, list, i));
  for (const member of ownMembers)
    add(into, item[member], [...path, member], 'arguments', keyOf(output, 'arguments', 0));
}

function outputTexts(response: JsonObject, path: TextPath): EventText[] {
  const found: Found = { texts: [] };
  for (const [i, item] of items(response['output']).entries())
    itemTexts(found, item, i, [...path, 'output', i]);
  return found.texts;
}

function deltaOf(json: JsonObject, type: string): EventTexts | null {
  const dot = type.lastIndexOf('.');
  const known = deltas[type.slice(0, dot)];
  const ending = type.slice(dot + 1);
  if (known === undefined || (ending !== 'delta' && ending !== 'done')) return null;
  const [part, indexed] = known;
  const list = indexed === null ? 'arguments' : indexed === 'summary_index' ? lists.summary : lists.content;
  const key = keyOf(json['output_index'], list, indexed === null ? 0 : json[indexed]);
  const base = { role: 'assistant', part, index: 0, key } as const;
  if (ending === 'delta') {
    const { delta } = json;
    return { texts: typeof delta === 'string' ? [{ ...base, path: ['delta'], text: delta }] : [], ends: [] };
  }
  const texts = ['text', 'refusal', 'arguments', 'input'].flatMap((name): EventText[] =>
    typeof json[name] === 'string' ? [{ ...base, path: [name], text: json[name], whole: true }] : [],
  );
  return { texts, ends: [key] };
}

function eventOf(json: JsonObject): EventTexts {
  const type = String(json['type']);
  const delta = deltaOf(json, type);
  if (delta !== null) return delta;
  const found: Found = { texts: [] };
  const output = json['output_index'];
  switch (type) {
    case 'response.content_part.done': {
      const key = keyOf(output, lists.content, json['content_index']);
      partTexts(found, json['part'], ['part'], lists.content, key);
      return { ...found, ends: [key] };
    }
    case 'response.reasoning_summary_part.done': {
      const key = keyOf(output, lists.summary, json['summary_index']);
      partTexts(found, json['part'], ['part'], lists.summary, key);
      return { ...found, ends: [key] };
    }
    case 'response.output_item.done':
      itemTexts(found, json['item'], output, ['item']);
      return { ...found, ends: [`${output}/`] };
    case 'response.completed':
    case 'response.incomplete':
    case 'response.failed':
    case 'error': {
      const { response } = json;
      return { texts: isJsonObject(response) ? outputTexts(response, ['response']) : [], ends: [''] };
    }
    default:
      return { texts: [], ends: [] };
  }
}

function requestTexts({ instructions, input }: JsonObject): RequestTexts {
  const besides = besideMessages((into) => into.text(instructions, ['instructions']));
  if (!Array.isArray(input)) {
    const { texts, last } = plainTexts((into) => into.text(input, ['input']));
    return { texts: [...besides, ...texts], last };
  }
  return messageTexts(
    input,
    ['input'],
    (item, into, path) => {
      into.role = item['type'] === 'function_call' ? 'assistant' : roleOf(item['role']);
      into.content(item['content'], [...path, 'content']);
      into.content(item['output'], [...path, 'output'], 'tool');
      into.text(item['arguments'], [...path, 'arguments'], 'arguments');
    },
    besides,
  );
}

export const responsesTexts: TextFormat = {
  request: requestTexts,
  answer: (json) => outputTexts(json, []),
  stream: {
    event: eventOf,
    piece: (json, { path }, text) => withTexts(json, [{ path, text }]),
    repeats: true,
  },
};
