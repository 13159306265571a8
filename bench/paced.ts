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
const lengthField = Buffer.from('ontent-');
const good = Buffer.from('HTTP/1.1 200');

/** One kept connection: one request at a time. Nothing is made per answer, or the client's own collections are measured. */
export class Lane {
  sentAt = 0;
  readonly #socket: Socket;
  #left = -1;
  #isGood = false;

  constructor(
    port: number,
    readonly request: Buffer,
    readonly answered: (lane: Lane, isGood: boolean) => void,
  ) {
    this.#socket = connect({
      port,
      host: '127.0.0.1',
      onread: {
        buffer: Buffer.allocUnsafeSlow(64 * 1024),
        callback: (length, buffer) => {
          this.#read(buffer as Buffer, length);
          return true;
        },
      },
    });
    this.#socket.setNoDelay(true);
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => this.#left !== -1 && answered(this, false));
  }

  send(request: Buffer = this.request): void {
    this.#left = Number.POSITIVE_INFINITY;
    this.sentAt = performance.now();
    this.#socket.write(request);
  }

  end(): void {
    this.#left = -1;
    this.#socket.destroy();
  }

  /** The head comes in one piece: it is short, and written at once. */
  #read(bytes: Buffer, length: number): void {
    if (this.#left === Number.POSITIVE_INFINITY) {
      const head = bytes.indexOf(headEnd);
      this.#isGood = bytes.compare(good, 0, good.length, 0, good.length) === 0;
      this.#left = head + headEnd.length + contentLength(bytes, head);
    }
    this.#left -= length;
    if (this.#left > 0) return;
    this.#left = -1;
    this.answered(this, this.#isGood);
  }
}

function contentLength(bytes: Buffer, head: number): number {
  for (let at = bytes.indexOf(lengthField); at >= 0 && at < head; at = bytes.indexOf(lengthField, at + 1)) {
    // `ontent-Length: ` or `ontent-length: `.
    if ((bytes[at + lengthField.length]! | 0x20) !== 0x6c) continue;
    let value = 0;
    for (let i = at + lengthField.length + 8; bytes[i]! >= 0x30; i++) value = value * 10 + bytes[i]! - 0x30;
    return value;
  }
  throw new Error('an answer without a length');
}

/**
 * Sends at a steady rate, whether those before were answered or not: what the gateway holds up is held up for each that
 * was sent meanwhile. A request's time counts from when it was sent: the timer that sends is up to 2 ms late by itself.
 */
export async function drivePaced({ port, request, rate, seconds }: PacedLoad): Promise<LoadResult> {
  const total = Math.round(rate * seconds);
  const latencies = new Float64Array(total);
  const idle: Lane[] = [];
  const lanes: Lane[] = [];
  let errors = 0;
  let answers = 0;
  let allAnswered = (): void => {};
  const answered = (lane: Lane, isGood: boolean): void => {
    if (isGood) {
      latencies[answers - errors] = performance.now() - lane.sentAt;
      idle.push(lane);
    } else errors += 1;
    answers += 1;
    if (answers === total) allAnswered();
  };
  const began = performance.now();
  let sent = 0;
  await new Promise<void>((over) => {
    allAnswered = over;
    const tick = (): void => {
      const due = Math.min(total, 1 + Math.floor(((performance.now() - began) / 1000) * rate));
      for (; sent < due; sent++) {
        let lane = idle.pop();
        if (lane === undefined) {
          lane = new Lane(port, request, answered);
          lanes.push(lane);
        }
        lane.send();
      }
      if (sent < total) setTimeout(tick, 1);
    };
    tick();
  });
  for (const lane of lanes) lane.end();
  const requests = answers - errors;
  const sorted = latencies.subarray(0, requests).sort();
  const at = (share: number): number => sorted[Math.floor(requests * share)] ?? 0;
  return {
    requests,
    errors,
    seconds: (performance.now() - began) / 1000,
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
  };
}
