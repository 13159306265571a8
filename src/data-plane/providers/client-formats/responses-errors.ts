import { writeEvent } from '../streams/sse.js';
import type { ErrorFormat } from './client-format.js';
import { openAiChatClientFormat } from './openai-chat.js';

/** After all other events: their number is not available to the writer of this event. */
const last = 2 ** 31 - 1;

/**
 * As all of OpenAI's; in a stream an `error` event with the fields that the official client types, and once more under
 * `error`, which is where the API itself puts them and what makes clients throw (openai 6.49, core/streaming.ts).
 */
export const responsesErrors: ErrorFormat = {
  writeError: openAiChatClientFormat.writeError,
  errorEvent({ message, type, param, code }, { requestId }) {
    const error = { type, code, message, param, request_id: requestId };
    return writeEvent(
      'error',
      JSON.stringify({ type: 'error', sequence_number: last, code, message, param, error }),
    );
  },
};
