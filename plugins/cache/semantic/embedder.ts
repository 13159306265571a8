import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Endpoint } from '../../../src/common/core/endpoint.js';
import type { Exchange } from '../../../src/common/core/exchange.js';
import type { CacheRule, Target } from '../../../src/common/core/target.js';
import { isJsonObject, stringifyJson } from '../../../src/common/json/json.js';
import { defaultTarget } from '../../../src/common/vocabulary/default-config.js';
import { factsOf } from '../config-facts.js';
import { TimeoutGuard } from '../shared/timeout-guard.js';
import type { Asides } from './asides.js';

/** Provider and model of embeddings. */
export type Embedding = NonNullable<CacheRule['embedding']>;

/** Milliseconds that a call waits for its vector; a later vector is still kept. */
const deadlineMs = 2000;
const guarded = { deadlineMs, maxFailures: 3, restMs: 5000 };
const requestTimeoutMs = 10_000;
/** Bytes of vectors that are remembered. */
const maxBytes = 16 * 1024 * 1024;
const maxDimensions = 8192;
/** A longer answer is not parsed, which would block the event loop. */
const maxAnswerBytes = 512 * 1024;
/** Embedders whose failures are remembered. */
const maxKnown = 1024;

const endpoint: Endpoint = { name: 'embeddings', format: 'openai-embeddings', body: 'json' };

/** Makes vectors of length 1 from texts, at any provider with embeddings. Its calls are billed to their workspace. */
export class Embedder {
  readonly #vectors = new LRUCache<string, Float32Array>({
    maxSize: maxBytes,
    sizeCalculation: (vector, key) => vector.byteLength + key.length + 128,
  });
  readonly #coming = new Map<string, Promise<Float32Array>>();
  readonly #guards = new LRUCache<string, TimeoutGuard>({ max: maxKnown });

  constructor(readonly asides: Pick<Asides, 'ask'>) {}

  /** `scope`: identifies tenant, config and embedder. null: no vector in time. Never rejects. */
  embed(x: Exchange, embedding: Embedding, scope: string, text: string): Promise<Float32Array | null> {
    const key = scope + hash('sha256', text, 'base64url');
    const known = this.#vectors.get(key);
    if (known !== undefined) return Promise.resolve(known);
    let guard = this.#guards.get(scope);
    if (guard === undefined) {
      guard = new TimeoutGuard(guarded);
      this.#guards.set(scope, guard);
    }
    return guard.ask(() => this.#coming.get(key) ?? this.#ask(x, embedding, text, key));
  }

  #ask(x: Exchange, embedding: Embedding, text: string, key: string): Promise<Float32Array> {
    const coming = this.#askUpstream(x, embedding, text).finally(() => this.#coming.delete(key));
    this.#coming.set(key, coming);
    return coming.then((vector) => {
      this.#vectors.set(key, vector);
      return vector;
    });
  }

  async #askUpstream(x: Exchange, { provider, model }: Embedding, text: string): Promise<Float32Array> {
    const own = ownTarget(x, provider);
    // No `encoding_format`: by default all of them answer with numbers.
    const json = { model, input: [text] };
    const body = await this.asides.ask(x, {
      target: { ...(own ?? defaultTarget), ...embeds, provider },
      endpoint,
      path: '/v1/embeddings',
      bytes: Buffer.from(stringifyJson(json)),
      json,
      asClient: own !== null,
      // The question is in its own row; its vector is of no use to a reader.
      keepsBodies: false,
      mark: '_cache_embedding_of',
    });
    const vector = body === null ? null : vectorIn(body);
    if (vector === null) throw new Error('no vector came');
    return vector;
  }
}

/** Settings of an embedding call that override those of its provider's target. */
const embeds: Partial<Target> = {
  path: 'config.cache.embedding',
  virtualKey: null,
  defaultParams: null,
  overrideParams: null,
  dropParams: null,
  requestTimeoutMs,
  deadlineMs: null,
  retry: null,
  breaker: null,
  cache: null,
  concurrency: null,
  mirror: null,
  passthrough: false,
};

/** A target of the config's at the same provider: its address and credential apply. */
function ownTarget({ config }: Exchange, provider: string): Target | null {
  for (const target of factsOf(config).targets.values()) {
    if (target.virtualKey === null && target.provider === provider) return target;
  }
  return null;
}

/** null: the answer does not have exactly one vector of numbers. */
function vectorIn(body: Buffer): Float32Array | null {
  if (body.length > maxAnswerBytes) return null;
  let answer: unknown;
  try {
    answer = JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
  if (!isJsonObject(answer) || !Array.isArray(answer['data']) || answer['data'].length !== 1) return null;
  const [first] = answer['data'];
  const embedding = isJsonObject(first) ? first['embedding'] : null;
  if (!Array.isArray(embedding) || embedding.length === 0 || embedding.length > maxDimensions) return null;
  return unit(Float32Array.from(embedding as number[]));
}

/** The same direction, length 1. null: it is zero. */
function unit(vector: Float32Array): Float32Array | null {
  const length = Math.sqrt(cosine(vector, vector));
  if (!Number.isFinite(length) || length === 0) return null;
  return vector.map((value) => value / length);
}

/** For vectors of length 1. */
export function cosine(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

/** A vector as it is sent to other processes. */
export const vectorText = ({ buffer, byteOffset, byteLength }: Float32Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64');
