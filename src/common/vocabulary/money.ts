/**
 * Money is counted in picodollars (10⁻¹² USD), whole numbers. A price of a millionth of a dollar for a million tokens is
 * one of them for one token, so a cost is a sum of whole numbers and is never rounded.
 */
export const picosPerDollar = 1_000_000_000_000;

/** Picodollars of a micro-dollar, the unit of ledgers and cached answers before version 3. */
export const picosPerMicro = 1_000_000;

/** The largest amount that a number holds exactly: 9,007 dollars. A single request is counted with no more. */
export const maxPicos = Number.MAX_SAFE_INTEGER;

export const dollarsOf = (picos: number): number => picos / picosPerDollar;

/** Every digit of an amount in dollars, such as `0.000162`: nothing is rounded. */
export function decimalDollars(picos: number): string {
  const digits = String(Math.abs(picos)).padStart(13, '0');
  const part = digits.slice(-12).replace(/0+$/, '');
  return `${picos < 0 ? '-' : ''}${digits.slice(0, -12)}${part === '' ? '' : `.${part}`}`;
}
