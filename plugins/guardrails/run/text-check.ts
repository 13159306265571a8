import type { Check, CheckParameters, CheckResult, TextContext } from '../check.js';
import type { TimedResult } from '../pool/job.js';

/** Runs a check of texts; one that throws has an error in place of a verdict. */
export function runTextCheck(
  check: Check | undefined,
  context: TextContext,
  parameters: CheckParameters,
): TimedResult {
  const from = performance.now();
  let result: CheckResult;
  try {
    if (check?.runs !== 'text') throw new TypeError('This is no check of texts.');
    result = check.run(context, parameters);
  } catch (thrown) {
    result = failure(thrown);
  }
  return { result, ms: performance.now() - from };
}

/** Characters. An error may quote the text. */
const maxMessage = 256;

/** The result of a check that threw. */
export function failure(thrown: unknown): CheckResult {
  const { name, message } = thrown instanceof Error ? thrown : new Error(String(thrown));
  return { verdict: true, error: { name, message: message.slice(0, maxMessage) } };
}
