import type { Source } from './body.js';
import type { Endpoint } from './endpoint.js';
import type { ErrorCode, GatewayError } from './errors.js';
import { guard, guardListeners } from './guarded-signal.js';
import type { HeaderList } from './headers.js';
import type { Principal } from './principal.js';
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
  /** What the body says, read once, after auth; null until then and where the endpoint does not look at it. Its content is never written to. */
  json: JsonObject | null;
}

/** One upstream try, as the ledger keeps it. */
export interface Attempt {
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

/** One client call, from first byte to log line. Everything else hangs on it. */
export class Exchange {
  principal!: Principal;
  config!: ResolvedConfig;
  trace!: Trace;
  metadata: Readonly<Record<string, string>> = {};
  readonly attempts: Attempt[] = [];
  usage: Usage = noUsage();
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
  /** Milliseconds spent waiting for upstreams. */
  upstreamMs = 0;
  /** Names of fields that the chosen provider's format could not take. */
  dropped: readonly string[] = [];
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly #began: number;
  #slots: unknown[] | null = null;
  #onAbort: ((reason: GatewayError) => void)[] | null = null;
  #aborted: GatewayError | null = null;
  #controller: AbortController | null = null;
  /** Told what listeners threw; set by `abort`. */
  #report: ((thrown: unknown) => void) | null = null;

  constructor(
    readonly id: string,
    readonly endpoint: Endpoint,
    readonly request: ClientRequest,
  ) {
    this.startedAt = Date.now();
    this.#began = performance.now();
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

  /** Why nobody waits for this exchange any more (client gone, shutting down); null while someone does. */
  get aborted(): GatewayError | null {
    return this.#aborted;
  }

  /**
   * The same as an AbortSignal, made when first asked for: most exchanges never need one. Its listeners may throw as
   * those of `onAbort` may.
   */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      guardListeners(this.#controller.signal, (thrown) => this.#report?.(thrown));
      if (this.#aborted !== null) this.#controller.abort(this.#aborted);
    }
    return this.#controller.signal;
  }

  /** Calls `listener` when the exchange is aborted, at once if it was. Returns how to take it back. */
  onAbort(listener: (reason: GatewayError) => void): () => void {
    if (this.#aborted !== null) {
      this.#tell(listener, this.#aborted);
      return () => {};
    }
    this.#onAbort ??= [];
    this.#onAbort.push(listener);
    return () => {
      const at = this.#onAbort?.indexOf(listener) ?? -1;
      if (at >= 0) this.#onAbort?.splice(at, 1);
    };
  }

  /** Tells every listener, whatever another one did; what they throw, at once or later, goes to `report`. */
  abort(reason: GatewayError, report: (thrown: unknown) => void): void {
    if (this.#aborted !== null) return;
    this.#aborted = reason;
    this.#report = report;
    const listeners = this.#onAbort;
    this.#onAbort = null;
    this.#controller?.abort(reason);
    for (const listener of listeners ?? []) this.#tell(listener, reason);
  }

  #tell(listener: (reason: GatewayError) => void, reason: GatewayError): void {
    guard(
      () => listener(reason),
      (thrown) => this.#report?.(thrown),
    );
  }
}
