import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import type { CanonicalChunk, ConversionContext } from '../provider.js';
import { canonicalUsage } from './anthropic-reply.js';
import { ChunkStream, noChunks } from './chunk-stream.js';
import { canonicalLogprobs, cohereFinish, failureOf } from './cohere-reply.js';
import { cohereUsage } from './cohere-usage.js';
import { asObject, asString } from './json-shape.js';
import { stoppedBy } from './stopped-by.js';

/** A tool call under way. `index` counts calls, whatever Cohere numbers them by. */
interface CohereToolCall {
  readonly index: number;
  begun: boolean;
}

/** Events of a v2 chat stream (docs.cohere.com/reference/chat-stream) → chunks of a chat stream. */
export class CohereStream extends ChunkStream {
  done = false;
  readonly #calls = new Map<unknown, CohereToolCall>();

  constructor(context: ConversionContext) {
    super(context);
    this.model = context.model ?? null;
  }

  event(name: string, data: string): readonly CanonicalChunk[] {
    if (this.done || data.trimEnd() === '[DONE]') return noChunks;
    const event = this.parse(data);
    const delta = asObject(event['delta']);
    const message = asObject(delta?.['message']);
    switch (event['type'] ?? name) {
      case 'message-start':
        this.id = asString(event['id']);
        return [this.chunk({ role: 'assistant', content: '' })];
      case 'content-start':
      case 'content-delta':
        return this.#content(event, asObject(message?.['content']));
      case 'tool-plan-delta':
        return this.#text(asString(message?.['tool_plan']));
      case 'tool-call-start':
        return this.#callStart(event['index'], asObject(message?.['tool_calls']));
      case 'tool-call-delta': {
        const fn = asObject(asObject(message?.['tool_calls'])?.['function']);
        return this.#arguments(event['index'], asString(fn?.['arguments']) ?? '');
      }
      case 'tool-call-end':
        // A client will parse what it gathered: it must find an object.
        return this.#calls.get(event['index'])?.begun === false
          ? this.#arguments(event['index'], '{}')
          : noChunks;
      case 'citation-start':
        return this.context.strict ? noChunks : [this.chunk({ citations: [message?.['citations']] })];
      case 'message-end':
        return this.#end(delta);
      case '':
        throw this.failure(asString(event['message']) ?? 'it sent an event without a type');
      default:
        return noChunks;
    }
  }

  #content(event: JsonObject, block: JsonObject | null): readonly CanonicalChunk[] {
    if (block === null) return noChunks;
    const text = asString(block['text']);
    const item = asObject(event['logprobs']);
    const logprobs = item === null ? null : canonicalLogprobs([item]);
    if (this.context.strict) return this.#text(text, logprobs);
    const said = text === null || text === '' ? {} : { content: text };
    const blocks = [{ index: event['index'], delta: block }];
    return [this.chunk({ ...said, content_blocks: blocks }, null, logprobs)];
  }

  #text(text: string | null, logprobs: JsonObject | null = null): readonly CanonicalChunk[] {
    return text === null || text === '' ? noChunks : [this.chunk({ content: text }, null, logprobs)];
  }

  #callStart(at: unknown, given: JsonObject | null): readonly CanonicalChunk[] {
    const call: CohereToolCall = { index: this.#calls.size, begun: false };
    this.kept.part();
    this.#calls.set(at, call);
    const fn = asObject(given?.['function']);
    const begin = {
      index: call.index,
      id: given?.['id'],
      type: 'function',
      function: { name: fn?.['name'], arguments: '' },
    };
    const first = asString(fn?.['arguments']) ?? '';
    return [this.chunk({ tool_calls: [begin] }), ...this.#arguments(at, first)];
  }

  #arguments(at: unknown, json: string): readonly CanonicalChunk[] {
    const call = this.#calls.get(at);
    if (call === undefined || json === '') return noChunks;
    call.begun = true;
    return [this.chunk({ tool_calls: [{ index: call.index, function: { arguments: json } }] })];
  }

  #end(delta: JsonObject | null): readonly CanonicalChunk[] {
    const counts = asObject(delta?.['usage']);
    if (counts !== null) this.usage = cohereUsage(counts);
    const reason = delta?.['finish_reason'];
    const failure = failureOf(reason, delta?.['error'], this.context);
    if (failure !== null) throw new GatewayError('upstream_stream_error', failure);
    this.done = true;
    const last = this.chunk({}, cohereFinish(reason, this.context));
    Object.assign((last['choices'] as JsonObject[])[0]!, stoppedBy(reason === 'STOP_SEQUENCE', this.context));
    if (!this.context.includeUsage) return [last];
    return [last, this.usageChunk(canonicalUsage(this.usage, true))];
  }
}
