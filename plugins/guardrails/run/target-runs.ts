import type { Exchange } from '../../../src/common/core/exchange.js';
import type { GuardrailRule, GuardrailRules } from '../../../src/common/core/guardrail.js';
import type { Target } from '../../../src/common/core/target.js';
import { checks } from '../checks/index.js';
import type { BodyTexts } from '../texts/parts.js';
import { type TargetBody, targetBodies } from '../texts/target-bodies.js';
import { HookOutcome } from './outcome.js';
import { maxChecks, type RuleResult } from './plan.js';
import type { GuardrailRunner } from './runner.js';
import { Subject } from './subject.js';

/** Guardrails that did not pass what a target sends. */
export type FailedOfTargets = ReadonlyMap<Target, ReadonlyMap<GuardrailRules, HookOutcome>>;

/**
 * Judges bodies that targets send in place of the client's, as their `default_params` and `override_params` have them. `subject`:
 * the client's body, judged. null: no target has such a body. Never rejects.
 */
export function judgeTargetBodies(
  runner: Pick<GuardrailRunner, 'run'>,
  x: Exchange,
  guardrails: readonly GuardrailRules[],
  targets: readonly Target[],
  subject: Subject,
): Promise<FailedOfTargets> | null {
  if (guardrails.length === 0 || subject.body === null) return null;
  const bodies = targetBodies(x, targets, subject.body);
  return bodies.length === 0 ? null : judgeAll(runner, x, guardrails, bodies, subject);
}

async function judgeAll(
  runner: Pick<GuardrailRunner, 'run'>,
  x: Exchange,
  guardrails: readonly GuardrailRules[],
  bodies: readonly TargetBody[],
  subject: Subject,
): Promise<FailedOfTargets> {
  const found: (readonly HookOutcome[])[] = [];
  const left = bodies.entries();
  const judgeNext = async (): Promise<void> => {
    for (const [i, body] of left) found[i] = await judgeOne(runner, x, guardrails, body, subject);
  };
  await Promise.all(Array.from({ length: Math.min(bodies.length, atOnce(guardrails)) }, judgeNext));
  const failed = new Map<Target, Map<GuardrailRules, HookOutcome>>();
  for (const [i, { targets }] of bodies.entries()) {
    for (const [place, guardrail] of guardrails.entries()) {
      const outcome = found[i]![place]!;
      if (outcome.verdict) continue;
      for (const target of targets) {
        if (!failed.has(target)) failed.set(target, new Map());
        failed.get(target)!.set(guardrail, outcome);
      }
    }
  }
  return failed;
}

/** Bodies that are judged at the same time: their checks are together as many as a request may have. */
function atOnce(guardrails: readonly GuardrailRules[]): number {
  const each = guardrails.reduce((sum, { rules }) => sum + rules.length, 0);
  return Math.max(1, Math.floor(maxChecks / Math.max(1, each)));
}

async function judgeOne(
  runner: Pick<GuardrailRunner, 'run'>,
  x: Exchange,
  guardrails: readonly GuardrailRules[],
  body: TargetBody,
  subject: Subject,
): Promise<readonly HookOutcome[]> {
  const parts = subject.read(body.json);
  const facts = () => ({ ...subject.facts(), model: body.model });
  const own = new Subject('before', facts, body.json, null, subject.read, parts);
  // Texts that were judged already are not sent to threads and services again.
  const run = hasTextsOf(parts, subject.parts) ? bodyChecksOf(guardrails) : guardrails;
  const outcomes = await runner.run(x, run, own);
  const isGivenChanged = body.given.some((key) => own.body?.[key] !== body.json[key]);
  return isGivenChanged ? outcomes.map(unchangeable) : outcomes;
}

const hasTextsOf = (some: BodyTexts, others: BodyTexts): boolean =>
  (['judged', 'others'] as const).every(
    (which) =>
      some[which].length === others[which].length &&
      some[which].every(({ text }, i) => text === others[which][i]!.text),
  );

/** By the lists of guardrails, which are kept: plans are made once for each list. */
const bodyChecks = new WeakMap<readonly GuardrailRules[], readonly GuardrailRules[]>();

/** The guardrails with only those checks that judge more of a body than its texts. Of those of plugins that is not known. */
function bodyChecksOf(guardrails: readonly GuardrailRules[]): readonly GuardrailRules[] {
  let found = bodyChecks.get(guardrails);
  if (found === undefined) {
    found = guardrails.map((guardrail) => ({ ...guardrail, rules: guardrail.rules.filter(judgesBody) }));
    bodyChecks.set(guardrails, found);
  }
  return found;
}

function judgesBody({ check }: GuardrailRule): boolean {
  const known = checks.get(check);
  if (known?.runs === 'remote') return known.judgesBody === true;
  return known === undefined || (known.runs === 'request' && known.transforms !== true);
}

const message = 'The text is in default_params or override_params of the config, where it cannot be changed.';

/** Texts of a config are not changed: a check that would change them could not run. */
function unchangeable(outcome: HookOutcome): HookOutcome {
  const { guardrail, phase, results, startedAt } = outcome;
  const isRedaction = ({ result }: RuleResult, i: number): boolean =>
    result.transformed !== undefined && checks.get(guardrail.rules[i]!.check)?.runs !== 'request';
  if (!results.some(isRedaction)) return outcome;
  const notRun = ({ ms }: RuleResult): RuleResult => ({
    ...{ ran: false, ms },
    result: { verdict: false, error: { name: 'CheckNotRun', message } },
  });
  const made = results.map((one, i) => (isRedaction(one, i) ? notRun(one) : one));
  return new HookOutcome(guardrail, phase, made, startedAt);
}
