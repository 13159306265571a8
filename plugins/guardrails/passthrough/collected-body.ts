import type { Sink, Source } from '../../../src/common/bytes/body.js';
import type { GatewayError } from '../../../src/common/core/errors.js';

/** A body that was read up to a limit. */
export interface Collected {
  /** The whole body; null: it is longer. */
  readonly bytes: Buffer | null;
  /** The body from its beginning, read or not. */
  readonly source: Source;
}

/** Reads a body of at most that many bytes. Rejects with the error that broke it. */
export function collect(source: Source, maxBytes: number): Promise<Collected> {
  return new Promise((resolve, reject) => {
    const reader = new Reader(source, maxBytes, resolve, reject);
    source.start(reader);
  });
}

class Reader implements Source, Sink {
  readonly #chunks: Buffer[] = [];
  #length = 0;
  #sink: Sink | null = null;
  #isSettled = false;
  #hasEnded = false;
  #failure: GatewayError | null = null;

  constructor(
    readonly source: Source,
    readonly maxBytes: number,
    readonly resolve: (collected: Collected) => void,
    readonly reject: (error: GatewayError) => void,
  ) {}

  // Called by the source.

  data(chunk: Buffer): boolean {
    if (this.#sink !== null) return this.#sink.data(chunk);
    this.#chunks.push(Buffer.from(chunk));
    this.#length += chunk.length;
    if (this.#length <= this.maxBytes) return true;
    this.#settle(null);
    return false;
  }

  end(): void {
    this.#hasEnded = true;
    if (this.#sink !== null) this.#sink.end();
    else this.#settle(Buffer.concat(this.#chunks));
  }

  error(error: GatewayError): void {
    this.#failure = error;
    if (this.#sink !== null) this.#sink.error(error);
    else if (!this.#isSettled) this.reject(error);
  }

  #settle(bytes: Buffer | null): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.resolve({ bytes, source: this });
  }

  // Called by the reader of the rest.

  start(sink: Sink): void {
    this.#sink = sink;
    for (const chunk of this.#chunks.splice(0)) sink.data(chunk);
    if (this.#failure !== null) sink.error(this.#failure);
    else if (this.#hasEnded) sink.end();
    else this.source.resume();
  }

  resume(): void {
    this.source.resume();
  }

  cancel(): void {
    this.source.cancel();
  }
}
