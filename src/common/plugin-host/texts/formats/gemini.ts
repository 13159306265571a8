import type { JsonObject } from '../../../core/exchange.js';
import { isJsonObject } from '../../../json/json.js';
import { type FoundText, items, type TextPath } from '../found-text.js';
import { besideMessages, messageTexts, plainTexts, TextCollector } from '../messages.js';
import type { EventTexts, RequestTexts, TextFormat } from '../text-format.js';

function requestTexts(json: JsonObject, path: TextPath = []): RequestTexts {
  const besides = besideMessages((into) => {
    for (const name of ['systemInstruction', 'system_instruction']) {
      const given = json[name];
      if (isJsonObject(given)) into.content(given['parts'], [...path, name, 'parts']);
    }
  });
  const read = (message: JsonObject, into: TextCollector, at: TextPath): void =>
    into.content(message['parts'], [...at, 'parts']);
  return messageTexts(json['contents'], [...path, 'contents'], read, besides);
}

function answerTexts({ candidates }: JsonObject): readonly FoundText[] {
  return items(candidates).flatMap((candidate, i) => {
    const content = isJsonObject(candidate) ? candidate['content'] : null;
    if (!isJsonObject(content)) return [];
    const { index } = candidate as JsonObject;
    const collector = new TextCollector('assistant', typeof index === 'number' ? index : i);
    collector.content(content['parts'], ['candidates', i, 'content', 'parts']);
    return collector.texts;
  });
}

export const geminiTexts: TextFormat = {
  request: (json) => requestTexts(json),
  answer: answerTexts,
  stream: {
    event(json): EventTexts {
      const texts = answerTexts(json).map((found) => ({ ...found, key: `${found.index}/${found.part}/` }));
      const ends = items(json['candidates']).flatMap((candidate, i) =>
        isJsonObject(candidate) && candidate['finishReason'] != null
          ? [`${typeof candidate['index'] === 'number' ? candidate['index'] : i}/`]
          : [],
      );
      return { texts, ends: json['error'] == null ? ends : [''] };
    },
    piece({ modelVersion, responseId }, { index, part }, text) {
      const content = { parts: [part === 'thinking' ? { text, thought: true } : { text }], role: 'model' };
      return {
        candidates: [{ content, index }],
        ...(modelVersion === undefined ? {} : { modelVersion }),
        ...(responseId === undefined ? {} : { responseId }),
      };
    },
  },
};

export const geminiCountTexts: TextFormat = {
  request(json) {
    const inner = json['generateContentRequest'];
    return isJsonObject(inner) ? requestTexts(inner, ['generateContentRequest']) : requestTexts(json);
  },
};

export const geminiEmbedTexts: TextFormat = {
  request: ({ content }) =>
    plainTexts((into) => isJsonObject(content) && into.content(content['parts'], ['content', 'parts'])),
};

export const geminiBatchEmbedTexts: TextFormat = {
  request: ({ requests }) =>
    plainTexts((into) => {
      for (const [i, request] of items(requests).entries()) {
        const content = isJsonObject(request) ? request['content'] : null;
        if (isJsonObject(content)) into.content(content['parts'], ['requests', i, 'content', 'parts']);
      }
    }),
};
