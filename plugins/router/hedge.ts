import { LRUCache } from 'lru-cache';
import { GatewayError } from '../../src/common/core/errors.js';
import type { Exchange, Reply } from '../../src/common/core/exchange.js';
import type { Hedge, RouteNode } from '../../src/common/core/target.js';
import type { Logger } from '../../src/common/plugin-host/plugin.js';
import { modelKey } from './balance/identity.js';
import { Latencies } from './balance/latencies.js';
import { discard } from './health/outcome.js';

/** Samples of a target that are needed before its percentiles are used. */
const minSamples = 20;
/** Hedges that may be saved up for the moment when an upstream becomes slow. */
const mostSaved = 10;
/** Targets and strategies remembered by a worker; the ones not used for longest are forgotten. */
const maxRemembered = 4096;

/** Two targets for one answer. */
export interface RaceTerms {
  readonly x: Exchange;
  readonly hedge: Hedge;
  /** The strategy's path in the config. */
  readonly path: string;
  readonly first: RouteNode;
  /** null: there is no second one at present. */
  second(): RouteNode | null;
  /** Is this the strategy's first race of the request? Only then does it add to the budget. */
  readonly opens: boolean;
  /** Calls one of them, in a fork of the exchange. */
  ask(side: Exchange, node: RouteNode): Promise<Reply>;
  /** Does the strategy accept this answer? */
  isGood(side: Exchange, reply: Reply): boolean;
}

interface HedgeMemory {
  readonly times: LRUCache<string, Latencies>;
  readonly budgets: LRUCache<string, { hedges: number }>;
}

/** This worker's measurements of hedged targets: time to first byte of each, and the budget of hedges. */
export class Hedger {
  /** Created for the first race; null while nothing is hedged. */
  #memory: HedgeMemory | null = null;

  constructor(readonly log: Pick<Logger, 'error'>) {}

  race(terms: RaceTerms): Race {
    const { x, hedge, path, first, opens } = terms;
    const key = keyOf(x, path);
    this.#memory ??= {
      times: new LRUCache({ max: maxRemembered }),
      budgets: new LRUCache({ max: maxRemembered }),
    };
    const { times: allTimes, budgets } = this.#memory;
    const budget = remembered(budgets, key, () => ({ hedges: 0 }));
    if (opens) budget.hedges = Math.min(mostSaved, budget.hedges + hedge.maxExtra);
    const times = remembered(allTimes, timesKey(x, key, first), newTimes);
    return new Race(terms, {
      delayMs: delayOf(hedge, times),
      spend() {
        if (budget.hedges < 1) return false;
        budget.hedges -= 1;
        return true;
      },
      began: (node, ms) => {
        const known = node === first ? times : remembered(allTimes, timesKey(x, key, node), newTimes);
        known.add(ms);
      },
      failed: (thrown) => this.log.error({ err: thrown, request_id: x.id }, 'an abort listener threw'),
    });
  }
}

/**
 * The delay of the hedge; null: not enough samples. If more requests are late than may be hedged, only the latest of
 * them are hedged, where it helps most.
 */
function delayOf({ percentile, minDelayMs, maxExtra }: Hedge, times: Latencies): number | null {
  if (times.count < minSamples) return minDelayMs > 0 ? minDelayMs : null;
  return Math.max(minDelayMs, times.percentile(Math.max(percentile, 100 - 100 * maxExtra)));
}

/** The measurements that a race reads and updates. */
interface Knowledge {
  readonly delayMs: number | null;
  spend(): boolean;
  began(node: RouteNode, ms: number): void;
  failed(thrown: unknown): void;
}

interface Side {
  readonly node: RouteNode;
  readonly x: Exchange;
  readonly startedAt: number;
  over: boolean;
}

/** Calls the first target, and the second if that is late; returns the first good answer and gives up the other. */
export class Race {
  /** Rejects, or resolves with an answer that is not good, if no called target had a better one. */
  readonly answer: Promise<Reply>;
  readonly #sides: Side[] = [];
  #timer: NodeJS.Timeout | null = null;
  #resolve!: (reply: Reply) => void;
  #reject!: (thrown: unknown) => void;
  #isOver = false;

