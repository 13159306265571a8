import type { Principal } from '../access/principal.js';
import type { Source } from '../bytes/body.js';
import type { BodyRecord } from '../bytes/body-record.js';
import { getHeader, type HeaderList } from '../http/headers.js';
import type { Trace } from '../http/trace.js';
import { edited } from '../json/draft.js';
import { checkEdited, editable, withPair } from '../plugin-host/exchange-changes.js';
import { guard, guardListeners } from '../plugin-host/guarded-signal.js';
import type { StageFields } from '../plugin-host/ledger-fields.js';
import type { TextPiece, TextResult } from '../plugin-host/texts/text-piece.js';
import type { ProviderPrices } from '../prices/provider-prices.js';
import type { CacheStatus, Company, Saved } from './cache.js';
import type { Charge } from './charges.js';
import { type Decision, maxDecisions } from './decision.js';
import type { Awaitable } from './directory.js';
import type { Endpoint } from './endpoint.js';
import type { ErrorCode, GatewayError } from './errors.js';
import type { Slot } from './slot.js';
import type { ResolvedConfig, Target } from './target.js';
import { noUsage, type Usage } from './usage.js';

export type { Trace, TraceContext } from '../http/trace.js';
export { Slot } from './slot.js';
export type { EditableCall, UpstreamCall } from './target.js';

export type JsonObject = Record<string, unknown>;

/** The client's request, copied from the transport before the first await. */
export interface ClientRequest {
  /** Upper case. */
  readonly method: string;
  /** As received, without the query. */
  readonly path: string;
  /** As received, without `?`; empty: there is none. */
  readonly query: string;
  readonly headers: HeaderList;
  readonly remoteAddress: string;
  /** The body's bytes if the endpoint collects it; else null, and `stream` has it. Replaced by `edit` alone, never modified. */
  bytes: Buffer | null;
  stream: Source | null;
  /** The parsed body, read once after auth; null before that and for endpoints that do not parse it. Never modified. */
  json: JsonObject | null;
}

/** One upstream attempt, as the ledger stores it. */
export interface AttemptRecord {
  readonly target: string;
  /** Of the stored provider that was called; null: none, or not known yet. */
  slug: string | null;
  /** Slug of that provider's integration; null: it has none. */
  integration: string | null;
  provider: string;
  /** The requested model; null: the body names none. */
  model: string | null;
  /** Milliseconds since the exchange began. */
  readonly startedAt: number;
  /** HTTP status of the answer; 0: there was none. */
  status: number;
  /** null: it answered. */
  error: ErrorCode | null;
  /** Milliseconds from this attempt's start to its answer's head (or its failure). */
  durationMs: number;
  /** Its own tokens; null: none were used, or the number is unknown. */
  usage: Usage | null;
  /** Their cost in picodollars; null: no price is known. Set when the exchange has ended. */
  cost: number | null;
}

/** One upstream attempt, with the values that the exchange takes from the one whose answer is returned. */
export interface Attempt extends AttemptRecord {
  /** The model that answered, as the answer names it. */
  modelUsed: string | null;
  /** Milliseconds since the exchange began at which the first byte of its answer arrived; null: none did. */
  firstByteMs: number | null;
  /** Milliseconds since the exchange began at which it ended; null: it has not, or was never sent. */
  endedAt: number | null;
  /** Prices of the stored provider's integration and organisation, as they were when it was sent; null: none. */
  prices: ProviderPrices | null;
  /** Highest possible cost in picodollars; null: no price is known. */
  reserved: number | null;
  /** The kept part of its answer, as the client gets it unless `sent` has that; null: none. */
  received: BodyRecord | Buffer | null;
  /** What the client gets in place of the answer, which is only counted then. Absent: the answer. */
  sent?: Buffer;
  /** The call and its answer, set by the pipeline and read for the log; null: nothing was sent. */
  answer: object | null;
  /** Whole microseconds for reading and converting its collected answer; 0: the answer was a stream, or there is none. */
  readUs: number;
  /** Most tokens that the answer may have, if the attempt was cancelled before any of it arrived. Absent: it was not. */
  unseen?: number;
  /** What its stream had reported when it broke off; absent or null: nothing. */
  usageSoFar?: Usage | null;
}

