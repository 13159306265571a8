import { randomBytes } from 'node:crypto';
import type { Trace } from '../../src/core/exchange.js';
import type { Given } from './gateway-headers.js';

/** What may be stored and shown as an id or a name: visible ASCII and inner blanks, up to 128 characters. */
const acceptable = /^[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?$/;
const traceparent = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/;

const accept = (value: string | undefined): string | null =>
  value !== undefined && acceptable.test(value) ? value : null;

/**
 * The trace of a call: the gateway's own headers, then W3C `traceparent` for what they leave open. An id that is
 * missing, too long or unprintable is replaced by `id`, the request's own, so that one id finds both.
 */
export function traceOf(given: Given, id: string): Trace {
  const parent = given.traceparent === undefined ? null : readTraceparent(given.traceparent);
  return {
    traceId: accept(given['trace-id']) ?? parent?.traceId ?? id,
    spanId: accept(given['span-id']) ?? (parent === null ? null : randomBytes(8).toString('hex')),
    parentSpanId: accept(given['parent-span-id']) ?? parent?.spanId ?? null,
    spanName: accept(given['span-name']),
  };
}

/** W3C Trace Context: version `ff` and ids of zeros are invalid, and later versions may add fields behind. */
function readTraceparent(value: string): { traceId: string; spanId: string } | null {
  const [, traceId, spanId] = traceparent.exec(value) ?? [];
  if (traceId === undefined || spanId === undefined || value.startsWith('ff')) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  // Version 00 has exactly four fields.
  if (value.startsWith('00') && value.length !== 55) return null;
  return { traceId, spanId };
}
