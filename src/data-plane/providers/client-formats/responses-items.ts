import type { JsonObject } from '../../../common/core/exchange.js';
import {
  callItem,
  messageItem,
  reasoningItem,
  refusalPart,
  type Status,
  summaryPart,
  textPart,
} from './responses-reply.js';
import { sealThinking, type ThinkingWanted } from './sealed-thinking.js';

/** Writes one event; the writer adds its name and number. */
export type Emit = (type: string, fields: JsonObject) => void;

/** One item of the output while it grows. */
export interface Item {
  /** Its last events; returns the item as in the whole answer. */
  close(status: Status): JsonObject;
}

/** The output of the model: a text, a refusal, or both. */
export class MessageItem implements Item {
  #text: { readonly index: number; text: string; readonly logprobs: unknown[] } | null = null;
  #refusal: { readonly index: number; text: string } | null = null;
  readonly #annotations: unknown[] = [];
  #parts = 0;

  constructor(
    readonly emit: Emit,
    readonly id: string,
    readonly index: number,
  ) {
    emit('response.output_item.added', {
      output_index: index,
      item: messageItem(id, 'in_progress', []),
    });
  }

  say(text: string, logprobs: readonly unknown[]): void {
    if (this.#text === null) {
      this.#text = { index: this.#parts++, text: '', logprobs: [] };
      this.#part('added', this.#text.index, textPart('', []));
    }
    this.#text.text += text;
    for (const each of logprobs) this.#text.logprobs.push(each);
    if (text === '') return;
    const { id, index, emit } = this;
    // Written once for each chunk, and members after a spread cost V8 a microsecond each.
    emit('response.output_text.delta', {
      item_id: id,
      output_index: index,
      content_index: this.#text.index,
      delta: text,
      logprobs,
    });
  }

  refuse(text: string): void {
    if (this.#refusal === null) {
      this.#refusal = { index: this.#parts++, text: '' };
      this.#part('added', this.#refusal.index, refusalPart(''));
    }
    this.#refusal.text += text;
    this.emit('response.refusal.delta', { ...this.#at(this.#refusal.index), delta: text });
  }

  annotate(annotations: readonly unknown[]): void {
    if (this.#text === null) this.say('', []);
    for (const annotation of annotations) {
      this.emit('response.output_text.annotation.added', {
        ...this.#at(this.#text?.index ?? 0),
        annotation_index: this.#annotations.length,
        annotation,
      });
      this.#annotations.push(annotation);
    }
  }

  close(status: Status): JsonObject {
    const parts: JsonObject[] = [];
    if (this.#text !== null) {
      const { index, text, logprobs } = this.#text;
      parts[index] = textPart(text, this.#annotations, logprobs);
      this.emit('response.output_text.done', { ...this.#at(index), text, logprobs });
    }
    if (this.#refusal !== null) {
      const { index, text } = this.#refusal;
      parts[index] = refusalPart(text);
      this.emit('response.refusal.done', { ...this.#at(index), refusal: text });
    }
    for (const [index, part] of parts.entries()) this.#part('done', index, part);
    return messageItem(this.id, status, parts);
  }

  #at(contentIndex: number): JsonObject {
    return { item_id: this.id, output_index: this.index, content_index: contentIndex };
  }

  #part(what: 'added' | 'done', index: number, part: JsonObject): void {
    this.emit(`response.content_part.${what}`, { ...this.#at(index), part });
  }
}

/** A function call whose arguments come in pieces. */
export class CallItem implements Item {
  #arguments = '';

  constructor(
    readonly emit: Emit,
    readonly id: string,
    readonly index: number,
    readonly callId: unknown,
    readonly name: unknown,
  ) {
    emit('response.output_item.added', {
      output_index: index,
      item: callItem(id, 'in_progress', callId, name, ''),
    });
  }

  add(text: string): void {
    if (text === '') return;
    this.#arguments += text;
    const { id, index, emit } = this;
    emit('response.function_call_arguments.delta', { item_id: id, output_index: index, delta: text });
  }

  close(status: Status): JsonObject {
    const { callId, name } = this;
    // Who calls without arguments means an object without members, which is what clients will parse.
    if (this.#arguments === '') this.add('{}');
    this.emit('response.function_call_arguments.done', { ...this.#at(), name, arguments: this.#arguments });
    return callItem(this.id, status, callId, name, this.#arguments);
  }

  #at(): JsonObject {
    return { item_id: this.id, output_index: this.index };
  }
}

/** What the model thought, as far as the client wants it. */
export class ThinkingItem implements Item {
  redacted: JsonObject | null = null;
  #text = '';
  #signature = '';

  constructor(
    readonly emit: Emit,
    readonly id: string,
    readonly index: number,
    readonly wanted: ThinkingWanted,
  ) {
    emit('response.output_item.added', { output_index: index, item: reasoningItem(id, null, null) });
  }

  add(text: string, signature: string): void {
    this.#signature += signature;
    if (text === '') return;
    if (this.wanted.shown) {
      if (this.#text === '') {
        this.emit('response.reasoning_summary_part.added', { ...this.#at(), part: summaryPart('') });
      }
      const { id, index, emit } = this;
      emit('response.reasoning_summary_text.delta', {
        item_id: id,
        output_index: index,
        summary_index: 0,
        delta: text,
      });
    }
    this.#text += text;
  }

  close(): JsonObject {
    const { shown, sealed } = this.wanted;
    if (shown && this.#text !== '') {
      this.emit('response.reasoning_summary_text.done', { ...this.#at(), text: this.#text });
      this.emit('response.reasoning_summary_part.done', { ...this.#at(), part: summaryPart(this.#text) });
    }
    const signed = this.#signature === '' ? {} : { signature: this.#signature };
    const block = this.redacted ?? { type: 'thinking', thinking: this.#text, ...signed };
    return reasoningItem(this.id, shown ? this.#text : null, sealed ? sealThinking(block) : null);
  }

  #at(): JsonObject {
    return { item_id: this.id, output_index: this.index, summary_index: 0 };
  }
}
