import { errorBody, errorEvent } from '../../core/error-body.js';
import { GatewayError } from '../../core/errors.js';
import { stringifyJson } from '../../core/json.js';
import { writeEvent } from '../sse.js';
import type { Door, StreamWriter } from './door.js';

/** The canonical shape itself: nothing is converted on this side. */
export const openAiChatDoor: Door = {
  name: 'openai-chat',
  readRequest: (body) => ({ request: body, dropped: [], clientPath: (path) => path }),
  writeReply: (reply) => reply,
  streamWriter: () => writer,
  writeError(error, { requestId, provider }) {
    if (error instanceof GatewayError) return errorBody(error, requestId);
    const { message, type, param, code } = error;
    return JSON.stringify({ error: { message, type, param, code }, provider });
  },
  errorEvent: (error, { requestId }) => errorEvent(error, requestId),
};

const writer: StreamWriter = {
  contentType: 'text/event-stream',
  chunk: (chunk) => writeEvent(null, stringifyJson(chunk)),
  end: () => 'data: [DONE]\n\n',
};
