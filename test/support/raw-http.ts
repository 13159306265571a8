import { connect, type Socket } from 'node:net';
import { scaled, TimeLimitError } from './time-limits.js';

/** One answer as it stood on the wire. */
export interface RawAnswer {
  readonly status: number;
  /** Names in lower case; repeated ones joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Did the framing say that the body ended? */
  readonly complete: boolean;
}

/** Reads answers out of received bytes. `methods`: of the requests they answer, where a HEAD is among them. */
export function readAnswers(bytes: Buffer, methods: readonly string[] = []): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const headEnd = bytes.indexOf('\r\n\r\n', at);
    if (headEnd < 0) break;
    const lines = bytes.toString('latin1', at, headEnd).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(lines[0] ?? '')?.[1] ?? Number.NaN);
    if (Number.isNaN(status)) throw new Error(`not an HTTP answer: ${JSON.stringify(lines[0])}`);
    const headers: Record<string, string> = {};
    for (const line of lines.slice(1)) {
      const colon = line.indexOf(':');
      const name = line.slice(0, colon).toLowerCase();
      const value = line.slice(colon + 1).trim();
      headers[name] = Object.hasOwn(headers, name) ? `${headers[name]}, ${value}` : value;
    }
    at = headEnd + 4;
    if (status === 100) continue;
    if (methods[answers.length] === 'HEAD' || status === 204 || status === 304) {
      answers.push({ status, headers, body: Buffer.alloc(0), complete: true });
      continue;
    }
    if (headers['transfer-encoding'] === 'chunked') {
      const read = readChunked(bytes, at);
      answers.push({ status, headers, body: read.body, complete: read.complete });
      at = read.end;
      continue;
    }
    const length =
      headers['content-length'] === undefined ? bytes.length - at : Number(headers['content-length']);
    const body = bytes.subarray(at, at + length);
    answers.push({ status, headers, body, complete: body.length === length });
    at += length;
  }
  return answers;
}

function readChunked(bytes: Buffer, start: number): { body: Buffer; end: number; complete: boolean } {
  const parts: Buffer[] = [];
  let at = start;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) break;
    const line = bytes.toString('latin1', at, lineEnd);
    if (!/^[0-9a-fA-F]+$/.test(line)) throw new Error(`not a chunk size: ${JSON.stringify(line)}`);
    const size = Number.parseInt(line, 16);
    at = lineEnd + 2;
    if (size === 0) {
      const trailers = bytes.indexOf('\r\n\r\n', lineEnd);
      if (trailers < 0) break;
      return { body: Buffer.concat(parts), end: trailers + 4, complete: true };
    }
    parts.push(bytes.subarray(at, at + size));
    if (at + size + 2 > bytes.length) break;
    if (bytes.toString('latin1', at + size, at + size + 2) !== '\r\n')
      throw new Error('chunk without its end');
    at += size + 2;
  }
  return { body: Buffer.concat(parts), end: bytes.length, complete: false };
}

/** A TCP client that says exactly what it is told and keeps what it hears. */
export class RawClient {
  readonly socket: Socket;
  closed = false;
  #chunks: Buffer[] = [];
  #watchers: (() => void)[] = [];

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#changed();
    });
    // A reset is one way for a server to close.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.closed = true;
      this.#changed();
    });
  }

  static connect(port: number): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new RawClient(socket));
      });
    });
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  answers(methods?: readonly string[]): RawAnswer[] {
    return readAnswers(this.bytes, methods);
  }

  send(bytes: Buffer | string): this {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    return this;
  }

  /** Waits until `condition` holds; rejects after `ms` with what was heard. */
  until(condition: () => boolean, what: string, ms = 3000): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        done();
        const heard = JSON.stringify(this.bytes.toString('latin1', 0, 300));
        reject(
          new TimeLimitError(`${what}: not within ${scaled(ms)} ms; closed: ${this.closed}, heard: ${heard}`),
        );
      }, scaled(ms));
      const poll = setInterval(check, 10);
      const done = () => {
        clearTimeout(timer);
        clearInterval(poll);
        this.#watchers = this.#watchers.filter((watcher) => watcher !== check);
      };
      function check(): void {
        if (!condition()) return;
        done();
        resolve();
      }
      this.#watchers.push(check);
      check();
    });
  }

  /** Waits for `count` complete answers. */
  async answered(count = 1, methods?: readonly string[], ms?: number): Promise<RawAnswer[]> {
    const complete = () => this.answers(methods).filter((answer) => answer.complete).length >= count;
    await this.until(complete, `${count} answers`, ms);
    return this.answers(methods);
  }

  hasClosed(ms?: number): Promise<void> {
    return this.until(() => this.closed, 'close', ms);
  }

  destroy(): void {
    this.socket.destroy();
  }

  #changed(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }
}

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
