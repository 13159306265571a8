import { CliError } from '../cli-error.js';

const days = /^(-?\d{1,5})d$/;

/** Is it a number of days, from now or ago? */
export const isDays = (text: string): boolean => days.test(text);

/** A time as people type it, as ISO 8601: a date, a time, days from now (`90d`) or ago (`-7d`). `flag`: to blame. */
export function momentOf(text: string, flag: string): string {
  const count = days.exec(text)?.[1];
  const at = count === undefined ? Date.parse(text) : Date.now() + Number(count) * 86_400_000;
  if (Number.isNaN(at)) throw new CliError(`${flag} ${text}: give days (90d) or a date (2030-01-31).`, 2);
  return new Date(at).toISOString();
}
