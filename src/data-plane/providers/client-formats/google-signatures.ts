import type { JsonObject } from '../../../common/core/exchange.js';
import { googleExtra } from '../formats/google-signature.js';
import { asString } from '../formats/json-shape.js';

/** What a thought signature of Google belongs to: the tool call after it, the text before it, or the thought with it. */
export type Signed = 'call' | 'text' | 'thought';

/**
 * Clients of other formats get a signature of Google as that of a thinking block. It is marked: no other provider accepts it, and
 * Gemini must get it back at the part that it belongs to.
 */
export const markedSignature = (of: Signed, signature: string): string => `google.${of}:${signature}`;

const marked = /^google\.(call|text|thought):(.+)$/s;

/** A thinking block of Gemini's answers as clients get it; others stay as they are. */
export function signedThought(block: JsonObject): JsonObject {
  const { thought_signature: own, ...rest } = block;
  const signature = asString(own);
  // Blocks of texts have one too, which the message has as well.
  return signature === null || typeof block['thinking'] !== 'string'
    ? block
    : { ...rest, signature: markedSignature('thought', signature) };
}

/** A thinking block that only carries a signature. */
export const signatureBlock = (of: Signed, signature: string): JsonObject => ({
  type: 'thinking',
  thinking: '',
  signature: markedSignature(of, signature),
});

/** The blocks of an earlier answer as the client returns it, in their order, with Google's signatures put back. */
export class ReturnedBlocks {
  readonly blocks: JsonObject[] = [];
  /** Is there thinking among them? */
  thought = false;
  #ofText: string | null = null;
  #ofCall: string | null = null;

  /** A thinking block. One of Google's becomes unsigned: its place among the blocks stays. */
  thinking(block: JsonObject): void {
    this.thought = true;
    const [, of, signature] = marked.exec(asString(block['signature']) ?? '') ?? [];
    if (signature === undefined) {
      this.blocks.push(block);
      return;
    }
    const { signature: _, ...unsigned } = block;
    if (of === 'call') this.#ofCall = signature;
    else if (of === 'text') this.#ofText = signature;
    else unsigned['thought_signature'] = signature;
    this.blocks.push(unsigned);
  }

  /** A canonical tool call, with the signature that preceded it. */
  call(call: JsonObject): JsonObject {
    if (this.#ofCall !== null) call['extra_content'] = googleExtra(this.#ofCall);
    this.#ofCall = null;
    return call;
  }

  /** Adds what belongs to the message as a whole. */
  finish(message: JsonObject): JsonObject {
    if (this.thought) message['content_blocks'] = this.blocks;
    if (this.#ofText !== null) message['extra_content'] = googleExtra(this.#ofText);
    return message;
  }
}
