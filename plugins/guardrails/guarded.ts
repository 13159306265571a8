import { isSource } from '../../src/common/bytes/body.js';
import type { Awaitable } from '../../src/common/core/directory.js';
import type { GatewayError } from '../../src/common/core/errors.js';
import type { Attempt, Exchange, JsonObject, Judge, Reply } from '../../src/common/core/exchange.js';
import type { GuardrailRules } from '../../src/common/core/guardrail.js';
import type { Target } from '../../src/common/core/target.js';
import { isJsonObject, parseJson } from '../../src/common/json/json.js';
import { jsonBytes } from '../../src/common/json/json-bytes.js';
import { isQuick } from '../../src/common/json/json-scan.js';
import { writeJsonInSlices } from '../../src/common/json/json-slices.js';
import type { HostWith } from '../../src/common/plugin-host/plugin.js';
import type { TextPiece, TextResult } from '../../src/common/plugin-host/texts/text-piece.js';
import { factsOf } from './facts.js';
import type { PassthroughBodies } from './passthrough/bodies.js';
import { denial, type HookResults, refusal, withHookResults } from './replies.js';
import { type ExchangeGuardrails, split } from './resolve.js';
import type { HookOutcome } from './run/outcome.js';
import type { VerdictRecorder } from './run/record.js';
import type { GuardrailRunner } from './run/runner.js';
import { Subject } from './run/subject.js';
import { type FailedOfTargets, judgeTargetBodies } from './run/target-runs.js';
import type { UnredactedBodies } from './run/unredacted.js';
import { JudgedStream } from './streams/judged-stream.js';
import { StreamGuard, streamGuard } from './streams/stream-guard.js';
import { answerTexts, hasAnswerTexts } from './texts/answer-parts.js';
import type { BodyTexts } from './texts/parts.js';
import { textOfStream } from './texts/stream-text.js';

/** Bytes of an answer that is parsed and written on the event loop; a longer one in a worker thread, and in slices. */
const parseAtMost = 256 * 1024;

const noTexts: BodyTexts = { judged: [], others: [] };

/** What guardrails share in a data worker. */
export interface GuardParts {
  readonly host: HostWith<'requests' | 'bodies' | 'upstream' | 'channel'>;
  readonly runner: GuardrailRunner;
  readonly recorder: VerdictRecorder;
  readonly passthrough: PassthroughBodies;
  /** Milliseconds for which a stream's text is held back to be judged. */
  readonly heldMs: number;
  readonly unredacted: UnredactedBodies;
}

/** The guardrails of one exchange, with what they have found so far. */
export class GuardedExchange implements Judge {
  readonly #before = new Map<GuardrailRules, HookOutcome>();
  /** In place of those, for targets that send another body. */
  #ofTargets: FailedOfTargets = new Map();
  /** By the attempt whose answer was judged; of a stream null. */
  readonly #after = new Map<Attempt | null, readonly HookOutcome[]>();
  #beside: readonly HookOutcome[] = [];
  /** Has any guardrail of the request not passed? Most have: then nothing has to be looked up. */
  #anyFailed = false;
  /** What refused the request, or the answer of a target, by the error of the refusal: hedged targets have several. */
  readonly #deniedBy = new WeakMap<GatewayError, HookOutcome>();
  #pending = 0;
  #allDone: (() => void) | null = null;
  pending: Promise<unknown> | null = null;

  constructor(
    readonly parts: GuardParts,
    readonly guardrails: ExchangeGuardrails,
  ) {}

  /** Judges the request; the subject has what they made of it. A Reply: no target may be called. */
  request(x: Exchange, subject: Subject): Awaitable<Reply | undefined> {
    const all = this.guardrails.all('before');
    const { sync } = split(all);
    const outcomes = this.#run(x, all, sync, subject);
    const judged = (found: readonly HookOutcome[]): Awaitable<Reply | undefined> => {
      for (const [i, guardrail] of sync.entries()) {
        this.#before.set(guardrail, found[i]!);
        this.#anyFailed ||= !found[i]!.verdict;
      }
      const ofTargets = judgeTargetBodies(this.parts.runner, x, sync, this.guardrails.targets, subject);
      if (ofTargets === null) return this.#judgedRequest(x);
      return ofTargets.then((failed) => {
        this.#ofTargets = failed;
        this.#anyFailed ||= failed.size > 0;
        return this.#judgedRequest(x);
      });
    };
    return outcomes instanceof Promise ? outcomes.then(judged) : judged(outcomes);
  }

