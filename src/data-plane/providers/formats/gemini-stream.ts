import type { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { uuidv7 } from '../../../common/text/id.js';
import type { CanonicalChunk } from '../provider.js';
import { ChunkStream, noChunks } from './chunk-stream.js';
import {
  blockedPrompt,
  extras,
  finishReason,
  logprobs,
  PartReader,
  type Piece,
  signed,
} from './gemini-candidate.js';
import { canonicalGeminiUsage, geminiUsage } from './gemini-usage.js';
import { googleExtra } from './google-signature.js';
import { asArray, asObject, asString, count } from './json-shape.js';

/** What is known of one candidate so far. */
interface Candidate {
  readonly reader: PartReader;
  /** The last reason given; null: it goes on. */
  finish: unknown;
  /** Of `content_blocks`: which is open, and what it is. */
  block: number;
  blockKind: Piece['kind'] | null;
  extras: JsonObject;
}

/**
 * Frames of `streamGenerateContent?alt=sse` → chunks. Each frame is a whole response with the next parts in it; the
 * last of a candidate has its finish reason. There is no end marker, so the last events of the answer are written at `end`.
 */
export class GeminiStream extends ChunkStream {
  #rawUsage: JsonObject | null = null;
  #blocked = false;
  readonly #candidates = new Map<number, Candidate>();

  /** Every candidate has its reason, or the prompt was blocked. */
  get done(): boolean {
    if (this.#candidates.size === 0) return this.#blocked;
    for (const { finish } of this.#candidates.values()) if (finish === null) return false;
    return true;
  }

  event(_name: string, data: string): readonly CanonicalChunk[] {
    const frame = this.parse(data);
    if (frame['error'] !== undefined) throw this.#error(asObject(frame['error']));
    this.id ??= asString(frame['responseId']);
    this.model ??= asString(frame['modelVersion']);
    const usage = asObject(frame['usageMetadata']);
    if (usage !== null) {
      this.#rawUsage = { ...this.#rawUsage, ...usage };
      this.usage = geminiUsage(this.#rawUsage);
    }
    const candidates = asArray(frame['candidates']) ?? [];
    if (candidates.length === 0) return this.#noteBlocked(frame);
    const chunks: CanonicalChunk[] = [];
    candidates.forEach((value, place) => {
      const candidate = asObject(value);
      if (candidate !== null && this.#read(candidate, place, chunks)) this.kept.text(data.length);
    });
    return chunks;
  }

  end(): readonly CanonicalChunk[] {
    const chunks: CanonicalChunk[] = [];
    for (const [index, { finish, reader, extras: more }] of this.#candidates) {
      const reason = finishReason(finish, reader.calls > 0, this.context);
      const chunk = this.chunk({}, reason, null, index);
      Object.assign((chunk['choices'] as JsonObject[])[0]!, more);
      chunks.push(chunk);
    }
    if (this.context.includeUsage && this.#rawUsage !== null) {
      chunks.push(this.usageChunk(canonicalGeminiUsage(this.#rawUsage)));
    }
    return chunks;
  }

  #noteBlocked(frame: JsonObject): readonly CanonicalChunk[] {
    const why = blockedPrompt(frame);
    if (why === null || this.#blocked || this.#candidates.size > 0) return noChunks;
    this.#blocked = true;
    const delta = { role: 'assistant', content: '', refusal: why };
    return [this.chunk(delta, 'content_filter')];
  }

  /** Is anything of it kept until the end? */
  #read(given: JsonObject, place: number, chunks: CanonicalChunk[]): boolean {
    const index = given['index'] === undefined ? place : count(given['index']);
    let candidate = this.#candidates.get(index);
    if (candidate === undefined) {
      const reader = new PartReader(this.id, index);
      candidate = { reader, finish: null, block: -1, blockKind: null, extras: {} };
      this.kept.part();
      this.#candidates.set(index, candidate);
      chunks.push(this.chunk({ role: 'assistant', content: '' }, null, null, index));
    }
    const first = chunks.length;
    for (const part of asArray(asObject(given['content'])?.['parts']) ?? []) {
      const delta = this.#delta(candidate, candidate.reader.read(part));
      if (delta !== null) chunks.push(this.chunk(delta, null, null, index));
    }
    const probabilities = logprobs(given);
    // They belong to this frame.
    if (probabilities !== null) {
      if (chunks.length === first) chunks.push(this.chunk({}, null, null, index));
      (chunks[first]!['choices'] as JsonObject[])[0]!['logprobs'] = probabilities;
    }
    if (given['finishReason'] !== undefined) candidate.finish = given['finishReason'];
    const more = extras(given, this.context);
    Object.assign(candidate.extras, more);
    return given['finishReason'] !== undefined || Object.keys(more).length > 0;
  }

  /** null: no event for this client. */
  #delta(candidate: Candidate, piece: Piece): JsonObject | null {
    const loose = !this.context.strict;
    switch (piece.kind) {
      case 'text': {
        const { text, signature } = piece;
        if (text === '' && signature === null) return null;
        const delta: JsonObject = text === '' ? {} : { content: text };
        if (loose) Object.assign(delta, this.#block(candidate, 'text', { text, ...signed(signature) }));
        if (signature !== null) delta['extra_content'] = googleExtra(signature);
        return delta;
      }
      case 'thinking': {
        const { text, signature } = piece;
        if (!loose || (text === '' && signature === null)) return null;
        return this.#block(candidate, 'thinking', { thinking: text, ...signed(signature) });
      }
      case 'tool':
        candidate.blockKind = 'tool';
        return { tool_calls: [{ index: candidate.reader.calls - 1, ...piece.call }] };
      case 'audio':
        return { audio: { id: this.id, data: piece.data } };
      case 'block':
        candidate.blockKind = null;
        return loose ? this.#block(candidate, 'block', piece.block) : null;
      default:
        return null;
    }
  }

  /** A block is begun with its type and gone on with without. */
  #block(candidate: Candidate, kind: Piece['kind'], delta: JsonObject): JsonObject {
    const same = candidate.blockKind === kind;
    if (!same) candidate.block++;
    candidate.blockKind = kind;
    const begun = same || kind === 'block' ? delta : { type: kind, ...delta };
    return { content_blocks: [{ index: candidate.block, delta: begun }] };
  }

  #error(error: JsonObject | null): GatewayError {
    const message = asString(error?.['message']) ?? asString(error?.['status']) ?? 'the stream failed';
    return this.failure(message);
  }

  protected override head(): CanonicalChunk {
    this.id ??= uuidv7();
    return super.head();
  }
}
