import type { ErrorCode } from '../../../common/core/errors.js';
import type { Attempt, Exchange } from '../../../common/core/exchange.js';
import type { Target } from '../../../common/core/target.js';
import { longestAnswer } from './expected-tokens.js';

const nothing = Buffer.alloc(0);

/** Errors of attempts that the gateway cancelled, although the provider may have continued. */
const cancelled: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'hedge_lost',
  'client_gone',
  'key_revoked',
  'draining',
  'request_timeout',
]);

/**
 * Notes what the provider may bill for an attempt that was sent and has failed, for the count at the end: of what was cancelled the
 * prompt, and a whole answer that it finishes (a lost stream it stops); what broke after its head it has written. Of others nothing.
 */
export function noteOwed(x: Exchange, attempt: Attempt, code: ErrorCode, target: Target): void {
  const isBroken = !cancelled.has(code);
  if (isBroken && !(attempt.status >= 200 && attempt.status < 300)) return;
  attempt.received = nothing;
  const { tokens, isBounded } = longestAnswer(x, target);
  if (isBroken || (isBounded && (code !== 'hedge_lost' || !x.streaming))) attempt.unseen = Math.trunc(tokens);
}
