import type { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { parseEventJson } from '../inner-json.js';
import type { CanonicalChunk, ConversionContext } from '../provider.js';
import { canonicalUsage } from './anthropic-reply.js';
import { jsonTool } from './anthropic-request.js';
import { bedrockUsage, finishReason, ownFieldsOf, replyId } from './bedrock-reply.js';
import { ChunkStream, noChunks } from './chunk-stream.js';
import { asObject, asString } from './json-shape.js';
import { stoppedBy } from './stopped-by.js';

/** A tool call under way. `index` counts tool calls, where Converse counts blocks of every kind. */
interface ToolBlock {
  readonly index: number;
  /** Is it the answer itself, forced through a tool? Then its input is the text. */
  readonly answer: boolean;
  begun: boolean;
}

/**
 * Events of ConverseStream → chunks of a chat stream: messageStart, blocks one after another, messageStop, and last of
 * all metadata with the usage (API_runtime_ConverseStreamOutput.html). Of blocks only tools have a start.
 */
export class BedrockStream extends ChunkStream {
  done = false;
  #stopped = false;
  #toolCalls = 0;
  #answeredByTool = false;
  readonly #tools = new Map<unknown, ToolBlock>();
  /** Blocks whose kind was sent, for loose compliance. */
  readonly #started = new Set<unknown>();

  constructor(context: ConversionContext) {
    super(context);
    this.model = context.model ?? null;
    this.id = replyId(context);
  }

  event(name: string, data: string): readonly CanonicalChunk[] {
    if (name === 'error' || name.endsWith('Exception')) throw this.#error(name, data);
    const event = this.parse(data);
    const index = event['contentBlockIndex'];
    switch (name) {
      case 'messageStart':
        return [this.chunk({ role: 'assistant', content: '' }, null)];
      case 'contentBlockStart':
        return this.#blockStart(index, asObject(event['start']));
      case 'contentBlockDelta':
        return this.#blockDelta(index, asObject(event['delta']));
      case 'contentBlockStop':
        return this.#blockStop(index);
      case 'messageStop':
        return this.#messageStop(event);
      case 'metadata':
        return this.#metadata(event);
      default:
        // Kinds that do not exist yet.
        return noChunks;
    }
  }

  #blockStart(index: unknown, start: JsonObject | null): readonly CanonicalChunk[] {
    const toolUse = asObject(start?.['toolUse']);
    if (toolUse === null) return noChunks;
    const answer = toolUse['name'] === jsonTool;
    const tool: ToolBlock = { index: answer ? -1 : this.#toolCalls++, answer, begun: false };
    this.kept.part();
    this.#tools.set(index, tool);
    if (answer) {
      this.#answeredByTool = true;
      return noChunks;
    }
    const call = {
      index: tool.index,
      id: toolUse['toolUseId'],
      type: 'function',
      function: { name: toolUse['name'], arguments: '' },
    };
    return [this.chunk({ tool_calls: [call] }, null)];
  }

  #blockDelta(index: unknown, delta: JsonObject | null): readonly CanonicalChunk[] {
    const toolUse = asObject(delta?.['toolUse']);
    if (toolUse !== null) {
      const tool = this.#tools.get(index);
      const json = asString(toolUse['input']) ?? '';
      return tool === undefined || json === '' ? noChunks : [this.#arguments(tool, json)];
    }
    if (delta === null) return noChunks;
    const text = asString(delta['text']);
    if (text === '') return noChunks;
    if (this.context.strict) return text === null ? noChunks : [this.chunk({ content: text }, null)];
    const chunks: CanonicalChunk[] = [];
    for (const block of this.#looseBlocks(index, delta)) {
      const said = block === delta ? text : null;
      chunks.push(
        this.chunk(
          { ...(said === null ? {} : { content: said }), content_blocks: [{ index, delta: block }] },
          null,
        ),
      );
    }
    return chunks;
  }

  /** A delta in the one spelling that all formats share, before it the kind of its block where that is not sent yet. */
  #looseBlocks(index: unknown, delta: JsonObject): JsonObject[] {
    const first = !this.#started.has(index);
    if (first) {
      this.kept.part();
      this.#started.add(index);
    }
    if (typeof delta['text'] === 'string') return first ? [{ type: 'text', text: '' }, delta] : [delta];
    const reasoning = asObject(delta['reasoningContent']);
    if (reasoning === null) return [delta];
    const { text, signature, redactedContent } = reasoning;
    if (redactedContent !== undefined) return [{ type: 'redacted_thinking', data: redactedContent }];
    const start = first ? [{ type: 'thinking', thinking: '', signature: '' }] : [];
    return [...start, signature === undefined ? { thinking: text } : { signature }];
  }

  /** A tool without arguments has no deltas, but a client will parse what it gathered: it must find an object. */
  #blockStop(index: unknown): readonly CanonicalChunk[] {
    const tool = this.#tools.get(index);
    if (tool === undefined || tool.begun) return noChunks;
    return [this.#arguments(tool, '{}')];
  }

  #arguments(tool: ToolBlock, json: string): CanonicalChunk {
    tool.begun = true;
    if (tool.answer) return this.chunk({ content: json }, null);
    return this.chunk({ tool_calls: [{ index: tool.index, function: { arguments: json } }] }, null);
  }

  #messageStop(event: JsonObject): readonly CanonicalChunk[] {
    if (this.#stopped) return noChunks;
    this.#stopped = true;
    // The usage that follows may be lost with the connection; the answer is whole without it.
    this.done = true;
    const jsonOnly = this.#answeredByTool && this.#toolCalls === 0;
    const chunk = this.chunk({}, finishReason(event['stopReason'], jsonOnly, this.context));
    const stopped = stoppedBy(event['stopReason'] === 'stop_sequence', this.context);
    Object.assign((chunk['choices'] as JsonObject[])[0]!, stopped);
    return [{ ...chunk, ...ownFieldsOf(event, this.context) }];
  }

  #metadata(event: JsonObject): readonly CanonicalChunk[] {
    const usage = bedrockUsage(event);
    if (usage === null) return noChunks;
    this.usage = usage;
    if (!this.context.includeUsage) return noChunks;
    const fields = { choices: [], usage: canonicalUsage(usage, this.context.strict) };
    return [{ ...this.head(), ...ownFieldsOf(event, this.context), ...fields }];
  }

  #error(name: string, data: string): GatewayError {
    let body: JsonObject | null = null;
    try {
      body = asObject(parseEventJson(data));
    } catch {
      // Its name is enough.
    }
    const message = asString(body?.['message']) ?? asString(body?.['Message']) ?? 'the stream failed';
    const code = name === 'error' ? asString(body?.['code']) : name;
    return this.failure(code === null || code === '' ? message : `${code}: ${message}`);
  }
}
