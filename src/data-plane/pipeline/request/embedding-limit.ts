import { GatewayError } from '../../../common/core/errors.js';
import type { Exchange } from '../../../common/core/exchange.js';
import { againstLimit, embeddingLimit, overLimit } from '../../endpoints/embedding-tokens.js';
import type { ReadBody } from '../../endpoints/read-body.js';
import type { TokenCounter } from '../parts.js';

/**
 * Rejects with `invalid_request` if the texts of an embedding request have more tokens than its model allows. Only a
 * text that could be too long, by its bytes, is counted, in another thread. If that takes too long, the check is left
 * to the provider, which has the same limit. null: nothing has to be counted.
 */
export function checkEmbeddingLength(
  counter: Pick<TokenCounter, 'exceeds'>,
  x: Exchange,
  { json, model }: ReadBody,
): Promise<void> | null {
  const { bytes } = x.request;
  const limit = model === null ? null : embeddingLimit(model);
  // JSON is never shorter than the texts and token lists in it.
  if (model === null || bytes === null || limit === null || bytes.length <= limit) return null;
  if (againstLimit(json['input'], limit) === 'fits') return null;
  return counter.exceeds({ model, request: bytes, limit }).then((exceeds) => {
    if (exceeds === true)
      throw new GatewayError('invalid_request', `input ${overLimit(limit, model)}.`, { param: 'input' });
  });
}
