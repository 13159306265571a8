import type { ChatFormat } from '../provider.js';
import { fromCohereReply } from './cohere-reply.js';
import { toCohereRequest } from './cohere-request.js';
import { CohereStream } from './cohere-stream.js';
import { cohereUsage } from './cohere-usage.js';
import { asObject } from './json-shape.js';
import { readProviderError } from './provider-error.js';

/**
 * Cohere's chat, version 2 (docs.cohere.com/reference/chat; field by field after the types of cohere-ai 8). The
 * request is in cohere-request and -messages, the answer in cohere-reply and -stream.
 */
export const cohereChat: ChatFormat = {
  name: 'cohere-chat',
  toWire: toCohereRequest,
  fromWire: fromCohereReply,
  errorFromWire: readProviderError,
  usage(body) {
    const usage = asObject(body['usage']);
    return usage === null ? null : cohereUsage(usage);
  },
  stream: (context) => new CohereStream(context),
};
