import type { Exchange } from '../../../common/core/exchange.js';
import type { Parts } from '../parts.js';

const noAnswer = Buffer.alloc(0);

/** Tokens of the exchange's request; null: they could not be counted in time. */
export async function inputTokens({ counter }: Pick<Parts, 'counter'>, x: Exchange): Promise<number | null> {
  const usage = await counter.count({
    format: x.endpoint.format,
    model: x.modelAsked,
    request: x.request.bytes,
    answer: noAnswer,
    events: false,
  });
  return usage?.input ?? null;
}
