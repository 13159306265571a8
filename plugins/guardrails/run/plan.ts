import type { GuardrailRule, GuardrailRules } from '../../../src/common/core/guardrail.js';
import type { PluginCheckTable } from '../../../src/common/guardrails/plugin-check.js';
import type { Check, CheckResult, RemoteCheck, RequestCheck, TextCheck } from '../check.js';
import type { JobCheck } from '../pool/job.js';
import { checkOfPlugin } from './plugin-check.js';

/** A rule of a guardrail, its place there, and its check. `check` undefined: this version has none of that name. */
export interface Planned<C extends Check | undefined = Check | undefined> {
  readonly guardrail: GuardrailRules;
  /** The place of the guardrail among those that run together. */
  readonly place: number;
  readonly index: number;
  readonly rule: GuardrailRule;
  readonly check: C;
  /** The check as threads take it. */
  readonly job: JobCheck;
}

/** Checks of one request or answer; more would hold up the event loop. */
export const maxChecks = 500;

/** What guardrails that run together run. */
export interface RunPlan {
  /**
   * Those that change text; of a guardrail with `sequential` that has such a check, all of them. One after another, and checks
   * of texts that follow each other together.
   */
  readonly changing: readonly (readonly Planned[])[];
  /** Those that judge, by what they need. */
  readonly texts: readonly Planned<TextCheck>[];
  readonly requests: readonly Planned<RequestCheck>[];
  readonly remote: readonly Planned<RemoteCheck>[];
  /** Without a check. */
  readonly unknown: readonly Planned[];
  /** Beyond `maxChecks`. */
  readonly beyond: readonly Planned[];
}

/** Plans, for as long as the lists of guardrails are kept and the plugins are the same. */
export class Plans {
  #plans = new WeakMap<readonly GuardrailRules[], RunPlan>();
  #version = 0;

  constructor(
    readonly known: ReadonlyMap<string, Check>,
    readonly brought: PluginCheckTable,
  ) {}

  /** `guardrails`: a list that is never modified. */
  of(guardrails: readonly GuardrailRules[]): RunPlan {
    if (this.#version !== this.brought.version) {
      this.#version = this.brought.version;
      this.#plans = new WeakMap();
    }
    let plan = this.#plans.get(guardrails);
    if (plan === undefined) {
      plan = this.#made(guardrails);
      this.#plans.set(guardrails, plan);
    }
    return plan;
  }

  #check(id: string): Check | undefined {
    const brought = this.brought.get(id);
    return brought === undefined ? this.known.get(id) : checkOfPlugin(brought);
  }

  #made(guardrails: readonly GuardrailRules[]): RunPlan {
    const [changing, judging]: [Planned[], Planned[]] = [[], []];
    for (const [place, guardrail] of guardrails.entries()) {
      const all = this.#planned(guardrail, place);
      const isOrdered = guardrail.sequential && all.some(changes);
      for (const one of all) (isOrdered || changes(one) ? changing : judging).push(one);
    }
    // The first ones run; those that change text are the first.
    const beyond = [
      ...judging.splice(Math.max(0, maxChecks - changing.length)),
      ...changing.splice(maxChecks),
    ];
    const of = <C extends Check>(runs: C['runs']): Planned<C>[] =>
      judging.filter((one): one is Planned<C> => one.check?.runs === runs);
    return {
      ...{
        changing: stepsOf(changing),
        beyond,
        texts: of<TextCheck>('text'),
        requests: of<RequestCheck>('request'),
      },
      ...{ remote: of<RemoteCheck>('remote'), unknown: judging.filter(({ check }) => check === undefined) },
    };
  }

  #planned(guardrail: GuardrailRules, place: number): Planned[] {
    return guardrail.rules.map((rule, index) => {
      const key = `${guardrail.versionId}:${index}`;
      const job = { key, id: rule.check, parameters: rule.parameters };
      return { guardrail, place, index, rule, check: this.#check(rule.check), job };
    });
  }
}

function stepsOf(all: readonly Planned[]): Planned[][] {
  const steps: Planned[][] = [];
  for (const one of all) {
    const last = steps.at(-1);
    if (one.check?.runs === 'text' && last?.[0]?.check?.runs === 'text') last.push(one);
    else steps.push([one]);
  }
  return steps;
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
  readonly #of: readonly RuleResult[][];

  constructor(guardrails: readonly GuardrailRules[]) {
    this.#of = guardrails.map(() => []);
  }

  set({ place, index }: Planned, result: RuleResult): void {
    this.#of[place]![index] = result;
  }

  of(place: number): readonly RuleResult[] {
    return this.#of[place]!;
  }
}
