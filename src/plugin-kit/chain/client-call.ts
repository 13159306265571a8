import type { GatewayError } from '../../common/core/errors.js';
import type { HeaderList } from '../../common/http/headers.js';
import type { Call, ReplySink, Source } from '../../data-plane/transport/transport.js';

/** What a client sends. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: HeaderList;
  readonly body: Buffer;
}

/** What a client has received. */
export interface Received {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Buffer;
}

/** A call as a transport makes it, of a client that is a function. */
export class ClientCall implements Call {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: HeaderList;
  readonly remoteAddress = '127.0.0.1';
  aborted = false;
  onAbort: (() => void) | null = null;
  readonly #body: Buffer;
  readonly #pieces: Buffer[] = [];
  #status = 0;
  #received: HeaderList = [];
  readonly #done: (received: Received) => void;
  /** Resolves with what the client received, whether or not the answer was complete. */
  readonly answered: Promise<Received>;

  constructor({ method, path, query, headers, body }: Sent) {
    this.method = method;
    this.path = path;
    this.query = query;
    this.headers = headers;
    this.#body = body;
    let done: (received: Received) => void = () => {};
    this.answered = new Promise((resolve) => {
      done = resolve;
    });
    this.#done = done;
  }

  disconnect(): void {
    if (this.aborted) return;
    this.aborted = true;
    this.onAbort?.();
    this.#end();
  }

  collect(limit: number, done: (error: GatewayError | null, bytes: Buffer) => void): void {
    if (this.#body.length > limit) throw new RangeError(`The body has more than ${limit} bytes.`);
    setImmediate(() => {
      if (!this.aborted) done(null, this.#body);
    });
  }

  stream(): Source {
    let over = false;
    return {
      start: (sink) => {
        setImmediate(() => {
          if (over) return;
          sink.data(this.#body);
          sink.end();
        });
      },
      resume() {},
      cancel() {
        over = true;
      },
    };
  }

  answer(status: number, headers: HeaderList, body: Buffer | string | null): void {
    if (this.aborted || this.#status !== 0) return;
    this.#status = status;
    this.#received = headers;
    if (body !== null) this.#pieces.push(Buffer.from(body as string));
    this.#end();
  }

  begin(status: number, headers: HeaderList): ReplySink {
    if (!this.aborted && this.#status === 0) {
      this.#status = status;
      this.#received = headers;
    }
    return {
      data: (chunk) => {
        if (!this.aborted) this.#pieces.push(Buffer.from(chunk as string));
        return true;
      },
      end: () => this.#end(),
      error: () => this.#end(),
    };
  }

  #end(): void {
    this.#done({ status: this.#status, headers: this.#received, body: Buffer.concat(this.#pieces) });
  }
}