  #judgedRequest(x: Exchange): Reply | undefined {
    this.#record(x);
    if (!this.#anyFailed) return undefined;
    const denied = this.guardrails.targets.map((target) => this.#denied(target));
    const [first] = denied;
    if (first == null || denied.includes(null)) return undefined;
    return this.#denial(x, first);
  }

  /** Judges a call that is passed through. A Reply: it is refused. */
  async passThrough(x: Exchange): Promise<Reply | undefined> {
    const { passthrough } = this.parts;
    const [before, after] = [this.guardrails.all('before'), this.guardrails.all('after')];
    const { stream } = x.request;
    if (stream === null) return undefined;
    const unjudged = passthrough.unjudged(before, 'before') ?? passthrough.unjudged(after, 'after');
    if (unjudged !== null) this.#before.set(...unjudged);
    else {
      const { outcomes } = await passthrough.request(x, before, stream);
      for (const [guardrail, outcome] of outcomes) this.#before.set(guardrail, outcome);
    }
    this.#anyFailed = [...this.#before.values()].some(({ verdict }) => !verdict);
    this.#record(x);
    const denied = [...this.#before.values()].find(({ verdict, deny }) => deny && !verdict);
    return denied === undefined ? undefined : this.#denial(x, denied, false);
  }

  async #passedThrough(x: Exchange, reply: Reply, target: Target): Promise<Reply> {
    const { after } = this.guardrails.of(target);
    const { outcomes, body, isChanged } = await this.parts.passthrough.answer(x, after, reply);
    const attempt = x.answeredBy;
    this.#after.set(attempt, [...outcomes.values()]);
    this.#record(x);
    const denied = [...outcomes.values()].find(({ verdict, deny }) => deny && !verdict);
    if (denied !== undefined) {
      if (isSource(body)) body.cancel();
      return this.#denial(x, denied, false);
    }
    if (isChanged && attempt !== null) attempt.sent = body as Buffer;
    const hasFailed = this.#hasFailed(target) || [...outcomes.values()].some(({ verdict }) => !verdict);
    return { ...reply, status: hasFailed ? 246 : 200, body };
  }

  /** Runs the guardrails that have an effect, and in the background the others, which get no text that the first ones redact. */
  #run(
    x: Exchange,
    all: readonly GuardrailRules[],
    sync: readonly GuardrailRules[],
    subject: Subject,
  ): Awaitable<HookOutcome[]> {
    const { runner } = this.parts;
    if (split(all).beside.length === 0) return runner.run(x, sync, subject);
    const isFirst = !runner.changes(sync);
    if (isFirst) this.#runBeside(x, all, subject);
    const outcomes = runner.run(x, sync, subject);
    if (isFirst || !(outcomes instanceof Promise)) return outcomes;
    return outcomes.then((found) => {
      this.#runBeside(x, all, subject);
      return found;
    });
  }

