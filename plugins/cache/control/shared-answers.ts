import type { SharedNews, SharedServer } from '../../../src/common/ipc/shared.js';
import type { Nodes } from '../../../src/common/plugin-host/control.js';
import type { Logger } from '../../../src/common/plugin-host/logger.js';
import type { CacheRead } from '../shared/channel.js';
import type { CacheStore } from './store.js';

/** The channel on which nodes send each other the keys of replaced answers. */
const channel = 'cache';

/** Shortest time between two log lines on messages that cannot be read. Milliseconds. */
const logMs = 10_000;

/** A worker that calls an upstream, and the calls of other workers that wait for its answer. */
interface Lead {
  worker: number;
  failures: number;
  waiting: { readonly worker: number; readonly answer: (read: CacheRead) => void }[];
}

const miss: CacheRead = { entry: null, led: false };

/**
 * The workers' shared cache: stored answers, and the workers that are about to have an answer that others wait for,
 * so that equal calls reach an upstream once, whichever workers serve them.
 */
export class SharedAnswers {
  readonly #leads = new Map<string, Lead>();

  constructor(
    /** null: answers are shared while they are waited for, and not kept. */
    readonly store: CacheStore | null,
    /** Notifies all workers, of other nodes too, that an answer has been replaced. */
    readonly replaced: (key: string, by: string) => void,
  ) {}

  /** The first caller without a result leads; for the others `led` is true, and `wait` waits for the leader. */
  async read(key: string, worker: number): Promise<CacheRead> {
    // It leads from here on, not from the store's answer on: `over` may come before that, where the worker gave up.
    const own: Lead | null = this.#leads.has(key) ? null : { worker, failures: 0, waiting: [] };
    if (own !== null) this.#leads.set(key, own);
    const entry = (await this.store?.read(key)) ?? null;
    const lead = this.#leads.get(key);
    if (entry === null) return { entry, led: lead !== undefined && lead.worker !== worker };
    const read = { entry, led: false };
    if (own !== null && lead === own) {
      this.#leads.delete(key);
      for (const { answer } of own.waiting) answer(read);
    }
    return read;
  }

  /** The answer that another worker is about to have; a miss: the caller goes on by itself. */
  wait(key: string, worker: number): Promise<CacheRead> | CacheRead {
    const lead = this.#leads.get(key);
    if (lead === undefined) return this.read(key, worker);
    return new Promise((answer) => lead.waiting.push({ worker, answer }));
  }

  write(key: string, entry: string, ttl: number, replacedBy: string | null): void {
    this.store?.write(key, entry, ttl);
    if (replacedBy !== null) this.replaced(key, replacedBy);
    const lead = this.#leads.get(key);
    this.#leads.delete(key);
    for (const { answer } of lead?.waiting ?? []) answer({ entry, led: false });
  }

  /**
   * A worker's call produced no answer to keep: one of the waiting calls repeats it; if that fails too, each for
   * itself.
   */
  over(key: string, worker: number): void {
    const lead = this.#leads.get(key);
    if (lead === undefined || lead.worker !== worker) return;
    const next = lead.failures === 0 ? lead.waiting.shift() : undefined;
    if (next === undefined) {
      this.#leads.delete(key);
      for (const { answer } of lead.waiting) answer(miss);
      return;
    }
    lead.worker = next.worker;
    lead.failures++;
    next.answer(miss);
  }

  async close(): Promise<void> {
    await this.store?.close();
  }

  /** A worker has ended: its calls will have no answer, and none of them repeats the call that it waited for. */
  gone(worker: number): void {
    for (const [key, lead] of this.#leads) {
      lead.waiting = lead.waiting.filter((waiter) => waiter.worker !== worker);
      if (lead.worker === worker) this.over(key, worker);
    }
  }
}

/** Answers the workers' questions; nodes that share a Redis send each other which answers were replaced. */
export function serveAnswers(
  server: SharedServer,
  store: CacheStore | null,
  nodes: Nodes | null,
  log: Logger,
): SharedAnswers {
  const notifyWorkers = (news: string): void => {
    const read = JSON.parse(news) as SharedNews['cache-drop'] | null;
    if (typeof read?.key !== 'string' || typeof read.replacedBy !== 'string')
      throw new TypeError('not the key of an answer');
    server.broadcast('cache-drop', { key: read.key, replacedBy: read.replacedBy });
  };
  let loggedAt = Number.NEGATIVE_INFINITY;
  nodes?.subscribe(channel, (news) => {
    try {
      notifyWorkers(news);
    } catch (error) {
      if (performance.now() - loggedAt < logMs) return;
      loggedAt = performance.now();
      log.error({ err: error }, 'news of the cache that cannot be read');
    }
  });
  const cache = new SharedAnswers(store, (key, replacedBy) => {
    const news = JSON.stringify({ key, replacedBy });
    if (nodes === null) notifyWorkers(news);
    // While Redis is unavailable, at least the workers of this node.
    else nodes.publish(channel, news).catch(() => notifyWorkers(news));
  });
  server.answer('cache-read', ({ key }, worker) => cache.read(key, worker));
  server.answer('cache-peek', async ({ key }) => ({ entry: (await store?.read(key)) ?? null, led: false }));
  server.answer('cache-wait', ({ key }, worker) => cache.wait(key, worker));
  server.on('cache-write', ({ key, entry, ttl, replacedBy }) => cache.write(key, entry, ttl, replacedBy));
  server.on('cache-over', ({ key }, worker) => cache.over(key, worker));
  return cache;
}
