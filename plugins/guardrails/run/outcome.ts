import type { GuardrailRules } from '../../../src/common/core/guardrail.js';
import type { CheckPhase } from '../check.js';
import type { RuleResult } from './plan.js';

/** A check that has run, as `hook_results` shows it. */
export interface CheckOutcome {
  readonly id: string;
  readonly verdict: boolean;
  readonly transformed: boolean;
  readonly data: unknown;
  readonly error: { readonly name: string; readonly message: string } | null;
  /** Milliseconds. */
  readonly execution_time: number;
  /** ISO 8601. */
  readonly created_at: string;
  readonly log: null;
}

/** A guardrail that has run, as `hook_results` shows it. */
export interface HookOutcome {
  readonly id: string;
  readonly type: GuardrailRules['type'];
  readonly verdict: boolean;
  readonly transformed: boolean;
  readonly deny: boolean;
  readonly async: boolean;
  /** Milliseconds. */
  readonly execution_time: number;
  /** ISO 8601. */
  readonly created_at: string;
  readonly checks: readonly CheckOutcome[];
  readonly feedback: {
    readonly value: number;
    readonly weight: number;
    readonly metadata: {
      readonly successfulChecks: string;
      readonly failedChecks: string;
      readonly erroredChecks: string;
    };
  } | null;
  readonly event_type: 'beforeRequestHook' | 'afterRequestHook';
  readonly guardrail_version_id: string;
}

/** Does the result of the check count as passed? An error does, unless its parameters or `deny` demand otherwise. */
function verdictOf({ result, ran }: RuleResult, failsOnError: boolean, deny: boolean): boolean {
  if (!ran) return !deny;
  return result.error === undefined ? result.verdict : !failsOnError;
}

/** `results`: one for each rule. `startedAt`: Unix milliseconds. */
export function outcomeOf(
  guardrail: GuardrailRules,
  phase: CheckPhase,
  results: readonly RuleResult[],
  startedAt: number,
): HookOutcome {
  const created = new Date(startedAt).toISOString();
  const checks = results.map((one, i): CheckOutcome => {
    const { check, parameters } = guardrail.rules[i]!;
    const { transformed, body, data = null, error = null } = one.result;
    return {
      id: check,
      verdict: verdictOf(one, parameters['failOnError'] === true, guardrail.deny),
      transformed: transformed !== undefined || body !== undefined,
      data,
      error,
      execution_time: Math.round(one.ms),
      created_at: created,
      log: null,
    };
  });
  const verdict = checks.every((check) => check.verdict);
  return {
    id: guardrail.id,
    type: guardrail.type,
    verdict,
    transformed: checks.some(({ transformed }) => transformed),
    deny: guardrail.deny,
    async: guardrail.async,
    execution_time: Date.now() - startedAt,
    created_at: created,
    checks,
    feedback: feedbackOf(verdict ? guardrail.onSuccess : guardrail.onFail, checks),
    event_type: phase === 'before' ? 'beforeRequestHook' : 'afterRequestHook',
    guardrail_version_id: guardrail.versionId,
  };
}

function feedbackOf(
  reaction: GuardrailRules['onFail'],
  checks: readonly CheckOutcome[],
): HookOutcome['feedback'] {
  if (reaction === null) return null;
  const named = (wanted: (check: CheckOutcome) => boolean): string =>
    checks
      .filter(wanted)
      .map(({ id }) => id)
      .join(', ');
  return {
    value: reaction.value,
    weight: reaction.weight,
    metadata: {
      successfulChecks: named(({ verdict, error }) => verdict && error === null),
      failedChecks: named(({ verdict }) => !verdict),
      erroredChecks: named(({ error }) => error !== null),
    },
  };
}
