import { getHeader, type HeaderList, removeHeader, setHeader } from './headers.js';

const number = /^\d+(?:\.\d+)?$/;
const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d\d:\d\d:\d\d/;

/** The pause that a provider asks for, in milliseconds; null: no valid one. */
export function retryAfterMs(headers: HeaderList, now: number): number | null {
  const inMs =
    milliseconds(getHeader(headers, 'retry-after-ms')) ??
    milliseconds(getHeader(headers, 'x-ms-retry-after-ms'));
  if (inMs !== null) return inMs;
  const value = getHeader(headers, 'retry-after')?.trim();
  if (value === undefined) return null;
  if (number.test(value)) return Number(value) * 1000;
  if (value.length > 64 || !httpDate.test(value)) return null;
  // Of the three date forms (RFC 9110 §5.6.7), the one without a zone means GMT too.
  const wait = Date.parse(value.endsWith('GMT') ? value : `${value} GMT`) - now;
  return wait >= 0 ? wait : null;
}

function milliseconds(value: string | undefined): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  return number.test(text) ? Number(text) : null;
}

/** Longer waits are not passed on, since a client might obey one. */
const longestMs = 86_400_000;

/** Removes invalid waits from an answer's headers, and reduces longer ones to a day. */
export function tidyRetryAfter(headers: HeaderList, now: number): void {
  const ms = retryAfterMs(headers, now);
  if (ms !== null && ms <= longestMs) return;
  for (const name of ['retry-after', 'retry-after-ms', 'x-ms-retry-after-ms']) removeHeader(headers, name);
  if (ms !== null) setHeader(headers, 'retry-after', String(longestMs / 1000));
}
