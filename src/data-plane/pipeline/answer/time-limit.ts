import { GatewayError } from '../../../common/core/errors.js';
import type { Exchange } from '../../../common/core/exchange.js';
import type { Target } from '../../../common/core/target.js';

/**
 * Fails an attempt that waits too long for its answer, of a stream for its first event, by the limit of this target that
 * ends first. Not called for a target without limits, as most are.
 */
export function timeLimit(
  x: Exchange,
  { requestTimeoutMs, deadlineMs }: Target,
  fail: (error: GatewayError) => void,
): NodeJS.Timeout {
  const leftMs = deadlineMs === null ? Number.POSITIVE_INFINITY : deadlineMs - x.elapsedMs();
  const isOwn = requestTimeoutMs !== null && requestTimeoutMs <= leftMs;
  const name = isOwn
    ? `the request_timeout of ${requestTimeoutMs} ms`
    : `the deadline of ${deadlineMs} ms that all attempts share`;
  // A timer may fire a moment early, but must not before the deadline.
  const ms = isOwn ? requestTimeoutMs : Math.ceil(leftMs) + 1;
  return setTimeout(() => fail(new GatewayError('request_timeout', `No answer within ${name}.`)), ms);
}
