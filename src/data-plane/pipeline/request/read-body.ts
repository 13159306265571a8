import type { Exchange } from '../../../common/core/exchange.js';
import { checkBodyHeaders, type ReadBody, readQuickly } from '../../endpoints/read-body.js';
import type { BodyReader, TokenCounter } from '../parts.js';
import { checkEmbeddingLength } from './embedding-limit.js';
import type { RecurringBodies } from './recurring-bodies.js';

/** Reads and checks the body of endpoints that parse it. */
export function bodyReading(
  bodies: BodyReader,
  recurring: RecurringBodies,
  counter: Pick<TokenCounter, 'exceeds'>,
): (x: Exchange) => void | Promise<void> {
  const accept = (x: Exchange, body: ReadBody, began: number): void | Promise<void> => {
    const counting = x.endpoint.name === 'embeddings' ? checkEmbeddingLength(counter, x, body) : null;
    if (counting !== null) return counting.then(() => take(x, body, began));
    take(x, body, began);
  };
  return (x) => {
    if (x.request.bytes === null) return;
    const began = performance.now();
    const { headers, bytes } = x.request;
    const known = recurring.callers.has(x.principal) ? recurring.find(x) : null;
    if (known !== null) {
      checkBodyHeaders(headers);
      return take(x, known, began);
    }
    checkBodyHeaders(headers);
    const read = readQuickly(x.endpoint.name, bytes) ?? bodies.readLong(x.endpoint, bytes);
    if (read instanceof Promise) return read.then((body) => accept(x, body, began));
    if (x.endpoint.name === 'embeddings') return accept(x, read, began);
    take(x, read, began);
  };
}

/** `began`: the start of reading, by `performance.now()`. */
function take(x: Exchange, body: ReadBody, began: number): void {
  x.request.json = body.json;
  x.bodyTokens = body.tokens;
  const asked = x.endpoint.readPath?.(x.request.path) ?? body;
  x.modelAsked = asked.model;
  x.streaming = asked.stream;
  x.bodyUs = Math.max(1, Math.round((performance.now() - began) * 1000));
}
