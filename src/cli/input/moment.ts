import type { AdminMethod } from '../../../proto/tree.js';
import { CliError } from '../cli-error.js';

const relative = /^(-?\d{1,6})([dh])$/;
const milliseconds: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000 };
const dateAlone = /^\d{4}-\d\d-\d\d$/;

/** Is it a time that only the command line takes: `now`, days or hours from now or ago, a date without a time? */
export const isTypedTime = (text: string): boolean =>
  text === 'now' || relative.test(text) || dateAlone.test(text);

/**
 * A time as people type it, as ISO 8601: a date, a time, `now`, days or hours from now (`90d`) or ago (`-7d`, `-6h`). `flag`:
 * the one that errors name.
 */
export function momentOf(text: string, flag: string): string {
  const [, count, unit = ''] = relative.exec(text) ?? [];
  const apart = count === undefined ? 0 : Number(count) * milliseconds[unit]!;
  const at = count === undefined && text !== 'now' ? Date.parse(text) : Date.now() + apart;
  if (Number.isNaN(at) || Math.abs(at) > 8.64e15)
    throw new CliError(`${flag} ${text}: give days (90d, -7d), hours (-6h), now, or a date (2030-01-31).`, 2);
  return new Date(at).toISOString();
}

/** Defaults of the times that a method needs: the last day. By name of the field. */
const lastDay = {
  time_of_generation_min: '-1d',
  time_of_generation_max: 'now',
  start_time: '-1d',
  end_time: 'now',
} as const;

/** Times that a command fills in, by the names of fields. An export of the audit log names what it has. */
export function usualTimes({ service, method, request }: AdminMethod): Readonly<Record<string, string>> {
  if (service !== 'Analytics' && method !== 'ListAuditLogs') return {};
  return Object.fromEntries(Object.entries(lastDay).filter(([name]) => request.field(name) !== undefined));
}
