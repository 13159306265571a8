import { isUtf8 } from 'node:buffer';
import { isSource, type Source } from '../../src/common/bytes/body.js';
import type { Awaitable } from '../../src/common/core/directory.js';
import type { Exchange, JsonObject, Reply } from '../../src/common/core/exchange.js';
import type { PlannedCache } from '../../src/common/ipc/explained.js';
import { isJsonObject } from '../../src/common/json/json.js';
import { definePlugin, type HostWith, type NeedsOf } from '../../src/common/plugin-host/plugin.js';
import { Broadcast } from './answers/broadcast.js';
import { chunksOf } from './answers/chat-replay.js';
import { type Entry, type Form, isFresh, ownBytes } from './answers/entry.js';
import { isStorable, isStorableStream } from './answers/storable.js';
import { formOf, storedReply } from './answers/stored-reply.js';
import { type Asked, AskedReader } from './asked.js';
import { Flight, Flights } from './flight.js';
import { Keys } from './key.js';
import { Memory } from './memory.js';
import { Asides } from './semantic/asides.js';
import { Checks } from './semantic/checks.js';
import { Embedder, type Embedding } from './semantic/embedder.js';
import { Semantic } from './semantic/semantic.js';
import { SharedStore } from './shared/shared-store.js';
import stage from './stage.js';

export interface CacheOptions {
  /** Bytes of answers that this worker keeps in memory. Default 64 MiB. */
  readonly memoryBytes?: number;
  /** Bytes of one answer; a longer one is not kept. Default 1 MiB. */
  readonly entryBytes?: number;
  /** Seconds: no answer is kept for longer, whatever configs set. Default 90 days. */
  readonly maxAge?: number;
  /** Milliseconds that a call waits for the store that all workers share. Default 50. */
  readonly waitMs?: number;
  /** Do the workers share a store? Default true. */
  readonly shared?: boolean;
  /** The embedder of questions where a config names none: `@slug/model`. Default: none. */
  readonly embedding?: string | null;
  /** Share of semantic hits that are checked against a fresh answer, in per cent. Default 1. */
  readonly checkPercent?: number;
}

const mebibyte = 1024 * 1024;

/**
 * Repeats stored answers (docs/cache.md).
 *
 *   asked.ts         the cache options of a call
 *   key.ts           which calls are the same
 *   flight.ts        one call for all equal ones at the same time; broadcast.ts: one stream for all of them
 *   memory.ts        this worker's answers; shared-store.ts: all workers'
 *   storable.ts      which answers are kept
 *   semantic.ts      answers found by the meaning of their questions: question.ts, embedder.ts
 *   checks.ts        whether such an answer is right
 *   asides.ts        calls that the cache itself makes, for these two
 *   stored-reply.ts  a stored answer in the form that a call needs; chat-replay.ts: streams from plain and back
 */
export default definePlugin<CacheOptions, NeedsOf<typeof stage>>({
  ...stage,
  setup(options, host) {
    const cache = new Cache(options, host);
    return {
      close: () => cache.close(),
      request(x) {
        // From here on the answer belongs to this body.
        x.body = 'closed';
        const asked = cache.reader.read(x);
        return asked === null ? undefined : timed(x, () => cache.look(x, asked));
      },
      explain: async (x, plan) => {
        plan.cache = await cache.plan(x);
      },
      reply: (x, reply) => (x.company instanceof Flight ? cache.keep(x.company, reply) : undefined),
      log: (x) => {
        cache.count(x);
        if (x.company instanceof Flight) cache.over(x.company);
      },
    };
  },
});

/** Records when the cache lookup began, and how long it took. */
function timed(x: Exchange, look: () => Awaitable<Reply | undefined>): Awaitable<Reply | undefined> {
  const began = x.elapsedMs();
  const note = (): void => {
    x.cacheStartUs = Math.round(began * 1000);
    x.cacheUs = Math.max(1, Math.round((x.elapsedMs() - began) * 1000));
  };
  const found = look();
  if (!(found instanceof Promise)) {
    note();
    return found;
  }
  // Registered first, so that it runs before the callbacks of the caller, and delays none of them.
  found.then(note, note);
  return found;
}

class Cache {
  readonly reader: AskedReader;
  readonly #keys: Keys;
  readonly #memory: Memory;
  readonly #flights: Flights;
  readonly #store: SharedStore | null;
  readonly #entryBytes: number;
  readonly #asides: Asides;
  readonly #semantic: Semantic;
  readonly #checks: Checks;
  readonly #counts = { hits: 0, misses: 0, semanticHits: 0, semanticMisses: 0 };

