import { getHeader, type HeaderList } from '../../src/core/headers.js';

const number = /^\d+(?:\.\d+)?$/;
const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d\d:\d\d:\d\d/;

/** How long a provider asks to be left alone, in milliseconds; null where it says nothing that makes sense. */
export function retryAfterMs(headers: HeaderList, now: number): number | null {
  const inMs =
    milliseconds(getHeader(headers, 'retry-after-ms')) ??
    milliseconds(getHeader(headers, 'x-ms-retry-after-ms'));
  if (inMs !== null) return inMs;
  const value = getHeader(headers, 'retry-after')?.trim();
  if (value === undefined) return null;
  if (number.test(value)) return Number(value) * 1000;
  if (value.length > 64 || !httpDate.test(value)) return null;
  // The one of the three date forms (RFC 9110 §5.6.7) that names no zone means GMT as well.
  const wait = Date.parse(value.endsWith('GMT') ? value : `${value} GMT`) - now;
  return wait >= 0 ? wait : null;
}

function milliseconds(value: string | undefined): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  return number.test(text) ? Number(text) : null;
}
