import type { JsonObject } from '../../../common/core/exchange.js';
import type { Usage } from '../../../common/core/usage.js';
import { googleSignature } from '../formats/google-signature.js';
import { asArray, asObject, asString } from '../formats/json-shape.js';
import { openAiUsage } from '../formats/openai-usage.js';
import type { CanonicalChunk } from '../provider.js';
import { KeptParts } from '../streams/kept-parts.js';
import { type Ending, messagesUsage, reasoningOf, stopFields, wantsThinking } from './anthropic-reply.js';
import type { ClientFormatContext, StreamWriter } from './client-format.js';
import { markedSignature, signedThought } from './google-signatures.js';

/** A tool call: its block is open or was, or waits for its turn. */
class ToolCall {
  state: 'waiting' | 'open' | 'closed' = 'waiting';
  /** All of its arguments so far. */
  text = '';
  #depth = 0;
  #begun = false;
  #inString = false;
  #escaped = false;

  constructor(
    readonly id: unknown,
    readonly name: unknown,
    /** Google's; null: it has none. */
    readonly signature: string | null,
  ) {}

  /** Looks at each character once, however the arguments are cut. */
  add(piece: string): void {
    this.text += piece;
    for (let i = 0; i < piece.length; i++) {
      const code = piece.charCodeAt(i);
      if (this.#escaped) this.#escaped = false;
      else if (code === 0x5c) this.#escaped = this.#inString;
      else if (code === 0x22) this.#inString = !this.#inString;
      else if (!this.#inString && (code === 0x7b || code === 0x5b)) {
        this.#depth++;
        this.#begun = true;
      } else if (!this.#inString && (code === 0x7d || code === 0x5d)) this.#depth--;
    }
  }

  /** Are these all the arguments there will be? */
  get whole(): boolean {
    return this.#begun && this.#depth <= 0;
  }
}

const newThinking: JsonObject = { type: 'thinking', thinking: '', signature: '' };

/**
 * Chunks of a chat stream → events of a Messages stream: start, blocks one after another, delta, stop. Blocks of this
 * format never overlap, where chat's parallel calls may: a call that begins while another is unfinished waits.
 */
export class MessagesStreamWriter implements StreamWriter {
  readonly contentType = 'text/event-stream; charset=utf-8';
  #out = '';
  #started = false;
  /** Index of the next block. */
  #blocks = 0;
  #open: 'text' | 'thinking' | ToolCall | null = null;
  readonly #calls = new Map<unknown, ToolCall>();
  readonly #kept = new KeptParts();
  readonly #waiting: ToolCall[] = [];
  /** Text that came amid a call's arguments. */
  #heldText = '';
  #calledTools = false;
  #refused = false;
  #finish: string | null = null;
  #stopped: unknown = null;
  #usage: Usage | null = null;
  #tier: unknown = null;
  readonly #thinking: boolean;

  constructor(readonly context: ClientFormatContext) {
    this.#thinking = wantsThinking(context);
  }

  chunk(chunk: CanonicalChunk): string {
    if (!this.#started) this.#start(chunk);
    this.#usage = openAiUsage(chunk) ?? this.#usage;
    this.#tier = chunk['service_tier'] ?? this.#tier;
    const choice = asObject(asArray(chunk['choices'])?.[0]);
    // This format has no request for several answers.
    if (choice !== null && (choice['index'] ?? 0) === 0) {
      const delta = asObject(choice['delta']);
      if (delta !== null) this.#delta(delta);
      this.#finish = asString(choice['finish_reason']) ?? this.#finish;
      this.#stopped = choice['stop_reason'] ?? this.#stopped;
    }
    return this.#take();
  }

  end(): string {
    if (!this.#started) this.#start({});
    for (const call of this.#waiting) this.#openTool(call);
    this.#close();
    this.#text(this.#heldText);
    this.#close();
    const ending: Ending = {
      finish: this.#finish,
      stopped: this.#stopped,
      calledTools: this.#calledTools,
      refused: this.#refused,
    };
    this.#event('message_delta', {
      delta: stopFields(ending, this.context),
      usage: messagesUsage(this.#usage, this.#tier),
    });
    this.#event('message_stop', {});
    return this.#take();
  }

  #start(chunk: CanonicalChunk): void {
    this.#started = true;
    const message = {
      id: asString(chunk['id']) ?? `msg_${this.context.requestId}`,
      type: 'message',
      role: 'assistant',
      model: chunk['model'] ?? this.context.asked.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      // Chat streams report their usage at the end: it comes whole with message_delta.
      usage: messagesUsage(openAiUsage(chunk)),
    };
    this.#event('message_start', { message });
  }

  #delta(delta: JsonObject): void {
    const blocks = asArray(delta['content_blocks']);
    if (blocks !== null)
      for (const block of blocks) this.#thinkingBlock(asObject(asObject(block)?.['delta']));
    else if (this.#thinking) this.#think(reasoningOf(delta) ?? '');
    this.#text(asString(delta['content']) ?? '');
    const refusal = asString(delta['refusal']) ?? '';
    if (refusal !== '') this.#refused = true;
    this.#text(refusal);
    const ofText = this.#thinking ? googleSignature(delta) : null;
    if (ofText !== null && !this.#amidCall()) this.#sign(markedSignature('text', ofText));
    for (const call of asArray(delta['tool_calls']) ?? []) this.#toolCall(asObject(call));
  }

  #text(text: string): void {
    if (text === '') return;
    if (this.#amidCall()) {
      this.#kept.text(text.length);
      this.#heldText += text;
      return;
    }
    if (this.#open !== 'text') this.#begin('text', { type: 'text', text: '' });
    this.#blockDelta({ type: 'text_delta', text });
  }

  #think(thinking: string): void {
    // Reasoning within a call's arguments belongs to no block.
    if (thinking === '' || this.#amidCall()) return;
    if (this.#open !== 'thinking') this.#begin('thinking', newThinking);
    this.#blockDelta({ type: 'thinking_delta', thinking });
  }

  /** A provider's own thinking, as loose chunks carry it: a block's start, or what is added to it. */
  #thinkingBlock(block: JsonObject | null): void {
    if (block === null || this.#amidCall()) return;
    if (block['type'] === 'redacted_thinking') {
      this.#begin('thinking', block);
      this.#close();
      return;
    }
    this.#think(asString(block['thinking']) ?? '');
    const signature = asString(signedThought(block)['signature']) ?? '';
    if (signature !== '') this.#sign(signature);
  }

  #sign(signature: string): void {
    if (this.#open !== 'thinking') this.#begin('thinking', newThinking);
    this.#blockDelta({ type: 'signature_delta', signature });
    // It seals the block: what is thought next is another one.
    this.#close();
  }

  #toolCall(delta: JsonObject | null): void {
    if (delta === null) return;
    const index = delta['index'] ?? 0;
    const fn = asObject(delta['function']);
    const text = asString(fn?.['arguments']) ?? '';
    const known = this.#calls.get(index);
    this.#kept.text(text.length);
    // Some servers give every call the index 0: another id is another call.
    if (known !== undefined && (!delta['id'] || delta['id'] === known.id)) {
      known.add(text);
      if (known.state === 'open') this.#argument(text);
      return;
    }
    this.#kept.part();
    const call = new ToolCall(delta['id'], fn?.['name'], googleSignature(delta));
    this.#kept.text(call.signature?.length ?? 0);
    call.add(text);
    this.#calls.set(index, call);
    if (this.#amidCall() || this.#waiting.length > 0) this.#waiting.push(call);
    else this.#openTool(call);
  }

  /** Is a call open that more arguments may come for? */
  #amidCall(): boolean {
    return this.#open instanceof ToolCall && !this.#open.whole;
  }

  #openTool(call: ToolCall): void {
    if (call.signature !== null) this.#sign(markedSignature('call', call.signature));
    this.#begin(call, { type: 'tool_use', id: call.id, name: call.name, input: {} });
    call.state = 'open';
    this.#calledTools = true;
    this.#argument(call.text);
  }

  #argument(json: string): void {
    if (json !== '') this.#blockDelta({ type: 'input_json_delta', partial_json: json });
  }

  #begin(what: 'text' | 'thinking' | ToolCall, block: JsonObject): void {
    this.#close();
    this.#open = what;
    this.#event('content_block_start', { index: this.#blocks, content_block: block });
  }

  #close(): void {
    if (this.#open === null) return;
    if (this.#open instanceof ToolCall) this.#open.state = 'closed';
    this.#open = null;
    this.#event('content_block_stop', { index: this.#blocks++ });
  }

  #blockDelta(delta: JsonObject): void {
    this.#event('content_block_delta', { index: this.#blocks, delta });
  }

  #event(type: string, rest: JsonObject): void {
    this.#out += `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;
  }

  #take(): string {
    const out = this.#out;
    this.#out = '';
    return out;
  }
}
