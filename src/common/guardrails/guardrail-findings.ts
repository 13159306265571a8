import { isPluginCheck, knownCheck } from './known-checks.js';
import { type CheckFinding, parameterFindings, quoted } from './parameter-findings.js';

/**
 * What is wrong with one check of a guardrail, at most 20 findings; none: it may be kept. `path` is where the check
 * is, such as `checks[0]`; an unknown id is found at `checks[0].id`, a bad parameter at
 * `checks[0].parameters.words[2]`.
 */
export function findingsOfCheck(id: string, parameters: unknown, path: string): readonly CheckFinding[] {
  const check = knownCheck(id);
  if (check === undefined) return [{ path: `${path}.id`, message: `names no check: ${quoted(id)}` }];
  return parameterFindings(check.parameters, parameters, `${path}.parameters`, isPluginCheck(id));
}
