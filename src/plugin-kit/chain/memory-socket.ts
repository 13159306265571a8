import { Duplex } from 'node:stream';

/** One end of a connection within this process: what is written to it, the other end reads. */
export class MemorySocket extends Duplex {
  #peer: MemorySocket | null = null;
  #written: (() => void) | null = null;

  /** Two ends of one connection. */
  static pair(): [MemorySocket, MemorySocket] {
    const one = new MemorySocket();
    const other = new MemorySocket();
    one.#peer = other;
    other.#peer = one;
    return [one, other];
  }

  override _read(): void {
    if (this.#peer !== null) this.#peer.#flowOn();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, written: () => void): void {
    if (this.#peer === null || this.#peer.push(chunk)) written();
    else this.#written = written;
  }

  override _final(done: () => void): void {
    this.#peer?.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const peer = this.#peer;
    this.#peer = null;
    // The other end reads what has arrived, then the end, as from a connection that was closed.
    if (peer !== null && !peer.destroyed && !peer.readableEnded) setImmediate(() => peer.#lose());
    done(error);
  }

  /** As of a TCP socket: the other end gets an error in place of the rest. */
  resetAndDestroy(): this {
    const peer = this.#peer;
    if (peer !== null && !peer.destroyed)
      peer.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
    return this.destroy();
  }

  /** Neither idles: a request that takes too long is ended by its caller. */
  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  #flowOn(): void {
    const written = this.#written;
    this.#written = null;
    written?.();
  }

  #lose(): void {
    if (this.destroyed) return;
    this.push(null);
    this.#peer = null;
    this.#flowOn();
  }
}
