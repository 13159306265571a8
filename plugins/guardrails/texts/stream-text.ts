import type { Format } from '../../../src/common/core/endpoint.js';
import type { JsonObject } from '../../../src/common/core/exchange.js';
import { isJsonObject } from '../../../src/common/json/json.js';
import { textFormats } from '../../../src/common/plugin-host/texts/text-formats.js';

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
  const texts = textFormats[format]?.stream?.event(event).texts ?? [];
  return texts
    .filter(({ part, index, whole }) => part === 'content' && index === 0 && whole !== true)
    .map(({ text }) => text)
    .join('');
}
