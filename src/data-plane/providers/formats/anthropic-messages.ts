import type { ChatFormat } from '../provider.js';
import { fromMessage } from './anthropic-reply.js';
import { toMessagesRequest } from './anthropic-request.js';
import { AnthropicStream } from './anthropic-stream.js';
import { anthropicUsage } from './anthropic-usage.js';
import { asObject } from './json-shape.js';
import { readProviderError } from './provider-error.js';

/**
 * The Anthropic Messages API, version 2023-06-01 (platform.claude.com/docs/en/api/messages; field by field after the
 * types of @anthropic-ai/sdk 1.11). The request is in anthropic-request, -content and -tools, the answer in
 * anthropic-reply and -stream.
 */
export const anthropicMessages: ChatFormat = {
  name: 'anthropic-messages',
  toWire: toMessagesRequest,
  fromWire: fromMessage,
  errorFromWire: readProviderError,
  usage(body) {
    const usage = asObject(body['usage']);
    return usage === null ? null : anthropicUsage(usage);
  },
  stream: (context) => new AnthropicStream(context),
};
