import type { Attempt, Exchange } from '../../../common/core/exchange.js';
import { type HeaderList, removeHeader, setHeader } from '../../../common/http/headers.js';
import { attemptSpanId, traceIdOf } from '../../../common/text/span-ids.js';
import type { Address } from './address.js';

/** The field of a stored provider that keeps its calls free of traces, and the value that does. */
const setting = 'send_trace_context';
const off = 'false';

/**
 * Adds W3C `traceparent` and `tracestate` to a call, with the span of this attempt as parent: the span that is exported
 * for it later. Returns what was added; null: the provider is not to have it.
 */
export function addTraceHeaders(
  x: Exchange,
  attempt: Attempt,
  { fields }: Address,
  headers: HeaderList,
): readonly string[] | null {
  if (fields !== null && fields[setting] === off) {
    // A config may forward the client's.
    removeHeader(headers, 'traceparent');
    removeHeader(headers, 'tracestate');
    return null;
  }
  const { context, traceId: trace } = x.trace;
  const traceId = context === undefined ? traceIdOf(trace) : context.traceId;
  const spanId = attemptSpanId(x.id, x.attempts.indexOf(attempt));
  const flags = context === undefined || context.isSampled ? '01' : '00';
  const added = ['traceparent', `00-${traceId}-${spanId}-${flags}`];
  if (context !== undefined && context.state !== null) added.push('tracestate', context.state);
  for (let i = 0; i < added.length; i += 2) setHeader(headers, added[i]!, added[i + 1]!);
  return added;
}
