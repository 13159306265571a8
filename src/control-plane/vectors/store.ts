import type { Logger } from '../../common/plugin-host/plugin.js';
import type { VectorEngine } from './engine.js';

export interface VectorStoreOptions {
  /** Bytes of vectors; beyond them the oldest go. */
  readonly maxBytes: number;
  readonly log: Logger;
  readonly clock?: () => number;
}

/** Newest questions of one scope that are compared: this bounds the cost of a lookup. */
const mostCompared = 2048;
const mostFound = 4;
/** Statements that wait for their turn; a look-up beyond them finds nothing, a vector is not kept. */
const mostWaiting = 64;
/** Rows that one step of forgetting takes out. */
const pruneRows = 256;
const pruneEveryMs = 60_000;
/** What a row takes beside its vector: its names, and its places in the indexes. */
const rowBytes = 256;

/**
 * Stores questions as vectors, each in its scope, with the keys of their answers. A lookup compares the newest
 * of its own scope, exactly: scopes are small, and an index over all of them would return results of other scopes.
 * Whatever fails in it is a miss: nothing here rejects.
 */
export class VectorStore {
  readonly #engine: VectorEngine;
  readonly #options: VectorStoreOptions;
  readonly #clock: () => number;
  readonly #pruning: NodeJS.Timeout;
  /** Statements follow each other: side by side they would wait for each other on threads that others need. */
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #bytes = 0;
  #failing = false;

  constructor(engine: VectorEngine, options: VectorStoreOptions) {
    this.#engine = engine;
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
    this.#pruning = setInterval(() => void this.prune(), pruneEveryMs);
    this.#pruning.unref();
    void this.prune();
  }

  /** Keys of the answers to the nearest questions, nearest first; `similarity`: cosine, no less than this. */
  async nearest(scope: string, vector: Float32Array, similarity: number): Promise<string[]> {
    const rows = await this.#run<{ key: string; distance: number }>(
      `SELECT "key", distance FROM (
         SELECT "key", ${this.#engine.distance('embedding', '$1')} AS distance FROM (
           SELECT "key", embedding FROM cached_questions WHERE wall = $2 AND until > $3
           ORDER BY seq DESC LIMIT ${mostCompared}
         ) newest
       ) compared
       WHERE distance <= $4 ORDER BY distance LIMIT ${mostFound}`,
      // Of two that are the same, rounding may leave a little.
      [this.#engine.parameter(vector), scope, this.#clock(), 1 - similarity + 1e-6],
    );
    return rows?.map(({ key }) => key) ?? [];
  }

  /** `ttl`: seconds. */
  async add(scope: string, key: string, vector: Float32Array, ttl: number): Promise<void> {
    const bytes = vector.byteLength + rowBytes;
    const done = await this.#run(
      `INSERT INTO cached_questions (wall, "key", until, bytes, embedding) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (wall, "key") DO UPDATE
       SET until = excluded.until, bytes = excluded.bytes, embedding = excluded.embedding`,
      [scope, key, this.#clock() + ttl * 1000, bytes, this.#engine.parameter(vector)],
    );
    if (done === null) return;
    this.#bytes += bytes;
    if (this.#bytes > this.#options.maxBytes) await this.prune();
  }

  async drop(scope: string, key: string): Promise<void> {
    await this.#run('DELETE FROM cached_questions WHERE wall = $1 AND "key" = $2', [scope, key]);
  }

  /** Forgets what is too old, then the oldest of what is too much. */
  async prune(): Promise<void> {
    const take = async (which: string, parameters: readonly unknown[]): Promise<number> => {
      const gone = await this.#run(
        `DELETE FROM cached_questions WHERE seq IN (SELECT seq FROM cached_questions ${which} LIMIT ${pruneRows}) RETURNING seq`,
        parameters,
      );
      return gone?.length ?? 0;
    };
    while ((await take('WHERE until <= $1', [this.#clock()])) === pruneRows);
    do {
      const sums = await this.#run<{ total: number | string | null }>(
        'SELECT sum(bytes) AS total FROM cached_questions',
        [],
      );
      if (sums === null) return;
      this.#bytes = Number(sums[0]?.total ?? 0);
    } while (this.#bytes > this.#options.maxBytes && (await take('ORDER BY seq', [])) > 0);
  }

  async close(): Promise<void> {
    clearInterval(this.#pruning);
    await this.#turn;
    await this.#engine.close().catch(() => {});
  }

  /** null: it failed, or too many wait. */
  #run<Row>(sql: string, parameters: readonly unknown[]): Promise<Row[] | null> {
    if (this.#waiting >= mostWaiting) return Promise.resolve(null);
    this.#waiting++;
    const run = this.#turn
      .then(() => this.#engine.run<Row>(sql, parameters))
      .then(
        (rows) => {
          this.#failing = false;
          return rows;
        },
        (error: unknown) => {
          if (!this.#failing) {
            const { log } = this.#options;
            log.error({ err: error, store: this.#engine.name }, 'no question is found by its meaning');
          }
          this.#failing = true;
          return null;
        },
      );
    this.#turn = run.then(() => this.#waiting--);
    return run;
  }
}