/** An answer on its way to the client. */
export interface Reply {
  readonly status: number;
  /** Without framing headers (`content-length`, `transfer-encoding`, `connection`); the transport writes those. */
  readonly headers: HeaderList;
  /** Whole, or as it arrives, or none. */
  readonly body: Buffer | string | Source | null;
  /** Is the body a stream of server-sent events? */
  readonly events: boolean;
  /** The source of an error answer; null on success. */
  readonly errorOrigin: 'gateway' | 'provider' | null;
  /** The refusal that it carries, for the row of the ledger. Absent: none. */
  readonly error?: GatewayError;
}

/** Decides about the attempts of one exchange and their answers. */
export interface Judge {
  /** The answer in place of this target's, which is not called then; null: it is called. */
  refusal(target: Target): Reply | null;
  /** The answer of a target, or what takes its place. */
  answer(x: Exchange, reply: Reply, target: Target): Awaitable<Reply>;
  /** For the texts of a streamed answer of this target, after the hooks of plugins; null: they are not looked at. */
  text(x: Exchange, target: Target): ((x: Exchange, piece: TextPiece) => Awaitable<TextResult>) | null;
  /** Resolves when all is judged; the exchange is settled after that, or two seconds later. null: it is. Never rejects. */
  readonly pending: Promise<unknown> | null;
}

/** One server-sent event in the client's format, before it is written. */
export interface StreamEvent {
  /** The `event:` field; null: the format has none. */
  readonly name: string | null;
  /** The `data:` field, unparsed. */
  readonly data: string;
}

/** How an exchange ended, for the `log` phase. */
export interface Outcome {
  /** HTTP status that the client got; 499: it disconnected before that. */
  readonly status: number;
  /** The failure that ended it, or null. A stream that broke after its first byte has status 200 and an error. */
  readonly error: GatewayError | null;
  /** Milliseconds, whole exchange. */
  readonly totalMs: number;
}

/** Changes a body: the given one in place, or by returning another. */
export type BodyEdit = ((body: JsonObject) => JsonObject | undefined) | ((body: JsonObject) => void);

/** Shared default; replaced, never mutated. */
const nothingUsed: Usage = Object.freeze(noUsage());

