import type { Awaitable } from '../core/directory.js';
import type { StageErrorRow } from '../core/errors.js';
import type { Attempt, Exchange, Outcome, Reply, StreamEvent, UpstreamCall } from '../core/exchange.js';
import type { Plan } from '../ipc/explained.js';
import type { CapabilityName, HostWith } from './host.js';
import type { StageLedgerField } from './ledger-fields.js';
import type { StateKind } from './shared-state.js';
import type { StageSettings } from './stage-settings.js';

export type { FullHost, Host, HostWith } from './host.js';
export type { Logger } from './logger.js';

/** JSON Schema (draft-07) of a plugin's options. */
export type JsonSchema<_Options> = Readonly<Record<string, unknown>>;

/** What a plugin may do, in the order in which it happens. Each may be absent; a synchronous answer costs no await. */
export interface Hooks {
  /** Body parsed, nothing sent. A Reply ends the chain: the client gets it. */
  request?(x: Exchange): Awaitable<Reply | undefined | void>;
  /**
   * In place of `request`, for a request that is explained and not sent: puts its part into the plan, and leaves
   * everything else as it is. Stages without it are passed over.
   */
  explain?(x: Exchange, plan: Plan): Awaitable<void>;
  /** Before each upstream try; may edit the call. `attempt`: its record. Throwing a GatewayError fails this try. */
  attempt?(x: Exchange, call: UpstreamCall, attempt: Attempt): Awaitable<void>;
  /** Head of the answer known, not yet written. Runs in reverse order. */
  reply?(x: Exchange, reply: Reply): Awaitable<Reply | undefined | void>;
  /** Per streamed event, in reverse order. null: swallow it, the client sees nothing. */
  event?(x: Exchange, event: StreamEvent): Awaitable<StreamEvent | readonly StreamEvent[] | null>;
  /** Always, once, last. */
  log?(x: Exchange, outcome: Outcome): void;
  close?(): Awaitable<void>;
}

/** What a stage brings with it. Of a stage of the gateway this is the default export of `plugins/<name>/stage.ts`. */
export interface StageDeclaration {
  readonly name: string;
  /** Schema of its options, checked before `setup`. Absent: its options are its settings. */
  readonly options?: JsonSchema<unknown>;
  readonly settings?: StageSettings;
  /** Codes of errors that it answers with, beside the gateway's own. */
  readonly errors?: Readonly<Record<string, StageErrorRow>>;
  readonly state?: Readonly<Record<string, StateKind>>;
  readonly ledgerFields?: Readonly<Record<string, StageLedgerField>>;
  /** Headers of replies without the gateway's prefix, each with its meaning. */
  readonly replyHeaders?: Readonly<Record<string, string>>;
  /** Names of its metrics, each with what it counts. Absent: any. */
  readonly metrics?: Readonly<Record<string, string>>;
  /** What its part of the control process does on one node for all, by name. Of stages of the gateway alone. */
  readonly schedules?: Readonly<Record<string, { readonly seconds: number; readonly doc: string }>>;
  /** Capabilities beyond the public part of its host. */
  readonly needs?: readonly CapabilityName[];
  /** false: custom plugins are not placed directly before or after it. Of stages of the gateway alone. */
  readonly insertable?: false;
  /** Has its folder a part for the control process (`control.ts`)? Of stages of the gateway alone. */
  readonly control?: true;
}

export interface Plugin<Options = unknown, Needs extends CapabilityName = CapabilityName>
  extends StageDeclaration {
  /** Once in each data worker, never per call. */
  setup(options: Options, host: HostWith<Needs>): Awaitable<Hooks>;
}

/** Types what a stage brings where it is written; adds nothing at run time. */
export function defineStage<const Declaration extends StageDeclaration>(stage: Declaration): Declaration {
  return stage;
}

/** The capabilities that a declaration asks for. */
export type NeedsOf<Declaration extends StageDeclaration> = Declaration extends {
  readonly needs: readonly (infer Needs extends CapabilityName)[];
}
  ? Needs
  : never;

/** Types a plugin where it is written; adds nothing at run time. */
export function definePlugin<Options, Needs extends CapabilityName = never>(
  plugin: Plugin<Options, Needs>,
): Plugin<Options, Needs> {
  return plugin;
}
