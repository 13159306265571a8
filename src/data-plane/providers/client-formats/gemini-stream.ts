import type { JsonObject } from '../../../common/core/exchange.js';
import { stringifyJson } from '../../../common/json/json.js';
import { asArray, asObject, asString } from '../formats/json-shape.js';
import { InnerJson } from '../inner-json.js';
import type { CanonicalChunk } from '../provider.js';
import { KeptParts } from '../streams/kept-parts.js';
import { writeEvent } from '../streams/sse.js';
import type { ClientFormatContext, StreamWriter } from './client-format.js';
import {
  callPart,
  finishReason,
  logprobsResult,
  thoughtPart,
  usageMetadata,
  wantsThoughts,
} from './gemini-reply.js';
import { JsonArrayWriter } from './json-array.js';
import { reasoningText, sealThinking } from './sealed-thinking.js';

interface PendingCall {
  readonly id: unknown;
  readonly name: unknown;
  arguments: string;
}

/** The part of one candidate that is not written yet. */
interface Pending {
  /** This format sends a call whole. */
  readonly calls: PendingCall[];
  /** The last call of each index. */
  readonly lastCalls: Map<unknown, PendingCall>;
  /** Thinking that was shown in pieces and is not sealed yet. */
  thinking: string;
  signature: string;
  finish: string | null;
  refused: boolean;
}

/**
 * Chunks of a chat stream → GenerateContentResponses, each with the next parts: server-sent events where the client
 * asked for them (`alt=sse`), else the elements of one JSON array.
 */
export class GeminiStreamWriter implements StreamWriter {
  readonly contentType: string;
  readonly #array: JsonArrayWriter | null;
  readonly #shows: boolean;
  readonly #candidates = new Map<number, Pending>();
  readonly #kept = new KeptParts();
  #usage: JsonObject = {};
  #model: unknown;

  constructor(readonly context: ClientFormatContext) {
    const events = context.asked.events !== false;
    this.contentType = events ? 'text/event-stream' : 'application/json; charset=UTF-8';
    this.#array = events ? null : new JsonArrayWriter();
    this.#shows = wantsThoughts(context);
    this.#model = context.asked.model;
  }

  chunk(chunk: CanonicalChunk): string {
    this.#model = asString(chunk['model']) ?? this.#model;
    const usage = usageMetadata(chunk);
    if (usage['usageMetadata'] !== undefined) this.#usage = usage;
    const candidates: JsonObject[] = [];
    for (const value of asArray(chunk['choices']) ?? []) {
      const choice = asObject(value);
      if (choice === null) continue;
      const index = typeof choice['index'] === 'number' ? choice['index'] : 0;
      const parts = this.#parts(asObject(choice['delta']) ?? {}, this.#pending(index));
      this.#note(choice, index);
      if (parts.length === 0) continue;
      const probabilities = logprobsResult(asObject(choice['logprobs']));
      candidates.push({
        content: { parts, role: 'model' },
        index,
        ...(probabilities === null ? {} : { logprobsResult: probabilities }),
      });
    }
    return candidates.length === 0 ? '' : this.#write({ candidates, ...this.#ids() });
  }

  end(): string {
    this.#pending(0);
    const inner = new InnerJson();
    const candidates = [...this.#candidates].map(([index, pending]) => {
      const parts = this.#endThinking(pending);
      for (const call of pending.calls) {
        const whole = { id: call.id, function: { name: call.name, arguments: call.arguments } };
        parts.push(callPart(whole, pending.finish, inner));
      }
      return {
        content: { parts: parts.length === 0 ? [{ text: '' }] : parts, role: 'model' },
        finishReason: pending.refused ? 'SAFETY' : finishReason(pending.finish),
        index,
      };
    });
    return this.#write({ candidates, ...this.#usage, ...this.#ids() }) + (this.#array?.end() ?? '');
  }

  #pending(index: number): Pending {
    let pending = this.#candidates.get(index);
    if (pending === undefined) {
      this.#kept.part();
      pending = {
        calls: [],
        lastCalls: new Map(),
        thinking: '',
        signature: '',
        finish: null,
        refused: false,
      };
      this.#candidates.set(index, pending);
    }
    return pending;
  }

  #note(choice: JsonObject, index: number): void {
    const pending = this.#pending(index);
    pending.finish = asString(choice['finish_reason']) ?? pending.finish;
  }

  #parts(delta: JsonObject, pending: Pending): JsonObject[] {
    const parts: JsonObject[] = [];
    if (this.#shows) this.#think(delta, pending, parts);
    const text = asString(delta['content']) ?? '';
    const refusal = asString(delta['refusal']) ?? '';
    if (refusal !== '') pending.refused = true;
    for (const said of [text, refusal]) {
      if (said !== '') parts.push(...this.#endThinking(pending), { text: said });
    }
    for (const value of asArray(delta['tool_calls']) ?? []) {
      const call = asObject(value);
      const fn = asObject(call?.['function']);
      const index = call?.['index'] ?? 0;
      const known = pending.lastCalls.get(index);
      const piece = asString(fn?.['arguments']) ?? '';
      this.#kept.text(piece.length);
      // Some servers give every call the index 0: another id is another call.
      if (known !== undefined && (!call?.['id'] || call['id'] === known.id)) {
        known.arguments += piece;
        continue;
      }
      this.#kept.part();
      const begun = { id: call?.['id'], name: fn?.['name'], arguments: piece };
      pending.lastCalls.set(index, begun);
      pending.calls.push(begun);
    }
    return parts;
  }

  #think(delta: JsonObject, pending: Pending, parts: JsonObject[]): void {
    const blocks = asArray(delta['content_blocks']);
    if (blocks === null) {
      const text = reasoningText(delta);
      this.#kept.text(text.length);
      pending.thinking += text;
      if (text !== '') parts.push(thoughtPart(text, null));
      return;
    }
    for (const value of blocks) {
      const block = asObject(asObject(value)?.['delta']);
      if (block?.['type'] === 'thinking' || block?.['type'] === 'redacted_thinking') {
        parts.push(...this.#endThinking(pending));
      }
      if (block?.['type'] === 'redacted_thinking') parts.push(thoughtPart('', sealThinking(block)));
      const text = asString(block?.['thinking']) ?? '';
      const signature = asString(block?.['signature']) ?? '';
      this.#kept.text(text.length + signature.length);
      pending.signature += signature;
      pending.thinking += text;
      if (text !== '') parts.push(thoughtPart(text, null));
    }
  }

  /** What was shown in pieces, as one block in a signature: clients return it from there. */
  #endThinking(pending: Pending): JsonObject[] {
    const { thinking, signature } = pending;
    pending.thinking = '';
    pending.signature = '';
    if (thinking === '' && signature === '') return [];
    const signed = signature === '' ? {} : { signature };
    return [thoughtPart('', sealThinking({ type: 'thinking', thinking, ...signed }))];
  }

  #ids(): JsonObject {
    return { modelVersion: this.#model, responseId: this.context.requestId };
  }

  #write(response: JsonObject): string {
    const text = stringifyJson(response);
    return this.#array === null ? writeEvent(null, text) : this.#array.item(text);
  }
}
