import type { Awaitable, PartnerCredentials } from '../../../src/common/core/directory.js';
import type { Exchange } from '../../../src/common/core/exchange.js';
import type { GuardrailRule, GuardrailRules } from '../../../src/common/core/guardrail.js';
import { guardrailChecks } from '../../../src/common/guardrails/guardrail-checks.js';
import type { HostWith } from '../../../src/common/plugin-host/plugin.js';
import type { Check, RemoteCheck, TextCheck } from '../check.js';
import { checks } from '../checks/index.js';
import type { CheckPool, Unrun } from '../pool/pool.js';
import { Moderations } from './moderations.js';
import { type HookOutcome, outcomeOf, type RuleResult } from './outcome.js';
import type { Subject } from './subject.js';
import { failure, runTextCheck } from './text-check.js';

/** Characters times checks that are checked on the event loop: about 40 µs. */
const maxCheapUnits = 8 * 1024;
const defaultTimeoutMs = 5000;

/** A rule of a guardrail, and its place there. */
interface Planned {
  readonly guardrail: GuardrailRules;
  readonly index: number;
  readonly rule: GuardrailRule;
  readonly check: Check | undefined;
}

type Results = Map<GuardrailRules, RuleResult[]>;

/** Checks that could not run, and why. */
type NotRun = Unrun | 'no_check' | 'no_credentials';

const unrun: Readonly<Record<NotRun, string>> = {
  queue_full:
    'Too many texts wait to be checked: raise HEADGATE_GUARDRAILS_QUEUE or HEADGATE_GUARDRAILS_THREADS.',
  timeout: 'The check took longer than HEADGATE_GUARDRAILS_CHECK_MS.',
  thread_lost: 'The thread that ran the check has ended, as after using too much memory.',
  no_check: 'This version of the gateway has no such check yet.',
  no_credentials:
    'The organisation has no active plugin of this partner: store its credentials with POST /v1/plugins.',
};

/** Of a check of a partner that does not judge the phase. */
const notSeen: Readonly<Record<Subject['phase'], string>> = {
  before: 'This check judges answers alone.',
  after: 'This check judges requests alone.',
};

/** Does the check change text, with these parameters? */
function changes({ check, rule: { parameters } }: Pick<Planned, 'check' | 'rule'>): boolean {
  const flags = check?.runs === 'remote' ? (check.transformsIf ?? []) : [];
  return (
    check?.transforms === true && (flags.length === 0 || flags.some((name) => parameters[name] === true))
  );
}

/** Runs guardrails over requests and answers. */
export class GuardrailRunner {
  readonly errors = new Map<string, number>();
  readonly moderations: Moderations;

  constructor(
    readonly host: HostWith<'requests' | 'upstream'>,
    readonly pool: Pick<CheckPool, 'run'>,
    readonly known: ReadonlyMap<string, Check> = checks,
  ) {
    this.moderations = new Moderations(host);
  }

  /**
   * Runs all of them. First those that change text: each sees what the one before has made, and what only judges sees the
   * result. Of a guardrail with `sequential` that changes text, all checks run in their order. Never rejects.
   */
  async run(x: Exchange, guardrails: readonly GuardrailRules[], subject: Subject): Promise<HookOutcome[]> {
    const startedAt = Date.now();
    const results: Results = new Map(guardrails.map((guardrail) => [guardrail, []]));
    const judging: Planned[] = [];
    for (const guardrail of guardrails) {
      const planned = guardrail.rules.map((rule, index) => ({
        ...{ guardrail, index, rule },
        check: this.known.get(rule.check),
      }));
      const inOrder = guardrail.sequential && planned.some(changes);
      for (const one of planned) {
        if (inOrder || changes(one)) await this.#transform(x, one, subject, results);
        else judging.push(one);
      }
    }
    await this.#judge(x, judging, subject, results);
    return guardrails.map((guardrail) =>
      outcomeOf(guardrail, subject.phase, results.get(guardrail)!, startedAt),
    );
  }

