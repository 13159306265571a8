import { GatewayError } from '../core/errors.js';
import type { FromControl, FromWorker } from '../core/messages.js';
import type { Call, ReplySink } from '../transport/transport.js';

/** Bytes of a request's body; more is refused. */
const longestBody = 4 * 1024 * 1024;
/** Of a body, in one message: larger ones would hold up the requests of the data plane. */
const pieceBytes = 48 * 1024;
/** Calls that wait for the control process at once, and bytes of their bodies: this memory is the data plane's. */
const mostWaiting = 256;
const mostHeld = 64 * 1024 * 1024;
/** A body takes no longer to arrive; and the control process answers within ten seconds, or is not there. */
const usualWaits = { uploadMs: 30_000, answerMs: 15_000 };

const json = ['content-type', 'application/json', 'cache-control', 'no-store'];
const refusal = (code: string, message: string): string =>
  JSON.stringify({ success: false, data: { message, errorCode: code } });

/** Headers that the administration plane looks at; the others stay here. */
const needed = new Set([
  'accept',
  'authorization',
  'content-encoding',
  'content-type',
  'idempotency-key',
  'if-match',
  'user-agent',
]);

interface Waiting {
  readonly call: Call;
  timer: NodeJS.Timeout;
  /** Bytes that its body takes or may take, until it is sent. */
  held: number;
  sink: ReplySink | null;
  isFull: boolean;
}

/**
 * A data worker's end of the hand-over to the control process: requests of the administration plane go there in small
 * pieces, and the answers come back the same way, each piece when the one before has been taken.
 */
export class AdminDoor {
  readonly #waiting = new Map<number, Waiting>();
  #held = 0;
  #next = 1;

  constructor(
    readonly send: (message: FromWorker, sent: () => void) => void,
    readonly headerPrefixes: readonly string[],
    readonly waits = usualWaits,
  ) {}

  /** Takes a call over. */
  open(call: Call): void {
    const held = bytesOf(call);
    if (this.#waiting.size >= mostWaiting || this.#held + held > mostHeld) return away(call);
    const id = this.#next++;
    const timer = setTimeout(() => this.#give(id, () => tooSlow(call)), this.waits.uploadMs);
    const waiting: Waiting = { call, timer, held, sink: null, isFull: false };
    this.#waiting.set(id, waiting);
    this.#held += held;
    call.onAbort = () => this.#give(id, () => this.send({ t: 'admin-gone', id }, () => {}));
    const { method, path, query, remoteAddress } = call;
    const headers = this.#needed(call);
    call.collect(longestBody, (error, bytes) => {
      if (error !== null) return this.#give(id, () => tooLong(call, error));
      clearTimeout(timer);
      waiting.timer = setTimeout(() => this.#giveUp(id), this.waits.answerMs);
      this.send({ t: 'admin', id, verb: method, path, query, headers, address: remoteAddress }, () =>
        this.#sendBody(id, bytes, 0),
      );
    });
  }

  #needed({ headers }: Call): string[] {
    const kept: string[] = [];
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i] ?? '';
      const isKey = this.headerPrefixes.some((prefix) => name === `${prefix}api-key`);
      if (isKey || needed.has(name)) kept.push(name, headers[i + 1] ?? '');
    }
    return kept;
  }

  #sendBody(id: number, bytes: Buffer, from: number): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    const piece = bytes.subarray(from, from + pieceBytes);
    const last = from + piece.length >= bytes.length;
    this.send({ t: 'admin-body', id, piece, last }, () => {
      if (last) this.#release(waiting);
      else this.#sendBody(id, bytes, from + piece.length);
    });
  }

  #release(waiting: Waiting): void {
    this.#held -= waiting.held;
    waiting.held = 0;
  }

  /** The control process has answered, or gone on answering. */
  answered(message: Extract<FromControl, { t: 'admin-head' | 'admin-piece' }>): void {
    const waiting = this.#waiting.get(message.id);
    if (waiting === undefined) return;
    if (message.t === 'admin-head') {
      clearTimeout(waiting.timer);
      if (message.last) {
        this.#give(message.id, ({ call }) => call.answer(message.status, message.headers, message.piece));
        return;
      }
      waiting.sink = waiting.call.begin(message.status, message.headers, () => {
        waiting.isFull = false;
        this.#more(message.id);
      });
    }
    if (message.broken) {
      const broken = new GatewayError('internal', 'The answer could not be completed.');
      return this.#give(message.id, ({ sink }) => sink?.error(broken));
    }
    if (message.piece.length > 0) waiting.isFull = waiting.sink?.data(message.piece) === false;
    if (message.last) this.#give(message.id, ({ sink }) => sink?.end());
    else if (!waiting.isFull) this.#more(message.id);
  }

  #giveUp(id: number): void {
    this.#give(id, ({ call }) => away(call));
    this.send({ t: 'admin-gone', id }, () => {});
  }

  #more(id: number): void {
    if (this.#waiting.has(id)) this.send({ t: 'admin-more', id }, () => {});
  }

  /** The control process is gone: nobody will answer what waits. */
  lost(): void {
    const broken = new GatewayError('internal', 'The answer could not be completed.');
    for (const id of [...this.#waiting.keys()]) {
      this.#give(id, ({ call, sink }) => (sink === null ? away(call) : sink.error(broken)));
    }
  }

  #give(id: number, last: (waiting: Waiting) => void): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    this.#release(waiting);
    waiting.call.onAbort = null;
    last(waiting);
  }
}

/** As announced; where it is not, as many as it may become. */
function bytesOf({ headers }: Call): number {
  let bytes = 0;
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] === 'content-length') bytes = Number(headers[i + 1]);
    else if (headers[i] === 'transfer-encoding') return longestBody;
  }
  return Math.min(bytes, longestBody);
}

function away(call: Call): void {
  const message = 'The administration plane does not answer: try again shortly.';
  call.answer(503, [...json, 'retry-after', '1'], refusal('unavailable', message));
}

function tooSlow(call: Call): void {
  call.answer(408, json, refusal('AB01', 'The body took too long to arrive.'));
}

function tooLong(call: Call, error: GatewayError): void {
  call.answer(error.status, json, refusal('AB01', error.message));
}
