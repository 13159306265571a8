import type { Awaitable, Directory } from './directory.js';
import type { ErrorCode, ErrorDetail, GatewayError } from './errors.js';
import type { Exchange, Outcome, Reply, StreamEvent, UpstreamCall } from './exchange.js';
import type { Plan } from './explained.js';
import type { Metrics } from './metrics.js';
import type { Shared } from './shared.js';
import type { Target } from './target.js';

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
  /** Before each upstream try; may edit the call. Throwing a GatewayError fails this try. */
  attempt?(x: Exchange, call: UpstreamCall): Awaitable<void>;
  /** Head of the answer known, not yet written. Runs in reverse order. */
  reply?(x: Exchange, reply: Reply): Awaitable<Reply | undefined | void>;
  /** Per streamed event, in reverse order. null: swallow it, the client sees nothing. */
  event?(x: Exchange, event: StreamEvent): Awaitable<StreamEvent | readonly StreamEvent[] | null>;
  /** Always, once, last. */
  log?(x: Exchange, outcome: Outcome): void;
  close?(): Awaitable<void>;
}

export interface Logger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What a plugin is given instead of imports: the parts of the gateway it may lean on. */
export interface Host {
  readonly directory: Directory;
  readonly log: Logger;
  /** Makes the one error type, for plugins that import nothing: what is thrown of it is answered as it says. */
  error(code: ErrorCode, message: string, detail?: ErrorDetail): GatewayError;
  /** Lower-case prefixes of the gateway's own headers, `x-gateway-` by default; answers carry the first. */
  readonly headerPrefixes: readonly string[];
  /** HMAC-SHA-256 (hex) of a gateway key's text under the deployment's pepper; null: by its form this is none. */
  hashKey(key: string): string | null;
  /** Parses and compiles an inline routing config. Throws `AB01` with its paths. */
  compileConfig(text: string): import('./target.js').ResolvedConfig;
  /** Names of the provider rows. */
  isProvider(name: string): boolean;
  /** One upstream try of `target`, `attempt` hooks included. Throws a GatewayError where no answer came. */
  attempt(x: Exchange, target: Target): Promise<Reply>;
  /** The exchange's body may well come again, byte for byte: then it need not be parsed anew. */
  bodyRecurs(x: Exchange): void;
  /** What the exchange's tokens cost so far, in micro-dollars (10⁻⁶ USD); null where no price is known. */
  cost(x: Exchange): number | null;
  /** Names of client headers that some provider is sent as they came, lower case. */
  readonly sentOnHeaders: ReadonlySet<string>;
  /**
   * What a request would cost at this target, in micro-dollars (10⁻⁶ USD), should its answer have so many tokens; null
   * where no price, or not yet the target's provider, is known.
   */
  expectedCost(x: Exchange, target: Target, outputTokens: number | null): number | null;
  /** The upstream that a target leads to, by address and credential. Fails as an attempt would. */
  upstreamKey(x: Exchange, target: Target): Awaitable<string>;
  /** Data workers of this node. */
  readonly workers: number;
  /** A workspace's weight where several wait for one upstream: 1 unless the operator gave it another. */
  weightOf(workspaceId: string): number;
  /**
   * One upstream try for an exchange that no client waits for: its answer is read to its end, its `log` phase run. A
   * stream is let go: what is given back of it has no body. null: no whole answer came. Never rejects.
   */
  aside(x: Exchange, target: Target): Promise<Reply | null>;
  /** Tokens of the exchange's request, counted on another thread; null: nobody could count them in time. */
  inputTokens(x: Exchange): Promise<number | null>;
  /** Where the exchange's settlement goes; the logger stage alone calls it. */
  settle(x: Exchange, outcome: Outcome): void;
  /** What the data workers share. */
  readonly shared: Shared;
  /** Where a plugin shows its counts: they stand in `/metrics`, each with its worker's number. */
  readonly metrics: Pick<Metrics, 'show'>;
  /** 0 ≤ n < 1; stood in for by tests. */
  random(): number;
}

export interface Plugin<Options = unknown> {
  readonly name: string;
  /** Checked with ajv when a configuration is loaded. */
  readonly options: JsonSchema<Options>;
  /** Once per configuration, never per call. */
  setup(options: Options, host: Host): Awaitable<Hooks>;
}

/** Types a plugin where it is written; adds nothing at run time. */
export function definePlugin<Options>(plugin: Plugin<Options>): Plugin<Options> {
  return plugin;
}
