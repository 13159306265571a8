import type { GuardrailRule, GuardrailRules } from '../../../src/common/core/guardrail.js';
import type { PluginCheckTable } from '../../../src/common/guardrails/plugin-check.js';
import type { Check, CheckPhase, CheckResult, TextCheck } from '../check.js';
import type { JobCheck } from '../pool/job.js';
import { checkOfPlugin } from './plugin-check.js';

/** A rule of a guardrail, its place there, and its check. `check` undefined: this version has none of that name. */
export interface Planned<C extends Check | undefined = Check | undefined> {
  readonly guardrail: GuardrailRules;
  readonly index: number;
  readonly rule: GuardrailRule;
  readonly check: C;
  /** The check as threads take it. */
  readonly job: JobCheck;
}

/** What a guardrail runs: made once for a version. */
export interface GuardrailPlan {
  /** Those that change text; of a guardrail with `sequential` that has such a check, all of them. */
  readonly changing: readonly Planned[];
  readonly judging: readonly Planned[];
}

/** Plans of guardrails, for as long as these are kept and the plugins are the same. */
export class Plans {
  #plans = new WeakMap<GuardrailRules, GuardrailPlan>();
  #version = 0;

  constructor(
    readonly known: ReadonlyMap<string, Check>,
    readonly brought: PluginCheckTable,
  ) {}

  of(guardrail: GuardrailRules): GuardrailPlan {
    if (this.#version !== this.brought.version) {
      this.#version = this.brought.version;
      this.#plans = new WeakMap();
    }
    let plan = this.#plans.get(guardrail);
    if (plan === undefined) {
      plan = this.#made(guardrail);
      this.#plans.set(guardrail, plan);
    }
    return plan;
  }

  #check(id: string): Check | undefined {
    const brought = this.brought.get(id);
    return brought === undefined ? this.known.get(id) : checkOfPlugin(brought);
  }

  #made(guardrail: GuardrailRules): GuardrailPlan {
    const all = guardrail.rules.map((rule, index): Planned => {
      const key = `${guardrail.versionId}:${index}`;
      const job = { key, id: rule.check, parameters: rule.parameters };
      return { guardrail, index, rule, check: this.#check(rule.check), job };
    });
    if (guardrail.sequential && all.some(changes)) return { changing: all, judging: [] };
    return { changing: all.filter(changes), judging: all.filter((one) => !changes(one)) };
  }
}

/** Does the check change text, with these parameters? */
export function changes({ check, rule: { parameters } }: Pick<Planned, 'check' | 'rule'>): boolean {
  const flags = check?.runs === 'remote' ? (check.transformsIf ?? []) : [];
  return (
    check?.transforms === true && (flags.length === 0 || flags.some((name) => parameters[name] === true))
  );
}

/** Texts that are checked on the event loop at most. */
const maxTexts = 64;
/** Nanoseconds that the checks of texts may take there together, in the worst case: they take a tenth as a rule. */
const maxNanoseconds = 1_000_000;

/** Of any check, beside its look at the text. */
const ownNanoseconds = 2000;

/** Do these checks of texts take little enough time for the event loop? */
export function isQuick(texts: readonly string[], all: readonly Planned<TextCheck>[]): boolean {
  if (texts.length > maxTexts) return false;
  let length = texts.length;
  for (const text of texts) length += text.length;
  let nanoseconds = all.length * ownNanoseconds;
  for (const { check, rule } of all) {
    if (check.nanoseconds === undefined) return false;
    try {
      nanoseconds += check.nanoseconds(length, rule.parameters);
    } catch {
      // Its parameters are wrong: it has the same error when it runs.
    }
    if (!(nanoseconds <= maxNanoseconds)) return false;
  }
  return true;
}

/** A result, and how long it took. `ran` false: the check did not run to its end, or is not part of this version. */
export interface RuleResult {
  readonly result: CheckResult;
  readonly ran: boolean;
  readonly ms: number;
}

/** The results of several guardrails, by their rules. */
export class Results {
  readonly #of: ReadonlyMap<GuardrailRules, RuleResult[]>;

  constructor(
    readonly guardrails: readonly GuardrailRules[],
    readonly phase: CheckPhase,
  ) {
    this.#of = new Map(guardrails.map((guardrail) => [guardrail, []]));
  }

  set({ guardrail, index }: Planned, result: RuleResult): void {
    this.#of.get(guardrail)![index] = result;
  }

  of(guardrail: GuardrailRules): readonly RuleResult[] {
    return this.#of.get(guardrail)!;
  }
}
