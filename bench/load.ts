import { connect, type Socket } from 'node:net';

export interface Load {
  readonly port: number;
  /** The whole request, head and body. */
  readonly request: Buffer;
  readonly connections: number;
  readonly seconds: number;
  /** Does the answer come chunked (a stream), or with a Content-Length? */
  readonly chunked: boolean;
  /**
   * Never sleep, however slow the server: to wake a client costs the kernel some microseconds, which are put down to the
   * server, and a fast one keeps its client awake.
   */
  readonly awake?: boolean;
}

export interface LoadResult {
  readonly requests: number;
  readonly errors: number;
  readonly seconds: number;
  /** Milliseconds at the 50th, 95th and 99th percentile. */
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** A request as an official client sends it. `headers`: its own, besides. */
export function clientRequest(path: string, headers: Readonly<Record<string, string>>, body: string): Buffer {
  const all = {
    host: '127.0.0.1',
    'content-type': 'application/json',
    accept: 'application/json',
    'user-agent': 'OpenAI/JS 6.49.0',
    'accept-encoding': 'gzip, deflate',
    'x-stainless-lang': 'js',
    'x-stainless-runtime': 'node',
    'x-stainless-retry-count': '0',
    ...headers,
    'content-length': String(Buffer.byteLength(body)),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

const chunkedEnd = Buffer.from('0\r\n\r\n');
const headEnd = Buffer.from('\r\n\r\n');

/** Sends the same request over kept connections, one at a time on each, until the time is up. Closed loop. */
export function drive(load: Load): Promise<LoadResult> {
  const latencies: number[] = [];
  let errors = 0;
  let open = 0;
  const began = performance.now();
  const until = began + load.seconds * 1000;
  return new Promise((resolve) => {
    const closed = (): void => {
      open--;
      if (open > 0) return;
      latencies.sort((a, b) => a - b);
      const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0;
      resolve({
        requests: latencies.length,
        errors,
        seconds: (performance.now() - began) / 1000,
        p50: at(0.5),
        p95: at(0.95),
        p99: at(0.99),
      });
    };
    const run = (): void => {
      open++;
      const socket: Socket = connect(load.port, '127.0.0.1');
      socket.setNoDelay(true);
      let sentAt = 0;
      let seen: Buffer = Buffer.alloc(0);
      const send = (): void => {
        seen = Buffer.alloc(0);
        sentAt = performance.now();
        socket.write(load.request);
      };
      socket.on('connect', send);
      socket.on('data', (chunk: Buffer) => {
        if (load.chunked) {
          // Enough of the tail to see the end marker across chunks; the first bytes to see the status.
          if (seen.length === 0 && chunk.toString('latin1', 9, 12) !== '200') errors++;
          seen = chunk.length >= 5 ? chunk : Buffer.concat([seen.subarray(-5), chunk]);
          if (!seen.subarray(-5).equals(chunkedEnd)) return;
        } else {
          seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
          const head = seen.indexOf(headEnd);
          if (head < 0) return;
          const length = /content-length: (\d+)/i.exec(seen.toString('latin1', 0, head));
          if (length === null || seen.length < head + 4 + Number(length[1])) return;
          if (seen.toString('latin1', 9, 12) !== '200') errors++;
        }
        const now = performance.now();
        latencies.push(now - sentAt);
        if (now < until) send();
        else socket.end();
      });
      socket.on('error', () => errors++);
      socket.on('close', () => {
        closed();
      });
    };
    for (let i = 0; i < load.connections; i++) run();
    const stayAwake = (): void => {
      if (open > 0) setImmediate(stayAwake);
    };
    if (load.awake === true) stayAwake();
  });
}
