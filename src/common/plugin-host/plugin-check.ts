import type { Awaitable } from '../core/directory.js';
import type { JsonObject } from '../core/exchange.js';

/** What a plugin's check judges. */
export interface CheckTexts {
  /** `before`: the request. `after`: the answer. */
  readonly phase: 'before' | 'after';
  /** The parts of the last message, or of the first choice of the answer. */
  readonly texts: readonly string[];
  /** The same, joined by line feeds. */
  readonly text: string;
  readonly model: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** The client's body, never changed in place; null: it is not JSON. */
  readonly body: JsonObject | null;
  /** Is aborted at the check's deadline, and when the client has disconnected. */
  readonly signal: AbortSignal;
}

export interface PluginCheckResult {
  /** true: nothing is wrong. */
  readonly verdict: boolean;
  /** JSON of a few KB for `hook_results`: never the text that was found. */
  readonly data?: unknown;
  /** The parts of `texts`, changed; absent: none was. Of checks that declare `transforms`. */
  readonly transformed?: readonly string[];
}

/**
 * A check of guardrails: `acme.tone` is the check `tone` of the plugin `acme`. A guardrail names it with parameters of this
 * schema, and `timeout` in milliseconds (default 5000). A check that throws has no verdict, and counts as passed unless its
 * parameters have `failOnError`.
 */
export interface PluginCheck {
  readonly doc: string;
  /** JSON Schema, of type `object`. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Does it change texts? Then it runs before checks that only judge. */
  readonly transforms?: true;
  run(texts: CheckTexts, parameters: Readonly<Record<string, unknown>>): Awaitable<PluginCheckResult>;
}
