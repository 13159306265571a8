import type { Exchange } from '../../../common/core/exchange.js';
import type { Target } from '../../../common/core/target.js';

interface TimeLimit {
  readonly ms: number;
  /** To follow "within". */
  readonly name: string;
}

/**
 * How long an attempt may wait for its answer, of a stream for its first event, by the limit of this target that ends
 * first.
 */
export function timeLimit(x: Exchange, { requestTimeoutMs, deadlineMs }: Target): TimeLimit {
  const leftMs = deadlineMs === null ? Number.POSITIVE_INFINITY : deadlineMs - x.elapsedMs();
  if (requestTimeoutMs !== null && requestTimeoutMs <= leftMs)
    return { ms: requestTimeoutMs, name: `the request_timeout of ${requestTimeoutMs} ms` };
  // A timer may fire a moment early, but must not before the deadline.
  return { ms: Math.ceil(leftMs) + 1, name: `the deadline of ${deadlineMs} ms that all attempts share` };
}
