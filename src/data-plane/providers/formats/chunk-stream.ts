import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { noUsage, type Usage } from '../../../common/core/usage.js';
import { parseEventJson } from '../inner-json.js';
import type { CanonicalChunk, ConversionContext, StreamReader } from '../provider.js';
import { KeptParts } from '../streams/kept-parts.js';
import { asObject } from './json-shape.js';

export const noChunks: readonly CanonicalChunk[] = [];

/** Reads a provider's stream into chunks of a chat stream: what is the same for every format. */
export abstract class ChunkStream implements StreamReader {
  abstract readonly done: boolean;
  model: string | null = null;
  usage: Usage = noUsage();
  protected id: string | null = null;
  protected readonly kept = new KeptParts();
  readonly #created = Math.floor(Date.now() / 1000);

  constructor(readonly context: ConversionContext) {}

  abstract event(name: string, data: string): readonly CanonicalChunk[];

  protected parse(data: string): JsonObject {
    let event: JsonObject | null = null;
    try {
      event = asObject(parseEventJson(data));
    } catch {
      // Reported below, with the other ways of not being an event.
    }
    if (event === null) {
      throw new GatewayError(
        'upstream_stream_error',
        `${this.context.provider} sent a stream event that is not a JSON object.`,
      );
    }
    return event;
  }

  /** The error that the provider has sent in its stream. */
  protected failure(message: string): GatewayError {
    return new GatewayError('upstream_stream_error', `${this.context.provider} error: ${message}`);
  }

  protected chunk(
    delta: JsonObject,
    finish: string | null = null,
    logprobs: JsonObject | null = null,
    index = 0,
  ): CanonicalChunk {
    const chunk = this.head();
    chunk['choices'] = [{ index, delta, logprobs, finish_reason: finish }];
    // With include_usage OpenAI puts the field on every chunk, null until the last.
    if (this.context.includeUsage) chunk['usage'] = null;
    return chunk;
  }

  /** The last one, for clients that ask for the usage. */
  protected usageChunk(usage: JsonObject): CanonicalChunk {
    return { ...this.head(), choices: [], usage };
  }

  protected head(): CanonicalChunk {
    return {
      id: this.id,
      object: 'chat.completion.chunk',
      created: this.#created,
      model: this.model,
      provider: this.context.provider,
    };
  }
}
