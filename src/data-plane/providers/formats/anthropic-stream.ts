import type { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { stringifyJson } from '../../../common/json/json.js';
import type { CanonicalChunk } from '../provider.js';
import { canonicalUsage, finishReason, tierOf } from './anthropic-reply.js';
import { jsonTool } from './anthropic-request.js';
import { anthropicUsage, mergeCounts } from './anthropic-usage.js';
import { ChunkStream, noChunks } from './chunk-stream.js';
import { asObject, asString } from './json-shape.js';

/** A tool call under way. `index` counts tool calls, where Anthropic counts blocks of every kind. */
interface ToolBlock {
  readonly index: number;
  /** Is it the answer itself, forced through a tool? Then its input is the text. */
  readonly answer: boolean;
  /** Input given at the start instead of in pieces; some compatible servers do. */
  readonly input: JsonObject | null;
  begun: boolean;
}

/** Events of a Messages stream → chunks of a chat stream. The grammar: start, blocks one after another, delta, stop. */
export class AnthropicStream extends ChunkStream {
  #stopped = false;
  #counts: JsonObject | null = null;
  #toolCalls = 0;
  #answeredByTool = false;
  #finished = false;
  readonly #tools = new Map<unknown, ToolBlock>();

  /** With its stop reason an answer is whole, as it is for a client of this format. */
  get done(): boolean {
    return this.#stopped || this.#finished;
  }

  /** Of a stream without `message_stop`. */
  end(): readonly CanonicalChunk[] {
    return this.#stop();
  }

  event(name: string, data: string): readonly CanonicalChunk[] {
    const event = this.parse(data);
    switch (event['type'] ?? name) {
      case 'message_start':
        return this.#start(asObject(event['message']));
      case 'content_block_start':
        return this.#blockStart(event['index'], asObject(event['content_block']));
      case 'content_block_delta':
        return this.#blockDelta(event['index'], asObject(event['delta']));
      case 'content_block_stop':
        return this.#blockStop(event['index']);
      case 'message_delta':
        return this.#messageDelta(asObject(event['delta']), asObject(event['usage']));
      case 'message_stop':
        return this.#stop();
      case 'error':
        throw this.#error(asObject(event['error']));
      default:
        // `ping`, and kinds that do not exist yet: the versioning policy allows new ones at any time.
        return noChunks;
    }
  }

  #start(message: JsonObject | null): readonly CanonicalChunk[] {
    this.id = asString(message?.['id']);
    this.model = asString(message?.['model']);
    const counts = asObject(message?.['usage']);
    if (counts !== null) this.#count(counts);
    return [this.chunk({ role: 'assistant', content: '' }, null)];
  }

  #blockStart(index: unknown, block: JsonObject | null): readonly CanonicalChunk[] {
    if (block === null) return noChunks;
    if (block['type'] === 'tool_use') {
      const answer = block['name'] === jsonTool;
      const input = asObject(block['input']);
      const given = input !== null && Object.keys(input).length > 0 ? input : null;
      const tool: ToolBlock = { index: answer ? -1 : this.#toolCalls++, answer, input: given, begun: false };
      this.kept.part();
      this.#tools.set(index, tool);
      if (answer) {
        this.#answeredByTool = true;
        return noChunks;
      }
      const call = {
        index: tool.index,
        id: block['id'],
        type: 'function',
        function: { name: block['name'], arguments: '' },
      };
      return [this.chunk({ tool_calls: [call] }, null)];
    }
    const text = block['type'] === 'text' ? (asString(block['text']) ?? '') : '';
    if (!this.context.strict)
      return [
        this.chunk(
          { ...(text === '' ? {} : { content: text }), content_blocks: [{ index, delta: block }] },
          null,
        ),
      ];
    return text === '' ? noChunks : [this.chunk({ content: text }, null)];
  }

  #blockDelta(index: unknown, delta: JsonObject | null): readonly CanonicalChunk[] {
    if (delta === null) return noChunks;
    if (delta['type'] === 'input_json_delta') {
      const tool = this.#tools.get(index);
      const json = asString(delta['partial_json']) ?? '';
      if (json === '') return noChunks;
      if (tool !== undefined) return [this.#arguments(tool, json)];
      // Of a tool that Anthropic runs itself.
      return this.context.strict
        ? noChunks
        : [this.chunk({ content_blocks: [{ index, delta: { partial_json: json } }] }, null)];
    }
    const text = delta['type'] === 'text_delta' ? asString(delta['text']) : null;
    if (text === '') return noChunks;
    if (this.context.strict) return text === null ? noChunks : [this.chunk({ content: text }, null)];
    const { type: _, ...rest } = delta;
    return [
      this.chunk(
        { ...(text === null ? {} : { content: text }), content_blocks: [{ index, delta: rest }] },
        null,
      ),
    ];
  }

  /** A tool without arguments has no deltas, but a client will parse what it gathered: it must find an object. */
  #blockStop(index: unknown): readonly CanonicalChunk[] {
    const tool = this.#tools.get(index);
    if (tool === undefined || tool.begun) return noChunks;
    return [this.#arguments(tool, stringifyJson(tool.input ?? {}))];
  }

  #arguments(tool: ToolBlock, json: string): CanonicalChunk {
    tool.begun = true;
    if (tool.answer) return this.chunk({ content: json }, null);
    return this.chunk({ tool_calls: [{ index: tool.index, function: { arguments: json } }] }, null);
  }

  #messageDelta(delta: JsonObject | null, counts: JsonObject | null): readonly CanonicalChunk[] {
    if (counts !== null) this.#count(counts);
    const reason = asString(delta?.['stop_reason']);
    if (reason === null || this.#finished) return noChunks;
    this.#finished = true;
    const refusal = asString(asObject(delta?.['stop_details'])?.['explanation']);
    const chunk = this.chunk(refusal === null ? {} : { refusal }, this.#finish(reason));
    return [this.#counts === null ? chunk : { ...chunk, ...tierOf(this.#counts) }];
  }

  #stop(): readonly CanonicalChunk[] {
    if (this.#stopped) return noChunks;
    this.#stopped = true;
    const chunks: CanonicalChunk[] = [];
    if (!this.#finished) chunks.push(this.chunk({}, this.#finish(null)));
    if (this.context.includeUsage) {
      chunks.push(this.usageChunk(canonicalUsage(this.usage, this.context.strict)));
    }
    return chunks;
  }

  #finish(reason: string | null): string {
    const { strict, canonicalReasons } = this.context;
    return finishReason(
      reason,
      this.#answeredByTool && this.#toolCalls === 0,
      strict || canonicalReasons === true,
    );
  }

  #count(counts: JsonObject): void {
    this.#counts = mergeCounts(this.#counts, counts);
    this.usage = anthropicUsage(this.#counts);
  }

  #error(error: JsonObject | null): GatewayError {
    const message = asString(error?.['message']) ?? asString(error?.['type']) ?? 'the stream failed';
    return this.failure(message);
  }
}
