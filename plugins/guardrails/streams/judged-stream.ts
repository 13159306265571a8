import type { Sink, Source } from '../../../src/common/bytes/body.js';
import type { GatewayError } from '../../../src/common/core/errors.js';

/** Bytes of a stream that are kept to be judged at its end. */
const maxKept = 1024 * 1024;

/**
 * A stream with a frame before its first byte and one after its last. The answer is passed on as it comes; it is judged when
 * it has ended, and the stream ends after that.
 */
export class JudgedStream implements Source, Sink {
  readonly #kept: Buffer[] = [];
  #length = 0;
  #sink: Sink | null = null;
  #first: Buffer | null;
  #isOver = false;

  constructor(
    readonly source: Source,
    /** null: none. */
    first: Buffer | null,
    /** Judges the bytes, of which those beyond 1 MiB are missing; the last frame, or null. Absent: nothing is judged. */
    readonly judge: ((bytes: Buffer) => Promise<Buffer | null>) | null,
  ) {
    this.#first = first;
  }

  start(sink: Sink): void {
    this.#sink = sink;
    this.source.start(this);
  }

  resume(): void {
    this.source.resume();
  }

  cancel(): void {
    this.#isOver = true;
    this.source.cancel();
  }

  data(chunk: Buffer): boolean {
    if (this.#isOver) return true;
    if (this.judge !== null && this.#length < maxKept) {
      // A copy: the chunk is a slice of the socket's buffer, which it would keep.
      const kept = Buffer.from(chunk.subarray(0, maxKept - this.#length));
      this.#kept.push(kept);
      this.#length += kept.length;
    }
    if (this.#first === null) return this.#sink!.data(chunk);
    const first = this.#first;
    this.#first = null;
    return this.#sink!.data(Buffer.concat([first, chunk]));
  }

  end(): void {
    if (this.#isOver) return;
    if (this.judge === null) return this.#sink!.end();
    this.judge(Buffer.concat(this.#kept)).then(
      (last) => {
        if (this.#isOver) return;
        if (last !== null) this.#sink!.data(last);
        this.#sink!.end();
      },
      () => {
        if (!this.#isOver) this.#sink!.end();
      },
    );
  }

  error(error: GatewayError): void {
    if (!this.#isOver) this.#sink!.error(error);
  }
}
