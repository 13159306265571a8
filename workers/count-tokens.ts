import type { Format } from '../src/common/core/endpoint.js';
import { lowerThreadPriority } from '../src/common/threads/thread-priority.js';
import type { TokenEncoder } from './byte-pairs.js';
import { encoderFor } from './encoders.js';
import { readAnswer } from './read-answer.js';
import { readRequest } from './read-request.js';

lowerThreadPriority();

export { exceedsLimit } from './token-limit.js';

/** An exchange without reported tokens: the request, and the received part of the answer. */
export interface CountTokensJob {
  readonly format: Format;
  readonly model: string | null;
  readonly request: Uint8Array | null;
  readonly answer: Uint8Array;
  /** Is the answer a stream of server-sent events? */
  readonly events: boolean;
}

export interface TokenCounts {
  readonly input: number;
  readonly output: number;
}

/** Encoding is quadratic in a run without a break (`aaaa…`): pieces are cut at white space, or else kept short. */
const pieceLength = 4096;
const unbrokenLength = 512;
/** Characters. The rest of a longer text is estimated from its beginning. */
const maxLength = 1024 * 1024;

/** Tokens of a text; a few may be wrong if it had to be cut. */
export function countText(encoder: Pick<TokenEncoder, 'count'>, text: string): number {
  let tokens = 0;
  const end = Math.min(text.length, maxLength);
  for (let from = 0; from < end; ) {
    const to = cut(text, from, end);
    tokens += encoder.count(text.slice(from, to));
    from = to;
  }
  return end === text.length ? tokens : Math.round((tokens * text.length) / end);
}

/** Where a piece that begins at `from` ends. */
function cut(text: string, from: number, end: number): number {
  let run = 0;
  let breakAt = 0;
  const most = Math.min(end, from + pieceLength);
  for (let at = from; at < most; at++) {
    const code = text.charCodeAt(at);
    // White space begins a token and never ends one: the piece ends before it.
    if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      breakAt = at;
      run = 0;
    } else if (++run > unbrokenLength) {
      return at - (isLowSurrogate(code) ? 1 : 0);
    }
  }
  if (most === text.length) return most;
  if (breakAt > from) return breakAt;
  return most - (isLowSurrogate(text.charCodeAt(most)) ? 1 : 0);
}

const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff;

/** Called by Piscina. A pure function of its job. */
export default function countTokens(job: CountTokensJob): TokenCounts {
  const encoder = encoderFor(job.model);
  const count = (text: string): number => (text === '' ? 0 : countText(encoder, text));
  const input = job.request === null ? 0 : readRequest(job.format, job.request, count);
  const output = job.format === 'openai-embeddings' ? 0 : readAnswer(job.answer, job.events, count);
  return { input, output };
}