/** One client call, from the first byte to the log row. */
export class Exchange {
  principal!: Principal;
  config!: ResolvedConfig;
  trace!: Trace;
  /** Lower-case name of the header in which the gateway key stood, so that it is never sent on. */
  keyHeader: string | null = null;
  metadata: Readonly<Record<string, string>> = {};
  readonly attempts: Attempt[];
  /** The attempt whose answer the client gets, as far as known. */
  answeredBy: Attempt | null = null;
  /** The usage of `answeredBy`, set when the exchange has ended; the usage of other attempts is in their entries. */
  usage: Usage = nothingUsed;
  /** The model that the client requested, and the one that answered. */
  modelAsked: string | null = null;
  modelUsed: string | null = null;
  /** Did the client request a stream? */
  streaming = false;
  /** The target whose answer the client gets. */
  target: Target | null = null;
  provider: string | null = null;
  /** Retries of the target that answered; -1: all used up without success. */
  retries = 0;
  /** Milliseconds since the start at which the first byte of the answer arrived from upstream; null: none did. */
  firstByteMs: number | null = null;
  /** Names of fields that the chosen provider's format does not have. */
  dropped: readonly string[] = [];
  /** Paths of dropped values in the request's metadata: `metadata.<name>`; null: none. */
  droppedMetadata: readonly string[] | null = null;
  cache: CacheStatus = 'DISABLED';
  /** Set if the answer is from the cache: no upstream was called, and there is no cost. */
  saved: Saved | null = null;
  /** null: every target may be called, and its answer is taken as it is. */
  judge: Judge | null = null;
  /** null: only the client waits for the answer. */
  company: Company | null = null;
  /** The decisions on the way through the config, in order; null: there was nothing to decide. */
  route: Decision[] | null = null;
  /** What it adds to budgets: before its `log` phase what all attempts hold back, then what it used. Only that of `main` counts. */
  charges: readonly Charge[] | null = null;
  /** The exchange that this one was forked from, directly or not; itself where it was not forked. */
  readonly main: Exchange;
  /** Ledger fields that stages have set; null: none. */
  fields: StageFields | null = null;
  /** Headers that stages have set on the reply, by their whole names; null: none. */
  replyHeaders: HeaderList | null = null;
  /** Headers that were sent to the client, and how many entries of the list are not the gateway's own; null: none were. */
  sentHeaders: HeaderList | null = null;
  passedHeaders = 0;
  /** What `scanJson` counted in the text of the body when it was read; null: it was not, or was changed since. */
  bodyTokens: number | null = null;
  /** Whole microseconds for reading the body and for the cache lookup, and the start of that lookup; 0: the step did not run. */
  bodyUs = 0;
  cacheUs = 0;
  cacheStartUs = 0;
  /** Why it was cancelled (client disconnected, shutting down); null while it is open. Set by `abort` alone. */
  aborted: GatewayError | null = null;
  /** Called when the answer has ended and the `log` phase has to wait, for tokens to be counted. Only that of `main` is called. */
  onOver: (() => void) | null = null;
  /** The chain of stages that it runs through, which the pipeline sets and reads. */
  chain: object | null = null;
  /** Does the client want an explanation? */
  explain = false;
  /** Metadata that plugins have added; null: none. Part of `metadata` from the moment it is added. */
  addedMetadata: Readonly<Record<string, string>> | null = null;
  /** What `edit` may change: `open` until the cache has looked, `edited` while its bytes are still to be written. */
  body: 'open' | 'edited' | 'closed' = 'open';
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly #began: number;
  #slots: unknown[] | null = null;
  #onAbort: ((reason: GatewayError) => void)[] | null = null;
  #controller: AbortController | null = null;
  /** Receives errors that listeners throw; set by `abort`. */
  #report: ((thrown: unknown) => void) | null = null;

  constructor(
    readonly id: string,
    readonly endpoint: Endpoint,
    readonly request: ClientRequest,
    of: Exchange | null = null,
  ) {
    this.main = of === null ? this : of.main;
    this.attempts = of === null ? [] : of.attempts;
    this.startedAt = of === null ? Date.now() : of.startedAt;
    this.#began = of === null ? performance.now() : of.#began;
  }

