import type { Format } from '../../../src/common/core/endpoint.js';
import type { JsonObject } from '../../../src/common/core/exchange.js';
import { textFormats } from '../../../src/common/plugin-host/texts/text-formats.js';
import type { BodyTexts } from './parts.js';

/** The texts of a request, of which those of the last message are judged; null: bodies of this format have none. */
export function requestTexts(format: Format, json: JsonObject): BodyTexts | null {
  const found = textFormats[format]?.request?.(json);
  if (found === undefined) return null;
  const said = found.texts.filter(({ part }) => part === 'content');
  return {
    judged: said.filter(({ index }) => index === found.last),
    others: said.filter(({ index }) => index !== found.last),
  };
}
