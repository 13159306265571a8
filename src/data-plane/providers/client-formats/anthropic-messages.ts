import { anthropicErrors } from './anthropic-errors.js';
import { writeMessage } from './anthropic-reply.js';
import { readMessagesRequest } from './anthropic-request.js';
import { MessagesStreamWriter } from './anthropic-stream.js';
import type { ClientFormat } from './client-format.js';

/**
 * The Anthropic Messages API as a client's format (platform.claude.com/docs/en/api/messages; field by field after the
 * types of @anthropic-ai/sdk 1.11).
 */
export const anthropicMessagesClientFormat: ClientFormat = {
  ...anthropicErrors,
  name: 'anthropic-messages',
  readRequest: readMessagesRequest,
  writeReply: writeMessage,
  streamWriter: (context) => new MessagesStreamWriter(context),
  writeCount: (tokens) => ({ input_tokens: tokens }),
};
