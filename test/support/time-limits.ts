import { expect } from 'chai';

/**
 * How many times slower than a quiet one this machine is now; 1 where it is quiet. `npm test` measures it, again and again
 * (tools/test/calibration.mjs). Every time limit of the tests is multiplied by it.
 */
export const timeScale = (): number => Math.max(1, Number(process.env['TEST_TIME_SCALE']) || 1);

/** Milliseconds of a limit on this machine, given those on a quiet one. */
export const scaled = (ms: number): number => ms * timeScale();

/** Time ran out: `npm test` repeats a test that fails with it once, alone. */
export class TimeLimitError extends Error {
  // Read by tools/test/reporter.cjs, which imports none of these files.
  readonly code = 'TIME_LIMIT';
}

/**
 * Expects `ms` to be at least `atLeast`, and at most `limit` on a quiet machine. Fails with a TimeLimitError above the
 * scaled limit, and with chai's AssertionError below `atLeast`, which does not scale.
 */
export function expectWithinMs(
  ms: number,
  limit: number,
  {
    atLeast = Number.NEGATIVE_INFINITY,
    what = 'it',
  }: { readonly atLeast?: number; readonly what?: string } = {},
): void {
  expect(ms, `milliseconds that ${what} took`).to.be.at.least(atLeast);
  if (ms > scaled(limit))
    throw new TimeLimitError(
      `${what} took ${ms.toFixed(1)} ms; at most ${scaled(limit).toFixed(1)} ms are allowed (${limit} ms, scaled by ${timeScale()})`,
    );
}
