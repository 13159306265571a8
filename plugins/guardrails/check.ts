import type { PartnerCredentials } from '../../src/common/core/directory.js';
import type { Format } from '../../src/common/core/endpoint.js';
import type { Exchange, JsonObject } from '../../src/common/core/exchange.js';
import type { CheckReply, CheckRequest } from '../../src/common/guardrails/check-request.js';
import type { CheckPhase } from '../../src/common/guardrails/guardrail-checks.js';
import type { PluginCheckContext } from '../../src/common/guardrails/plugin-check.js';

export type { CheckPhase, CheckReply, CheckRequest };

/** Numbers of things in a text. */
export interface TextCounts {
  readonly words: number;
  readonly sentences: number;
}

/** The text that a check judges: the same that checks of plugins get. */
export interface TextContext extends Pick<PluginCheckContext, 'phase' | 'texts' | 'text'> {
  /** Set by the first check that counts, for the others. */
  counts?: TextCounts | null;
}

/** Facts about the request beside its text. */
export interface RequestContext extends TextContext, Omit<PluginCheckContext, 'signal' | 'send'> {
  /** Wire format of `body` and `answer`. */
  readonly format: Format;
}

/** Texts to moderate. */
export interface ModerationRequest {
  readonly texts: readonly string[];
  /** `@slug` or a name; null: a provider of the request. */
  readonly provider: string | null;
  readonly model: string;
}

/** The request, and the way to other services. */
export interface RemoteContext extends RequestContext {
  /**
   * Sends a request of the check's own, under the rules for addresses that callers choose. Rejects if no complete answer arrived
   * before the check's deadline.
   */
  send(request: CheckRequest): Promise<CheckReply>;
  /** Sends texts to a provider of the workspace for moderation, in OpenAI's format. Rejects if none answers. */
  moderate(request: ModerationRequest): Promise<JsonObject>;
  /** Is aborted at the check's deadline, and when the client has disconnected. */
  readonly signal: AbortSignal;
  /** Credentials of the check's partner; null: the check has none, or the organisation has no plugin of it. */
  readonly partner: PartnerCredentials | null;
}

export interface CheckResult {
  /** true: nothing is wrong. */
  readonly verdict: boolean;
  /**
   * What was found, as JSON of at most a few KB, for `hook_results`. Never the text or the secret that was found. A function that
   * returns it: most results are never shown. It is called at most once, and soon: it may refer to the text.
   */
  readonly data?: unknown;
  /** The parts of `texts` in their order, changed. Absent: none was. */
  readonly transformed?: readonly string[];
  /** A new body in place of `body` (`before`) or `answer` (`after`). Not from a check of texts. */
  readonly body?: JsonObject;
  /** The check could not decide. The verdict counts as true, unless the check's parameters have `failOnError`. */
  readonly error?: { readonly name: string; readonly message: string };
}

/** A value that was found. Indexes of characters (UTF-16 units). */
export interface FoundValue {
  readonly start: number;
  readonly end: number;
  /** The ids of its kinds. The first one is that of its placeholder. */
  readonly kinds?: readonly string[];
  /** The replacement, where it contains a part of the value. */
  readonly quoting?: string;
}

/** A check that finds values, over the texts of one run. */
export interface ValueRun {
  /** Values in the order of the text; none overlaps another. */
  find(text: string): readonly FoundValue[];
  /** Counts a value and returns its replacement; null: the value stays, and the check fails. Called in the order of the texts. */
  take(found: FoundValue, value: string): string | null;
  /** The result for all values passed to `take`, without `transformed`. */
  result(): CheckResult;
}

/**
 * `parameters` have passed the check's schema (`src/common/guardrails/guardrail-checks.ts`), and its defaults are filled
 * in. For one version of a guardrail they are the same frozen object at each run of a thread: what is compiled from them may be
 * kept in a WeakMap. A check that throws has the error that it throws.
 */
interface Runs<Context, Result> {
  readonly id: string;
  /** Does it change text (`transformed`)? Then it runs before checks that only judge, and over earlier messages too. */
  readonly transforms?: true;
  run(context: Context, parameters: CheckParameters): Result;
}

export type CheckParameters = Readonly<Record<string, unknown>>;

/** A pure function of the text. It runs in a worker thread with a deadline, or on the event loop where that takes little. */
export interface TextCheck extends Runs<TextContext, CheckResult> {
  readonly runs: 'text';
  /** Nanoseconds that it takes at most for texts of that length together. Absent: always in a thread. */
  readonly nanoseconds?: (length: number, parameters: CheckParameters) => number;
  /** As `run`, but value by value: for texts in which values of several checks may overlap. Absent: the check finds no values. */
  begin?(parameters: CheckParameters): ValueRun;
}

/** A function of the request, on the event loop: it takes at most 20 µs, and time that does not grow with the texts. */
export interface RequestCheck extends Runs<RequestContext, CheckResult> {
  readonly runs: 'request';
}

/** A check that calls another service. Its deadline is its parameter `timeout` or `timeoutMs`. */
export interface RemoteCheck extends Runs<RemoteContext, Promise<CheckResult>> {
  readonly runs: 'remote';
  /** The partner whose credentials it gets (`src/common/guardrails/partners.ts`). */
  readonly partner?: string;
  /** Phases that it judges; in another it answers true. Absent: both. */
  readonly phases?: readonly CheckPhase[];
  /** A check of a plugin: is the request in the plugin's scope? Absent: every request is. */
  applies?(x: Exchange): boolean;
  /** It cannot run without them. */
  readonly needsCredentials?: true;
  /** It changes text only where one of these parameters is true; []: always. */
  readonly transformsIf?: readonly string[];
  /** Does a failed change of a text count as if the check had not run? Absent: it counts as an error. */
  readonly mustChange?: true;
  /** It judges more of the body than its texts: it runs for every body that targets send. */
  readonly judgesBody?: true;
  /** It is not run over earlier messages, although it changes text. */
  readonly judgedOnly?: true;
}

/** The check cannot judge a text such as this one: it counts as its guardrail has it in `deny`, as if it had not run. */
export class CheckNotRun extends Error {
  override readonly name = 'CheckNotRun';
}

/** A check of a guardrail: one file of `checks/`, listed in `checks/index.ts`. */
export type Check = TextCheck | RequestCheck | RemoteCheck;
