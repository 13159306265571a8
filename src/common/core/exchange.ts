import type { Principal } from '../access/principal.js';
import type { Source } from '../bytes/body.js';
import type { BodyRecord } from '../bytes/body-record.js';
import type { HeaderList } from '../http/headers.js';
import { guard, guardListeners } from '../plugin-host/guarded-signal.js';
import type { StageFields } from '../plugin-host/ledger-fields.js';
import type { CacheStatus, Company, Saved } from './cache.js';
import { type Decision, maxDecisions } from './decision.js';
import type { Endpoint } from './endpoint.js';
import type { ErrorCode, GatewayError } from './errors.js';
import type { ResolvedConfig, Target } from './target.js';
import { noUsage, type Usage } from './usage.js';

export type JsonObject = Record<string, unknown>;

/** What the client sent, copied out of the transport before the first await. */
export interface ClientRequest {
  /** Upper case. */
  readonly method: string;
  /** As received, without the query. */
  readonly path: string;
  /** As received, without `?`; empty where there is none. */
  readonly query: string;
  readonly headers: HeaderList;
  readonly remoteAddress: string;
  /** The body's bytes where the endpoint collects it; else null and `stream` holds it. */
  readonly bytes: Buffer | null;
  readonly stream: Source | null;
  /** The contents of the body, read once, after auth; null until then and where the endpoint does not look at it. Its content is never written to. */
  json: JsonObject | null;
}

/** One upstream try, as the ledger keeps it. */
export interface AttemptRecord {
  readonly target: string;
  provider: string;
  /** The model asked of it; null where the body names none. */
  model: string | null;
  /** Milliseconds since the exchange began. */
  readonly startedAt: number;
  /** HTTP status of the answer; 0 where there was none. */
  status: number;
  /** null: it answered. */
  error: ErrorCode | null;
  /** Milliseconds from this attempt's start to its answer's head (or its failure). */
  durationMs: number;
  /** Its own tokens; null: none were used, or the number is unknown. */
  usage: Usage | null;
  /** What they cost in picodollars; null: no price is known. Known once the exchange has ended. */
  cost: number | null;
}

/** One upstream try, with what an exchange takes over from the one whose answer is returned. */
export interface Attempt extends AttemptRecord {
  /** Of the stored provider that was asked; null: none, or not known yet. */
  slug: string | null;
  /** Slug of that provider's integration; null: it has none. */
  integration: string | null;
  /** The model that answered, by its own account. */
  modelUsed: string | null;
  /** Milliseconds since the exchange began at which the first byte of its answer arrived; null: none did. */
  firstByteMs: number | null;
  /** Milliseconds since the exchange began at which it was over; null: it is not, or it was never sent. */
  endedAt: number | null;
  /** Picodollars that it may cost; null: no price is known. */
  reserved: number | null;
  /** Its answer as the client gets it, as much of it as came and is kept; null: none, nor was it given up half-way. */
  received: BodyRecord | Buffer | null;
}

export interface Trace {
  readonly traceId: string;
  readonly spanId: string | null;
  readonly parentSpanId: string | null;
  readonly spanName: string | null;
}

/** An answer on its way to the client. */
export interface Reply {
  readonly status: number;
  /** Without framing headers (`content-length`, `transfer-encoding`, `connection`); the transport writes those. */
  readonly headers: HeaderList;
  /** Whole, or as it comes, or none. */
  readonly body: Buffer | string | Source | null;
  /** Does the body come as server-sent events? */
  readonly events: boolean;
  /** Who made an error answer; null on success. */
  readonly errorOrigin: 'gateway' | 'provider' | null;
}

/** One server-sent event in the client's format, before it is written. */
export interface StreamEvent {
  /** The `event:` field; null where the format has none. */
  readonly name: string | null;
  /** The `data:` field, unparsed. */
  readonly data: string;
}

/** How an exchange ended, for the `log` phase. */
export interface Outcome {
  /** HTTP status the client was given; 499 where it had gone before one was. */
  readonly status: number;
  /** The failure that ended it, or null. A stream that broke after its first byte has status 200 and an error. */
  readonly error: GatewayError | null;
  /** Milliseconds, whole exchange. */
  readonly totalMs: number;
}

/** A typed place of an exchange's scratch space; a plugin makes and exports its own. */
export class Slot<T> {
  static #made = 0;
  /** Its place among all slots of this process. */
  readonly index = Slot.#made++;

  constructor(
    readonly name: string,
    readonly initial: () => T,
  ) {}
}

/** A call as it is about to leave for a provider. `attempt` hooks may edit it; the client's request stays as it came. */
export interface UpstreamCall {
  readonly target: Target;
  readonly provider: string;
  method: string;
  /** Absolute URL. */
  url: string;
  headers: HeaderList;
  body: Buffer | Source | null;
}

/** Shared default; replaced, never mutated. */
const nothingUsed: Usage = Object.freeze(noUsage());

