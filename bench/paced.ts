import { connect, type Socket } from 'node:net';
import type { LoadResult } from './load.js';

export interface PacedLoad {
  readonly port: number;
  /** The whole request, head and body; it is answered with a Content-Length. */
  readonly request: Buffer;
  /** Requests a second, whether those before have been answered or not. */
  readonly rate: number;
  readonly seconds: number;
}

const headEnd = Buffer.from('\r\n\r\n');

/** One kept connection: one request at a time. */
class Lane {
  readonly #socket: Socket;
  #seen: Buffer = Buffer.alloc(0);
  #done: ((isGood: boolean) => void) | null = null;

  constructor(
    port: number,
    readonly request: Buffer,
  ) {
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.setNoDelay(true);
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => this.#finish(false));
  }

  send(): Promise<boolean> {
    this.#seen = Buffer.alloc(0);
    return new Promise((done) => {
      this.#done = done;
      this.#socket.write(this.request);
    });
  }

  end(): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#seen = this.#seen.length === 0 ? chunk : Buffer.concat([this.#seen, chunk]);
    const end = this.#seen.indexOf(headEnd);
    if (end < 0) return;
    const head = this.#seen.toString('latin1', 0, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.#seen.length >= end + 4 + length) this.#finish(head.startsWith('HTTP/1.1 200'));
  }

  #finish(isGood: boolean): void {
    const done = this.#done;
    this.#done = null;
    done?.(isGood);
  }
}

/**
 * Sends at a steady rate. A request's time counts from when it was due, so that a stall shows in all that it held up.
 */
export async function drivePaced({ port, request, rate, seconds }: PacedLoad): Promise<LoadResult> {
  const idle: Lane[] = [];
  const lanes: Lane[] = [];
  const latencies: number[] = [];
  let errors = 0;
  const one = async (due: number): Promise<void> => {
    let lane = idle.pop();
    if (lane === undefined) {
      lane = new Lane(port, request);
      lanes.push(lane);
    }
    if (await lane.send()) {
      latencies.push(performance.now() - due);
      idle.push(lane);
    } else errors += 1;
  };
  const began = performance.now();
  const total = rate * seconds;
  const sent: Promise<void>[] = [];
  await new Promise<void>((over) => {
    const tick = (): void => {
      // The first is due at once, not a period later: all would count that period as their latency.
      const due = Math.min(total, 1 + Math.floor(((performance.now() - began) / 1000) * rate));
      while (sent.length < due) sent.push(one(began + (sent.length / rate) * 1000));
      if (sent.length < total) setTimeout(tick, 1);
      else over();
    };
    tick();
  });
  await Promise.all(sent);
  for (const lane of lanes) lane.end();
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0;
  return {
    requests: latencies.length,
    errors,
    seconds: (performance.now() - began) / 1000,
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
  };
}
