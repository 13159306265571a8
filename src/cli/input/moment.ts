import { CliError } from '../cli-error.js';

/** A time as people type it, as ISO 8601: a date, a time, days from now (`90d`) or ago (`-7d`). `flag`: to blame. */
export function momentOf(text: string, flag: string): string {
  const days = /^(-?\d{1,5})d$/.exec(text)?.[1];
  const at = days === undefined ? Date.parse(text) : Date.now() + Number(days) * 86_400_000;
  if (Number.isNaN(at)) throw new CliError(`${flag} ${text}: give days (90d) or a date (2030-01-31).`, 2);
  return new Date(at).toISOString();
}
