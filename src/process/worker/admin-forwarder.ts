import { GatewayError } from '../../common/core/errors.js';
import { getHeader, type HeaderList } from '../../common/http/headers.js';
import { ownCookies } from '../../common/http/own-cookies.js';
import { traceIn } from '../../common/http/trace.js';
import type { FromControl, FromWorker } from '../../common/ipc/messages.js';
import { uuidv7 } from '../../common/text/id.js';
import type { Refused } from '../../control-plane/administration/rest/refusal.js';
import { type AdminPathKind, adminPathKind } from '../../data-plane/endpoints/paths/admin-path.js';
import type { Call, ReplySink } from '../../data-plane/transport/transport.js';
import {
  type AdminLimits,
  adminLimits,
  leastBody,
  longestBody,
  longestKeylessBody,
} from './admission/limits.js';
import { type Account, type Exceeded, Quota } from './admission/quota.js';
import { badBody, busy, refuse, slowUpload, unanswered, unauthenticated } from './admission/refusals.js';
import { shownKey, Visitors } from './admission/visitors.js';

/** Bytes of a body in one message: larger ones would delay requests of the data plane. */
const pieceBytes = 48 * 1024;
/** Limits for the arrival of a body, and for the answer: the control process answers within ten seconds, or is down. */
const usualWaits = { uploadMs: 30_000, answerMs: 15_000 };
/** Milliseconds; a body that takes longer is cut when another call finds no room. */
const patienceMs = 5000;
const empty = Buffer.alloc(0);

/** Headers that the administration plane reads; the others are not forwarded. */
const needed = new Set([
  'accept',
  'authorization',
  'content-encoding',
  'content-type',
  'idempotency-key',
  'if-match',
  'sec-fetch-site',
  'user-agent',
]);

interface Waiting {
  readonly call: Call;
  readonly path: string;
  readonly kind: AdminPathKind | null;
  readonly account: Account;
  /** Monotonic milliseconds. */
  readonly since: number;
  timer: NodeJS.Timeout;
  /** Its use of each quota. */
  bytes: number;
  calls: number;
  streams: number;
  sink: ReplySink | null;
  isFull: boolean;
}

/**
 * Forwards requests of the administration plane from a data worker to the control process, in small
 * pieces; answers come back in the same way, each piece after the one before was accepted.
 *
 * A call without a key of the right form is refused at once, unless its path is public; its body is not read. A call
 * counts as waiting for the control process from the end of its body to the start of its answer: neither a
 * slow upload nor a stream of changes makes others wait.
 */
export class AdminForwarder {
  readonly #waiting = new Map<number, Waiting>();
  readonly #visitors = new Visitors();
  readonly #calls: Quota;
  readonly #bytes: Quota;
  readonly #streams: Quota;
  #next = 1;

  constructor(
    readonly send: (message: FromWorker, sent: () => void) => void,
    readonly headerPrefixes: readonly string[],
    readonly waits = usualWaits,
    limits: AdminLimits = adminLimits(1),
  ) {
    this.#calls = new Quota(limits.calls);
    this.#bytes = new Quota(limits.bytes);
    this.#streams = new Quota(limits.streams);
  }

