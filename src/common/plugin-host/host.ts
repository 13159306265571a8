import type { Awaitable, Directory } from '../core/directory.js';
import type { ErrorCode, ErrorDetail, GatewayError } from '../core/errors.js';
import type { Exchange, Outcome, Reply } from '../core/exchange.js';
import type { ResolvedConfig, Target } from '../core/target.js';
import type { Shared } from '../ipc/shared.js';
import type { LedgerValue } from './ledger-fields.js';
import type { Logger } from './logger.js';
import type { Metrics } from './metrics.js';
import type { SharedState } from './shared-state.js';

/** What every plugin is given. Stable: members are added, none is changed or taken away. */
export interface Host {
  readonly log: Logger;
  /** Makes the one error type, for plugins that import nothing. Its code is the gateway's or one that the plugin declares. */
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
  /** 0 ≤ n < 1. */
  random(): number;
}

/** Compiled configs, bounded by the bytes that they keep: the one used least recently makes room. */
export interface KeptConfigs {
  /** Parses and compiles an inline routing config, or finds it compiled. Throws `AB01` with its paths. */
  compile(text: string): ResolvedConfig;
  /** What was kept under a key; texts of inline configs begin with a brace, so keys must not. */
  get(key: string): ResolvedConfig | undefined;
  set(key: string, config: ResolvedConfig): void;
}

/** How many tokens a request may use. */
export interface ExpectedTokens {
  /** Of the question and of the longest answer that it allows. */
  readonly tokens: number;
  /** Does the request limit the length of its answer? Else the answer's part is a guess. */
  readonly isBounded: boolean;
}

/** What a stage can ask for by name (`needs`) beyond the public part. Its members are then members of its host. */
export interface Capabilities {
  /** Calls to providers. */
  upstream: {
    /** One upstream try of `target`, `attempt` hooks included. Throws a GatewayError where no answer came. */
    attempt(x: Exchange, target: Target): Promise<Reply>;
    /**
     * One upstream try for an exchange that no client waits for: its answer is read to its end, its `log` phase run. A
     * stream is read and not returned: its reply has no body. null: no whole answer came. Never rejects.
     */
    aside(x: Exchange, target: Target): Promise<Reply | null>;
    /** The upstream that a target leads to, by address and credential. Fails as an attempt would. */
    upstreamKey(x: Exchange, target: Target): Awaitable<string>;
    /** Names of client headers that some provider is sent unchanged, lower case. */
    readonly sentOnHeaders: ReadonlySet<string>;
  };
  /** Prices. */
  costs: {
    /** What the exchange's tokens cost so far, in picodollars; null where no price is known. */
    cost(x: Exchange): number | null;
    /**
     * What a request would cost at this target, in picodollars, if its answer has this many tokens; null
     * where no price, or not yet the target's provider, is known.
     */
    expectedCost(x: Exchange, target: Target, outputTokens: number | null): number | null;
  };
  /** Token counting. */
  tokens: {
    /** Tokens of the exchange's request, counted on another thread; null: they could not be counted in time. */
    inputTokens(x: Exchange): Promise<number | null>;
    /**
     * What the request may use, before it is answered: an estimate by its length, or counted where it is long. `target`:
     * the one that is asked, whose parameters count; null: none yet.
     */
    expectedTokens(x: Exchange, target: Target | null): Awaitable<ExpectedTokens>;
  };
  /** This node. */
  node: {
    /** Data workers of this node. */
    readonly workers: number;
    /** A workspace's weight where several wait for one upstream: 1 unless the operator gave it another. */
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
    /** Reads and checks the body of an endpoint that the gateway understands: sets `x.request.json`, model and stream. */
    readBody(x: Exchange): Awaitable<void>;
    /** The exchange's body is likely to come again, byte for byte: it is kept as parsed. */
    bodyRecurs(x: Exchange): void;
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

/** Who may ask for each capability: every plugin, or the stages that come with the gateway alone. */
export const capabilityHolders = {
  upstream: 'plugins',
  costs: 'plugins',
  tokens: 'plugins',
  node: 'plugins',
  configs: 'stages',
  keys: 'stages',
  bodies: 'stages',
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
