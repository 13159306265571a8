import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isJsonObject } from '../../../src/common/json/json.js';
import type { Nodes } from '../../../src/common/plugin-host/control.js';
import type { Logger } from '../../../src/common/plugin-host/logger.js';
import type { Back, Grant, LimitRefusal, Looked, Wanted } from '../channel.js';
import { answerOf } from './answers.js';
import type { Counters } from './counters.js';
import { aliveScript, backScript, lookScript, nodesScript, takeScript, writeScript } from './scripts.js';
import { slotsPerWindow } from './window.js';

/** Milliseconds after which the requests under way of a node that has not written lately no longer count. */
const aliveMs = 15_000;
/** How often a node writes that it is there, and what it has under way. Milliseconds. */
const beatMs = 5000;
/** The same while Redis is away: where this node's share is used up, no request asks whether it is back. */
const awayBeatMs = 1000;
/** No request waits for that. Milliseconds. */
const beatWithinMs = 2000;
/** Nodes count for so long after they were last seen: a Redis that was emptied has forgotten them. Milliseconds. */
const seenMs = 4 * beatMs;

/**
 * How long a node keeps to its share when Redis answers it again: others may not have noticed yet, and what they let through
 * during that time is not in Redis. Milliseconds.
 */
export const returningMs = 5000;
/** How long the other nodes have to write what they have granted, where Redis has lost it. Milliseconds. */
const writeMs = 25;
/** Counters that are written at the same time. */
const writesAtOnce = 64;
const channel = 'limits-lost';
/** Counters that are remembered for the next beat, at most; of others Redis forgets a count that no one renews. */
const mostUnsure = 10_000;
const writesIfUnsure = 2;
/** More than a deployment has. */
const maxNodes = 10_000;

type Answer =
  | {
      readonly grants: readonly (Omit<Grant, 'validMs'> & {
        readonly validMs: number;
        readonly born: string;
        /** What all nodes have taken, this grant included. */
        readonly sum: number;
      })[];
    }
  | { readonly refused: number; readonly remaining: number; readonly waitMs: number }
  | { readonly unknown: readonly number[] };

export interface RedisCountersOptions {
  readonly nodes: Nodes;
  /** What this node has granted: what counts while Redis is away. */
  readonly own: Counters;
  readonly workers: number;
  /** `local_share`: while Redis is away each node grants its share. `closed`: nothing. */
  readonly without: 'local_share' | 'closed';
  readonly log: Logger;
}