  /** Accepts a call. `path`: in canonical form. */
  open(call: Call, path: string): void {
    const kind = adminPathKind(path);
    const { text, problem } = shownKey(call.headers, (name) => this.#isKeyHeader(name));
    if (problem !== null && kind !== 'public') return this.#refuse(call, unauthenticated(problem));
    const account = this.#visitors.accountOf(text, call.remoteAddress);
    const limit = account.trust === 'keyless' ? longestKeylessBody : longestBody;
    // Without a route the body is not read, since the control process does not need it.
    const reads = kind === 'route' || kind === 'public';
    const bytes = reads ? bytesOf(call, limit) : 0;
    let exceeded = this.#bytes.take(account, bytes);
    while (exceeded !== null && this.#cutSlow(account, exceeded)) exceeded = this.#bytes.take(account, bytes);
    if (exceeded !== null) return this.#refuse(call, busy[exceeded]);
    const id = this.#next++;
    const timer = setTimeout(() => this.#give(id, () => this.#refuse(call, slowUpload)), this.waits.uploadMs);
    const waiting: Waiting = {
      ...{ call, path, kind, account, timer, bytes, since: performance.now() },
      ...{ calls: 0, streams: 0, sink: null, isFull: false },
    };
    this.#waiting.set(id, waiting);
    call.onAbort = () => this.#give(id, () => this.#gone(id));
    if (!reads) return this.#handOver(id, waiting, empty);
    call.collect(limit, (error, body) => {
      if (error !== null)
        return this.#give(id, () => this.#refuse(call, badBody(error.status, error.message)));
      this.#handOver(id, waiting, body);
    });
  }

  /**
   * Cuts the oldest slow upload that uses this account's room, unless its caller is trusted more: a
   * few connections that announce much and send little must not block valid keys that were not used before.
   */
  #cutSlow({ trust, address }: Account, exceeded: Exceeded): boolean {
    if (exceeded === 'key') return false;
    const before = performance.now() - patienceMs;
    for (const [id, { account, since, bytes, calls }] of this.#waiting) {
      if (since > before) return false;
      if (bytes === 0 || calls > 0 || account.trust === 'proven') continue;
      if (trust === 'keyless' && account.trust !== 'keyless') continue;
      if (exceeded === 'address' && account.address !== address) continue;
      this.#give(id, ({ call }) => this.#refuse(call, slowUpload));
      return true;
    }
    return false;
  }

  /** The body is complete: forwards the call to the control process. */
  #handOver(id: number, waiting: Waiting, body: Buffer): void {
    // It was answered meanwhile; a transport may continue reading a body.
    if (!this.#waiting.has(id)) return;
    const { call, path, account } = waiting;
    clearTimeout(waiting.timer);
    const exceeded = this.#calls.take(account, 1);
    if (exceeded !== null) return this.#give(id, () => this.#refuse(call, busy[exceeded]));
    waiting.calls = 1;
    waiting.timer = setTimeout(() => this.#giveUp(id), this.waits.answerMs);
    const { method, query, remoteAddress } = call;
    const headers = this.#needed(call);
    this.send({ t: 'admin', id, verb: method, path, query, headers, address: remoteAddress }, () =>
      this.#sendBody(id, body, 0),
    );
  }

  #isKeyHeader(name: string): boolean {
    return this.headerPrefixes.some((prefix) => name === `${prefix}api-key`);
  }

  #isCsrfHeader(name: string): boolean {
    return this.headerPrefixes.some((prefix) => name === `${prefix}csrf-token`);
  }

  #needed({ headers }: Call): string[] {
    const cookies = ownCookies(headers);
    const kept: string[] = cookies === null ? [] : ['cookie', cookies];
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i] ?? '';
      if (needed.has(name) || this.#isKeyHeader(name) || this.#isCsrfHeader(name))
        kept.push(name, headers[i + 1] ?? '');
    }
    return kept;
  }

  #sendBody(id: number, bytes: Buffer, from: number): void {
    if (!this.#waiting.has(id)) return;
    const piece = bytes.subarray(from, from + pieceBytes);
    const last = from + piece.length >= bytes.length;
    this.send({ t: 'admin-body', id, piece, last }, () => {
      if (!last) this.#sendBody(id, bytes, from + piece.length);
    });
  }

  /** The control process has sent an answer, or a further piece of one. */
  answered(message: Extract<FromControl, { t: 'admin-head' | 'admin-piece' }>): void {
    const waiting = this.#waiting.get(message.id);
    if (waiting === undefined) return;
    if (message.t === 'admin-head') {
      clearTimeout(waiting.timer);
      this.#learn(waiting, message.status);
      if (message.last) {
        this.#give(message.id, ({ call }) =>
          call.answer(message.status, this.#traced(call, message.headers), message.piece),
        );
        return;
      }
      this.#release(waiting);
      const exceeded = this.#streams.take(waiting.account, 1);
      if (exceeded !== null) {
        return this.#give(message.id, ({ call }) => {
          this.#refuse(call, busy[exceeded]);
          this.#gone(message.id);
        });
      }
      waiting.streams = 1;
      const headers = this.#traced(waiting.call, message.headers);
      waiting.sink = waiting.call.begin(message.status, headers, () => {
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

  /**
   * Records whether the answer shows that the key is valid. Answers that are sent before the key is checked show
   * nothing.
   */
  #learn({ call, kind, account }: Waiting, status: number): void {
    if (status === 401) this.#visitors.refused(account);
    else if (kind !== 'public' && call.method !== 'OPTIONS' && (status < 300 || status === 403))
      this.#visitors.accepted(account);
  }

  /** With the trace that the caller named, or else a new one. */
  #traced(call: Call, headers: HeaderList): HeaderList {
    const id = getHeader(headers, 'x-request-id') ?? uuidv7();
    const { traceId } = traceIn(call.headers, this.headerPrefixes, id);
    return [...headers, `${this.headerPrefixes[0]}trace-id`, traceId];
  }

  #refuse(call: Call, error: Refused): void {
    refuse(call, error, (headers) => this.#traced(call, headers));
  }

  #giveUp(id: number): void {
    this.#give(id, ({ call }) => this.#refuse(call, unanswered));
    this.#gone(id);
  }

  #gone(id: number): void {
    this.send({ t: 'admin-gone', id }, () => {});
  }

  #more(id: number): void {
    if (this.#waiting.has(id)) this.send({ t: 'admin-more', id }, () => {});
  }

  /** The control process has ended: waiting calls will get no answer. */
  lost(): void {
    const broken = new GatewayError('internal', 'The answer could not be completed.');
    for (const id of [...this.#waiting.keys()]) {
      this.#give(id, ({ call, sink }) =>
        sink === null ? this.#refuse(call, unanswered) : sink.error(broken),
      );
    }
  }

  #release(waiting: Waiting): void {
    const { account, bytes, calls, streams } = waiting;
    this.#bytes.give(account, bytes);
    this.#calls.give(account, calls);
    this.#streams.give(account, streams);
    waiting.bytes = 0;
    waiting.calls = 0;
    waiting.streams = 0;
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

/** Bytes that a body counts as: its announced length, with a minimum; without one, the limit. 0: no body. */
function bytesOf({ headers }: Call, limit: number): number {
  let bytes = 0;
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] === 'content-length') bytes = Number(headers[i + 1]);
    else if (headers[i] === 'transfer-encoding') return limit;
  }
  return bytes === 0 ? 0 : Math.min(Math.max(bytes, leastBody), limit);
}
