import { Readable } from 'node:stream';
import type { Sink, Source } from '../../../common/bytes/body.js';
import type { GatewayError } from '../../../common/core/errors.js';
import { failure } from '../failure.js';

const highWaterMark = 64 * 1024;

/** Is notified whether an upload waits for the upstream or for its source. */
export interface StreamWatcher {
  /** The upstream accepts no more for now. */
  uploadHeld(): void;
  /** The upstream accepts more again. */
  uploadWanted(): void;
}

/** A Source as the stream that undici takes. The source starts when the connection is open, never before. */
export class UploadStream extends Readable implements Sink {
  readonly #source: Source;
  readonly #watcher: StreamWatcher;
  #started = false;
  #ended = false;
  #halted = false;
  #held = false;
  /** Bytes to come, where the client announced how many; -1: unknown. */
  #left = -1;

  constructor(source: Source, watcher: StreamWatcher) {
    super({ highWaterMark });
    this.#source = source;
    this.#watcher = watcher;
  }

  /** Sets the announced number of bytes; -1: unknown. */
  expect(bytes: number): void {
    this.#left = bytes;
  }

  /** Has the source ended? */
  get ended(): boolean {
    return this.#ended;
  }

  /** Reads no more from the source. One that was not started stays usable for another target. */
  halt(): void {
    if (this.#ended || this.#halted) return;
    this.#halted = true;
    if (this.#started) this.#source.cancel();
  }

  data(chunk: Buffer): boolean {
    if (this.#halted) return true;
    if (this.#left !== -1) {
      this.#left -= chunk.length;
      if (this.#left < 0) {
        this.destroy(failure('bad_framing', ''));
        return true;
      }
    }
    // An empty chunk would end the stream for Readable's callers.
    if (chunk.length === 0 || this.push(chunk)) return true;
    this.#held = true;
    this.#watcher.uploadHeld();
    return false;
  }

  end(): void {
    if (this.#halted) return;
    this.#ended = true;
    if (this.#left > 0) this.destroy(failure('bad_framing', ''));
    else this.push(null);
  }

  error(error: GatewayError): void {
    if (this.#halted) return;
    this.#ended = true;
    this.destroy(error);
  }

  override _read(): void {
    if (this.#halted || this.#ended) return;
    if (!this.#started) {
      this.#started = true;
      this.#source.start(this);
    } else if (this.#held) {
      this.#held = false;
      this.#watcher.uploadWanted();
      this.#source.resume();
    }
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.halt();
    done(error);
  }
}
