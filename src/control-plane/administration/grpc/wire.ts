import { AdminError } from '../admin-error.js';

interface PageRequest {
  readonly page_size?: number | null;
  readonly current_page?: number | null;
}

/** The rows that a list request asks for. */
export function pageOf(request: PageRequest, usual = 50): { offset: number; limit: number } {
  const size = request.page_size || usual;
  const page = request.current_page ?? 0;
  if (size < 0) throw AdminError.field('page_size', 'must not be negative.');
  if (page < 0) throw AdminError.field('current_page', 'counts from 0.');
  const limit = Math.min(size, 1000);
  return { offset: page * limit, limit };
}

const dayMs = 86_400_000;
/** The day that was asked for last, and how its times begin: those of a list are mostly of a few days. */
let day = Number.NaN;
let dayText = '';

/** 00 to 59. */
const two = Array.from({ length: 60 }, (_, i) => String(i).padStart(2, '0'));

/** Unix milliseconds as messages hold times: ISO 8601 in UTC, to the millisecond. */
export function timeOf(ms: number): string {
  const whole = Math.trunc(ms);
  const of = Math.floor(whole / dayMs);
  if (of !== day) {
    dayText = new Date(ms).toISOString().slice(0, -13);
    day = of;
  }
  const rest = whole - of * dayMs;
  const minutes = Math.floor(rest / 60_000);
  const hours = Math.floor(minutes / 60);
  const seconds = Math.floor(rest / 1000) - minutes * 60;
  return `${dayText}${two[hours]}:${two[minutes - hours * 60]}:${two[seconds]}.${String(1000 + (rest % 1000)).slice(1)}Z`;
}

/** The same for a time that may not be. */
export const timeOrNull = (ms: number | null): string | null => (ms === null ? null : timeOf(ms));

/** A message's time as Unix milliseconds; null where there is none. */
export const msOf = (time: string | null | undefined): number | null => (time ? Date.parse(time) : null);

/** The record was changed since the caller read it. */
export const stale = (): AdminError =>
  AdminError.lost('etag: the record has been changed since. Read it again.');

/** A required text of at most `most` characters (Unicode code points, as the rules of fields count), trimmed. */
export function textOf(field: string, value: string | null | undefined, most = 255): string {
  const text = value?.trim() ?? '';
  if (text === '') throw AdminError.field(field, 'is required.');
  if ([...text].length > most) throw AdminError.field(field, `must be at most ${most} characters long.`);
  return text;
}
