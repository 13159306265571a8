import type { TokenEncoder } from './byte-pairs.js';
import { encoderFor } from './encoders.js';
import { readRequest } from './read-request.js';

/** An embedding request whose texts may exceed its model's limit. */
export interface TokenLimitJob {
  readonly model: string | null;
  /** The body, JSON. */
  readonly request: Uint8Array;
  /** Tokens of all its texts together. */
  readonly limit: number;
}

/** Encoding is quadratic in a run without a break: texts are encoded in pieces of so many characters. */
const pieceLength = 4096;
const unbrokenLength = 512;
/** Tokens that a cut in the middle of a run may add to the text's count. */
const perRoughCut = 2;

const letterOrDigit = /[\p{L}\p{N}]/u;
const continuesWord = /[\p{L}\p{N}\p{M}\p{Cs}'’]/u;

/** The end of a piece, and whether the text certainly has a token boundary there. */
interface Cut {
  readonly at: number;
  readonly exact: boolean;
}

/**
 * Letters and digits never share a token with white space or punctuation after them, in either encoding: a piece that
 * ends between them has the same tokens as this part of the text.
 */
export function nextCut(text: string, from: number): Cut {
  const end = Math.min(text.length, from + pieceLength);
  let boundary = from;
  for (let at = from + 1; at < end; at++) {
    if (isBoundary(text, at)) boundary = at;
    else if (at - boundary > unbrokenLength) break;
    if (at === end - 1 && end === text.length) return { at: end, exact: true };
  }
  if (boundary > from) return { at: boundary, exact: true };
  const at = Math.min(end, from + unbrokenLength);
  if (at === text.length) return { at, exact: true };
  // Never cuts a character in two.
  const code = text.charCodeAt(at);
  return { at: code >= 0xdc00 && code <= 0xdfff ? at - 1 : at, exact: false };
}

function isBoundary(text: string, at: number): boolean {
  return letterOrDigit.test(text[at - 1]!) && !continuesWord.test(text[at]!);
}

/** Counts up to the limit. A text that exceeds it only by the tolerance of cuts is left to the provider. */
export class LimitedCount {
  #tokens = 0;
  #rough = 0;

  constructor(
    readonly encoder: Pick<TokenEncoder, 'count'>,
    readonly limit: number,
  ) {}

  get exceeded(): boolean {
    return this.#tokens - this.#rough > this.limit;
  }

  add(text: string): void {
    for (let from = 0; from < text.length && !this.exceeded; ) {
      const { at, exact } = nextCut(text, from);
      this.#tokens += this.encoder.count(text.slice(from, at));
      if (!exact) this.#rough += perRoughCut;
      from = at;
    }
  }
}

/** Called by Piscina. Do the texts of the request together have more tokens than the limit? */
export function exceedsLimit({ model, request, limit }: TokenLimitJob): boolean {
  const count = new LimitedCount(encoderFor(model), limit);
  readRequest('openai-embeddings', request, (text) => {
    count.add(text);
    return 0;
  });
  return count.exceeded;
}
