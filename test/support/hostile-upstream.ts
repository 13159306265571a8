import net from 'node:net';

/** One request as it came in over a raw socket. */
export interface RawRequest {
  /** Request line and headers, without the empty line. */
  readonly head: string;
  readonly body: Buffer;
  /** Counts all requests of this server, from 1. */
  readonly number: number;
  /** Counts the requests of this connection, from 1. */
  readonly onConnection: number;
}

export interface Script {
  /** Called with each whole request. Write to the socket whatever the test wants. */
  request?(socket: net.Socket, request: RawRequest): void;
  /** Called with each new connection, before anything was read from it. */
  connection?(socket: net.Socket): void;
  /** Called with the head as soon as it is there, before the body. */
  head?(socket: net.Socket, head: string): void;
}

/** A TCP server that does as it is told and knows what was done to it. */
export class HostileUpstream {
  readonly #server: net.Server;
  readonly sockets = new Set<net.Socket>();
  /** Heads of all requests, in order. */
  readonly heads: string[] = [];
  connections = 0;
  /** Bytes read on all connections. */
  bytesIn = 0;

  constructor(script: Script) {
    this.#server = net.createServer({ noDelay: true }, (socket) => {
      this.connections += 1;
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket)).on('error', () => {});
      script.connection?.(socket);
      this.#read(socket, script);
    });
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  listen(): Promise<this> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject).listen(0, '127.0.0.1', () => resolve(this));
    });
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((done) => this.#server.close(done));
  }

  #read(socket: net.Socket, script: Script): void {
    let pending: Buffer = Buffer.alloc(0);
    let headTold = false;
    let onConnection = 0;
    socket.on('data', (chunk) => {
      this.bytesIn += chunk.length;
      if (script.request === undefined && script.head === undefined) return;
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      for (;;) {
        const end = pending.indexOf('\r\n\r\n');
        if (end === -1) return;
        const head = pending.toString('latin1', 0, end);
        if (!headTold) {
          headTold = true;
          this.heads.push(head);
          script.head?.(socket, head);
        }
        if (script.request === undefined) {
          pending = Buffer.alloc(0);
          return;
        }
        const found = bodyOf(head, pending.subarray(end + 4));
        if (found === null) return;
        pending = pending.subarray(end + 4 + found.length);
        headTold = false;
        onConnection += 1;
        script.request(socket, { head, body: found.body, number: this.heads.length, onConnection });
      }
    });
  }
}

/** The body behind `head`, and how many bytes it took; null while it is not whole. */
function bodyOf(head: string, rest: Buffer): { body: Buffer; length: number } | null {
  if (/\r\ntransfer-encoding: chunked/i.test(head)) {
    const parts: Buffer[] = [];
    let at = 0;
    for (;;) {
      const line = rest.indexOf('\r\n', at);
      if (line === -1) return null;
      const size = Number.parseInt(rest.toString('latin1', at, line), 16);
      if (rest.length < line + 2 + size + 2) return null;
      parts.push(rest.subarray(line + 2, line + 2 + size));
      at = line + 2 + size + 2;
      if (size === 0) return { body: Buffer.concat(parts), length: at };
    }
  }
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  if (rest.length < length) return null;
  return { body: rest.subarray(0, length), length };
}

/** A whole reply as text: head with Content-Length, and body. */
export function okReply(body: string, ...headers: string[]): string {
  const lines = ['HTTP/1.1 200 OK', `content-length: ${Buffer.byteLength(body)}`, ...headers];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/**
 * Cuts a connection by RST. Node 20's own method, called while a shutdown is under way (the peer has sent its FIN),
 * leaks the handle and keeps the process from exiting.
 */
export function reset(socket: net.Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

/** A port on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as net.AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}