  /**
   * A copy of this exchange for one of several simultaneous attempts: it can be aborted on its own, and changes to it
   * are not visible here before `take`. Attempts and decisions are shared.
   */
  fork(): Exchange {
    const side = new Exchange(this.id, this.endpoint, this.request, this);
    this.#pass(side);
    side.take(this);
    side.judge = this.judge;
    this.route ??= [];
    side.route = this.route;
    side.#slots = this.#slots === null ? null : [...this.#slots];
    this.onAbort((reason) => side.abort(reason, (thrown) => this.#report?.(thrown)));
    return side;
  }

  /** Continues with the state of `side`, which was forked from this. */
  take(side: Exchange): void {
    this.metadata = side.metadata;
    this.addedMetadata = side.addedMetadata;
    this.target = side.target;
    this.retries = side.retries;
    this.provider = side.provider;
    this.dropped = side.dropped;
    this.answeredBy = side.answeredBy;
    this.fields = side.fields;
    this.replyHeaders = side.replyHeaders;
    this.#slots = side.#slots;
  }

  /** A second exchange with the same request that no client waits for: authenticated, routed, not yet sent. */
  copy(id: string): Exchange {
    const copy = new Exchange(id, this.endpoint, this.request);
    this.#pass(copy);
    return copy;
  }

  #pass(to: Exchange): void {
    to.principal = this.principal;
    to.chain = this.chain;
    to.keyHeader = this.keyHeader;
    to.config = this.config;
    to.trace = this.trace;
    to.metadata = this.metadata;
    to.addedMetadata = this.addedMetadata;
    to.body = this.body;
    to.droppedMetadata = this.droppedMetadata;
    to.modelAsked = this.modelAsked;
    to.streaming = this.streaming;
  }

  /** Everything that the client sent and that was dropped: metadata, then fields of the body. */
  get allDropped(): readonly string[] {
    return this.droppedMetadata === null ? this.dropped : [...this.droppedMetadata, ...this.dropped];
  }

  /** A header of the client's request, its name in any case; undefined: there is none. */
  header(name: string): string | undefined {
    return getHeader(this.request.headers, name.toLowerCase());
  }

  /** Adds to the metadata, or replaces a value: for routing and limits if they still follow, and for the logs. */
  addMetadata(key: string, value: string): void {
    this.addedMetadata = withPair(this.addedMetadata, key, value);
    this.metadata = { ...this.metadata, [key]: value };
  }

  /**
   * Changes the request's body for all that follows: targets, cache and logs. From a `request` hook before the cache;
   * anywhere else it throws a TypeError. The client's body is not kept. `x.request.json` is the new one at once.
   */
  edit(change: BodyEdit): void;
  /** `bytes`: the JSON text of `json`. */
  edit(json: JsonObject, bytes: Buffer): void;
  edit(made: JsonObject | BodyEdit, bytes?: Buffer): void {
    const { request } = this;
    if (typeof made === 'function') {
      const before = editable(request.json, this.body === 'closed');
      const json = edited(before, made);
      if (json === before) return;
      checkEdited(before, json);
      const model = json['model'];
      // Of the others the path has it.
      if (this.endpoint.readPath === undefined && model !== before['model'])
        this.modelAsked = typeof model === 'string' ? model : null;
      request.json = json;
      this.bodyTokens = null;
      this.body = 'edited';
      return;
    }
    request.json = made;
    this.bodyTokens = null;
    request.bytes = bytes!;
    request.stream = null;
  }

  decided(decision: Decision): void {
    this.route ??= [];
    if (this.route.length < maxDecisions) this.route.push(decision);
  }

  /** Milliseconds since the exchange began, by the monotonic clock. */
  elapsedMs(): number {
    return performance.now() - this.#began;
  }

  get<T>(slot: Slot<T>): T {
    let value = this.#slots?.[slot.index] as T | undefined;
    if (value === undefined) {
      value = slot.initial();
      this.set(slot, value);
    }
    return value;
  }

  set<T>(slot: Slot<T>, value: T): void {
    this.#slots ??= [];
    this.#slots[slot.index] = value;
  }

  /**
   * The same as an AbortSignal, created at its first use: most exchanges never need one. Its listeners may throw, as
   * may those of `onAbort`.
   */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      guardListeners(this.#controller.signal, (thrown) => this.#report?.(thrown));
      if (this.aborted !== null) this.#controller.abort(this.aborted);
    }
    return this.#controller.signal;
  }

  /** Calls `listener` when the exchange is aborted, at once if it was. Returns the function that removes it. */
  onAbort(listener: (reason: GatewayError) => void): () => void {
    if (this.aborted !== null) {
      this.#notify(listener, this.aborted);
      return () => {};
    }
    this.#onAbort ??= [];
    this.#onAbort.push(listener);
    return () => {
      const at = this.#onAbort?.indexOf(listener) ?? -1;
      if (at >= 0) this.#onAbort?.splice(at, 1);
    };
  }

  /** Calls every listener, even if another one threw; `report` gets the errors that they throw, at once or later. */
  abort(reason: GatewayError, report: (thrown: unknown) => void): void {
    if (this.aborted !== null) return;
    this.aborted = reason;
    this.#report = report;
    const listeners = this.#onAbort;
    this.#onAbort = null;
    this.#controller?.abort(reason);
    for (const listener of listeners ?? []) this.#notify(listener, reason);
  }

  #notify(listener: (reason: GatewayError) => void, reason: GatewayError): void {
    guard(
      () => listener(reason),
      (thrown) => this.#report?.(thrown),
    );
  }
}
