import type { Format } from '../../core/endpoint.js';
import type { ChatFormat } from '../provider.js';
import { anthropicMessages } from './anthropic-messages.js';
import { openAiChat } from './openai-chat.js';

/** The wire shapes of chat, by name. */
export const formats: ReadonlyMap<Format, ChatFormat> = new Map(
  [openAiChat, anthropicMessages].map((format) => [format.name, format]),
);