/** One client call, from first byte to log line. Everything else hangs on it. */
export class Exchange {
  principal!: Principal;
  config!: ResolvedConfig;
  trace!: Trace;
  /** Lower-case name of the header in which the gateway key stood, so that it is never sent on. */
  keyHeader: string | null = null;
  metadata: Readonly<Record<string, string>> = {};
  readonly attempts: Attempt[];
  /** The one whose answer the client gets, as far as is known. */
  answeredBy: Attempt | null = null;
  /** Of `answeredBy`, once the exchange has ended; the usage of the others is in their own entries. */
  usage: Usage = nothingUsed;
  /** The model the client asked for, and the one that answered. */
  modelAsked: string | null = null;
  modelUsed: string | null = null;
  /** Did the client ask for a stream? */
  streaming = false;
  /** The target whose answer the client gets. */
  target: Target | null = null;
  provider: string | null = null;
  /** Same-target retries made for the target that answered; -1: all used up without success. */
  retries = 0;
  /** Milliseconds since the start at which the first byte of the answer arrived from upstream; null: none did. */
  firstByteMs: number | null = null;
  /** Names of fields that the chosen provider's format could not take. */
  dropped: readonly string[] = [];
  /** Paths in the request's metadata that are not kept: `metadata.<name>`; null: all of it is. */
  droppedMetadata: readonly string[] | null = null;
  cache: CacheStatus = 'DISABLED';
  /** Set where the answer came out of the cache: no upstream was asked, and nothing is owed. */
  saved: Saved | null = null;
  /** null: only the client waits for the answer. */
  company: Company | null = null;
  /** What was decided on the way through the config, in its order; null: there was nothing to decide. */
  route: Decision[] | null = null;
  /** Ledger fields that stages have set; null: none. */
  fields: StageFields | null = null;
  /** Headers that stages have set on the reply, by their whole names; null: none. */
  replyHeaders: HeaderList | null = null;
  /** Why it was cancelled (client disconnected, shutting down); null while it is open. Set by `abort` alone. */
  aborted: GatewayError | null = null;
  /** Does the client want to know how it came to its answer? */
  explain = false;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly #began: number;
  #slots: unknown[] | null = null;
  #onAbort: ((reason: GatewayError) => void)[] | null = null;
  #controller: AbortController | null = null;
  /** DecisionText what listeners threw; set by `abort`. */
  #report: ((thrown: unknown) => void) | null = null;

  constructor(
    readonly id: string,
    readonly endpoint: Endpoint,
    readonly request: ClientRequest,
    of: Exchange | null = null,
  ) {
    this.attempts = of === null ? [] : of.attempts;
    this.startedAt = of === null ? Date.now() : of.startedAt;
    this.#began = of === null ? performance.now() : of.#began;
  }

  /**
   * This exchange for one of several tries at a time: it can be aborted by itself, and what is written to it in its
   * course is not seen here before `take`. Attempts and decisions are shared.
   */
  fork(): Exchange {
    const side = new Exchange(this.id, this.endpoint, this.request, this);
    this.#pass(side);
    side.take(this);
    this.route ??= [];
    side.route = this.route;
    side.#slots = this.#slots === null ? null : [...this.#slots];
    this.onAbort((reason) => side.abort(reason, (thrown) => this.#report?.(thrown)));
    return side;
  }

  /** Goes on as `side` does, which was forked from this. */
  take(side: Exchange): void {
    this.metadata = side.metadata;
    this.target = side.target;
    this.retries = side.retries;
    this.provider = side.provider;
    this.dropped = side.dropped;
    this.answeredBy = side.answeredBy;
    this.fields = side.fields;
    this.replyHeaders = side.replyHeaders;
    this.#slots = side.#slots;
  }

  /** The same request once more, as an exchange of its own that no client waits for: recognised, routed, not yet sent. */
  copy(id: string): Exchange {
    const copy = new Exchange(id, this.endpoint, this.request);
    this.#pass(copy);
    return copy;
  }

  #pass(to: Exchange): void {
    to.principal = this.principal;
    to.keyHeader = this.keyHeader;
    to.config = this.config;
    to.trace = this.trace;
    to.metadata = this.metadata;
    to.droppedMetadata = this.droppedMetadata;
    to.modelAsked = this.modelAsked;
    to.streaming = this.streaming;
  }

  /** Everything that the client sent and that is not kept or sent on: metadata, then fields of the body. */
  get allDropped(): readonly string[] {
    return this.droppedMetadata === null ? this.dropped : [...this.droppedMetadata, ...this.dropped];
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
   * The same as an AbortSignal, made when first asked for: most exchanges never need one. Its listeners may throw as
   * those of `onAbort` may.
   */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      guardListeners(this.#controller.signal, (thrown) => this.#report?.(thrown));
      if (this.aborted !== null) this.#controller.abort(this.aborted);
    }
    return this.#controller.signal;
  }

  /** Calls `listener` when the exchange is aborted, at once if it was. Returns how to take it back. */
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

  /** Calls every listener, even where another one threw; what they throw, at once or later, goes to `report`. */
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
