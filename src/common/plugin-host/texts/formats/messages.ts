import type { JsonObject } from '../../../core/exchange.js';
import { isJsonObject } from '../../../json/json.js';
import { withTexts } from '../found-text.js';
import { besideMessages, messageTexts, TextCollector } from '../messages.js';
import type { EventText, EventTexts, TextFormat } from '../text-format.js';

/** Members of a block or of its delta, and what their text is. */
const members = [
  ['text', 'content'],
  ['thinking', 'thinking'],
  ['partial_json', 'arguments'],
] as const;

function blockTexts({ index }: JsonObject, name: string, block: unknown): EventText[] {
  if (!isJsonObject(block)) return [];
  const collector = new TextCollector('assistant', 0);
  for (const [member, part] of members) collector.text(block[member], [name, member], part);
  return collector.texts.map((found) => ({ ...found, key: `${index}/` }));
}

export const anthropicTexts: TextFormat = {
  request: ({ system, messages }) =>
    messageTexts(
      messages,
      ['messages'],
      (message, into, path) => into.content(message['content'], [...path, 'content']),
      besideMessages((into) => into.content(system, ['system'])),
    ),
  answer({ content }) {
    const collector = new TextCollector('assistant', 0);
    collector.content(content, ['content']);
    return collector.texts;
  },
  stream: {
    event(json): EventTexts {
      const { type, index } = json;
      switch (type) {
        case 'content_block_start':
          return { texts: startTexts(json), ends: [] };
        case 'content_block_delta':
          return { texts: blockTexts(json, 'delta', json['delta']), ends: [] };
        case 'content_block_stop':
          return { texts: [], ends: [`${index}/`] };
        case 'ping':
        case 'message_start':
          return { texts: [], ends: [] };
        default:
          return { texts: [], ends: [''] };
      }
    },
    piece: (json, { path }, text) => withTexts(json, [{ path, text }]),
  },
};

/** A block begins with an empty text; only one that does not is a piece. */
function startTexts(json: JsonObject): EventText[] {
  return blockTexts(json, 'content_block', json['content_block']).filter(({ text }) => text !== '');
}
