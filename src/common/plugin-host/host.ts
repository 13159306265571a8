import type { Awaitable, Directory } from '../core/directory.js';
import type { ErrorCode, ErrorDetail, GatewayError } from '../core/errors.js';
import type { Attempt, Exchange, JsonObject, Outcome, Reply } from '../core/exchange.js';
import type { ResolvedConfig, Target } from '../core/target.js';
import type { ServiceTier } from '../core/usage.js';
import type { CheckReply, CheckRequest } from '../guardrails/check-request.js';
import type { PluginCheckTable } from '../guardrails/plugin-check.js';
import type { Shared } from '../ipc/shared.js';
import type { LedgerValue } from './ledger-fields.js';
import type { Logger } from './logger.js';
import type { Metrics } from './metrics.js';
import type { SharedState } from './shared-state.js';
import type { RecordSink, SinkOptions } from './sink.js';

/** The host of every plugin. Stable: members may be added, but none is changed or removed. */
export interface Host {
  readonly log: Logger;
  /**
   * Creates a GatewayError, for plugins that import nothing. The code is one of the gateway's or of the plugin's own.
   */
  error(code: ErrorCode | (string & {}), message: string, detail?: ErrorDetail): GatewayError;
  /** Lower-case prefixes of the gateway's own headers, `x-gateway-` by default; replies carry the first. */
  readonly headerPrefixes: readonly string[];
  /** Keys, configs and stored providers. */
  readonly directory: Directory;
  /** Counts for `/metrics`, each shown with its worker's number. */
  readonly metrics: Pick<Metrics, 'show'>;
  /** The shared state that the plugin declares (`state`). */
  readonly state: SharedState;
  /** Sets a ledger field that the plugin declares (`ledgerFields`), in the row of this exchange. */
  record(x: Exchange, field: string, value: LedgerValue): void;
  /** Sets a header that the plugin declares (`replyHeaders`) on the reply to this exchange, error replies included. */
  setReplyHeader(x: Exchange, name: string, value: string): void;
  /**
   * Collects records and hands them over in batches, repeated while that fails: for `log` hooks that send to another
   * service. In `setup`.
   */
  sink<Record>(options: SinkOptions<Record>): RecordSink<Record>;
  /**
   * Runs one of the plugin's `jobs` in a thread, with a copy of `data`, and returns a copy of its result: for work that takes more
   * than a millisecond. Rejects with the error of the job, after `timeoutMs` (1000), which ends the job and its thread, and where
   * too many jobs wait.
   */
  runJob(job: string, data: unknown, options?: { readonly timeoutMs?: number }): Promise<unknown>;
  /** 0 ≤ n < 1. */
  random(): number;
}

/** Compiled configs, limited by the bytes that they keep: the least recently used one is dropped first. */
export interface KeptConfigs {
  /** Parses and compiles an inline routing config, or returns the compiled one. Throws `AB01` with its paths. */
  compile(text: string): ResolvedConfig;
  /** The config kept under a key. Keys must not begin with a brace, as the texts of inline configs do. */
  get(key: string): ResolvedConfig | undefined;
  set(key: string, config: ResolvedConfig): void;
}

/** The number of tokens that a request may use. */
export interface ExpectedTokens {
  /** Of the request and of the longest answer that it allows. */
  readonly tokens: number;
  /** Of the request alone. */
  readonly input: number;
  /** Does the request limit the length of its answer? Otherwise the answer's part is an estimate. */
  readonly isBounded: boolean;
  /** The service tier that it asks for; null: none that is billed apart. */
  readonly tier: ServiceTier | null;
}

/**
 * Capabilities that a stage can request by name (`needs`) beyond the public part. Their members become members of its
 * host.
 */
