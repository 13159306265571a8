import type { JsonObject } from '../../../common/core/exchange.js';
import { stringifyJson } from '../../../common/json/json.js';
import { jsonSlices } from '../../../common/json/json-slices.js';
import { googleSignature } from '../formats/google-signature.js';
import { asArray, asObject, asString } from '../formats/json-shape.js';
import type { CanonicalChunk } from '../provider.js';
import { KeptParts } from '../streams/kept-parts.js';
import type { ClientFormatContext, StreamWriter } from './client-format.js';
import { markedSignature, type Signed, signedThought } from './google-signatures.js';
import { CallItem, type Emit, type Item, MessageItem, ThinkingItem } from './responses-items.js';
import {
  answerId,
  endOf,
  flatAnnotations,
  responseObject,
  responsesUsage,
  type Status,
} from './responses-reply.js';
import { reasoningText, type ThinkingWanted, thinkingWanted } from './sealed-thinking.js';

/** The end repeats the whole text four times: beyond this many characters it is written in slices. */
const longAnswer = 256 * 1024;

/**
 * Chunks of a chat stream → events of a Responses stream: an item is added when its first piece comes. Thinking is
 * done when anything else begins; text and calls are done at the end, since chat's parallel calls may overlap.
 */
export class ResponsesStreamWriter implements StreamWriter {
  readonly contentType = 'text/event-stream; charset=utf-8';
  #out = '';
  /** Characters written. */
  #written = 0;
  /** Events that are buffered; null: events are written at once. */
  #held: { readonly type: string; readonly data: JsonObject }[] | null = null;
  #sequence = 0;
  #created: unknown = null;
  #model: unknown = null;
  #serviceTier: unknown = null;
  #finish: string | null = null;
  #usage: JsonObject | null = null;
  readonly #items: Item[] = [];
  /** What closed items became, by their place in the output. */
  readonly #closed: JsonObject[] = [];
  #message: MessageItem | null = null;
  #thinking: ThinkingItem | null = null;
  readonly #calls = new Map<unknown, CallItem>();
  readonly #kept = new KeptParts();
  readonly #wanted: ThinkingWanted;
  readonly #emit: Emit = (type, fields) => this.#event(type, fields);

  constructor(readonly context: ClientFormatContext) {
    this.#wanted = thinkingWanted(context.body);
  }

  chunk(chunk: CanonicalChunk): string {
    if (this.#created === null) this.#start(chunk);
    this.#usage = responsesUsage(chunk) ?? this.#usage;
    this.#serviceTier = chunk['service_tier'] ?? this.#serviceTier;
    const choice = asObject(asArray(chunk['choices'])?.[0]);
    // This format has no request for several answers.
    if (choice !== null && (choice['index'] ?? 0) === 0) {
      const delta = asObject(choice['delta']);
      if (delta !== null) this.#delta(delta, choice);
      this.#finish = asString(choice['finish_reason']) ?? this.#finish;
    }
    return this.#take();
  }

  end(): string {
    this.#end();
    return this.#take();
  }

  endInSlices(): Iterable<Buffer> | null {
    return this.#written > longAnswer ? this.#endSlices() : null;
  }

  *#endSlices(): Generator<Buffer> {
    this.#held = [];
    this.#end();
    for (const { type, data } of this.#held) {
      yield Buffer.from(`event: ${type}\ndata: `);
      yield* jsonSlices(data);
      yield Buffer.from('\n\n');
    }
  }

