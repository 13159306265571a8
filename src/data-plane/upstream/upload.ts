import type { Sink, Source } from '../../common/bytes/body.js';
import { Pieces } from '../../common/bytes/pieces.js';
import type { GatewayError } from '../../common/core/errors.js';
import { failure } from './failure.js';

/** The connection that an upload is written to. */
export interface UploadTarget {
  cork(): void;
  uncork(): void;
  /** false: no more, until `drained`. `taken`: called when the system has accepted these bytes. */
  write(bytes: Buffer | string, taken?: () => void): boolean;
}

/** Is notified of an upload's progress. */
export interface UploadWatcher {
  /** The upstream accepts no more for now. */
  uploadHeld(): void;
  /** The upstream accepts more again. */
  uploadWanted(): void;
  uploadEnded(): void;
  /** The body will not be completed on this connection. */
  uploadFailed(error: GatewayError): void;
}

/**
 * Smaller chunks wait until earlier ones were accepted: each chunk that a socket keeps takes some hundred extra bytes.
 */
const smallBytes = 4 * 1024;
/** Bytes of them that wait at most. */
const waitingBytes = 16 * 1024;

/** A Source on its way to a connection. The source starts when the connection is open, never before. */
export class Upload implements Sink {
  readonly #source: Source;
  readonly #watcher: UploadWatcher;
  #target: UploadTarget | null = null;
  /** Bytes to come, where the client announced how many; else it is sent chunked. */
  #left: number;
  readonly #chunked: boolean;
  #ended = false;
  #halted = false;
  #held = false;
  /** Small chunks that wait for the one before. */
  readonly #waiting = new Pieces();
  #isSmallUnderWay = false;

  /** `length`: of all that the source sends, or -1 where unknown. */
  constructor(source: Source, length: number, watcher: UploadWatcher) {
    this.#source = source;
    this.#left = length;
    this.#chunked = length === -1;
    this.#watcher = watcher;
  }

  /** Has the source ended? */
  get ended(): boolean {
    return this.#ended;
  }

  /** The head has been written to `target`: the body follows. */
  start(target: UploadTarget): void {
    this.#target = target;
    this.#source.start(this);
  }

  /** Reads no more from the source. One that was not started stays usable for another target. */
  halt(): void {
    if (this.#ended || this.#halted) return;
    this.#halted = true;
    if (this.#target !== null) this.#source.cancel();
  }

  drained(): void {
    if (!this.#held || this.#halted || this.#ended) return;
    this.#held = false;
    this.#watcher.uploadWanted();
    this.#source.resume();
  }

  data(chunk: Buffer): boolean {
    // An empty chunk would be the last one.
    if (this.#halted || chunk.length === 0) return true;
    if (!this.#chunked && chunk.length > this.#left) {
      this.#watcher.uploadFailed(failure('bad_framing', ''));
      return true;
    }
    if (!this.#chunked) this.#left -= chunk.length;
    if (this.#give(chunk)) return true;
    this.#held = true;
    this.#watcher.uploadHeld();
    return false;
  }

  /** false: the target is full. */
  #give(chunk: Buffer): boolean {
    const isSmall = chunk.length < smallBytes;
    if (!this.#isSmallUnderWay) return this.#write(chunk, isSmall);
    this.#waiting.add(chunk);
    return isSmall && this.#waiting.length < waitingBytes ? true : this.#writeWaiting();
  }

  #writeWaiting(): boolean {
    if (this.#waiting.length === 0) return true;
    const bytes = this.#waiting.bytes();
    this.#waiting.take();
    return this.#write(bytes, true);
  }

  /** With `follow`, small chunks that arrive before this one was accepted have to wait. */
  #write(chunk: Buffer, follow: boolean): boolean {
    const target = this.#target!;
    if (follow) this.#isSmallUnderWay = true;
    const taken = follow ? this.#taken : undefined;
    if (!this.#chunked) return target.write(chunk, taken);
    target.cork();
    target.write(`${chunk.length.toString(16)}\r\n`);
    target.write(chunk);
    const more = target.write('\r\n', taken);
    target.uncork();
    return more;
  }

  readonly #taken = (): void => {
    this.#isSmallUnderWay = false;
    if (!this.#halted && !this.#ended) this.#writeWaiting();
  };

  end(): void {
    if (this.#halted) return;
    this.#ended = true;
    this.#writeWaiting();
    if (this.#chunked) this.#target?.write('0\r\n\r\n');
    else if (this.#left > 0) return this.#watcher.uploadFailed(failure('bad_framing', ''));
    this.#watcher.uploadEnded();
  }

  error(error: GatewayError): void {
    if (this.#halted) return;
    this.#ended = true;
    this.#watcher.uploadFailed(error);
  }
}
