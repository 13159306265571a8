import type { Awaitable, PartnerCredentials } from '../../../src/common/core/directory.js';
import type { Exchange } from '../../../src/common/core/exchange.js';
import type { GuardrailRules } from '../../../src/common/core/guardrail.js';
import { guardrailChecks } from '../../../src/common/guardrails/guardrail-checks.js';
import type { HostWith } from '../../../src/common/plugin-host/plugin.js';
import type { Check, CheckPhase, CheckResult, RemoteCheck, RequestCheck, TextCheck } from '../check.js';
import { checks } from '../checks/index.js';
import type { CheckPool, Unrun } from '../pool/pool.js';
import { Moderations } from './moderations.js';
import { HookOutcome } from './outcome.js';
import {
  changes,
  isQuick,
  maxChecks,
  type Planned,
  Plans,
  Results,
  type RuleResult,
  type RunPlan,
} from './plan.js';
import { runRemoteCheck } from './remote-check.js';
import { ReplacedTexts } from './replaced-texts.js';
import type { Subject } from './subject.js';
import { runTextChain } from './text-chain.js';
import { failure, LapTimer, runTextCheck } from './text-check.js';

type TextStep = readonly Planned<TextCheck>[];

/** Why a check could not run. */
type NotRun = Unrun | 'no_check' | 'too_many' | 'no_credentials';

const unrun: Readonly<Record<NotRun, string>> = {
  queue_full:
    'Too many texts wait to be checked: raise HEADGATE_GUARDRAILS_QUEUE or HEADGATE_GUARDRAILS_THREADS.',
  timeout: 'The check took longer than HEADGATE_GUARDRAILS_CHECK_MS.',
  thread_lost: 'The thread that ran the check has ended, as after using too much memory.',
  no_check: 'There is no such check: its plugin was removed, or is not for this workspace.',
  no_credentials:
    'The organisation has no active plugin of this partner: store its credentials with POST /v1/plugins.',
  too_many: `A request has at most ${maxChecks} checks: name fewer guardrails.`,
};

/** Of a check that does not judge the phase. */
const notSeen: Readonly<Record<CheckPhase, string>> = {
  before: 'This check judges answers alone.',
  after: 'This check judges requests alone.',
};

/** Runs guardrails over requests and answers. */
export class GuardrailRunner {
  readonly errors = new Map<string, number>();
  readonly moderations: Moderations;
  readonly #plans: Plans;

  constructor(
    readonly host: HostWith<'requests' | 'upstream' | 'checks'>,
    readonly pool: Pick<CheckPool, 'run'>,
    known: ReadonlyMap<string, Check> = checks,
  ) {
    this.moderations = new Moderations(host);
    this.#plans = new Plans(known, host.pluginChecks);
  }

  /**
   * Runs all of them. First those that change text: each sees what the one before has made, and what only judges sees the
   * result. Of a guardrail with `sequential` that changes text, all checks run in their order. Never rejects. A promise only
   * where a check needs another thread or service. What is made of a list of guardrails is kept for as long as the list.
   */
  run(x: Exchange, guardrails: readonly GuardrailRules[], subject: Subject): Awaitable<HookOutcome[]> {
    const startedAt = Date.now();
    const { phase } = subject;
    const results = new Results(guardrails);
    const plan = this.#plans.of(guardrails);
    for (const one of plan.beyond) results.set(one, this.#unrun('too_many'));
    const outcomes = (): HookOutcome[] =>
      guardrails.map((one, place) => new HookOutcome(one, phase, results.of(place), startedAt));
    const judged =
      plan.changing.length === 0
        ? this.#judge(x, plan, subject, results)
        : this.#change(x, plan.changing, subject, results).then(() => this.#judge(x, plan, subject, results));
    return judged === undefined ? outcomes() : judged.then(outcomes);
  }

  /** May they change text or body? Then `run` returns a promise. */
  changes(guardrails: readonly GuardrailRules[]): boolean {
    return this.#plans.of(guardrails).changing.length > 0;
  }

  /** Runs steps one after another, and applies their changes to the subject. */
  async #change(
    x: Exchange,
    steps: readonly (readonly Planned[])[],
    subject: Subject,
    results: Results,
  ): Promise<void> {
    const replaced = { judged: new ReplacedTexts(), others: new ReplacedTexts() };
    for (const step of steps) {
      const [planned] = step as [Planned];
      if (planned.check?.runs === 'text') {
        const judged = await this.#changeTexts('judged', step as TextStep, subject, replaced);
        for (const [i, one] of step.entries()) results.set(one, judged[i]!);
        if (subject.parts.others.length === 0) continue;
        const own = (step as TextStep).filter(changes);
        const beside = await this.#changeTexts('others', own, subject, replaced);
        // A failure on the other texts counts as a failure on the judged ones.
        for (const [i, one] of own.entries()) {
          const ms = judged[step.indexOf(one)]!.ms + beside[i]!.ms;
          if (!beside[i]!.ran) results.set(one, { ...beside[i]!, ms });
        }
      } else await this.#changeByOther(x, planned, subject, results);
    }
  }

