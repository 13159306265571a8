import { errorBody, errorEvent } from '../../../common/core/error-body.js';
import { GatewayError } from '../../../common/core/errors.js';
import { isJsonObject, stringifyJson } from '../../../common/json/json.js';
import { writeEvent } from '../streams/sse.js';
import type { ClientFormat, StreamWriter } from './client-format.js';

/** The canonical shape itself: nothing is converted on this side. */
export const openAiChatClientFormat: ClientFormat = {
  name: 'openai-chat',
  isCanonical: true,
  wantsUsage(body) {
    const options = body['stream_options'];
    return isJsonObject(options) && options['include_usage'] === true;
  },
  readRequest: (body) => ({ request: body, dropped: [], clientPath: (path) => path }),
  writeReply: (reply) => reply,
  streamWriter: () => writer,
  writeError(error, { requestId, provider, detail }) {
    if (error instanceof GatewayError) return errorBody(error, requestId);
    const { message, type, param, code } = error;
    return stringifyJson({ error: { ...detail, message, type, param, code }, provider });
  },
  errorEvent: (error, { requestId }) => errorEvent(error, requestId),
};

const writer: StreamWriter = {
  contentType: 'text/event-stream',
  chunk: (chunk) => writeEvent(null, stringifyJson(chunk)),
  end: () => 'data: [DONE]\n\n',
};
