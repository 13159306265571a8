import type { GuardrailFeedback, GuardrailRules } from '../../../src/common/core/guardrail.js';
import type { CheckPhase, CheckResult } from '../check.js';
import type { RuleResult } from './plan.js';
import { dataOf } from './text-check.js';

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

const isChange = ({ transformed, body }: CheckResult): boolean =>
  transformed !== undefined || body !== undefined;

/** Does the result of the check count as passed? An error does, unless its parameters or `deny` demand otherwise. */
function verdictOf({ result, ran }: RuleResult, failsOnError: boolean, deny: boolean): boolean {
  if (!ran) return !deny;
  return result.error === undefined ? result.verdict : !failsOnError;
}

interface HookFeedback {
  readonly value: number;
  readonly weight: number;
  readonly metadata: {
    readonly successfulChecks: string;
    readonly failedChecks: string;
    readonly erroredChecks: string;
  };
}

/**
 * A guardrail that has run. It is written as `hook_results` shows it; what only that needs is made when it is written.
 */
export class HookOutcome {
  readonly verdict: boolean;
  readonly transformed: boolean;
  /** Has any check an error? */
  readonly hasErrors: boolean;
  /** Is it in the metric? */
  isCounted = false;
  #checks: readonly CheckOutcome[] | null = null;

  constructor(
    readonly guardrail: GuardrailRules,
    readonly phase: CheckPhase,
    /** One for each rule. */
    readonly results: readonly RuleResult[],
    /** Unix milliseconds. */
    readonly startedAt: number,
    /** Milliseconds. */
    readonly execution_time = Math.max(0, Date.now() - startedAt),
  ) {
    let [verdict, transformed, hasErrors] = [true, false, false];
    for (let i = 0; i < results.length; i++) {
      const { result } = results[i]!;
      verdict &&= this.#passed(i);
      transformed ||= isChange(result);
      hasErrors ||= result.error !== undefined;
    }
    this.verdict = verdict;
    this.transformed = transformed;
    this.hasErrors = hasErrors;
  }

  #passed(rule: number): boolean {
    const { rules, deny } = this.guardrail;
    return verdictOf(this.results[rule]!, rules[rule]!.parameters['failOnError'] === true, deny);
  }

  get id(): string {
    return this.guardrail.id;
  }

  get deny(): boolean {
    return this.guardrail.deny;
  }

  get async(): boolean {
    return this.guardrail.async;
  }

  get guardrail_version_id(): string {
    return this.guardrail.versionId;
  }

  get event_type(): 'beforeRequestHook' | 'afterRequestHook' {
    return this.phase === 'before' ? 'beforeRequestHook' : 'afterRequestHook';
  }

  get checks(): readonly CheckOutcome[] {
    this.#checks ??= this.#made();
    return this.#checks;
  }

  #made(): CheckOutcome[] {
    const created_at = new Date(this.startedAt).toISOString();
    return this.results.map(({ result, ms }, i) => ({
      id: this.guardrail.rules[i]!.check,
      verdict: this.#passed(i),
      transformed: isChange(result),
      data: dataOf(result) ?? null,
      error: result.error ?? null,
      execution_time: Math.round(ms),
      created_at,
      log: null,
    }));
  }

  /** What follows from the verdict; null: nothing. */
  get reaction(): GuardrailFeedback | null {
    return this.verdict ? this.guardrail.onSuccess : this.guardrail.onFail;
  }

  get feedback(): HookFeedback | null {
    if (this.reaction === null) return null;
    const named = (wanted: (check: CheckOutcome) => boolean): string =>
      this.checks
        .filter(wanted)
        .map(({ id }) => id)
        .join(', ');
    return {
      value: this.reaction.value,
      weight: this.reaction.weight,
      metadata: {
        successfulChecks: named(({ verdict, error }) => verdict && error === null),
        failedChecks: named(({ verdict }) => !verdict),
        erroredChecks: named(({ error }) => error !== null),
      },
    };
  }

  /** As `hook_results` shows it. */
  toJSON(): Record<string, unknown> {
    const { id, verdict, transformed, deny, async, execution_time, checks, feedback, event_type } = this;
    return {
      ...{ id, type: this.guardrail.type, verdict, transformed, deny, async, execution_time },
      created_at: new Date(this.startedAt).toISOString(),
      ...{ checks, feedback, event_type, guardrail_version_id: this.guardrail_version_id },
    };
  }
}
