import type { Awaitable } from '../core/directory.js';
import type { StageErrorRow } from '../core/errors.js';
import type { Attempt, EditableCall, Exchange, Outcome, Reply, StreamEvent } from '../core/exchange.js';
import type { PluginChecks } from '../guardrails/plugin-check.js';
import type { Plan } from '../ipc/explained.js';
import type { PluginFormats } from '../vocabulary/plugin-format.js';
import type { PluginProviderRows } from '../vocabulary/plugin-provider.js';
import type { CapabilityName, HostWith } from './host.js';
import type { StageLedgerField } from './ledger-fields.js';
import type { StateKind } from './shared-state.js';
import type { StageSettings } from './stage-settings.js';
import type { TextPiece, TextResult } from './texts/text-piece.js';

export type { FullHost, Host, HostWith } from './host.js';
export type { Logger } from './logger.js';

/** JSON Schema (draft-07) of a plugin's options. */
export type JsonSchema<_Options> = Readonly<Record<string, unknown>>;

/** The hooks of a plugin, in the order of their phases. Each is optional; a synchronous result needs no await. */
export interface Hooks {
  /** Body parsed, nothing sent. A Reply ends the chain: the client gets it. */
  request?(x: Exchange): Awaitable<Reply | undefined | void>;
  /**
   * Replaces `request` for a request that is explained and not sent: adds its part to the plan, and changes
   * nothing else. Stages without it are skipped.
   */
  explain?(x: Exchange, plan: Plan): Awaitable<void>;
  /**
   * Before each upstream attempt; may edit the call. `attempt`: its record. Throwing a GatewayError fails this attempt.
   */
  attempt?(x: Exchange, call: EditableCall, attempt: Attempt): Awaitable<void>;
  /** Head of the answer known, not yet written. Runs in reverse order. */
  reply?(x: Exchange, reply: Reply): Awaitable<Reply | undefined | void>;
  /**
   * Per text of the request, and per text of the answer or piece of it, whatever the wire format. Those of the request come
   * after `request`, in the order of the stages; those of the answer in reverse order, before `reply` and `event`, and are
   * cached and logged as they are changed; answers from the cache are not seen again. Throwing a GatewayError refuses the
   * request, fails the attempt whose whole answer it is, or ends the stream with an error event.
   */
  text?(x: Exchange, piece: TextPiece): Awaitable<TextResult | void>;
  /** Per streamed event, in reverse order. null: removes the event. */
  event?(x: Exchange, event: StreamEvent): Awaitable<StreamEvent | readonly StreamEvent[] | null>;
  /** Once at the end of every request. */
  log?(x: Exchange, outcome: Outcome): void;
  close?(): Awaitable<void>;
}

/**
 * Functions by name, for `host.runJob`. They run in a thread in which the plugin's files were loaded and `setup` was not called:
 * they have what they are given, and what the files have at their top.
 */
export type PluginJobs = Readonly<Record<string, (data: never) => unknown>>;

/** What `setup` returns: hooks, and what guardrails may use. */
export interface PluginParts extends Hooks {
  /** Checks that guardrails name as `<plugin>.<check>`. Only of custom plugins. */
  readonly checks?: PluginChecks;
  /** Wire formats that its `providers` speak, by the name that their `paths` use. */
  readonly formats?: PluginFormats;
}

/** The declaration of a stage. For the gateway's own stages it is the default export of `plugins/<name>/stage.ts`. */
export interface StageDeclaration {
  readonly name: string;
  /** Schema of its options, checked before `setup`. Absent: its options are its settings. */
  readonly options?: JsonSchema<unknown>;
  readonly settings?: StageSettings;
  /** Its error codes, in addition to the gateway's own. */
  readonly errors?: Readonly<Record<string, StageErrorRow>>;
  readonly state?: Readonly<Record<string, StateKind>>;
  readonly ledgerFields?: Readonly<Record<string, StageLedgerField>>;
  /** Headers of replies without the gateway's prefix, each with its meaning. */
  readonly replyHeaders?: Readonly<Record<string, string>>;
  /** Names of its metrics, each with what it counts. Absent: any. */
  readonly metrics?: Readonly<Record<string, string>>;
  /** What its part of the control process does on one node for all, by name. Only for the gateway's own stages. */
  readonly schedules?: Readonly<Record<string, { readonly seconds: number; readonly doc: string }>>;
  /** Capabilities beyond the public part of its host. */
  readonly needs?: readonly CapabilityName[];
  /** false: custom plugins are not placed directly before or after it. Only for the gateway's own stages. */
  readonly insertable?: false;
  /** Does its folder have a part for the control process (`control.ts`)? Only for the gateway's own stages. */
  readonly control?: true;
}

/** A method, so that a plugin with typed options still is one of any. */
interface RowsByOptions<Options> {
  of(options: Options): PluginProviderRows;
}

export interface Plugin<Options = unknown, Needs extends CapabilityName = CapabilityName>
  extends StageDeclaration {
  /** Providers that it brings, by name; a function where they depend on its options, which are checked before. */
  readonly providers?: PluginProviderRows | RowsByOptions<Options>['of'];
  /** Once in each data worker, never per call. */
  setup(options: Options, host: HostWith<Needs>): Awaitable<PluginParts>;
  /** What `host.runJob` runs in a thread, by name: functions of what they are given alone. */
  readonly jobs?: PluginJobs;
}

/** Types the declaration of a stage; does nothing at run time. */
export function defineStage<const Declaration extends StageDeclaration>(stage: Declaration): Declaration {
  return stage;
}

/** The capabilities that a declaration requests. */
export type NeedsOf<Declaration extends StageDeclaration> = Declaration extends {
  readonly needs: readonly (infer Needs extends CapabilityName)[];
}
  ? Needs
  : never;

/** Types a plugin; does nothing at run time. */
export function definePlugin<Options, Needs extends CapabilityName = never>(
  plugin: Plugin<Options, Needs>,
): Plugin<Options, Needs> {
  return plugin;
}
