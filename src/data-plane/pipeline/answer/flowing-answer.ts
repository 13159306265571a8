import type { Sink, Source } from '../../../common/bytes/body.js';
import { BodyRecord } from '../../../common/bytes/body-record.js';
import { Pieces } from '../../../common/bytes/pieces.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { Attempt } from '../../../common/core/exchange.js';
import { inTurns } from '../../../common/json/json-slices.js';
import { longestModel } from '../../../common/vocabulary/model-name.js';
import { withoutSecrets } from '../secrets/call-secrets.js';
import { type SecretMask, StreamMask } from '../secrets/secret-mask.js';
import type { StreamReading } from './stream-reading.js';

/** Bytes of a stream that are converted in one turn of the event loop; the socket may have read many more at once. */
const streamedPerTurn = 64 * 1024;

/** The source of the bytes. */
export interface Inflow {
  resume(): void;
  /** It makes no further calls after this. */
  cancel(): void;
  /** The answer has ended, one way or the other. */
  over(): void;
}

/**
 * The body of an answer that is passed on as it arrives: receives the provider's bytes, reads or
 * converts it, masks secrets, keeps a record, and is the source of the client's body.
 */
export class FlowingAnswer implements Sink, Source {
  readonly #record: BodyRecord;
  readonly #masked: StreamMask | null;
  /** Bytes that arrive before the client's side reads them. */
  readonly #pieces = new Pieces();
  #reading: StreamReading | null;
  #convertedBytes = 0;
  #sink: Sink | null = null;
  /** No more bytes are accepted … */
  #isOver = false;
  /** … and everything was written. */
  #isWritten = false;
  #failure: GatewayError | null = null;

  /** `reading` null: the bytes are passed on without being read. */
  constructor(
    readonly inflow: Inflow,
    readonly attempt: Attempt,
    reading: StreamReading | null,
    readonly isConverted: boolean,
    readonly mask: SecretMask,
    maxRecordBytes: number,
    /** Records the provider's bytes; null: they are not needed, or are the same as those that are sent. */
    readonly original: BodyRecord | null = null,
  ) {
    this.#reading = reading;
    this.#masked = mask.isEmpty ? null : new StreamMask(mask);
    this.#record = new BodyRecord(maxRecordBytes);
    attempt.received = this.#record;
  }

  // Called by the provider's connection.

  data(chunk: Buffer): boolean {
    this.original?.add(chunk);
    const goOn = this.#pass(chunk);
    if (!this.isConverted) return goOn;
    this.#convertedBytes += chunk.length;
    if (this.#convertedBytes < streamedPerTurn) return goOn;
    this.#convertedBytes = 0;
    // A sink that is full resumes by itself.
    if (goOn) setImmediate(() => this.inflow.resume());
    return false;
  }

  end(): void {
    const slices = this.#reading?.endInSlices?.() ?? null;
    if (slices === null) return this.#ended(null);
    inTurns(slices, (slice) => {
      if (!this.#isOver) this.#write(slice);
    }).then(
      () => this.#ended(null),
      (thrown) => this.#ended(GatewayError.from(thrown)),
    );
  }

  error(error: GatewayError): void {
    this.#ended(error);
  }

  // Called by the client's side.

  start(sink: Sink): void {
    this.#sink = sink;
    for (const chunk of this.#pieces.take()) sink.data(chunk);
    if (!this.#isWritten) this.inflow.resume();
    else if (this.#failure === null) sink.end();
    else sink.error(this.#failure);
  }

  resume(): void {
    this.inflow.resume();
  }

  cancel(): void {
    this.#close();
    this.inflow.cancel();
  }

  #pass(chunk: Buffer): boolean {
    let out: Buffer | null = chunk;
    if (this.#reading !== null) {
      try {
        out = this.#reading.push(chunk);
      } catch (thrown) {
        this.inflow.cancel();
        this.#ended(GatewayError.from(thrown));
        return true;
      }
    }
    return out === null || this.#write(out);
  }

  #write(bytes: Buffer): boolean {
    if (this.#masked === null) return this.#pour(bytes);
    const clean = this.#masked.push(bytes);
    return clean === null || this.#pour(clean);
  }

  /** Passes bytes to the reader; false: it is full. */
  #pour(bytes: Buffer): boolean {
    this.#record.add(bytes);
    if (this.#sink !== null) return this.#sink.data(bytes);
    this.#pieces.add(bytes);
    return false;
  }

  #ended(error: GatewayError | null): void {
    if (this.#isOver) return;
    let failure = error;
    let last: Buffer | null = null;
    if (failure === null && this.#reading !== null) {
      try {
        last = this.#reading.end();
      } catch (thrown) {
        failure = GatewayError.from(thrown);
      }
    }
    if (failure !== null) failure = withoutSecrets(failure, this.mask);
    // The client still gets text that arrived in one packet with the break.
    if (failure !== null) {
      last = this.#reading?.rest() ?? null;
      if (this.#reading?.hasReportedError === true) failure = failure.asReported();
    }
    this.#close();
    if (failure !== null) this.attempt.error = failure.code;
    if (last !== null) this.#write(last);
    const held = this.#masked?.end() ?? null;
    if (held !== null) this.#pour(held);
    this.#isWritten = true;
    this.#failure = failure;
    if (this.#sink === null) return;
    if (failure === null) this.#sink.end();
    else this.#sink.error(failure);
  }

  #close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#takeUsage();
    this.inflow.over();
  }

  #takeUsage(): void {
    if (this.#reading === null) return;
    const { usage, model } = this.#reading;
    if (usage !== null) this.attempt.usage = usage;
    else this.attempt.usageSoFar = this.#reading.usageSoFar;
    if (model !== null) this.attempt.modelUsed ??= this.mask.text(model.slice(0, longestModel));
    this.#reading = null;
  }
}
