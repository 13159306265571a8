import type { Awaitable } from '../core/directory.js';
import type { Exchange, JsonObject } from '../core/exchange.js';
import type { HeaderList } from '../http/headers.js';
import type { CheckReply, CheckRequest } from './check-request.js';
import type { CheckPhase } from './guardrail-checks.js';

/** What a check of a plugin judges. Everything is frozen. */
export interface PluginCheckContext {
  /** `before`: the request is judged. `after`: the answer. */
  readonly phase: CheckPhase;
  /**
   * The parts of the last message (`before`) or of the first choice (`after`), in their order. A check that changes text
   * also runs over the parts of earlier messages; only its first verdict counts.
   */
  readonly texts: readonly string[];
  /** The same parts, joined by line feeds; '': there is no text. */
  readonly text: string;
  /** Kind of the endpoint: `chatComplete`, `complete`, `embed`, `messages`, … */
  readonly requestType: string;
  /** The provider that the config or a header names, `@slug` or a name. null: the config has several, or none. */
  readonly provider: string | null;
  /** The model that the client asked for, without `@slug/`. */
  readonly model: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** The client's headers without its gateway key; names in lower case. Never write them to a log. */
  readonly headers: HeaderList;
  /** The client's body. null: it is not JSON. */
  readonly body: JsonObject | null;
  /** The answer's body; null before the request, and for a stream. */
  readonly answer: JsonObject | null;
  /** Is aborted at the check's deadline, and when the client has disconnected. */
  readonly signal: AbortSignal;
  /**
   * Sends a request, under the rules for addresses that callers choose (docs/providers.md). Rejects if no complete answer arrived
   * before the deadline.
   */
  send(request: CheckRequest): Promise<CheckReply>;
}

export interface PluginCheckResult {
  /** true: nothing is wrong. */
  readonly verdict: boolean;
  /** What was found, as JSON of at most a few KB, for `hook_results`. Never the text or the secret that was found. */
  readonly data?: unknown;
  /** The parts of `texts` in their order, changed. Only of a check with `transforms`. Absent: none was. */
  readonly transformed?: readonly string[];
}

/** A check that a plugin brings: guardrails name it as `<plugin>.<check>`. */
export interface PluginCheck {
  /** Phases that it judges; absent: both. In another one it answers true. */
  readonly phases?: readonly CheckPhase[];
  /**
   * JSON Schema (draft 7) of its parameters, of the type object. Absent: it takes none. `failOnError` (false) and `timeout`
   * (milliseconds, 5000) are added to it.
   */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** Does it change text? Then it runs before checks that only judge. */
  readonly transforms?: boolean;
  /** A verdict, or a result. One that throws counts as true, unless its parameter `failOnError` is true. */
  run(
    context: PluginCheckContext,
    parameters: Readonly<Record<string, unknown>>,
  ): Awaitable<boolean | PluginCheckResult>;
}

/** By the name of the check. */
export type PluginChecks = Readonly<Record<string, PluginCheck>>;

/** A check as the guardrails stage runs it. */
export interface RunnableCheck {
  readonly id: string;
  readonly phases: readonly CheckPhase[];
  readonly transforms: boolean;
  /** Is a request in the scope of its plugin? */
  applies(x: Exchange): boolean;
  /** Watched as the hooks of the plugin are. */
  readonly run: (
    context: PluginCheckContext,
    parameters: Readonly<Record<string, unknown>>,
  ) => Promise<PluginCheckResult>;
}

/** The checks of all plugins of this data worker. */
export class PluginCheckTable {
  #checks: ReadonlyMap<string, RunnableCheck> = new Map();
  /** Changes with the checks. */
  version = 0;

  get(id: string): RunnableCheck | undefined {
    return this.#checks.get(id);
  }

  replace(checks: ReadonlyMap<string, RunnableCheck>): void {
    if (checks.size === 0 && this.#checks.size === 0) return;
    this.#checks = checks;
    this.version++;
  }
}
