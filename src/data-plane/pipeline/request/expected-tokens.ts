import type { Awaitable } from '../../../common/core/directory.js';
import type { Exchange } from '../../../common/core/exchange.js';
import type { Target } from '../../../common/core/target.js';
import type { ExpectedTokens } from '../../../common/plugin-host/host.js';
import { answers, askedTier, maxTokens } from '../outgoing/max-tokens.js';
import type { Parts } from '../parts.js';
import { inputTokens } from './input-tokens.js';
import { picturesIn, tokensPerPicture } from './pictures.js';

/** Of a JSON body, on the safe side: English has more than four. */
const bytesPerToken = 3;
/** Longer bodies may be images: their tokens are counted, on another thread. */
const longBody = 16 * 1024;
/** The answer of a request that sets itself no limit. */
const defaultOutput = 4096;
/** No model answers with more. */
const mostOutput = 1_000_000;

const picture = Buffer.from('image');

/** What the request may use, before anyone has answered it. */
export function expectedTokens(
  parts: Pick<Parts, 'counter'>,
  x: Exchange,
  target: Target | null,
): Awaitable<ExpectedTokens> {
  const { bytes, json } = x.request;
  const length = bytes?.length ?? 0;
  const byLength = Math.ceil(length / bytesPerToken);
  if (length <= longBody) {
    // A short body has the addresses of pictures.
    const pictures = bytes?.includes(picture) === true ? picturesIn(json) : 0;
    return withAnswer(x, target, byLength + pictures * tokensPerPicture);
  }
  return inputTokens(parts, x).then((counted) => withAnswer(x, target, counted ?? byLength));
}

function withAnswer(x: Exchange, target: Target | null, input: number): ExpectedTokens {
  const { tokens, isBounded } = longestAnswer(x, target);
  return { tokens: input + tokens, input, isBounded, tier: askedTier(x, target) };
}

/** Tokens of the longest answer that a request allows; an assumed number if it sets no limit (`isBounded` false). */
export function longestAnswer(x: Exchange, target: Target | null): { tokens: number; isBounded: boolean } {
  if (/embed|moderation|rerank/.test(x.endpoint.format)) return { tokens: 0, isBounded: true };
  const most = maxTokens(x, target);
  if (most === null || most < 0) return { tokens: defaultOutput, isBounded: false };
  return { tokens: Math.min(most, mostOutput) * answers(x, target), isBounded: true };
}
