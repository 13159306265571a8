import type { Format } from '../../../common/core/endpoint.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { getHeader, type HeaderList } from '../../../common/http/headers.js';
import { anthropicMessagesClientFormat } from './anthropic-messages.js';
import type { ClientFormat, ErrorFormat, PlainClientFormat } from './client-format.js';
import { geminiBatchEmbedContentsClientFormat, geminiEmbedContentClientFormat } from './gemini-embeddings.js';
import { geminiGenerateContentClientFormat } from './gemini-generate-content.js';
import { openAiChatClientFormat } from './openai-chat.js';
import { openAiResponsesClientFormat } from './openai-responses.js';

/** The formats in which clients reach any provider, by the format of their endpoint. */
export const clientFormats: ReadonlyMap<Format, ClientFormat> = new Map<Format, ClientFormat>([
  ['openai-chat', openAiChatClientFormat],
  ['openai-responses', openAiResponsesClientFormat],
  ['anthropic-messages', anthropicMessagesClientFormat],
  ['anthropic-count-tokens', anthropicMessagesClientFormat],
  ['gemini-generate-content', geminiGenerateContentClientFormat],
  ['gemini-count-tokens', geminiGenerateContentClientFormat],
]);

/** The same for answers that come whole. */
export const plainClientFormats: ReadonlyMap<Format, PlainClientFormat> = new Map(
  [geminiEmbedContentClientFormat, geminiBatchEmbedContentsClientFormat].map((clientFormat) => [
    clientFormat.name,
    clientFormat,
  ]),
);

/** A body of this format for a model of another name; the body itself where it names none. */
export function renamedBody(format: Format, body: JsonObject, model: string): JsonObject {
  const clientFormat = clientFormats.get(format) ?? plainClientFormats.get(format);
  return clientFormat?.renamed?.(body, model) ?? body;
}

/** Paths that clients of another format than OpenAI's call, understood here or passed through. */
const places: readonly (readonly [string, ErrorFormat])[] = [
  ['/v1/messages', anthropicMessagesClientFormat],
  ['/v1/responses', openAiResponsesClientFormat],
  ['/v1beta', geminiGenerateContentClientFormat],
];

const isUnder = (path: string, place: string): boolean =>
  path.startsWith(place) && (path.length === place.length || path[place.length] === '/');

/** How a client at this path reads errors: as OpenAI's do unless the path, or one that several have, is another's. */
export function errorsAt(path: string, headers: HeaderList): ErrorFormat {
  for (const [place, errors] of places) if (isUnder(path, place)) return errors;
  const isAnthropic = isUnder(path, '/v1/models') && getHeader(headers, 'anthropic-version') !== undefined;
  return isAnthropic ? anthropicMessagesClientFormat : openAiChatClientFormat;
}