  /** Runs one check, and makes its changes to the subject. */
  async #transform(x: Exchange, planned: Planned, subject: Subject, results: Results): Promise<void> {
    const { others } = subject.parts;
    const judged = await this.#one(x, planned, subject, subject.texts);
    results.get(planned.guardrail)![planned.index] = judged;
    const { transformed, body } = judged.result;
    if (body !== undefined && planned.check?.runs !== 'text') subject.replaceBody(body);
    if (transformed !== undefined) subject.replace('judged', transformed);
    const { check } = planned;
    if (!changes(planned) || check?.runs === 'request' || others.length === 0) return;
    if (check?.runs === 'remote' && check.judgedOnly === true) return;
    const beside = await this.#one(
      x,
      planned,
      subject,
      others.map(({ text }) => text),
    );
    if (beside.result.transformed !== undefined) subject.replace('others', beside.result.transformed);
    // What could not be changed there counts as if it had been the judged text.
    if (!beside.ran || beside.result.error !== undefined)
      results.get(planned.guardrail)![planned.index] = { ...beside, ms: judged.ms + beside.ms };
  }

  async #one(x: Exchange, planned: Planned, subject: Subject, texts: readonly string[]): Promise<RuleResult> {
    const { check, rule } = planned;
    if (check === undefined) return this.#unrun('no_check');
    if (check.runs === 'text') {
      const found =
        this.#cheaply(subject.phase, texts, [planned]) ?? this.#texts(subject.phase, texts, [planned]);
      return (await found)[0]!;
    }
    if (check.runs === 'remote') return this.#remote(x, check, rule, subject, texts);
    return this.#request(check, rule, subject);
  }

  /** Checks that change nothing: those of texts in one job, the others beside it. */
  async #judge(x: Exchange, all: readonly Planned[], subject: Subject, results: Results): Promise<void> {
    const set = ({ guardrail, index }: Planned, result: RuleResult): void => {
      results.get(guardrail)![index] = result;
    };
    const ofTexts: Planned[] = [];
    const remote: Planned[] = [];
    for (const one of all) {
      if (one.check === undefined) set(one, this.#unrun('no_check'));
      else if (one.check.runs === 'text') ofTexts.push(one);
      else if (one.check.runs === 'remote') remote.push(one);
      else set(one, this.#request(one.check, one.rule, subject));
    }
    const asked = this.#remotes(x, remote, subject, set);
    if (ofTexts.length > 0) {
      const found =
        this.#cheaply(subject.phase, subject.texts, ofTexts) ??
        (await this.#texts(subject.phase, subject.texts, ofTexts));
      for (const [i, one] of ofTexts.entries()) set(one, found[i]!);
    }
    await asked;
  }

  /** Those of a guardrail with `sequential` one after another, all others at the same time. */
  async #remotes(
    x: Exchange,
    remote: readonly Planned[],
    subject: Subject,
    set: (planned: Planned, result: RuleResult) => void,
  ): Promise<void> {
    const turns = new Map<GuardrailRules, Promise<void>>();
    const asked = remote.map((one) => {
      const { guardrail, rule } = one;
      const ask = async (): Promise<void> =>
        set(one, await this.#remote(x, one.check as RemoteCheck, rule, subject, subject.texts));
      if (!guardrail.sequential) return ask();
      const turn = (turns.get(guardrail) ?? Promise.resolve()).then(ask);
      turns.set(guardrail, turn);
      return turn;
    });
    await Promise.all(asked);
  }

  /** On the event loop, where that is next to nothing; null: it is not. */
  #cheaply(phase: Subject['phase'], texts: readonly string[], all: readonly Planned[]): RuleResult[] | null {
    if (texts.length > 64) return null;
    let length = 0;
    for (const text of texts) length += text.length;
    if (length * all.length > maxCheapUnits) return null;
    for (const { check } of all) if ((check as TextCheck).cheap !== true) return null;
    const context = { phase, texts, text: texts.join('\n') };
    return all.map(({ check, rule }) =>
      this.#counted({ ...runTextCheck(check, context, rule.parameters), ran: true }),
    );
  }

  async #texts(
    phase: Subject['phase'],
    texts: readonly string[],
    all: readonly Planned[],
  ): Promise<RuleResult[]> {
    const given = all.map(({ guardrail, index, rule }) => ({
      key: `${guardrail.versionId}:${index}`,
      id: rule.check,
      parameters: rule.parameters,
    }));
    const found = await this.pool.run(phase, texts, given);
    return found.map((one) =>
      typeof one === 'string' ? this.#unrun(one) : this.#counted({ ...one, ran: true }),
    );
  }

  #request(check: Check & { readonly runs: 'request' }, rule: GuardrailRule, subject: Subject): RuleResult {
    const from = performance.now();
    try {
      const result = check.run(subject.context, rule.parameters);
      return this.#counted({ result, ran: true, ms: performance.now() - from });
    } catch (thrown) {
      return this.#counted({ result: failure(thrown), ran: true, ms: performance.now() - from });
    }
  }

  async #remote(
    x: Exchange,
    check: RemoteCheck,
    { parameters }: GuardrailRule,
    subject: Subject,
    texts: readonly string[],
  ): Promise<RuleResult> {
    const sees = check.partner === undefined ? undefined : guardrailChecks.get(check.id)?.phases;
    if (sees !== undefined && !sees.includes(subject.phase))
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
    const timeout = Number(parameters['timeout'] ?? parameters['timeoutMs'] ?? defaultTimeoutMs);
    const deadline = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        const error = new Error(`No answer within ${timeout} ms.`);
        error.name = 'TimeoutError';
        deadline.abort(error);
        reject(error);
      }, timeout);
    });
    const offAbort = x.onAbort((reason) => deadline.abort(reason));
    const { signal } = deadline;
    const own = texts === subject.texts ? {} : { texts, text: texts.join('\n') };
    try {
      const asked = check.run(
        {
          ...subject.context,
          ...own,
          signal,
          partner,
          moderate: (request) => this.moderations.ask(x, request, timeout, signal),
          send: (request) => this.host.send(x, request, timeout, signal),
        },
        parameters,
      );
      // Whichever is late is not waited for, nor is its failure.
      asked.catch(() => {});
      const result = await Promise.race([asked, late]);
      return this.#counted({ result, ran: true, ms: performance.now() - from });
    } catch (thrown) {
      return this.#counted({ result: failure(thrown), ran: true, ms: performance.now() - from });
    } finally {
      clearTimeout(timer);
      offAbort();
    }
  }

  #credentials(x: Exchange, { partner }: RemoteCheck): Awaitable<PartnerCredentials | null> {
    if (partner === undefined) return null;
    return this.host.directory.partner(x.principal.workspaceId ?? x.principal.organisationId, partner);
  }

  #counted(result: RuleResult): RuleResult {
    if (result.result.error !== undefined) this.#count('error');
    return result;
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
