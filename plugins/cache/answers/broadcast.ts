import type { Sink, Source } from '../../../src/common/bytes/body.js';
import type { BodyRecord } from '../../../src/common/bytes/body-record.js';
import { Pieces } from '../../../src/common/bytes/pieces.js';
import type { GatewayError } from '../../../src/common/core/errors.js';

/**
 * One stream for many readers, each from its start and at its own pace. A stream of up to `maxBytes` is kept as a
 * whole; of a longer one only the bytes that the slowest reader has not read, and at most that many: then the source is
 * paused.
 */
export class Broadcast implements Sink {
  readonly #kept = new Pieces();
  #bytes = 0;
  #ended = false;
  #failure: GatewayError | null = null;
  #waiting = false;
  readonly #readers = new Set<Reader>();

  constructor(
    readonly source: Source,
    readonly maxBytes: number,
    /** Called once: with all of it at its end, or with null as soon as it breaks or is too long. */
    readonly known: (whole: Buffer | null) => void,
    /** Called when a reader gives up before the end. */
    readonly left: () => void,
  ) {}

  /** Is the whole stream still kept, so that another reader can start? */
  get open(): boolean {
    return this.#bytes <= this.maxBytes && this.#failure === null;
  }

  get isOver(): boolean {
    return this.#ended;
  }

  get readers(): number {
    return this.#readers.size;
  }

  /** A reader; the source starts with the first one. `record`: keeps the bytes that this one reads. */
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

  // Called by the source.

  data(chunk: Buffer): boolean {
    this.#kept.add(chunk);
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
    if (this.open) this.known(this.#kept.bytes());
    for (const reader of [...this.#readers]) reader.pump();
  }

  error(error: GatewayError): void {
    this.#ended = true;
    if (this.open) this.known(null);
    this.#failure = error;
    for (const reader of [...this.#readers]) reader.pump();
  }

  // Called by readers.

  /** Bytes of memory kept. */
  get heldBytes(): number {
    return this.#kept.heldBytes;
  }

  /** Some of the bytes after the first `taken`; null: they have not come. */
  chunk(taken: number): Buffer | null {
    return this.#kept.from(taken);
  }

  /** undefined: more may come; null: it has ended normally. */
  get outcome(): GatewayError | null | undefined {
    return this.#ended ? this.#failure : undefined;
  }

  /** A reader has read more bytes. */
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

  /** Bytes that the slowest reader has not read. */
  #lag(): number {
    let least = this.#bytes;
    for (const { taken } of this.#readers) if (taken < least) least = taken;
    return this.#bytes - least;
  }

  #forget(): void {
    if (this.#bytes <= this.maxBytes) return;
    this.#kept.forget(this.#bytes - this.#lag());
  }
}

class Reader implements Source {
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

  /** Passes on the available bytes until the sink is full. */
  pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    while (this.#sink !== null && !this.#blocked) {
      const chunk = this.from.chunk(this.taken);
      if (chunk === null) {
        this.#close();
        break;
      }
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
