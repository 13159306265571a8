import type { Http2Server, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Server } from '@grpc/grpc-js';

/** Milliseconds of one turn of the event loop for streams that begin. */
const turnMs = 8;

type Begin = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/**
 * Begins streams over several turns of the event loop: a turn may bring some hundred of each connection. Streams that were
 * reset while they waited are not begun. They are no more than connections may have at a time.
 */
export class StreamTurns {
  #waiting: (readonly [ServerHttp2Stream, IncomingHttpHeaders])[] = [];
  /** Milliseconds of this turn that were spent on streams. */
  #spent = 0;
  #isDue = false;

  constructor(readonly begin: Begin) {}

  add(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    // Its error while it waits would end the process.
    stream.on('error', () => {});
    if (this.#waiting.length > 0 || this.#spent >= turnMs) this.#waiting.push([stream, headers]);
    else this.#begin(stream, headers);
    this.#wake();
  }

  #begin(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    if (stream.closed || stream.destroyed) return;
    const began = performance.now();
    this.begin(stream, headers);
    this.#spent += performance.now() - began;
  }

  #wake(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#spent = 0;
      const waiting = this.#waiting;
      let done = 0;
      while (done < waiting.length && this.#spent < turnMs) this.#begin(...waiting[done++]!);
      this.#waiting = waiting.slice(done);
      if (this.#waiting.length > 0) this.#wake();
    });
  }
}

/**
 * Lets `server` begin the streams of its newest listener in turns. `began`: called with each stream at once, also for unknown
 * methods. The library does not expose its listener: this reads an internal field.
 */
export function beginInTurns(server: Server, began: (stream: ServerHttp2Stream) => void): void {
  const { http2Servers } = server as unknown as { http2Servers: ReadonlyMap<Http2Server, unknown> };
  const http2 = [...http2Servers.keys()].at(-1)!;
  const begins = http2.listeners('stream') as Begin[];
  http2.removeAllListeners('stream');
  const turns = new StreamTurns((stream, headers) => {
    for (const begin of begins) begin.call(http2, stream, headers);
  });
  http2.on('stream', (stream, headers) => {
    began(stream);
    turns.add(stream, headers);
  });
}