  constructor(
    readonly terms: RaceTerms,
    readonly known: Knowledge,
  ) {
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (known.delayMs !== null) this.#timer = setTimeout(() => this.#late(), known.delayMs);
    this.#start(terms.first);
  }

  /** The number of called targets. */
  get asked(): number {
    return this.#sides.length;
  }

  #start(node: RouteNode): void {
    const { x } = this.terms;
    const side: Side = { node, x: x.fork(), startedAt: x.elapsedMs(), over: false };
    this.#sides.push(side);
    this.terms.ask(side.x, node).then(
      (reply) => this.#answered(side, reply),
      (thrown) => this.#failed(side, thrown),
    );
  }

  #late(): void {
    const { x } = this.terms;
    // Once its head is there, a whole answer is arriving; the head of a stream may precede its first event by far.
    const asked = x.attempts.at(-1);
    const comes = !x.streaming && asked !== undefined && asked.status !== 0 && asked.endedAt === null;
    if (comes || x.aborted !== null) return;
    const second = this.terms.second();
    if (second === null) return;
    const target = second.path;
    if (this.known.spend()) {
      x.decided({ kind: 'hedge', target, ms: Math.round(this.known.delayMs ?? 0) });
      this.#start(second);
    } else x.decided({ kind: 'no_hedge', target });
  }

  #answered(side: Side, reply: Reply): void {
    side.over = true;
    if (this.#isOver) return drop(side.x, reply);
    const isGood = this.terms.isGood(side.x, reply);
    if (!isGood && this.#otherOf(side)?.over === false) return drop(side.x, reply);
    if (isGood) this.#learn(side);
    this.#end(side);
    this.#resolve(reply);
  }

  #failed(side: Side, thrown: unknown): void {
    side.over = true;
    if (this.#isOver || this.#otherOf(side)?.over === false) return;
    this.#end(side);
    this.#reject(thrown);
  }

  #end(side: Side): void {
    this.#isOver = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.terms.x.take(side.x);
    const other = this.#otherOf(side);
    if (other?.over !== false) return;
    this.terms.x.decided({ kind: 'first', target: side.node.path });
    const lost = new GatewayError('hedge_lost', 'Another target answered first.');
    other.x.abort(lost, (thrown) => this.known.failed(thrown));
  }

  /** Records the time of a first target that was given up: otherwise its slow answers would never be measured. */
  #learn(side: Side): void {
    const now = this.terms.x.elapsedMs();
    const [first, second] = this.#sides;
    this.known.began(side.node, (side.x.answeredBy?.firstByteMs ?? now) - side.startedAt);
    if (side === second && first?.over === false) this.known.began(first.node, now - first.startedAt);
  }

  #otherOf(side: Side): Side | undefined {
    return this.#sides.find((other) => other !== side);
  }
}

/** Discards an answer that is not needed. */
function drop(side: Exchange, reply: Reply): void {
  discard(reply);
  const isGood = reply.status >= 200 && reply.status < 300;
  if (isGood && side.answeredBy !== null) side.answeredBy.error ??= 'hedge_lost';
}

const newTimes = (): Latencies => new Latencies();

/** Tenant first. */
const keyOf = ({ principal, config }: Exchange, path: string): string =>
  `${principal.organisationId}\n${principal.workspaceId}\n${config.fingerprint}\n${path}`;

/** Streams are separate: a model's whole answers begin later than its streams. */
const timesKey = (x: Exchange, strategy: string, { path }: RouteNode): string =>
  `${strategy}\n${path}\n${x.streaming ? 'stream' : 'whole'}\n${modelKey(x)}`;

function remembered<T extends object>(all: LRUCache<string, T>, key: string, make: () => T): T {
  let found = all.get(key);
  if (found === undefined) {
    found = make();
    all.set(key, found);
  }
  return found;
}
