import type { Check, CheckParameters, CheckResult, TextContext } from '../check.js';

/** Runs a check of texts; one that throws has an error in place of a verdict. */
export function runTextCheck(
  check: Check | undefined,
  context: TextContext,
  parameters: CheckParameters,
): CheckResult {
  try {
    if (check?.runs !== 'text') throw new TypeError('This is no check of texts.');
    return check.run(context, parameters);
  } catch (thrown) {
    return failure(thrown);
  }
}

/** What a check has found, as `hook_results` shows it. */
export const dataOf = ({ data }: CheckResult): unknown =>
  typeof data === 'function' ? (data as () => unknown)() : data;

/** Measures checks that run one after another. */
export class LapTimer {
  #from = performance.now();

  /** Milliseconds since the last call, or since the beginning. */
  lap(): number {
    const now = performance.now();
    const ms = now - this.#from;
    this.#from = now;
    return ms;
  }
}

/** Characters. An error may quote the text. */
const maxMessage = 256;

/** The result of a check that threw. */
export function failure(thrown: unknown): CheckResult {
  const { name, message } = thrown instanceof Error ? thrown : new Error(String(thrown));
  return { verdict: true, error: { name, message: message.slice(0, maxMessage) } };
}
