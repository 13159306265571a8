import { createHash } from 'node:crypto';

/** Ids of W3C Trace Context and OpenTelemetry. They follow from the request, so that what is sent to a provider is found in the spans. */

const traceId = /^(?!0{32})[0-9a-f]{32}$/;
const spanId = /^(?!0{16})[0-9a-f]{16}$/;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-9a-f][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** The last id that was a UUID: trace and span of a request are mostly requested with the same id. */
let known = '';

function isUuid(text: string): boolean {
  if (text === known) return true;
  if (!uuid.test(text)) return false;
  known = text;
  return true;
}

export const isTraceId = (text: string): boolean => traceId.test(text);
export const isSpanId = (text: string | null): text is string => text !== null && spanId.test(text);

/** The trace id of a request whose `trace` may be any text: requests of one trace stay together. */
export function traceIdOf(trace: string): string {
  if (isTraceId(trace)) return trace;
  if (!isUuid(trace)) return hash(trace, 32);
  return trace.slice(0, 8) + trace.slice(9, 13) + trace.slice(14, 18) + trace.slice(19, 23) + trace.slice(24);
}

/** Of a request that named none. */
export const requestSpanId = (requestId: string): string => derived(requestId, 0);

/** Of a request's call to a provider; `attempt`: 0 is the first. */
export const attemptSpanId = (requestId: string, attempt: number): string => derived(requestId, attempt + 1);

/** The id of a step's span below that of its request (cache lookups and guardrails). `step` counts from 0. */
export const stepSpanId = (requestId: string, step: number): string => hash(`${requestId}/step/${step}`, 16);

/** The last 14 digits of a UUID are random. */
function derived(id: string, number: number): string {
  if (number > 254 || !isUuid(id)) return hash(`${id}/${number}`, 16);
  return `${hexByte(number + 1)}${id.slice(21, 23)}${id.slice(24)}`;
}

const hexByte = (number: number): string => (number < 16 ? `0${number.toString(16)}` : number.toString(16));

const hash = (text: string, length: number): string =>
  createHash('sha256').update(text).digest('hex').slice(0, length);