/** Counters of limits that all nodes share, in Redis. */
export class RedisCounters {
  #awaySince = 0;
  #backSince = Number.NEGATIVE_INFINITY;
  readonly #node = randomUUID().slice(0, 8);
  /** Nodes, as far as is known. */
  count = 1;
  /** Numbers of nodes that were seen lately. */
  #seen: { readonly at: number; readonly count: number }[] = [];
  #isAway = false;
  #isWriting = false;
  /** Questions under way for requests at the same time, by counter: Redis may have counted them, and this node has not. */
  readonly #asking = new Map<string, number>();
  /**
   * Such counters of which Redis may have another count than this node, since it has not answered, and how often they are still
   * to be written: it may yet do what was asked of it.
   */
  readonly #unsure = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(readonly options: RedisCountersOptions) {
    let beats = 1;
    options.nodes.subscribe(channel, (name) => {
      options.own.unwrite(name);
      void this.#write();
    });
    void this.beat();
    this.#timer = setInterval(() => {
      // Before the first report this node counts itself alone, and its share is the whole limit.
      if (this.#isAway || this.#seen.length === 0 || beats++ % (beatMs / awayBeatMs) === 0) void this.beat();
      else void this.#write();
    }, awayBeatMs).unref();
  }

  /** null: limits cannot be checked, and none is to be passed over. */
  async take(worker: number, wanted: readonly Wanted[]): Promise<readonly Grant[] | LimitRefusal | null> {
    const { own, without } = this.options;
    try {
      if (this.#isReturning) {
        const refusal = own.refusal(this.#shares(wanted));
        if (refusal !== null) return refusal;
      }
      const answer = await this.#take(worker, wanted);
      this.#went(false);
      return answer;
    } catch (error) {
      this.#went(true, error);
      if (without === 'closed') return null;
      // Redis gets it before it counts again.
      const answer = own.take(worker, this.#shares(wanted));
      for (const one of wanted) own.unwrite(one.counter);
      return answer;
    }
  }

  /** What is left of a limit; null: it cannot be found out. */
  async left({ counter, windowMs, value }: Looked): Promise<number | null> {
    const { own, nodes, without } = this.options;
    try {
      const args = [windowMs === null ? '' : String(windowMs), String(slotsPerWindow), String(aliveMs)];
      const used = Number(await nodes.script(lookScript, [keyOf(counter)], args));
      return Math.max(0, value - used);
    } catch {
      return without === 'closed'
        ? null
        : own.left({ counter, windowMs, value: this.#alone({ counter, windowMs, value }) });
    }
  }

  /** Is Redis away, or was it a moment ago? */
  get #isReturning(): boolean {
    if (this.options.without === 'closed') return false;
    return this.#isAway || this.options.own.now() - this.#backSince < returningMs;
  }

  #shares(wanted: readonly Wanted[]): Wanted[] {
    return wanted.map((one) => ({ ...one, value: this.#alone(one) }));
  }

  /**
   * What this node may have granted of a limit while Redis is away. Within the first window: what it had, and its share of
   * what was left; the nodes together grant no more than the limit. Later: its share of the limit.
   */
  #alone({ counter, windowMs, value }: Looked): number {
    if (value === 0) return 0;
    const most =
      windowMs !== null && this.options.own.now() - this.#awaySince < windowMs
        ? this.options.own.most(counter, this.#awaySince)
        : null;
    return most === null ? Math.max(1, Math.floor(value / this.count)) : Math.min(most, value);
  }

  back(worker: number, back: readonly Back[]): void {
    this.options.own.back(worker, back);
    this.#giveBack(back);
  }

  /** A worker has ended. */
  gone(worker: number): void {
    this.#giveBack(this.options.own.gone(worker));
  }

  #giveBack(back: readonly Back[]): void {
    for (const { counter, windowMs, slot, amount } of back) {
      if (amount === 0) continue;
      const args = [this.#node, windowMs === null ? '' : String(windowMs), String(slot), String(amount)];
      this.options.nodes
        .script(backScript, [keyOf(counter)], [...args, String(slotsPerWindow)])
        .catch(() => this.#unknown({ counter, windowMs }));
    }
  }

  /** Redis has not answered: it may have another count of it than this node. */
  #unknown({ counter, windowMs }: Pick<Wanted, 'counter' | 'windowMs'>): void {
    if (windowMs !== null) this.options.own.unwrite(counter);
    else if (this.#unsure.size < mostUnsure) this.#unsure.set(counter, writesIfUnsure);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #take(worker: number, wanted: readonly Wanted[]): Promise<readonly Grant[] | LimitRefusal> {
    // Counters of one organisation are on one server of a cluster; a request has no others.
    for (let tries = 0; ; tries++) {
      const answer = await this.#ask(worker, wanted);
      if ('refused' in answer) {
        const { refused, remaining, waitMs } = answer;
        return { refused, remaining, waitMs: waitMs < 0 ? null : waitMs };
      }
      if ('grants' in answer) return this.#granted(worker, wanted, answer.grants);
      if (tries > 2) throw new Error('Redis lost its counts again and again within one question');
      const lost = await Promise.all(answer.unknown.map((i) => this.#restore(wanted[i]!.counter)));
      // The others have granted what Redis does not have.
      if (lost.includes(true)) await delay(writeMs);
    }
  }

  async #ask(worker: number, wanted: readonly Wanted[]): Promise<Answer> {
    const { own, workers, nodes } = this.options;
    const question = {
      node: this.#node,
      slots: slotsPerWindow,
      aliveMs,
      parts: 8 * workers * this.count,
      wanted: wanted.map((one) => {
        const { windowMs, value, amount, isBounded, shadow } = one;
        const { born, hasTaken } = own.known(one.counter);
        const needed = isBounded ? amount : 1;
        return { windowMs, value, amount, needed, shadow, born, hasTaken, ahead: own.ahead(worker, one) };
      }),
    };
    const keys = wanted.map(({ counter }) => keyOf(counter));
    const atOnce = wanted.filter((one) => one.windowMs === null);
    this.#asks(atOnce, 1);
    try {
      const text = await nodes.script(takeScript, keys, [JSON.stringify(question)]);
      return answerOf(text, wanted.length, isGrant) as Answer;
    } catch (error) {
      for (const one of atOnce) this.#unknown(one);
      throw error;
    } finally {
      // After the answer was counted, which is done in the turn that it arrives in.
      if (atOnce.length > 0) setImmediate(() => this.#asks(atOnce, -1));
    }
  }

  #asks(wanted: readonly Wanted[], more: 1 | -1): void {
    for (const { counter } of wanted) {
      const asking = (this.#asking.get(counter) ?? 0) + more;
      if (asking !== 0) this.#asking.set(counter, asking);
      else {
        this.#asking.delete(counter);
        if (this.#unsure.get(counter) === writesIfUnsure && !this.#isAway)
          void this.#alive(counter).catch(() => {});
      }
    }
  }

  #granted(
    worker: number,
    wanted: readonly Wanted[],
    grants: Extract<Answer, { grants: unknown }>['grants'],
  ): Grant[] {
    return grants.map(({ born, sum, ...grant }, i) => {
      const given = { ...grant, validMs: grant.validMs < 0 ? null : grant.validMs };
      const left = Math.max(0, Math.floor((wanted[i]!.value - sum) / this.count));
      const share = this.#isReturning ? null : left;
      this.options.own.record(worker, wanted[i]!, given, born, share);
      return given;
    });
  }

  /** Writes what this node has taken of the counter. true: Redis had it before, and had lost it. */
  async #restore(counter: string, withinMs?: number): Promise<boolean> {
    const { own, nodes } = this.options;
    const taken = own.toWrite(counter);
    if (taken === null) return false;
    const args = [this.#node, String(taken.windowMs), JSON.stringify(taken.counts)];
    const isLost = own.written(counter, await nodes.script(writeScript, [keyOf(counter)], args, withinMs));
    if (isLost) await nodes.publish(channel, counter);
    return isLost;
  }

  /**
   * Writes what this node has granted and Redis may not have, also of limits that no request here meets: the others would
   * grant it once more.
   */
  async #write(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    try {
      const { own } = this.options;
      for (let names = own.unwritten(); names.length > 0; names = own.unwritten())
        for (let i = 0; i < names.length; i += writesAtOnce)
          await Promise.all(
            names.slice(i, i + writesAtOnce).map((name) => this.#restore(name, beatWithinMs)),
          );
    } catch {
      // Still away: a second later again.
    }
    this.#isWriting = false;
  }

  #went(isAway: boolean, error?: unknown): void {
    if (isAway === this.#isAway) return;
    this.#isAway = isAway;
    const now = this.options.own.now();
    if (!isAway) {
      this.#backSince = now;
      void this.#write();
    }
    // Away again, before all have noticed that it was back: the shares are still those of the first time.
    else if (now - this.#backSince >= returningMs) this.#awaySince = now;
    const { log, without } = this.options;
    if (isAway) log.warn({ err: error, limits: without }, 'limits: Redis is away');
    else log.info({}, 'limits: Redis counts again');
  }

  /** Writes that this node is there, and what it has under way. */
  async beat(): Promise<void> {
    const { nodes, own } = this.options;
    try {
      const times = [this.#node, String(3 * beatMs)];
      const answer = await nodes.script<[number, number]>(nodesScript, ['limits:nodes'], times, beatWithinMs);
      const [count, isNew] = answer.map(Number) as [number, number];
      if (!Number.isInteger(count) || count > maxNodes) throw new TypeError('not a number of nodes');
      if (isNew === 1) own.unwriteAll();
      this.#saw(count);
      for (const name of new Set([...own.underWay(), ...this.#unsure.keys()])) await this.#alive(name);
      this.#went(false);
      await this.#write();
    } catch {
      // The number of nodes stays what it was.
    }
  }

  /** Writes how many requests this node has under way, read at the last moment: others begin and end while one is written. */
  async #alive(name: string): Promise<void> {
    const { nodes, own } = this.options;
    const isAsking = this.#asking.has(name);
    const args = [this.#node, String(own.underWayOf(name)), String(aliveMs), isAsking ? '1' : '0'];
    await nodes.script(aliveScript, [keyOf(name)], args, beatWithinMs);
    const writes = this.#unsure.get(name) ?? 0;
    if (isAsking || writes === 0) return;
    if (writes > 1) this.#unsure.set(name, writes - 1);
    else this.#unsure.delete(name);
  }

  #saw(count: number): void {
    const now = performance.now();
    this.#seen = this.#seen.filter(({ at }) => now - at < seenMs);
    this.#seen.push({ at: now, count });
    this.count = Math.max(1, ...this.#seen.map((seen) => seen.count));
  }
}

const isGrant = (grant: unknown): boolean => {
  if (!isJsonObject(grant)) return false;
  const { taken, extra, slot, validMs, sum, born, isWithin } = grant;
  return (
    [taken, extra, slot, validMs, sum].every(Number.isFinite) &&
    typeof born === 'string' &&
    typeof isWithin === 'boolean'
  );
};

/** The organisation is the hash tag: a request's counters are on one server of a cluster. */
export function keyOf(counter: string): string {
  const slash = counter.indexOf('/');
  return `limits:{${counter.slice(0, slash)}}${counter.slice(slash)}`;
}
