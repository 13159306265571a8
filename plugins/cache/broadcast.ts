import type { Sink, Source } from '../../src/core/body.js';
import type { BodyRecord } from '../../src/core/body-record.js';
import type { GatewayError } from '../../src/core/errors.js';

/**
 * One stream for many readers, each from its start and at its own pace. All of it is kept up to `maxBytes`; of a longer
 * one only what the slowest reader has yet to take, and never more than that many bytes: then the source waits.
 */
export class Broadcast implements Sink {
  #chunks: Buffer[] = [];
  /** Chunks that are no longer kept. */
  #dropped = 0;
  #bytes = 0;
  #ended = false;
  #failure: GatewayError | null = null;
  #waiting = false;
  readonly #readers = new Set<Reader>();

  constructor(
    readonly source: Source,
    readonly maxBytes: number,
    /** Told once: all of it at its end, or null as soon as it breaks or is too long. */
    readonly known: (whole: readonly Buffer[] | null) => void,
    /** Told when a reader gives up before the end. */
    readonly left: () => void,
  ) {}

  /** Is it all there still, for one more to read from the start? */
  get open(): boolean {
    return this.#bytes <= this.maxBytes && this.#failure === null;
  }

  get isOver(): boolean {
    return this.#ended;
  }

  get readers(): number {
    return this.#readers.size;
  }

  /** Its source starts with the first reader that does. `record`: keeps what this one takes. */
  reader(record: BodyRecord | null = null): Source {
    const reader = new Reader(this, record);
    this.#readers.add(reader);
    return reader;
  }

  #started = false;

  begin(): void {
    if (this.#started) return;
    this.#started = true;
    this.source.start(this);
  }

  // What the source calls.

  data(chunk: Buffer): boolean {
    this.#chunks.push(chunk);
    const before = this.#bytes;
    this.#bytes += chunk.length;
    if (before <= this.maxBytes && this.#bytes > this.maxBytes) this.known(null);
    for (const reader of this.#readers) reader.pump();
    this.#forget();
    this.#waiting = this.#lag() > this.maxBytes;
    return !this.#waiting;
  }

  end(): void {
    this.#ended = true;
    if (this.open) this.known(this.#chunks);
    for (const reader of [...this.#readers]) reader.pump();
  }

  error(error: GatewayError): void {
    this.#ended = true;
    if (this.open) this.known(null);
    this.#failure = error;
    for (const reader of [...this.#readers]) reader.pump();
  }

  // What readers call.

  /** The chunk at this place; undefined: it has not come. */
  chunk(at: number): Buffer | undefined {
    return this.#chunks[at - this.#dropped];
  }

  /** undefined: more may come; null: it came to its end. */
  get outcome(): GatewayError | null | undefined {
    return this.#ended ? this.#failure : undefined;
  }

  /** A reader has caught up with some of what it had yet to take. */
  advanced(): void {
    this.#forget();
    if (!this.#waiting || this.#lag() > this.maxBytes) return;
    this.#waiting = false;
    this.source.resume();
  }

  finished(reader: Reader): void {
    this.#readers.delete(reader);
  }

  leave(reader: Reader): void {
    if (!this.#readers.delete(reader)) return;
    if (this.#readers.size > 0) {
      this.advanced();
    } else if (!this.#ended) {
      this.#ended = true;
      if (this.open) this.known(null);
      this.source.cancel();
    }
    this.left();
  }

  /** Bytes that the slowest reader has yet to take. */
  #lag(): number {
    let least = this.#bytes;
    for (const { taken } of this.#readers) if (taken < least) least = taken;
    return this.#bytes - least;
  }

  #forget(): void {
    if (this.#bytes <= this.maxBytes) return;
    let least = this.#dropped + this.#chunks.length;
    for (const { next } of this.#readers) if (next < least) least = next;
    if (least === this.#dropped) return;
    this.#chunks.splice(0, least - this.#dropped);
    this.#dropped = least;
  }
}

class Reader implements Source {
  /** Place of the chunk that comes next. */
  next = 0;
  /** Bytes. */
  taken = 0;
  #sink: Sink | null = null;
  #blocked = false;
  #pumping = false;

  constructor(
    readonly from: Broadcast,
    readonly record: BodyRecord | null,
  ) {}

  start(sink: Sink): void {
    this.#sink = sink;
    this.pump();
    this.from.begin();
  }

  resume(): void {
    this.#blocked = false;
    this.pump();
    this.from.advanced();
  }

  cancel(): void {
    this.#sink = null;
    this.from.leave(this);
  }

  /** Gives what has come, as long as it is taken. */
  pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    while (this.#sink !== null && !this.#blocked) {
      const chunk = this.from.chunk(this.next);
      if (chunk === undefined) {
        this.#close();
        break;
      }
      this.next++;
      this.taken += chunk.length;
      this.record?.add(chunk);
      if (!this.#sink.data(chunk)) this.#blocked = true;
    }
    this.#pumping = false;
  }

  #close(): void {
    const { outcome } = this.from;
    if (outcome === undefined || this.#sink === null) return;
    const sink = this.#sink;
    this.#sink = null;
    this.from.finished(this);
    if (outcome === null) sink.end();
    else sink.error(outcome);
  }
}
