import type { Format } from '../../../src/common/core/endpoint.js';
import type { JsonObject } from '../../../src/common/core/exchange.js';
import { textFormats } from '../../../src/common/plugin-host/texts/text-formats.js';
import type { BodyTexts } from './parts.js';

/** The texts of an answer, of which those of the first choice are judged; null: answers of this format are not. */
export function answerTexts(format: Format, json: JsonObject): BodyTexts | null {
  const found = textFormats[format]?.answer?.(json);
  if (found === undefined) return null;
  const said = found.filter(({ part }) => part === 'content');
  return { judged: said.filter(({ index }) => index === 0), others: said.filter(({ index }) => index !== 0) };
}

export const hasAnswerTexts = (format: Format): boolean => textFormats[format]?.answer !== undefined;