  constructor(
    options: CacheOptions,
    readonly host: HostWith<NeedsOf<typeof stage>>,
  ) {
    const { memoryBytes = 64 * mebibyte, entryBytes = mebibyte, maxAge = 7_776_000, shared = true } = options;
    const { embedding = null, checkPercent = 1 } = options;
    this.reader = new AskedReader(host.headerPrefixes, maxAge);
    this.#keys = new Keys(host);
    this.#memory = new Memory(memoryBytes);
    this.#flights = new Flights(entryBytes, (key, entry) => this.#memory.grown(key, entry));
    this.#entryBytes = entryBytes;
    this.#store = shared
      ? new SharedStore(host.shared, options.waitMs ?? 50, (key) => this.#memory.drop(key))
      : null;
    this.#asides = new Asides(host);
    const embedder = new Embedder(this.#asides);
    this.#semantic = new Semantic(host, this.#keys, embedder, embeddingOf(embedding), (key) =>
      this.#known(key),
    );
    this.#checks = new Checks(host, this.#asides, embedder, this.#semantic, checkPercent / 100);
    host.metrics.show(() => [
      ...this.#checks.metrics(),
      { name: 'gateway_cache_semantic_hits_total', labels: {}, value: this.#counts.semanticHits },
      { name: 'gateway_cache_semantic_misses_total', labels: {}, value: this.#counts.semanticMisses },
      { name: 'gateway_cache_hits_total', labels: {}, value: this.#counts.hits },
      { name: 'gateway_cache_misses_total', labels: {}, value: this.#counts.misses },
      { name: 'gateway_cache_memory_bytes', labels: {}, value: this.#memory.size },
    ]);
  }

  /** Answers the call if its answer is stored, or about to be. */
  look(x: Exchange, asked: Asked): Awaitable<Reply | undefined> {
    const key = this.#keys.of(x, asked);
    return key instanceof Promise
      ? key.then((name) => {
          // It has already ended: others would wait for it forever.
          if (x.aborted !== null) throw x.aborted;
          return this.#find(x, asked, name);
        })
      : this.#find(x, asked, key);
  }

  /** The lookup that would be made; the shared store is not queried. */
  async plan(x: Exchange): Promise<PlannedCache | null> {
    const asked = this.reader.read(x);
    if (asked === null) return null;
    const { rule, maxAge, namespace, refresh } = asked;
    const entry = this.#memory.get(await this.#keys.of(x, asked));
    const remembered = entry !== undefined && isFresh(entry, maxAge, x.startedAt);
    return { mode: rule.mode, maxAge, namespace, refresh, remembered };
  }

  #find(x: Exchange, asked: Asked, key: string): Awaitable<Reply | undefined> {
    const form = formOf(x);
    if (asked.refresh) {
      const own = this.#flights.alone(x, key, asked, form);
      return asked.rule.mode === 'semantic' ? this.#question(own) : undefined;
    }
    const entry = this.#memory.get(key);
    const known = entry === undefined ? null : this.#replyFrom(x, asked, key, entry);
    if (known !== null) return known;
    const flight = this.#flights.find(key);
    if (flight !== undefined) return flight.join(x, asked, form);
    const own = this.#flights.lead(x, key, asked, form);
    if (this.#store !== null) return this.#ask(this.#store, own);
    return asked.rule.mode === 'semantic' ? this.#resemble(own) : undefined;
  }

  /** Looks in the shared store, where another worker may have the answer, or be about to. */
  async #ask(store: SharedStore, flight: Flight): Promise<Reply | undefined> {
    const { x, asked, key, form } = flight;
    let { entry, led } = await store.read(key);
    // A call for a stream does not wait: its client would see nothing until the end.
    if (led && form === 'plain') ({ entry, led } = await store.wait(key));
    if (entry === null) {
      flight.leads = !led;
      if (flight.isOver) store.over(key);
      return asked.rule.mode === 'semantic' && !flight.isOver ? this.#resemble(flight) : undefined;
    }
    const reply = this.#replyFrom(x, asked, key, entry);
    if (reply !== null) {
      x.company = null;
      flight.found(entry);
    }
    this.#memory.set(key, entry);
    if (reply !== null) return reply;
    return asked.rule.mode === 'semantic' && !flight.isOver ? this.#resemble(flight) : undefined;
  }

  /** Searches for the answer to a question with the same meaning. */
  async #resemble(flight: Flight): Promise<Reply | undefined> {
    await this.#question(flight);
    const { x, asked, question } = flight;
    if (question === null) return undefined;
    const found = await this.#semantic.find(x, asked, question);
    if (found === undefined || flight.isOver) return undefined;
    const reply = found && this.#replyFrom(x, asked, found.key, found.entry, 'SEMANTIC HIT');
    if (found === null || reply === null) {
      x.cache = 'SEMANTIC MISS';
      return undefined;
    }
    x.company = null;
    if (flight.leads) this.#store?.over(flight.key);
    flight.found(found.entry, 'SEMANTIC HIT', found.key);
    this.#checks.maybe(x, asked, question, found);
    return reply;
  }

  /** Records the question now: once a target is called, the exchange has changed. */
  async #question(flight: Flight): Promise<undefined> {
    flight.question = await this.#semantic.question(flight.x, flight.asked);
  }

  /** undefined: unknown at the moment. */
  async #known(key: string): Promise<Entry | null | undefined> {
    const known = this.#memory.get(key);
    if (known !== undefined || this.#store === null) return known ?? null;
    const entry = await this.#store.peek(key);
    if (entry) this.#memory.set(key, entry);
    return entry;
  }

  #replyFrom(
    x: Exchange,
    asked: Asked,
    key: string,
    entry: Entry,
    status: 'HIT' | 'SEMANTIC HIT' = 'HIT',
  ): Reply | null {
    if (!isFresh(entry, asked.maxAge, x.startedAt)) return null;
    const form = formOf(x);
    const isNew = entry.forms[form] === undefined;
    const reply = storedReply(x, entry, form, status);
    if (reply === null) return null;
    // With one more form it takes more room.
    if (isNew) this.#memory.set(key, entry);
    this.host.bodyRecurs(x);
    return reply;
  }

  /** Counts a call at its end. */
  count({ cache }: Exchange): void {
    if (cache === 'DISABLED' || cache === 'REFRESH') return;
    if (cache === 'HIT') this.#counts.hits++;
    else if (cache === 'SEMANTIC HIT') this.#counts.semanticHits++;
    else this.#counts.misses++;
    if (cache === 'SEMANTIC MISS') this.#counts.semanticMisses++;
  }

  /** Stores an upstream's answer, and passes it to all waiting calls. */
  keep(flight: Flight, reply: Reply): Reply | undefined {
    const { body } = reply;
    if (reply.status === 200 && reply.errorOrigin === null) {
      if (isSource(body) && reply.events) return this.#stream(flight, reply, body);
      if (Buffer.isBuffer(body)) {
        // Some providers answer like this although a stream was requested.
        this.#keepBytes(flight, [body], 'plain', isPlainStorable);
        return undefined;
      }
    }
    flight.failed();
    return undefined;
  }

  #stream(flight: Flight, reply: Reply, source: Source): Reply {
    const stream = new Broadcast(
      source,
      this.#entryBytes,
      (whole) => {
        if (whole === null) flight.failed();
        else this.#keepBytes(flight, [whole], flight.form, isStreamStorable);
      },
      () => flight.streamLeft(),
    );
    return flight.streams(reply, stream);
  }

  #keepBytes(
    flight: Flight,
    parts: readonly Buffer[],
    form: Form,
    isGood: (x: Exchange, bytes: Buffer) => boolean,
  ): void {
    const { x, asked, key } = flight;
    const bytes = ownBytes(parts);
    const by = x.answeredBy;
    if (by === null || bytes.length > this.#entryBytes || !isGood(x, bytes)) return flight.failed();
    const entry: Entry = {
      storedAt: Date.now(),
      maxAge: asked.maxAge,
      target: by.target,
      provider: by.provider,
      model: by.modelUsed ?? by.model,
      usage: by.usage,
      cost: this.host.cost(x),
      ms: (by.endedAt ?? x.elapsedMs()) - by.startedAt,
      forms: { [form]: bytes },
    };
    this.#memory.set(key, entry);
    flight.found(entry);
  }

  /** The exchange of a flight has ended, and its tokens are counted. */
  over(flight: Flight): void {
    const { entry, x, key, asked } = flight;
    if (entry !== null) {
      entry.cost ??= this.host.cost(x);
      this.#store?.write(key, entry, asked.refresh);
      if (flight.question !== null) void this.#semantic.add(x, flight.question, key, entry.maxAge);
    } else if (flight.leads) {
      this.#store?.over(key);
    }
    flight.over();
  }

  close(): Promise<void> {
    return this.#asides.close();
  }
}

/** `@slug/model`, `openai/model`. */
function embeddingOf(name: string | null): Embedding | null {
  const slash = name?.indexOf('/') ?? -1;
  return name === null || slash < 1 ? null : { provider: name.slice(0, slash), model: name.slice(slash + 1) };
}

function isPlainStorable(x: Exchange, bytes: Buffer): boolean {
  const answer = isUtf8(bytes) ? objectOf(bytes) : null;
  return answer !== null && isStorable(x.endpoint.format, answer);
}

function isStreamStorable(x: Exchange, bytes: Buffer): boolean {
  try {
    return isUtf8(bytes) && isStorableStream(x.endpoint.format, chunksOf(bytes, JSON.parse));
  } catch {
    return false;
  }
}

function objectOf(bytes: Buffer): JsonObject | null {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
