import type { Sink, Source } from '../../src/common/bytes/body.js';
import type { GatewayError } from '../../src/common/core/errors.js';
import type { HeaderList } from '../../src/common/http/headers.js';
import type {
  Timeouts,
  Upstream,
  UpstreamFlight,
  UpstreamHandler,
  UpstreamRequest,
} from '../../src/data-plane/upstream/upstream.js';
import { expectWithinMs, scaled, TimeLimitError } from './time-limits.js';

export const generous: Timeouts = { connectMs: 5_000, headersMs: 5_000, firstTokenMs: 5_000, idleMs: 5_000 };

/** A handler that keeps all it is told, and fails on anything outside its grammar. */
export class RecordedFlight implements UpstreamHandler {
  status = 0;
  headers: HeaderList = [];
  readonly chunks: Buffer[] = [];
  failure: GatewayError | null = null;
  ended = false;
  /** Calls that the grammar of UpstreamHandler forbids. */
  readonly misuse: string[] = [];
  readonly startedAt = performance.now();
  finishedAfterMs = 0;
  flight!: UpstreamFlight;
  onHead: (() => void) | null = null;
  /** What `data` answers. */
  onData: ((chunk: Buffer) => boolean) | null = null;
  readonly finished: Promise<this>;
  #finish!: (self: this) => void;

  constructor() {
    this.finished = new Promise((finish) => {
      this.#finish = finish;
    });
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString('latin1');
  }

  head(status: number, headers: HeaderList): void {
    if (this.status !== 0 || this.#over) this.misuse.push('head');
    this.status = status;
    this.headers = headers;
    this.onHead?.();
  }

  data(chunk: Buffer): boolean {
    if (this.status === 0 || this.#over) this.misuse.push('data');
    if (this.onData !== null) return this.onData(chunk);
    this.chunks.push(chunk);
    return true;
  }

  end(): void {
    if (this.status === 0 || this.#over) this.misuse.push('end');
    this.ended = true;
    this.#over_();
  }

  error(error: GatewayError): void {
    if (this.#over) this.misuse.push('error');
    this.failure = error;
    this.#over_();
  }

  get #over(): boolean {
    return this.ended || this.failure !== null;
  }

  #over_(): void {
    this.finishedAfterMs = performance.now() - this.startedAt;
    this.#finish(this);
  }
}

/** That a flight ended when a limit ran out, not later: timers are coarse, and the machine may be busy. */
export function expectOnTime({ finishedAfterMs }: RecordedFlight, limitMs: number): void {
  expectWithinMs(finishedAfterMs, limitMs + busyMs, { atLeast: limitMs * 0.8 });
}

/** How long a busy machine keeps anybody waiting; less than `generous` by far. */
export const busyMs = 1000;

/** Sends a POST with a short body unless told otherwise, and records what comes of it. */
export function fly(
  upstream: Upstream,
  url: string,
  request: Partial<UpstreamRequest> = {},
  prepare: (flight: RecordedFlight) => void = () => {},
): RecordedFlight {
  const recorded = new RecordedFlight();
  prepare(recorded);
  recorded.flight = upstream.send(
    {
      method: 'POST',
      url,
      headers: ['content-type', 'application/json'],
      body: Buffer.from('{"a":1}'),
      callerChosen: false,
      tenant: 'workspace',
      account: 'credential',
      timeouts: generous,
      maxBodyBytes: 0,
      ...request,
    },
    recorded,
  );
  return recorded;
}

/** A source of `chunks`, that counts what was taken from it and whether it was cancelled. */
export class ChunkSource implements Source {
  taken = 0;
  started = false;
  cancelled = false;
  readonly #chunks: Iterator<Buffer>;
  #sink: Sink | null = null;
  #flowing = false;

  constructor(chunks: Iterable<Buffer>) {
    this.#chunks = chunks[Symbol.iterator]();
  }

  start(sink: Sink): void {
    this.started = true;
    this.#sink = sink;
    this.#pump();
  }

  resume(): void {
    this.#pump();
  }

  cancel(): void {
    this.cancelled = true;
  }

  #pump(): void {
    if (this.#flowing) return;
    this.#flowing = true;
    for (;;) {
      if (this.cancelled) break;
      const next = this.#chunks.next();
      if (next.done === true) {
        this.cancelled = true;
        this.#sink?.end();
        this.cancelled = false;
        break;
      }
      this.taken += next.value.length;
      if (this.#sink?.data(next.value) === false) break;
    }
    this.#flowing = false;
  }
}

/** Waits until `condition` holds, looking every few milliseconds. */
export async function until(condition: () => boolean, withinMs = 3_000): Promise<void> {
  const giveUp = performance.now() + scaled(withinMs);
  while (!condition()) {
    if (performance.now() > giveUp)
      throw new TimeLimitError(`not so within ${scaled(withinMs)} ms: ${condition}`);
    await new Promise((wait) => setTimeout(wait, 3));
  }
}

export const sleep = (ms: number): Promise<void> => new Promise((wait) => setTimeout(wait, ms));
