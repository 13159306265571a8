import { isSource } from '../../../src/common/bytes/body.js';
import type { ErrorCode, GatewayError } from '../../../src/common/core/errors.js';
import type { Exchange, Reply } from '../../../src/common/core/exchange.js';
import type { Retry, Target } from '../../../src/common/core/target.js';

/** No connection was opened: calling the same target again costs nothing. */
const neverConnected: ReadonlySet<ErrorCode> = new Set([
  'upstream_connect_failed',
  'upstream_connect_timeout',
]);
/** Nothing was sent to the provider: a body that can be sent only once is still complete. */
const neverSent: ReadonlySet<ErrorCode> = new Set([
  ...neverConnected,
  'upstream_tls',
  'unknown_provider',
  'upstream_busy',
  'invalid_custom_host',
  'unsupported_by_provider',
  'virtual_key_expired',
  '04',
  '06',
  'virtual_key_rate_limited',
  'integration_rate_limited',
  'rate_limits_policy_exceeded',
  'provider_credential_missing',
  'model_not_allowed',
]);

/** Can the body be sent again? One that streams in cannot. */
export function replayable(x: Exchange): boolean {
  return x.request.stream === null;
}

/** May the request be sent twice although nothing failed? Only if the gateway parses its body. */
export function isRepeatable(x: Exchange): boolean {
  return x.request.bytes !== null && x.endpoint.format !== 'none';
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

/** Discards an answer that the client will not get. */
export function discard({ body }: Reply): void {
  if (isSource(body)) body.cancel();
}

/** The same; ends the walk if the client has disconnected. */
export function abandon(x: Exchange, reply: Reply): void {
  discard(reply);
  if (x.aborted !== null) throw x.aborted;
}

/** Statuses caused by the request, which are the same at every target. */
const callersFaults: ReadonlySet<number> = new Set([400, 413, 422]);

/** Does an answer with this status count against its target? `codes`: those of its breaker; null: above 500. */
export function isFailedStatus(status: number, codes: readonly number[] | null): boolean {
  return codes === null ? status > 500 : codes.includes(status) && !callersFaults.has(status);
}

/** Not reached, no answer in time, or an invalid answer. */
const targetsFaults: ReadonlySet<ErrorCode> = new Set([
  ...neverConnected,
  'upstream_tls',
  'upstream_reset',
  'upstream_truncated',
  'upstream_invalid_response',
  'upstream_redirect',
  'upstream_stream_error',
  'upstream_headers_timeout',
  'upstream_first_token_timeout',
  'upstream_idle_timeout',
  'request_timeout',
]);

/** Does a failure count against the target? Not one that the client, the gateway or an earlier target caused. */
export function isTargetsFault(x: Exchange, target: Target, code: ErrorCode): boolean {
  if (x.aborted !== null || !targetsFaults.has(code)) return false;
  // The rest of the deadline may have been too short for any target.
  return code !== 'request_timeout' || !isPast(x, target);
}

/** Has the common deadline of all attempts passed? */
export function isPast(x: Exchange, { deadlineMs }: Target): boolean {
  return deadlineMs !== null && x.elapsedMs() >= deadlineMs;
}
