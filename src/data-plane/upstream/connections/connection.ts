import type { Socket } from 'node:net';
import { beginRead, endRead } from '../../../common/bytes/read-turn.js';
import type { GatewayError } from '../../../common/core/errors.js';
import { connectTimeout, failure, fromConnect, fromTransport } from '../failure.js';
import type { ReplyHeadReader } from '../reply/reply-head.js';
import { ReplyParser } from '../reply/reply-parser.js';
import type { Destination, Dial } from './connect.js';
import { mustWait } from './reading-time.js';
import type { Waiter } from './waiting-line.js';

/** A request in flight, as its connection sees it. */
export interface ConnectionHandler {
  /** Has all of the request been written? Then the connection can be used again after the reply. */
  readonly written: boolean;
  /** Is the reader paused? */
  readonly paused: boolean;
  /** The final head. Read `head` before returning: afterwards it holds another reply's. */
  replyBegan(head: ReplyHeadReader): void;
  replyCame(chunk: Buffer): void;
  /** The connection no longer belongs to the request. */
  replyEnded(): void;
  /** The same, but the reply is incomplete. */
  replyBroke(error: GatewayError): void;
  /** The socket accepts more. */
  drained(): void;
}

/** The opener of a connection, which gives it requests. */
export interface ConnectionOwner {
  opened(connection: Connection): void;
  /** It could not be opened. */
  failed(connection: Connection, error: GatewayError): void;
  /** Its reply has ended; it may carry another request after the event loop has polled it again. */
  released(connection: Connection): void;
  /** It was closed by its owner, or closed after it had been open. */
  gone(connection: Connection): void;
}

type State =
  | 'opening'
  | 'busy'
  | 'resting' // free, until its socket was polled once more
  | 'idle'
  | 'closed';

/** Head and body up to this size are sent in one piece. */
const slabBytes = 16 * 1024 + 4 * 1024;
let slab = Buffer.allocUnsafeSlow(slabBytes);

/** One connection, which carries one request at a time and its reply. */
export class Connection implements Waiter {
  state: State = 'opening';
  /** Its place among the idle or spare connections. Belongs to open-connections.ts. */
  ahead: Waiter | null = null;
  behind: Waiter | null = null;
  waits = false;
  /** Until when it may be used, on `performance.now()`'s clock. Belongs to the pool. */
  usableUntil = Number.POSITIVE_INFINITY;
  /** When an idle one is closed, on `performance.now()`'s clock. Belongs to the pool. */
  idleUntil = 0;
  /** Does it keep the process alive although it is idle? Belongs to the pool. */
  referenced = true;
  /** Milliseconds for which the upstream keeps it, as its latest reply announced, or -1. */
  keepMs = -1;
  readonly #target: Destination;
  readonly #owner: ConnectionOwner;
  readonly #socket: Socket;
  readonly #parser: ReplyParser;
  #carried: ConnectionHandler | null = null;
  #keep = false;
  #headSeen = false;
  /** Does the upstream keep it after this reply? */
  #persistent = false;
  /** Is reading paused until `resume`? */
  #stopped = false;
  /** Bytes that arrived while the reader was paused. */
  #held: Buffer | null = null;
  /** Has the upstream ended the connection after what is held? TLS reports so even while reading is paused. */
  #endHeld = false;
  #connectTimer: NodeJS.Timeout | undefined;
  /** TCP is connected, TLS perhaps not yet. */
  #connected = false;

