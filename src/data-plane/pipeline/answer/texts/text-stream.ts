import type { Sink, Source } from '../../../../common/bytes/body.js';
import type { BodyRecord } from '../../../../common/bytes/body-record.js';
import { GatewayError } from '../../../../common/core/errors.js';
import type { Exchange } from '../../../../common/core/exchange.js';
import { errorsAt } from '../../../providers/client-formats/index.js';
import { EventRewriter, type StreamFormat } from './event-rewriter.js';
import { ArrayFrames, EventFrames, type Frames, type StreamFrame } from './frames.js';
import type { Pausing, TextHook } from './open-text.js';

/**
 * A streamed answer whose texts pass through the `text` hooks. Events that these do not change go on byte for byte, and
 * without delay unless a hook gives a promise.
 */
export class TextStream implements Source, Sink {
  readonly #frames: Frames;
  readonly #rewriter: EventRewriter;
  /** What is to be done, in this order; the first of them may be waiting for a hook. */
  readonly #work: Pausing<void>[] = [];
  #isWaiting = false;
  #isOver = false;
  #isOpen = true;
  #out: Buffer[] = [];
  #sink: Sink | null = null;
  #timer: NodeJS.Timeout | null = null;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(
    readonly source: Source,
    readonly x: Exchange,
    format: StreamFormat,
    hooks: readonly TextHook[],
    /** Server-sent events, or one JSON array? */
    events: boolean,
    /** Keeps what goes on, for the logs. */
    readonly record: BodyRecord,
  ) {
    this.#frames = events ? new EventFrames() : new ArrayFrames();
    this.#rewriter = new EventRewriter(x, format, hooks, (name, data) =>
      this.#out.push(this.#frames.made(name, data)),
    );
  }

  // Called by the client's side.

  start(sink: Sink): void {
    this.#sink = sink;
    this.source.start(this);
  }

  resume(): void {
    this.#isOpen = true;
    if (!this.#isWaiting) this.source.resume();
  }

  cancel(): void {
    this.#over();
    this.source.cancel();
  }

  // Called by the answer.

  data(chunk: Buffer): boolean {
    if (this.#isOver) return true;
    try {
      for (const frame of this.#frames.push(chunk)) this.#work.push(this.#pass(frame));
    } catch (thrown) {
      this.source.cancel();
      this.error(GatewayError.from(thrown));
      return true;
    }
    this.#go();
    return this.#isOpen && !this.#isWaiting;
  }

  end(): void {
    this.#work.push(this.#ended(null));
    this.#go();
  }

  error(error: GatewayError): void {
    this.#work.push(this.#ended(error));
    this.#go();
  }

  *#pass(frame: StreamFrame): Pausing<void> {
    const { name, data } = frame;
    const made = data === null ? null : yield* this.#rewriter.event(name, data);
    this.#out.push(made === null ? this.#frames.same(frame) : this.#frames.made(name, made));
  }

  /** `error`: it broke; the client still gets what was held back. */
  *#ended(error: GatewayError | null): Pausing<void> {
    if (error === null) for (const frame of this.#frames.end()) yield* this.#pass(frame);
    yield* this.#rewriter.end();
    const close = error === null ? this.#frames.close() : null;
    if (close !== null) this.#out.push(close);
    this.#flush();
    this.#over();
    if (error === null) this.#sink!.end();
    else this.#sink!.error(error);
  }

  /** Does the work until a hook has to be waited for. */
  #go(): void {
    if (this.#isWaiting || this.#isOver) return;
    this.#step(undefined, false);
  }

  #step(value: unknown, isError: boolean): void {
    let [given, threw] = [value, isError];
    try {
      for (let steps = this.#work[0]; steps !== undefined; steps = this.#work[0]) {
        const { done, value: awaited } = threw ? steps.throw(given) : steps.next(given);
        [given, threw] = [undefined, false];
        if (this.#isOver) return;
        if (done !== true) return this.#wait(awaited as PromiseLike<unknown>);
        this.#work.shift();
      }
      this.#flush();
      this.#watch();
    } catch (thrown) {
      this.#break(thrown);
    }
  }

  #wait(promised: PromiseLike<unknown>): void {
    this.#isWaiting = true;
    this.#flush();
    const goOn = (value: unknown, isError: boolean): void => {
      this.#isWaiting = false;
      if (this.#isOver) return;
      this.#step(value, isError);
      if (!this.#isWaiting && !this.#isOver && this.#isOpen) this.source.resume();
    };
    promised.then(
      (value) => goOn(value, false),
      (thrown) => goOn(thrown, true),
    );
  }

  #flush(): void {
    if (this.#out.length === 0) return;
    const bytes = this.#out.length === 1 ? this.#out[0]! : Buffer.concat(this.#out);
    this.#out = [];
    this.record.add(bytes);
    this.#isOpen = this.#sink!.data(bytes);
  }

  /** Sees to it that what is held back goes on in time. */
  #watch(): void {
    const { until } = this.#rewriter;
    if (until >= this.#timerAt || this.#isOver) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timerAt = until;
    const late = (): void => {
      this.#timer = null;
      this.#timerAt = Number.POSITIVE_INFINITY;
      this.#work.push(this.#rewriter.late(performance.now()));
      this.#go();
    };
    this.#timer = setTimeout(late, Math.max(1, Math.ceil(until - performance.now())));
  }

  /** A hook refuses the answer, or has failed. */
  #break(thrown: unknown): void {
    if (this.#isOver) return;
    const error = GatewayError.from(thrown);
    const { id, request } = this.x;
    const errors = errorsAt(request.path, request.headers);
    const last = this.#frames.broken(() => errors.writeError(error, { requestId: id, provider: null }));
    if (last !== null) this.#out.push(last);
    this.#flush();
    this.#over();
    this.source.cancel();
    this.#sink!.error(last === null ? error : error.asReported());
  }

  #over(): void {
    this.#isOver = true;
    this.#work.length = 0;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
