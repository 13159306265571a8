import type { Format } from '../../core/endpoint.js';
import { anthropicMessagesDoor } from './anthropic-messages.js';
import type { Door, DoorErrors, PlainDoor } from './door.js';
import { geminiBatchEmbedContentsDoor, geminiEmbedContentDoor } from './gemini-embeddings.js';
import { geminiGenerateContentDoor } from './gemini-generate-content.js';
import { openAiChatDoor } from './openai-chat.js';
import { openAiResponsesDoor } from './openai-responses.js';

/** The formats in which clients reach any provider, by the format of their endpoint. */
export const doors: ReadonlyMap<Format, Door> = new Map<Format, Door>([
  ['openai-chat', openAiChatDoor],
  ['openai-responses', openAiResponsesDoor],
  ['anthropic-messages', anthropicMessagesDoor],
  ['anthropic-count-tokens', anthropicMessagesDoor],
  ['gemini-generate-content', geminiGenerateContentDoor],
  ['gemini-count-tokens', geminiGenerateContentDoor],
]);

/** The same for answers that come whole. */
export const plainDoors: ReadonlyMap<Format, PlainDoor> = new Map(
  [geminiEmbedContentDoor, geminiBatchEmbedContentsDoor].map((door) => [door.name, door]),
);

/** Paths that clients of another format than OpenAI's call, understood here or passed through. */
const places: readonly (readonly [string, DoorErrors])[] = [
  ['/v1/messages', anthropicMessagesDoor],
  ['/v1/responses', openAiResponsesDoor],
  ['/v1beta', geminiGenerateContentDoor],
];

/** How a client at this path reads errors: as OpenAI's do unless the path is somebody else's. */
export function errorsAt(path: string): DoorErrors {
  for (const [place, errors] of places) {
    if (path.startsWith(place) && (path.length === place.length || path[place.length] === '/')) return errors;
  }
  return openAiChatDoor;
}
