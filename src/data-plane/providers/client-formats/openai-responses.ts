import type { ClientFormat } from './client-format.js';
import { responsesErrors } from './responses-errors.js';
import { writeResponse } from './responses-reply.js';
import { readResponsesRequest } from './responses-request.js';
import { ResponsesStreamWriter } from './responses-stream.js';

/**
 * OpenAI's Responses API as a client's format (platform.openai.com/docs/api-reference/responses; field by field after
 * the types of openai 6.49), for providers that only chat: nothing is kept, so nothing can be referred to later.
 */
export const openAiResponsesClientFormat: ClientFormat = {
  ...responsesErrors,
  name: 'openai-responses',
  readRequest: readResponsesRequest,
  writeReply: writeResponse,
  streamWriter: (context) => new ResponsesStreamWriter(context),
};