  /** Guardrails that have no effect on the request: their outcomes are recorded if they are there before its end. */
  #runBeside(x: Exchange, all: readonly GuardrailRules[], subject: Subject): void {
    const { beside } = split(all);
    if (beside.length === 0) return;
    const take = (outcomes: readonly HookOutcome[]): void => {
      this.#beside = [...this.#beside, ...outcomes];
      this.#record(x);
    };
    const outcomes = this.parts.runner.run(x, beside, subject.copy());
    if (outcomes instanceof Promise) this.#await(outcomes.then(take));
    else take(outcomes);
  }

  /** What has no effect on the answer any more is recorded all the same. */
  #await(judged: Promise<unknown>): void {
    this.#pending++;
    this.pending ??= new Promise((resolve) => {
      this.#allDone = () => resolve(null);
    });
    const done = (): void => {
      this.#pending--;
      if (this.#pending > 0) return;
      this.#allDone?.();
      this.pending = null;
    };
    void judged.then(done, done);
  }

  #beforeOf(target: Target | null): readonly HookOutcome[] {
    if (target === null) return this.#allBefore();
    const own = this.#ofTargets.get(target);
    return this.guardrails
      .of(target)
      .before.flatMap((guardrail) => own?.get(guardrail) ?? this.#before.get(guardrail) ?? []);
  }

  /** One for each guardrail: that of a target where the client's body passed and the target's did not. */
  #allBefore(): readonly HookOutcome[] {
    if (this.#ofTargets.size === 0) return [...this.#before.values()];
    const ofTargets = [...this.#ofTargets.values()];
    return [...this.#before].map(([guardrail, outcome]) => {
      if (!outcome.verdict) return outcome;
      return ofTargets.find((own) => own.has(guardrail))?.get(guardrail) ?? outcome;
    });
  }

  #denied(target: Target): HookOutcome | null {
    if (!this.#anyFailed) return null;
    return this.#beforeOf(target).find(({ verdict, deny }) => deny && !verdict) ?? null;
  }

  #denial(x: Exchange, by: HookOutcome, isSoft = this.#isSoft(by)): Reply {
    const refused = denial(x, by, isSoft);
    if (refused.error !== undefined) this.#deniedBy.set(refused.error, by);
    return refused;
  }

  /** Is what this guardrail denies answered with 200? */
  #isSoft({ guardrail_version_id: version }: HookOutcome): boolean {
    const all = [...this.guardrails.all('before'), ...this.guardrails.all('after')];
    return all.some(({ versionId, softDeny }) => softDeny && versionId === version);
  }

  #hasFailed(target: Target | null): boolean {
    return this.#anyFailed && this.#beforeOf(target).some(({ verdict }) => !verdict);
  }

  /** Identifies the guardrails, and what they have found in the request. */
  get version(): string {
    const { versions } = this.guardrails;
    if (!this.#anyFailed) return versions;
    const failed = this.#allBefore().filter(({ verdict }) => !verdict);
    return `${versions} ${JSON.stringify(failed.map(({ id }) => id))}`;
  }

  refusal(target: Target): Reply | null {
    const denied = this.#denied(target);
    return denied === null ? null : this.#denial(this.#x!, denied);
  }

  #x: Exchange | null = null;

  /** From here on the attempts and answers of this exchange are judged. */
  attach(x: Exchange): void {
    this.#x = x;
    x.judge = this;
  }

  text(x: Exchange, target: Target): ((x: Exchange, piece: TextPiece) => Awaitable<TextResult>) | null {
    const guardrails = this.guardrails.of(target).after.filter((one) => one.incremental && !one.async);
    if (guardrails.length === 0) return null;
    const guard: StreamGuard = new StreamGuard(guardrails, this.parts.heldMs, (guardrail) => {
      const outcome = guard.outcome(guardrail, null);
      this.#after.set(x.main.answeredBy, outcome === null ? [] : [outcome]);
      this.#record(x.main);
      this.parts.recorder.denied(x.main, outcome!);
      throw refusal(outcome!);
    });
    if (guard.isEmpty) return null;
    x.set(streamGuard, guard);
    return (_x, piece) => guard.text(piece);
  }

  answer(x: Exchange, reply: Reply, target: Target): Awaitable<Reply> {
    if (reply.status !== 200 || reply.errorOrigin !== null) return reply;
    const { after } = this.guardrails.of(target);
    const { body } = reply;
    if (x.endpoint.format === 'none' && after.length > 0) return this.#passedThrough(x, reply, target);
    if (after.length > 0 && Buffer.isBuffer(body) && hasAnswerTexts(x.endpoint.format))
      return this.#judged(x, reply, body, target);
    return this.#hasFailed(target) ? { ...reply, status: 246 } : reply;
  }

  async #judged(x: Exchange, reply: Reply, body: Buffer, target: Target): Promise<Reply> {
    const json = await this.#read(body);
    if (json === null) return reply;
    const { after } = this.guardrails.of(target);
    const attempt = x.answeredBy;
    const read = (one: JsonObject): BodyTexts => answerTexts(x.endpoint.format, one) ?? noTexts;
    const subject = new Subject('after', () => factsOf(x), x.request.json, json, read, read(json));
    const outcomes = await this.#run(x, after, split(after).sync, subject);
    this.#after.set(attempt, outcomes);
    this.#record(x);
    let sent = body;
    if (subject.isChanged) {
      const isLong = body.length > parseAtMost;
      sent = isLong ? await writeJsonInSlices(subject.answer) : jsonBytes(subject.answer);
      this.parts.unredacted.keep(x, 'response', body);
      if (attempt !== null) attempt.sent = sent;
    }
    const denied = outcomes.find(({ verdict, deny }) => deny && !verdict);
    if (denied !== undefined) {
      const refused = this.#denial(x, denied);
      if (attempt !== null) attempt.sent = refused.body as Buffer;
      return refused;
    }
    const hasFailed = this.#hasFailed(target) || outcomes.some(({ verdict }) => !verdict);
    return { ...reply, status: hasFailed ? 246 : 200, body: sent };
  }

  async #read(body: Buffer): Promise<JsonObject | null> {
    if (body.length > parseAtMost || !isQuick(body)) return this.parts.host.readLarge(body);
    try {
      const json = parseJson(body.toString('utf8'));
      return isJsonObject(json) ? json : null;
    } catch {
      return null;
    }
  }

  #results({ target, answeredBy }: Exchange): HookResults {
    return {
      before_request_hooks: this.#beforeOf(target),
      after_request_hooks: this.#after.get(answeredBy) ?? [],
    };
  }

  /** The reply as the client gets it. */
  reply(x: Exchange, reply: Reply): Reply {
    const isDenied = reply.error?.code === 'guardrail_denied';
    const by = isDenied ? this.#deniedBy.get(reply.error!) : undefined;
    if (by !== undefined) this.parts.recorder.denied(x, by);
    if (!isDenied && reply.errorOrigin !== null) return reply;
    const status = !isDenied && reply.status === 200 && this.#hasFailed(x.target) ? 246 : reply.status;
    // What was refused before a target was chosen is shown as the first one has it.
    const target = x.target ?? this.guardrails.targets[0];
    const isShown = status === 446 || status === 246 || target?.strictOpenAiCompliance === false;
    const { body } = reply;
    if (body !== null && isSource(body)) return this.#stream(x, { ...reply, status, body }, isShown);
    // Of a body that is passed through nothing is known; what is refused is the gateway's own.
    const isUnknown = x.endpoint.format === 'none' && status !== 446;
    if (!isShown || body === null || isUnknown) return { ...reply, status };
    if (reply.events) {
      if (!isDenied) return { ...reply, status };
      const before = { before_request_hooks: this.#results(x).before_request_hooks };
      const framed = Buffer.concat([frame(x.endpoint.format, before), Buffer.from(body)]);
      return { ...reply, status, body: framed };
    }
    return { ...reply, status, body: withHookResults(Buffer.from(body), this.#results(x)) };
  }

  #stream(x: Exchange, reply: Reply & { body: object }, isShown: boolean): Reply {
    const { body } = reply;
    if (!isSource(body as Reply['body'])) return reply;
    const { format } = x.endpoint;
    const hasFrames = isShown && reply.events && x.target?.strictOpenAiCompliance === false;
    const after = x.target === null ? [] : this.guardrails.of(x.target).after;
    const isJudged = after.length > 0 && hasAnswerTexts(format) && x.saved === null;
    if (!hasFrames && !isJudged) return reply as Reply;
    const before = this.#beforeOf(x.target);
    const first = hasFrames && before.length > 0 ? frame(format, { before_request_hooks: before }) : null;
    const judge = async (bytes: Buffer): Promise<Buffer | null> => {
      const text = textOfStream(format, bytes);
      const parts: BodyTexts = { judged: [{ path: ['text'], text }], others: [] };
      const subject = new Subject(
        'after',
        () => factsOf(x),
        x.request.json,
        null,
        () => noTexts,
        parts,
      );
      const guard = x.get(streamGuard);
      const { sync } = split(after);
      const left = guard === null ? sync : sync.map((one) => guard.rest(one));
      const found = await this.#run(x, after, left, subject);
      const outcomes = found.map((one, i) => guard?.outcome(sync[i]!, one) ?? one);
      this.#after.set(x.answeredBy, outcomes);
      this.#record(x);
      return hasFrames ? frame(format, this.#results(x)) : null;
    };
    const beside = async (bytes: Buffer): Promise<null> => {
      this.#await(judge(bytes));
      return null;
    };
    const last = isJudged ? (hasFrames ? judge : beside) : null;
    return { ...reply, body: new JudgedStream(body as never, first, last) };
  }

  #record(x: Exchange): void {
    const after = [...this.#after.values()].flat();
    this.parts.recorder.record(x, [...this.#allBefore(), ...after, ...this.#beside]);
  }
}

function frame(format: string, results: Partial<HookResults>): Buffer {
  const name = format === 'anthropic-messages' ? 'event: hook_results\n' : '';
  return Buffer.from(`${name}data: ${JSON.stringify({ hook_results: results })}\n\n`);
}