  /** Checks of texts, in their order. A text that should have been changed and was not counts as one that was not checked. */
  async #changeTexts(
    which: 'judged' | 'others',
    step: TextStep,
    subject: Subject,
    { [which]: replaced }: Readonly<Record<typeof which, ReplacedTexts>>,
  ): Promise<RuleResult[]> {
    if (step.length === 0) return [];
    const texts = which === 'judged' ? subject.texts : subject.parts.others.map(({ text }) => text);
    const found = await replaced.with(step, texts, (given, all) => this.#texts(subject.phase, given, all));
    const changed = found.findLast(({ result }) => (result.transformed?.length ?? 0) > 0)?.result.transformed;
    if (changed !== undefined) subject.replace(which, changed);
    return found.map((one) => (one.result.error === undefined ? one : { ...one, ran: false }));
  }

  /** Checks of texts, one after another. */
  #texts(phase: CheckPhase, texts: readonly string[], all: TextStep): Awaitable<RuleResult[]> {
    // Where several find values, most look at two texts: the one that others have changed, and the original.
    if (!isQuick(texts, all.length === 1 ? all : [...all, ...all]))
      return this.#inThread(phase, texts, all, true);
    const links = all.map(({ check, rule: { parameters } }) => ({ check, parameters }));
    return runTextChain(phase, texts, links).map(({ result, ms }) => this.#counted(result, ms));
  }

  /** A check of a service, or of the request. */
  async #changeByOther(x: Exchange, planned: Planned, subject: Subject, results: Results): Promise<void> {
    const { check } = planned;
    let judged = await this.#other(x, planned, subject, subject.texts);
    const mustChange = check?.runs === 'remote' && check.mustChange === true;
    if (mustChange && judged.result.error !== undefined) judged = { ...judged, ran: false };
    results.set(planned, judged);
    const { transformed, body } = judged.result;
    if (body !== undefined) subject.replaceBody(body);
    if (transformed !== undefined) subject.replace('judged', transformed);
    const { others } = subject.parts;
    if (!changes(planned) || check?.runs !== 'remote' || others.length === 0) return;
    if (check.judgedOnly === true) return;
    const texts = others.map(({ text }) => text);
    const beside = await this.#other(x, planned, subject, texts);
    if (beside.result.transformed !== undefined) subject.replace('others', beside.result.transformed);
    // As for checks of texts: a failure on the other texts counts for the whole check.
    if (!beside.ran || beside.result.error !== undefined)
      results.set(planned, { ...beside, ran: beside.ran && !mustChange, ms: judged.ms + beside.ms });
  }

  async #other(
    x: Exchange,
    planned: Planned,
    subject: Subject,
    texts: readonly string[],
  ): Promise<RuleResult> {
    const { check } = planned;
    if (check === undefined) return this.#unrun('no_check');
    if (check.runs === 'remote') return this.#remote(x, planned as Planned<RemoteCheck>, subject, texts);
    return this.#request(planned as Planned<RequestCheck>, subject, new LapTimer());
  }

  /** Checks that change nothing: those of texts in one job, the others beside it. */
  #judge(
    x: Exchange,
    { texts: ofTexts, requests, remote, unknown }: RunPlan,
    subject: Subject,
    results: Results,
  ): Promise<void> | undefined {
    for (const one of unknown) results.set(one, this.#unrun('no_check'));
    if (requests.length > 0) {
      const timer = new LapTimer();
      for (const one of requests) results.set(one, this.#request(one, subject, timer));
    }
    const { phase, texts } = subject;
    const take = (found: readonly RuleResult[]): void => {
      for (let i = 0; i < ofTexts.length; i++) results.set(ofTexts[i]!, found[i]!);
    };
    const later: Promise<void>[] = [];
    if (remote.length > 0) later.push(this.#remotes(x, remote, subject, results));
    if (ofTexts.length > 0) {
      if (isQuick(texts, ofTexts)) take(this.#quickly(phase, texts, ofTexts));
      else later.push(this.#inThread(phase, texts, ofTexts).then(take));
    }
    return later.length === 0 ? undefined : Promise.all(later).then(() => undefined);
  }

  /** Those of a guardrail with `sequential` one after another, all others at the same time. */
  async #remotes(
    x: Exchange,
    remote: readonly Planned<RemoteCheck>[],
    subject: Subject,
    results: Results,
  ): Promise<void> {
    const turns = new Map<GuardrailRules, Promise<void>>();
    const asked = remote.map((one) => {
      const ask = async (): Promise<void> =>
        results.set(one, await this.#remote(x, one, subject, subject.texts));
      if (!one.guardrail.sequential) return ask();
      const turn = (turns.get(one.guardrail) ?? Promise.resolve()).then(ask);
      turns.set(one.guardrail, turn);
      return turn;
    });
    await Promise.all(asked);
  }

  /** On the event loop. */
  #quickly(phase: CheckPhase, texts: readonly string[], all: readonly Planned<TextCheck>[]): RuleResult[] {
    const context = { phase, texts, text: texts.length === 1 ? texts[0]! : texts.join('\n'), counts: null };
    const timer = new LapTimer();
    return all.map(({ check, rule }) => {
      const result = runTextCheck(check, context, rule.parameters);
      return this.#counted(result, timer.lap());
    });
  }

  async #inThread(
    phase: CheckPhase,
    texts: readonly string[],
    all: readonly Planned<TextCheck>[],
    each = false,
  ): Promise<RuleResult[]> {
    const jobs = all.map(({ job }) => job);
    const found = await this.pool.run(phase, texts, jobs, each);
    return found.map((one) =>
      typeof one === 'string' ? this.#unrun(one) : this.#counted(one.result, one.ms),
    );
  }

  #request({ check, rule }: Planned<RequestCheck>, subject: Subject, timer: LapTimer): RuleResult {
    try {
      return this.#counted(check.run(subject.context, rule.parameters), timer.lap());
    } catch (thrown) {
      return this.#counted(failure(thrown), timer.lap());
    }
  }

  async #remote(
    x: Exchange,
    { check, rule }: Planned<RemoteCheck>,
    subject: Subject,
    texts: readonly string[],
  ): Promise<RuleResult> {
    if (check.applies?.(x) === false) return this.#unrun('no_check');
    const sees = check.phases ?? (check.partner && guardrailChecks.get(check.id)?.phases);
    if (sees && !sees.includes(subject.phase))
      return { result: { verdict: true, data: { explanation: notSeen[subject.phase] } }, ran: true, ms: 0 };
    let partner: PartnerCredentials | null;
    try {
      partner = await this.#credentials(x, check);
    } catch (thrown) {
      this.#count('no_credentials');
      return { result: failure(thrown), ran: false, ms: 0 };
    }
    if (partner === null && check.needsCredentials === true) return this.#unrun('no_credentials');
    const from = performance.now();
    const result = await runRemoteCheck(this, { x, check, rule, subject, texts, partner });
    return this.#counted(result, performance.now() - from);
  }

  #credentials(x: Exchange, { partner }: RemoteCheck): Awaitable<PartnerCredentials | null> {
    if (partner === undefined) return null;
    return this.host.directory.partner(x.principal.workspaceId ?? x.principal.organisationId, partner);
  }

  #counted(result: CheckResult, ms: number): RuleResult {
    if (result.error !== undefined) this.#count('error');
    return { result, ran: result.error?.name !== 'CheckNotRun', ms };
  }

  #unrun(reason: NotRun): RuleResult {
    this.#count(reason);
    return {
      result: { verdict: false, error: { name: 'CheckNotRun', message: unrun[reason] } },
      ran: false,
      ms: 0,
    };
  }

  #count(reason: string): void {
    this.errors.set(reason, (this.errors.get(reason) ?? 0) + 1);
  }
}
