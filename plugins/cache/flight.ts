import { BodyRecord } from '../../src/common/bytes/body-record.js';
import { PassingMap } from '../../src/common/bytes/passing-map.js';
import type { CacheStatus, Company } from '../../src/common/core/cache.js';
import { GatewayError } from '../../src/common/core/errors.js';
import type { Exchange, Reply } from '../../src/common/core/exchange.js';
import type { Broadcast } from './answers/broadcast.js';
import { type Entry, type Form, isFresh } from './answers/entry.js';
import { storedReply, streamOf } from './answers/stored-reply.js';
import type { Asked } from './asked.js';
import type { Question } from './semantic/semantic.js';

/** A call that waits for the answer of another equal call. */
class Waiter {
  readonly #offAbort: () => void;

  constructor(
    /** The flight that it waits for. */
    public flight: Flight,
    readonly x: Exchange,
    readonly asked: Asked,
    readonly form: Form,
    readonly resolve: (reply: Reply | undefined) => void,
    reject: (reason: GatewayError) => void,
  ) {
    this.#offAbort = x.onAbort((reason) => {
      this.flight.forget(this);
      reject(reason);
    });
  }

  answer(reply: Reply): void {
    this.#offAbort();
    this.resolve(reply);
  }

  /** Lets it continue on its own. */
  goOn(): void {
    this.#offAbort();
    this.resolve(undefined);
  }
}

/** Calls in flight whose answers others may wait for, by cache key. */
export class Flights {
  readonly #leading = new PassingMap<string, Flight>();

  constructor(
    /** Bytes of a stream that are kept for those who join it. */
    readonly maxBytes: number,
    /** Called with an entry that has one more form. */
    readonly grown: (key: string, entry: Entry) => void,
  ) {}

  find(key: string): Flight | undefined {
    return this.#leading.get(key);
  }

  /** Starts a flight that other calls may wait for. */
  lead(x: Exchange, key: string, asked: Asked, form: Form, failures = 0): Flight {
    const flight = new Flight(this, x, key, asked, form, failures);
    this.#leading.set(key, flight);
    return flight;
  }

  /** No other call waits for it, but its answer is kept. */
  alone(x: Exchange, key: string, asked: Asked, form: Form): Flight {
    return new Flight(this, x, key, asked, form, 0);
  }

  over(flight: Flight): void {
    if (this.#leading.get(flight.key) === flight) this.#leading.delete(flight.key);
  }
}

/**
 * One call to an upstream, and the equal calls that wait for its answer. If it fails, one of them calls in its
 * place; if that fails too, each calls for itself.
 */
export class Flight implements Company {
  /** The stored answer; null: none yet. */
  entry: Entry | null = null;
  /** Do other workers wait for it too? */
  leads = false;
  /** Its question, in the semantic mode; else null. */
  question: Question | null = null;
  /** Has its own exchange ended? */
  isOver = false;
  #waiters: Waiter[] = [];
  /** Exchanges, beside its own, that read its stream. */
  #live: Exchange[] = [];
  #stream: Broadcast | null = null;
  #leave: (() => void) | null = null;

  constructor(
    readonly flights: Flights,
    readonly x: Exchange,
    readonly key: string,
    readonly asked: Asked,
    readonly form: Form,
    readonly failures: number,
  ) {
    x.company = this;
    x.cache = asked.refresh ? 'REFRESH' : 'MISS';
  }

  outlasts(leave: () => void): boolean {
    if (!this.#isAwaited) return false;
    this.#leave = leave;
    return true;
  }

  get #isAwaited(): boolean {
    return this.#waiters.length > 0 || (this.#stream !== null && this.#stream.readers > 1);
  }

  /** The same answer for one more call. */
  join(x: Exchange, asked: Asked, form: Form): Reply | Promise<Reply | undefined> {
    if (this.#stream?.open === true && form === this.form) return this.#follow(x, this.#stream);
    x.cache = 'MISS';
    return new Promise((resolve, reject) => {
      this.#waiters.push(new Waiter(this, x, asked, form, resolve, reject));
    });
  }

  /** A waiter's client has gone. */
  forget(waiter: Waiter): void {
    this.#waiters = this.#waiters.filter((other) => other !== waiter);
    this.#endIfAlone();
  }

  /** Its answer is a stream: waiting calls that want a stream join it. Returns the stream for its own client. */
  streams(reply: Reply, stream: Broadcast): Reply {
    this.#stream = stream;
    const own = { ...reply, body: stream.reader() };
    const waiting = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiting) {
      if (waiter.form === this.form) waiter.answer(this.#follow(waiter.x, stream));
      else this.#waiters.push(waiter);
    }
    return own;
  }

  streamLeft(): void {
    this.#endIfAlone();
  }

  /** The answer is complete and stored under `key`. */
  found(entry: Entry, status: CacheStatus = 'HIT', key = this.key): void {
    this.entry = entry;
    this.flights.over(this);
    for (const x of this.#live) {
      x.modelUsed = entry.model;
      if (x.saved !== null) Object.assign(x.saved, { cost: entry.cost, ms: entry.ms });
    }
    this.#live = [];
    const waiting = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiting) {
      // Converting it parses and writes it, and this turn has already checked it: so in a later turn.
      if (entry.forms[waiter.form] === undefined)
        setImmediate(() => this.#answer(waiter, entry, status, key));
      else this.#answer(waiter, entry, status, key);
    }
  }

  #answer(waiter: Waiter, entry: Entry, status: CacheStatus, key: string): void {
    const { x, asked, form } = waiter;
    if (x.aborted !== null) return;
    const isNew = entry.forms[form] === undefined;
    const reply = isFresh(entry, asked.maxAge, x.startedAt) ? storedReply(x, entry, form, status) : null;
    if (reply === null) return this.#letGo(waiter);
    if (isNew) this.flights.grown(key, entry);
    waiter.answer(reply);
  }

  /** It produced no answer that can be stored. */
  failed(): void {
    this.flights.over(this);
    const waiting = this.#waiters;
    this.#waiters = [];
    if (this.failures > 0) {
      for (const waiter of waiting) this.#letGo(waiter);
      return;
    }
    const next = waiting.shift();
    if (next === undefined) return;
    const flight = this.flights.lead(next.x, this.key, next.asked, next.form, 1);
    for (const waiter of waiting) waiter.flight = flight;
    flight.#waiters = waiting;
    next.goOn();
  }

  /** Its own exchange has ended. */
  over(): void {
    this.isOver = true;
    if (this.entry !== null) return;
    if (this.#stream?.isOver === false) {
      this.#stream.error(new GatewayError('internal', 'The gateway failed to handle this request.'));
    } else {
      this.failed();
    }
  }

  #letGo(waiter: Waiter): void {
    this.flights.alone(waiter.x, this.key, waiter.asked, waiter.form);
    waiter.goOn();
  }

  #follow(x: Exchange, stream: Broadcast): Reply {
    x.provider = this.x.provider;
    x.target = this.x.target;
    x.cache = 'HIT';
    const record = new BodyRecord(this.flights.maxBytes);
    x.saved = { cost: null, ms: 0, answer: record };
    this.#live.push(x);
    return streamOf(stream.reader(record));
  }

  #endIfAlone(): void {
    const leave = this.#leave;
    if (leave === null || this.#isAwaited) return;
    this.#leave = null;
    leave();
  }
}