  constructor(
    target: Destination,
    dial: Dial,
    head: ReplyHeadReader,
    owner: ConnectionOwner,
    connectMs: number,
  ) {
    this.#target = target;
    this.#owner = owner;
    this.#parser = new ReplyParser(head);
    this.#socket = dial((bytes, length) => this.#read(bytes, length))
      .on('connect', () => this.#tcpStands())
      .on('secureConnect', () => this.#opened())
      .on('drain', () => this.#carried?.drained())
      .on('end', () => this.#ended())
      .on('error', (error) => this.#broke(error))
      .on('close', () => this.#broke(null));
    if (connectMs > 0) this.#connectTimer = setTimeout(() => this.#late(connectMs), connectMs);
  }

  get host(): string {
    return this.#target.host;
  }

  get usable(): boolean {
    return this.state === 'idle' && !this.#socket.destroyed;
  }

  /** Are there written bytes that the socket has not reported as sent? */
  get hasUnsent(): boolean {
    return this.#socket.writableLength > 0;
  }

  /** Sends the request; a body that arrives over time follows by `write`. */
  carry(
    carried: ConnectionHandler,
    head: string,
    body: Buffer | null,
    bodyless: boolean,
    keep: boolean,
  ): void {
    this.state = 'busy';
    this.#carried = carried;
    this.#keep = keep;
    this.#headSeen = false;
    this.#parser.start(bodyless);
    const length = head.length + (body?.length ?? 0);
    // TLS, and a corked socket, keep the written bytes for longer than this turn.
    if (length > slabBytes || this.#target.secure || this.#socket.writableCorked > 0)
      return this.#writeParts(head, body);
    slab.write(head, 'latin1');
    if (body !== null) body.copy(slab, head.length);
    this.#socket.write(slab.subarray(0, length));
    // The socket keeps the bytes that the kernel did not accept at once.
    if (this.#socket.writableLength > 0) slab = Buffer.allocUnsafeSlow(slabBytes);
  }

  #writeParts(head: string, body: Buffer | null): void {
    const socket = this.#socket;
    if (body === null || body.length === 0) {
      socket.write(head, 'latin1');
    } else if (head.length + body.length <= slabBytes) {
      const whole = Buffer.allocUnsafe(head.length + body.length);
      whole.write(head, 'latin1');
      body.copy(whole, head.length);
      socket.write(whole);
    } else {
      socket.cork();
      socket.write(head, 'latin1');
      socket.write(body);
      socket.uncork();
    }
  }

  /** Buffers writes until `uncork`, so that they are sent in one piece. */
  cork(): void {
    this.#socket.cork();
  }

  uncork(): void {
    this.#socket.uncork();
  }

  /** false: wait for `drained`. `taken` is called when the system has accepted these bytes, or never will. */
  write(bytes: Buffer | string, taken?: () => void): boolean {
    return typeof bytes === 'string'
      ? this.#socket.write(bytes, 'latin1', taken)
      : this.#socket.write(bytes, taken);
  }

  /** The reader is no longer paused. */
  resume(): void {
    if (!this.#stopped) return;
    // In a separate turn, so that other connections come first.
    if (this.#held !== null) setImmediate(() => this.#takeHeld());
    else this.#readOn();
  }

  #takeHeld(): void {
    const held = this.#held;
    if (held !== null && this.#carried?.paused === true) return;
    if (held !== null && mustWait(held.length)) return this.resume();
    this.#held = null;
    if (held !== null && this.#carried !== null) this.#take(this.#carried, held, held.length);
    if (this.#endHeld) {
      this.#endHeld = false;
      this.#ended();
    } else if (this.#carried?.paused !== true) {
      this.#readOn();
    }
  }

  #readOn(): void {
    this.#stopped = false;
    this.#socket.resume();
  }

  /** Whether this keeps the process alive while it is idle. */
  reference(on: boolean): void {
    if (this.referenced === on) return;
    this.referenced = on;
    if (on) this.#socket.ref();
    else this.#socket.unref();
  }

  /** Closes it within this turn; its request gets no more calls. */
  destroy(): void {
    const { state } = this;
    if (state === 'closed') return;
    this.#close();
    this.#owner.gone(this);
  }

  /** Closes it, and notifies its request. */
  abort(error: GatewayError): void {
    const carried = this.#carried;
    this.destroy();
    carried?.replyBroke(error);
  }

  // Events of the socket.

  #tcpStands(): void {
    this.#connected = true;
    if (!this.#target.secure) this.#opened();
  }

  #opened(): void {
    if (this.state !== 'opening') return;
    clearTimeout(this.#connectTimer);
    this.#owner.opened(this);
  }

  #late(connectMs: number): void {
    const { host } = this.#target;
    this.#fail(connectTimeout(host, connectMs, this.#connected ? 'tls' : 'tcp'));
  }

  #fail(error: GatewayError): void {
    this.#close();
    this.#owner.failed(this, error);
  }

  #close(): void {
    this.state = 'closed';
    this.#carried = null;
    this.#held = null;
    clearTimeout(this.#connectTimer);
    this.#socket.destroy();
  }

  #read(bytes: Buffer, length: number): boolean {
    const carried = this.#carried;
    if (carried === null) {
      // There was no request.
      this.destroy();
    } else if (carried.paused) {
      // Most readers resume before more bytes arrive, so reading is stopped only now, which takes a system call.
      this.#hold(bytes, length);
    } else if (mustWait(length)) {
      this.#hold(bytes, length);
      this.resume();
    } else {
      this.#take(carried, bytes, length);
    }
    return !this.#stopped;
  }

  #hold(bytes: Buffer, length: number): void {
    this.#held = Buffer.from(bytes.subarray(0, length));
    this.#stopped = true;
  }

  /** What a reader writes of it leaves together. */
  #take(carried: ConnectionHandler, bytes: Buffer, length: number): void {
    beginRead();
    try {
      this.#parse(carried, bytes, length);
    } finally {
      endRead();
    }
  }

  #parse(carried: ConnectionHandler, bytes: Buffer, length: number): void {
    const parser = this.#parser;
    parser.read(bytes, length);
    const { body } = parser;
    if (parser.headed) {
      // The head was not passed on yet, so the request can still be answered with an error.
      if (parser.invalid) return this.abort(failure('upstream_invalid_response', this.host));
      const { head } = parser;
      this.#headSeen = true;
      this.#persistent = head.persistent;
      this.keepMs = head.keepMs;
      carried.replyBegan(head);
    }
    if (body !== null && this.#carried === carried) carried.replyCame(body);
    if (this.#carried !== carried) return;
    if (parser.invalid) return this.abort(failure('upstream_invalid_response', this.host));
    if (!parser.done) return;
    this.#release(carried);
    carried.replyEnded();
  }

  #release(carried: ConnectionHandler): void {
    const again = this.#keep && this.#persistent && !this.#parser.excess && carried.written;
    // TLS reports sent bytes one turn late, after the answer of a fast upstream: the pool checks again.
    if (!again || (this.hasUnsent && !this.#target.secure)) return this.destroy();
    this.#carried = null;
    this.state = 'resting';
    this.#owner.released(this);
  }

  /** FIN: also the end of a body that ends with the connection. */
  #ended(): void {
    if (this.#held !== null) {
      this.#endHeld = true;
      return;
    }
    const carried = this.#carried;
    if (carried === null || !this.#parser.end()) return this.#broke(null);
    this.destroy();
    carried.replyEnded();
  }

  #broke(error: NodeJS.ErrnoException | null): void {
    const { host } = this.#target;
    if (this.state === 'closed' || this.#endHeld) return;
    if (this.state === 'opening') {
      // A handshake that the upstream ends is reported as an error, after its end.
      if (error !== null || this.#socket.destroyed) {
        this.#fail(fromConnect(error, host, this.#connected && this.#target.secure));
      }
      return;
    }
    this.abort(fromTransport(error, host, this.#headSeen));
  }
}