  #end(): void {
    if (this.#created === null) this.#start({});
    const { status, reason } = endOf(this.#finish);
    if (this.#items.length === 0) this.#text('', []);
    for (const index of this.#items.keys()) this.#close(index, status);
    const response = this.#response(status, reason);
    this.#event(`response.${status}`, { response });
  }

  #start(chunk: CanonicalChunk): void {
    this.#created = chunk['created'] ?? Math.floor(Date.now() / 1000);
    this.#model = chunk['model'] ?? this.context.asked.model;
    const response = this.#response('in_progress', null);
    this.#event('response.created', { response });
    this.#event('response.in_progress', { response });
  }

  #response(status: Status, reason: string | null): JsonObject {
    return responseObject(
      {
        status,
        reason,
        output: this.#closed,
        created: this.#created,
        model: this.#model,
        serviceTier: this.#serviceTier,
        usage: this.#usage,
      },
      this.context,
    );
  }

  #delta(delta: JsonObject, choice: JsonObject): void {
    const blocks = asArray(delta['content_blocks']);
    if (blocks === null) this.#think({ thinking: reasoningText(delta) });
    else for (const block of blocks) this.#block(asObject(block));
    const text = asString(delta['content']) ?? '';
    const logprobs = asArray(asObject(choice['logprobs'])?.['content']) ?? [];
    this.#kept.text(text.length);
    const before = this.#out.length;
    if (text !== '' || logprobs.length > 0) this.#text(text, logprobs);
    const refusal = asString(delta['refusal']) ?? '';
    this.#kept.text(refusal.length);
    if (refusal !== '') this.#said().refuse(refusal);
    const annotations = flatAnnotations(delta['annotations']);
    if (annotations.length > 0) this.#said().annotate(annotations);
    // As objects they take a multiple of their text.
    if (logprobs.length > 0 || annotations.length > 0) this.#kept.text(2 * (this.#out.length - before));
    this.#sign('text', googleSignature(delta));
    for (const call of asArray(delta['tool_calls']) ?? []) this.#call(asObject(call));
  }

  /** A provider's own block as loose chunks carry it: its start, or what is added to it. */
  #block(block: JsonObject | null): void {
    const delta = asObject(block?.['delta']);
    const type = delta?.['type'];
    if (delta === null) return;
    if (type === 'thinking' || type === 'redacted_thinking') this.#closeThinking();
    if (type === undefined || type === 'thinking' || type === 'redacted_thinking') this.#think(delta);
  }

  #think(delta: JsonObject): void {
    const redacted = delta['type'] === 'redacted_thinking';
    const text = asString(delta['thinking']) ?? '';
    const signature = asString(signedThought(delta)['signature']) ?? '';
    this.#kept.text(text.length + signature.length);
    const { shown, sealed } = this.#wanted;
    if (!(shown || sealed) || (!redacted && text === '' && signature === '')) return;
    this.#thinking ??= this.#open(
      (index) => new ThinkingItem(this.#emit, answerId('rs', this.context, index), index, this.#wanted),
    );
    if (redacted) this.#thinking.redacted = delta;
    this.#thinking.add(text, signature);
  }

  /** A signature of Google ends the thought that is open, or is an item of its own. */
  #sign(of: Signed, signature: string | null): void {
    if (signature === null || !this.#wanted.sealed) return;
    this.#think({ signature: markedSignature(of, signature) });
    this.#closeThinking();
  }

  #text(text: string, logprobs: readonly unknown[]): void {
    this.#said().say(text, logprobs);
  }

  #said(): MessageItem {
    this.#message ??= this.#open(
      (index) => new MessageItem(this.#emit, answerId('msg', this.context, index), index),
    );
    return this.#message;
  }

  #call(delta: JsonObject | null): void {
    if (delta === null) return;
    const key = delta['index'] ?? 0;
    const fn = asObject(delta['function']);
    let call = this.#calls.get(key);
    // Some servers give every call the index 0: another id is another call.
    if (call === undefined || (delta['id'] && delta['id'] !== call.callId)) {
      this.#sign('call', googleSignature(delta));
      call = this.#open(
        (index) =>
          new CallItem(this.#emit, answerId('fc', this.context, index), index, delta['id'], fn?.['name']),
      );
      this.#calls.set(key, call);
    }
    const text = asString(fn?.['arguments']) ?? '';
    this.#kept.text(text.length);
    call.add(text);
  }

  #open<T extends Item>(make: (index: number) => T): T {
    this.#closeThinking();
    this.#kept.part();
    const item = make(this.#items.length);
    this.#items.push(item);
    return item;
  }

  #closeThinking(): void {
    if (this.#thinking === null) return;
    const index = this.#items.indexOf(this.#thinking);
    this.#thinking = null;
    this.#close(index, 'completed');
  }

  #close(index: number, status: Status): void {
    if (this.#closed[index] !== undefined) return;
    const item = (this.#items[index] as Item).close(status);
    this.#closed[index] = item;
    this.#event('response.output_item.done', { output_index: index, item });
  }

  #event(type: string, fields: JsonObject): void {
    const data = { type, sequence_number: this.#sequence++, ...fields };
    if (this.#held === null) this.#out += `event: ${type}\ndata: ${stringifyJson(data)}\n\n`;
    else this.#held.push({ type, data });
  }

  #take(): string {
    const out = this.#out;
    this.#out = '';
    this.#written += out.length;
    return out;
  }
}
