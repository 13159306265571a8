import type { Sink, Source } from '../../../common/bytes/body.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { Exchange, StreamEvent } from '../../../common/core/exchange.js';
import { SseReader, writeEvent } from '../../providers/streams/sse.js';
import { type Chain, runEvent } from '../chain.js';

/**
 * Passes each event of a stream through the `event` hooks and writes the results. Used only if a plugin has such a
 * hook.
 */
export class EventStage implements Sink {
  readonly #sse: SseReader;
  #pending: Promise<void> | null = null;
  #open = true;
  #over = false;

  constructor(
    readonly x: Exchange,
    readonly hooks: NonNullable<Chain['event']>,
    readonly next: Sink,
    readonly source: Source,
  ) {
    this.#sse = new SseReader((name, data) => this.#event({ name: name === '' ? null : name, data }));
  }

  data(chunk: Buffer): boolean {
    if (this.#over) return true;
    try {
      this.#sse.push(chunk);
    } catch (thrown) {
      this.#break(thrown);
    }
    if (this.#pending === null) return this.#open;
    // A hook is still running: pause the upstream until it is done.
    this.#pending.then(
      () => this.source.resume(),
      () => {},
    );
    return false;
  }

  end(): void {
    this.#after(() => {
      this.#sse.end();
      this.#after(() => {
        this.#over = true;
        this.next.end();
      });
    });
  }

  error(error: GatewayError): void {
    this.#after(() => {
      this.#over = true;
      this.next.error(error);
    });
  }

  #event(event: StreamEvent): void {
    this.#after(() => {
      const made = runEvent(this.hooks, this.x, event);
      if (!(made instanceof Promise)) return this.#write(made);
      return made.then((events) => this.#write(events));
    });
  }

  #write(events: readonly StreamEvent[]): void {
    for (const event of events) this.#open = this.next.data(Buffer.from(writeEvent(event.name, event.data)));
  }

  /** Keeps the order: runs `step` now if nothing is pending, else afterwards. */
  #after(step: () => void | Promise<void>): void {
    if (this.#over) return;
    if (this.#pending === null) {
      try {
        const later = step();
        if (later instanceof Promise) this.#hold(later);
      } catch (thrown) {
        this.#break(thrown);
      }
      return;
    }
    this.#hold(this.#pending.then(() => (this.#over ? undefined : step())));
  }

  #hold(work: Promise<void>): void {
    const held: Promise<void> = work
      .catch((thrown) => this.#break(thrown))
      .then(() => {
        if (this.#pending === held) this.#pending = null;
      });
    this.#pending = held;
  }

  #break(thrown: unknown): void {
    if (this.#over) return;
    this.#over = true;
    this.source.cancel();
    this.next.error(GatewayError.from(thrown));
  }
}
