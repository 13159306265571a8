import type { JsonObject } from '../../../core/exchange.js';
import { isJsonObject } from '../../../json/json.js';
import { type FoundText, items, type TextPath } from '../found-text.js';
import { messageTexts, plainTexts, TextCollector } from '../messages.js';
import type { EventText, EventTexts, TextFormat } from '../text-format.js';
import type { TextKind } from '../text-piece.js';

/** Members of a message or a delta, and what their text is. */
const members: readonly (readonly [string, TextKind])[] = [
  ['content', 'content'],
  ['refusal', 'refusal'],
  ['reasoning_content', 'thinking'],
  ['reasoning', 'thinking'],
];

const indexOf = (choice: JsonObject, place: number): number =>
  typeof choice['index'] === 'number' ? choice['index'] : place;

function messageOf(message: JsonObject, into: TextCollector, path: TextPath): void {
  for (const [name, part] of members) {
    if (message[name] === undefined) continue;
    if (name === 'content') into.content(message[name], [...path, name]);
    else into.text(message[name], [...path, name], part);
  }
  if (message['tool_calls'] !== undefined) into.calls(message['tool_calls'], [...path, 'tool_calls']);
  if (message['function_call'] !== undefined)
    into.arguments(message['function_call'], [...path, 'function_call']);
}

/** The texts of a choice's delta: pieces of one text have the same key in every event. */
function deltaTexts(delta: JsonObject, index: number, path: TextPath): EventText[] {
  const collector = new TextCollector('assistant', index);
  messageOf(delta, collector, path);
  return collector.texts.map((found) => ({ ...found, key: keyOf(delta, found, path.length) }));
}

function keyOf(delta: JsonObject, { index, path, part }: FoundText, at: number): string {
  const name = path[at];
  if (name !== 'tool_calls') return `${index}/${part === 'content' ? 'content' : name}/`;
  const call = items(delta['tool_calls'])[Number(path[at + 1])] as JsonObject;
  return `${index}/tool_calls/${call['index'] ?? path[at + 1]}/`;
}

/** An event with one choice, which has not ended, and nothing else but its names. */
function withChoice({ id, object, created, model, ...rest }: JsonObject, choice: JsonObject): JsonObject {
  const { system_fingerprint: fingerprint } = rest;
  const named = fingerprint === undefined ? {} : { system_fingerprint: fingerprint };
  return { id, object, created, model, ...named, choices: [choice] };
}

function nested(path: TextPath, value: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (typeof name === 'number') return [nested(rest, value)];
  return { [name]: nested(rest, value) };
}

export const chatTexts: TextFormat = {
  request: ({ messages }) => messageTexts(messages, ['messages'], messageOf),
  answer: ({ choices }) =>
    items(choices).flatMap((choice, i) => {
      const message = isJsonObject(choice) ? choice['message'] : null;
      if (!isJsonObject(message)) return [];
      const collector = new TextCollector('assistant', i);
      messageOf(message, collector, ['choices', i, 'message']);
      return collector.texts;
    }),
  stream: {
    event({ choices, error }): EventTexts {
      const texts: EventText[] = [];
      const ends: string[] = [];
      for (const [i, choice] of items(choices).entries()) {
        if (!isJsonObject(choice)) continue;
        const { delta, message, finish_reason: finish } = choice;
        const index = indexOf(choice, i);
        if (isJsonObject(delta)) texts.push(...deltaTexts(delta, index, ['choices', i, 'delta']));
        if (isJsonObject(message))
          texts.push(
            ...deltaTexts(message, index, ['choices', i, 'message']).map((text) => ({
              ...text,
              key: `${index}/message${text.key.slice(String(index).length)}`,
            })),
          );
        if (finish != null) ends.push(`${index}/`);
      }
      return { texts, ends: error == null ? ends : [''] };
    },
    piece(json, { path, index }, text) {
      const rest = path.slice(3);
      const choice = items(json['choices'])[Number(path[1])] as JsonObject;
      const delta = nested(rest, text) as JsonObject;
      const [first] = items(delta['tool_calls']);
      if (isJsonObject(first)) {
        const calls = items((choice[String(path[2])] as JsonObject)['tool_calls']);
        first['index'] = (calls[Number(rest[1])] as JsonObject)['index'] ?? rest[1];
      }
      return withChoice(json, { index, delta, logprobs: null, finish_reason: null });
    },
  },
};

/** Completions: a prompt, and choices with a text. */
export const completionTexts: TextFormat = {
  request: ({ prompt }) => plainTexts((into) => into.content(prompt, ['prompt'])),
  answer: ({ choices }) => choiceTexts(choices),
  stream: {
    event({ choices, error }): EventTexts {
      const ends = items(choices).flatMap((choice, i) =>
        isJsonObject(choice) && choice['finish_reason'] != null ? [`${indexOf(choice, i)}/`] : [],
      );
      const texts = choiceTexts(choices).map((text): EventText => ({ ...text, key: `${text.index}/` }));
      return { texts, ends: error == null ? ends : [''] };
    },
    piece: (json, { index }, text) => withChoice(json, { index, text, logprobs: null, finish_reason: null }),
  },
};

function choiceTexts(choices: unknown): FoundText[] {
  return items(choices).flatMap((choice, i) => {
    if (!isJsonObject(choice)) return [];
    const collector = new TextCollector('assistant', indexOf(choice, i));
    collector.text(choice['text'], ['choices', i, 'text']);
    return collector.texts;
  });
}
