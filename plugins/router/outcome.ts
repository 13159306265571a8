import type { ErrorCode, GatewayError } from '../../src/core/errors.js';
import type { Exchange, Reply } from '../../src/core/exchange.js';
import type { Retry } from '../../src/core/target.js';

/** No connection came about: trying the same target again costs nothing. */
const neverConnected: ReadonlySet<ErrorCode> = new Set([
  'upstream_connect_failed',
  'upstream_connect_timeout',
]);
/** Nothing had left for the provider: a body that can be sent only once is still whole. */
const neverSent: ReadonlySet<ErrorCode> = new Set([
  ...neverConnected,
  'upstream_tls',
  'unknown_provider',
  'invalid_custom_host',
  'unsupported_by_provider',
  'virtual_key_expired',
  'virtual_key_exhausted',
  'integration_exhausted',
  'model_not_allowed',
]);

/** A body that streams in can be sent once; one that was collected, or none, as often as needed. */
export function replayable(x: Exchange): boolean {
  return x.request.stream === null;
}

export function replyMovesOn(x: Exchange, reply: Reply, onStatusCodes: readonly number[] | null): boolean {
  if (
    onStatusCodes === null ? reply.status >= 200 && reply.status < 300 : !onStatusCodes.includes(reply.status)
  ) {
    return false;
  }
  return replayable(x);
}

export function errorMovesOn(
  x: Exchange,
  error: GatewayError,
  onStatusCodes: readonly number[] | null,
): boolean {
  if (x.aborted !== null || !(replayable(x) || neverSent.has(error.code))) return false;
  return error.fallback || (onStatusCodes?.includes(error.status) ?? false);
}

export function errorIsRetried(x: Exchange, error: GatewayError, retry: Retry): boolean {
  if (x.aborted !== null) return false;
  if (neverConnected.has(error.code)) return true;
  if (!replayable(x)) return false;
  return retry.resend === true && error.blame === 'upstream' && retry.onStatusCodes.includes(error.status);
}

/** Lets go of an answer that the client will not get; ends the walk where nobody waits for another. */
export function abandon(x: Exchange, reply: Reply): void {
  const { body } = reply;
  if (body !== null && typeof body !== 'string' && !Buffer.isBuffer(body)) body.cancel();
  if (x.aborted !== null) throw x.aborted;
}
