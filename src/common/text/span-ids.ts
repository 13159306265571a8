import { createHash } from 'node:crypto';

/** Ids of W3C Trace Context and OpenTelemetry. They follow from the request, so that what is sent to a provider is found in the spans. */

const traceId = /^(?!0{32})[0-9a-f]{32}$/;
const spanId = /^(?!0{16})[0-9a-f]{16}$/;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-9a-f][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export const isTraceId = (text: string): boolean => traceId.test(text);
export const isSpanId = (text: string | null): text is string => text !== null && spanId.test(text);

/** The trace id of a request whose `trace` may be any text: requests of one trace stay together. */
export function traceIdOf(trace: string): string {
  if (isTraceId(trace)) return trace;
  return uuid.test(trace) ? trace.replaceAll('-', '') : hash(trace, 32);
}

/** Of a request that named none. */
export const requestSpanId = (requestId: string): string => derived(requestId, 0);

/** Of a request's call to a provider; `attempt`: 0 is the first. */
export const attemptSpanId = (requestId: string, attempt: number): string => derived(requestId, attempt + 1);

/** The last 14 digits of a UUID are random. */
function derived(id: string, number: number): string {
  if (number > 254 || !uuid.test(id)) return hash(`${id}/${number}`, 16);
  return `${hexByte(number + 1)}${id.slice(21, 23)}${id.slice(24)}`;
}

const hexByte = (number: number): string => (number < 16 ? `0${number.toString(16)}` : number.toString(16));

const hash = (text: string, length: number): string =>
  createHash('sha256').update(text).digest('hex').slice(0, length);
