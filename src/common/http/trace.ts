import { randomBytes } from 'node:crypto';
import type { HeaderList } from './headers.js';

export interface Trace {
  readonly traceId: string;
  readonly spanId: string | null;
  readonly parentSpanId: string | null;
  readonly spanName: string | null;
  /** W3C trace context of the call; absent: it has none, or an invalid one. */
  readonly context?: TraceContext;
}

/** The values of a call's `traceparent` and `tracestate`. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  readonly isSampled: boolean;
  /** `tracestate`; null: none. */
  readonly state: string | null;
}

/** The headers that name a trace, without prefix. */
const traceHeaders = ['trace-id', 'span-id', 'parent-span-id', 'span-name'] as const;
type TraceHeaders = Partial<Record<(typeof traceHeaders)[number] | 'traceparent' | 'tracestate', string>>;

/** A text that may be stored and shown as an id or a name: visible ASCII and inner blanks, up to 128 characters. */
const acceptable = /^[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?$/;
const traceparent = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
/** Visible ASCII and blanks: what W3C allows is less. A longer one is left out. */
const tracestate = /^[\x20-\x7e\t]{1,512}$/;

const accept = (value: string): string | null => (acceptable.test(value) ? value : null);

/**
 * The trace of a call: the gateway's own headers, then W3C `traceparent` for unset values. An id that is
 * missing, too long or unprintable is replaced by `id`, the request's own, so that one id finds both.
 */
export function traceOf(given: TraceHeaders, id: string): Trace {
  const parent = given.traceparent === undefined ? null : readTraceparent(given.traceparent);
  const trace = given['trace-id'];
  const span = given['span-id'];
  const parentSpan = given['parent-span-id'];
  const name = given['span-name'];
  const read = {
    traceId: (trace && accept(trace)) || (parent?.traceId ?? id),
    spanId: (span && accept(span)) || (parent === null ? null : randomBytes(8).toString('hex')),
    parentSpanId: (parentSpan && accept(parentSpan)) || (parent?.spanId ?? null),
    spanName: (name && accept(name)) || null,
  };
  if (parent === null) return read;
  const { traceId, isSampled } = parent;
  return { ...read, context: { traceId, isSampled, state: readState(given.tracestate) } };
}

const readState = (value: string | undefined): string | null =>
  value !== undefined && tracestate.test(value) ? value : null;

/** W3C Trace Context: version `ff` and ids of zeros are invalid, and later versions may add fields at the end. */
function readTraceparent(value: string): (Omit<TraceContext, 'state'> & { readonly spanId: string }) | null {
  const [, traceId, spanId, flags] = traceparent.exec(value) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined || value.startsWith('ff'))
    return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  // Version 00 has exactly four fields.
  if (value.startsWith('00') && value.length !== 55) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Of a request that the gateway makes for another one: a span below that one's. */
export const traceBelow = ({ traceId, spanId, context }: Trace, spanName: string): Trace => ({
  ...{ traceId, spanId: null, parentSpanId: spanId, spanName },
  ...(context !== undefined && { context }),
});

/** The same from a call's headers, for calls that are refused before their headers are read otherwise. */
export function traceIn(headers: HeaderList, prefixes: readonly string[], id: string): Trace {
  const given: TraceHeaders = {};
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    if (value === '') continue;
    if (name === 'traceparent') given.traceparent ??= value;
    if (name === 'tracestate') given.tracestate ??= value;
    const prefix = prefixes.find((start) => name.startsWith(start));
    const own = traceHeaders.find((end) => prefix !== undefined && name === prefix + end);
    if (own !== undefined) given[own] ??= value;
  }
  return traceOf(given, id);
}
