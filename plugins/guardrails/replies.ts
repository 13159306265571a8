import { GatewayError } from '../../src/common/core/errors.js';
import type { Exchange, Reply } from '../../src/common/core/exchange.js';
import { refusalFor } from './refusals.js';
import type { HookOutcome } from './run/outcome.js';

export interface HookResults {
  readonly before_request_hooks: readonly HookOutcome[];
  readonly after_request_hooks: readonly HookOutcome[];
}

/** The answer to what a guardrail has denied, without `hook_results`. `isSoft`: with 200, if the format has texts. */
export function denial(x: Exchange, by: HookOutcome, isSoft: boolean): Reply {
  const message = `${explanation(by)}: see hook_results.`;
  const error = { message, type: 'hooks_failed', param: null, code: null };
  const refused = new GatewayError('guardrail_denied', message);
  const soft = isSoft ? refusalFor(x) : null;
  if (soft !== null) {
    const { body, events } = soft;
    const headers = ['content-type', events ? 'text/event-stream' : 'application/json'];
    return { status: 200, headers, body: Buffer.from(body), events, errorOrigin: 'gateway', error: refused };
  }
  const isAnthropic = x.endpoint.format.startsWith('anthropic');
  return {
    status: 446,
    headers: ['content-type', 'application/json'],
    body: Buffer.from(JSON.stringify(isAnthropic ? { type: 'error', error } : { error })),
    events: false,
    errorOrigin: 'gateway',
    error: refused,
  };
}

/** The error that ends a stream. */
export const refusal = (by: HookOutcome): GatewayError =>
  new GatewayError('guardrail_denied', `${explanation(by)}.`);

function explanation(by: HookOutcome): string {
  const failed = by.checks.filter(({ verdict }) => !verdict).map(({ id }) => id);
  const what = by.event_type === 'beforeRequestHook' ? 'request' : 'answer';
  return `The guardrail ${by.id} did not pass this ${what} (${failed.join(', ')})`;
}

const brace = 0x7d;

/** The bytes of a JSON object with `hook_results` as its last member. What is no object stays as it is. */
export function withHookResults(body: Buffer, results: HookResults): Buffer {
  const end = body.lastIndexOf(brace);
  if (end < 0) return body;
  const isEmpty = /^\s*\{\s*$/.test(body.toString('latin1', 0, Math.min(end, 64))) && end < 64;
  const member = `${isEmpty ? '' : ','}"hook_results":${JSON.stringify(results)}`;
  return Buffer.concat([body.subarray(0, end), Buffer.from(member), body.subarray(end)]);
}