export interface Capabilities {
  /** Calls to providers. */
  upstream: {
    /** One upstream attempt at `target`, `attempt` hooks included. Throws a GatewayError if no answer came. */
    attempt(x: Exchange, target: Target): Promise<Reply>;
    /**
     * One upstream attempt for an exchange that no client waits for: its answer is read to its end, its `log` phase
     * run. A stream is read and not returned: its reply has no body. null: no whole answer came. Never rejects.
     */
    aside(x: Exchange, target: Target): Promise<Reply | null>;
    /** The upstream that a target leads to, by address and credential. Fails as an attempt would. */
    upstreamKey(x: Exchange, target: Target): Awaitable<string>;
    /** Names of client headers that are sent unchanged to some provider, lower case. */
    readonly sentOnHeaders: ReadonlySet<string>;
  };
  /** Prices. */
  costs: {
    /** Cost of the exchange's tokens so far, in picodollars; null: no price is known. */
    cost(x: Exchange): number | null;
    /**
     * Cost of a request at this target, in picodollars, if its answer has this many tokens; null:
     * the price, or the target's provider, is not known yet.
     */
    expectedCost(x: Exchange, target: Target, outputTokens: number | null): number | null;
    /**
     * The most that an attempt may cost, in picodollars, if it uses these tokens: input at the highest rate of input,
     * output at that of output, by the usual tier or the one asked for; null: no price is known.
     */
    mostCost(attempt: Attempt, tokens: ExpectedTokens): number | null;
  };
  /** Token counting. */
  tokens: {
    /** Tokens of the exchange's request, counted on another thread; null: they could not be counted in time. */
    inputTokens(x: Exchange): Promise<number | null>;
    /**
     * Tokens that the request may use, before it is answered: an estimate by its length, or counted if it is long.
     * `target`: the target to call, whose parameters count; null: none yet.
     */
    expectedTokens(x: Exchange, target: Target | null): Awaitable<ExpectedTokens>;
  };
  /** This node. */
  node: {
    /** Data workers of this node. */
    readonly workers: number;
    /** A workspace's weight when several wait for one upstream. Default 1. */
    weightOf(workspaceId: string): number;
  };
  /** Routing configs, compiled. */
  configs: {
    readonly configs: KeptConfigs;
    /** Is there a provider row of that name? */
    isProvider(name: string): boolean;
  };
  /** Gateway keys. */
  keys: {
    /** HMAC-SHA-256 (hex) of a gateway key's text under the deployment's pepper; null: it does not have the form of a key. */
    hashKey(key: string): string | null;
  };
  /** Bodies of requests. */
  bodies: {
    /** Reads and checks the body of an endpoint that the gateway parses: sets `x.request.json`, model and stream. */
    readBody(x: Exchange): Awaitable<void>;
    /** The exchange's body is likely to recur, byte for byte: it is kept in parsed form. */
    bodyRecurs(x: Exchange): void;
    /** Reads a JSON text that is too long to be parsed on the event loop. null: it is no object. */
    readLarge(bytes: Buffer): Promise<JsonObject | null>;
  };
  /** Requests of a stage's own to other services, on behalf of an exchange. */
  requests: {
    /**
     * Sends a request to an address that a tenant chose: the rules for custom hosts apply. Rejects with a GatewayError where
     * no whole answer came in time, and when `signal` is aborted.
     */
    send(x: Exchange, request: CheckRequest, timeoutMs: number, signal: AbortSignal): Promise<CheckReply>;
  };
  /** Checks of guardrails that custom plugins bring. */
  checks: {
    readonly pluginChecks: PluginCheckTable;
  };
  /** The journal. */
  settlement: {
    /** Writes the exchange's record. Called once, by the logger stage. */
    settle(x: Exchange, outcome: Outcome): void;
  };
  /** Messages between data workers and the control process, for stages that have a part there. */
  channel: {
    readonly shared: Shared;
  };
}

export type CapabilityName = keyof Capabilities;

/** Which plugins may request each capability: every one, or only the gateway's own stages. */
export const capabilityHolders = {
  upstream: 'plugins',
  costs: 'plugins',
  tokens: 'plugins',
  node: 'plugins',
  configs: 'stages',
  keys: 'stages',
  bodies: 'stages',
  requests: 'stages',
  checks: 'stages',
  settlement: 'stages',
  channel: 'stages',
} as const satisfies Record<CapabilityName, 'plugins' | 'stages'>;

type Intersection<Union> = (Union extends unknown ? (member: Union) => void : never) extends (
  member: infer All,
) => void
  ? All
  : never;

/** The host of a stage that needs these. */
export type HostWith<Needs extends CapabilityName> = [Needs] extends [never]
  ? Host
  : Host & Intersection<Capabilities[Needs]>;

/** The host with everything. */
export type FullHost = HostWith<CapabilityName>;
