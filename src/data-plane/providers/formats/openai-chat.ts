import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { noUsage, type Usage } from '../../../common/core/usage.js';
import { parseEventJson } from '../inner-json.js';
import type { CanonicalChunk, ChatFormat, ConversionContext, StreamReader } from '../provider.js';
import { ChoiceEnds } from './choice-ends.js';
import { reportsError } from './error-event.js';
import { asArray, asObject, asString } from './json-shape.js';
import { toOpenAiRequest } from './openai-request.js';
import { openAiUsage } from './openai-usage.js';
import { readProviderError } from './provider-error.js';

/**
 * OpenAI's chat completions (platform.openai.com/docs/api-reference/chat): the canonical shape itself, so answers are
 * not converted, and unknown fields survive. Requests lose what the canonical shape has beyond OpenAI's.
 */
export const openAiChat: ChatFormat = {
  name: 'openai-chat',
  toWire: toOpenAiRequest,
  fromWire(body, context) {
    if (asArray(body['choices']) === null) {
      throw new GatewayError(
        'upstream_invalid_response',
        `${context.provider} answered with something that is not a chat completion.`,
      );
    }
    return body;
  },
  errorFromWire: readProviderError,
  usage: openAiUsage,
  stream: (context) => new OpenAiStream(context),
};

const none: readonly CanonicalChunk[] = [];

class OpenAiStream implements StreamReader {
  model: string | null = null;
  usage: Usage = noUsage();
  #marked = false;
  readonly #ends = new ChoiceEnds();

  constructor(readonly context: ConversionContext) {}

  /** By its end marker, or because each choice has a finish reason: not every server sends the marker. */
  get done(): boolean {
    return this.#marked || this.#ends.all;
  }

  event(name: string, data: string): readonly CanonicalChunk[] {
    if (data.trimEnd() === '[DONE]') {
      this.#marked = true;
      return none;
    }
    // What follows the end marker is no part of the answer.
    if (this.#marked) return none;
    const chunk = this.#parse(data);
    if (reportsError(name, chunk)) {
      const { message } = readProviderError(200, chunk, this.context);
      throw new GatewayError('upstream_stream_error', message);
    }
    this.model ??= asString(chunk['model']);
    this.#ends.add(chunk['choices']);
    const usage = openAiUsage(chunk);
    if (usage !== null) this.usage = usage;
    // A chunk of usage alone goes only to who asked for it.
    if (!this.context.includeUsage && usage !== null && asArray(chunk['choices'])?.length === 0) return none;
    return [chunk];
  }

  #parse(data: string): JsonObject {
    let chunk: JsonObject | null = null;
    try {
      chunk = asObject(parseEventJson(data));
    } catch {
      // Reported below.
    }
    if (chunk === null) {
      throw new GatewayError(
        'upstream_stream_error',
        `${this.context.provider} sent a stream event that is not a JSON object.`,
      );
    }
    return chunk;
  }
}
