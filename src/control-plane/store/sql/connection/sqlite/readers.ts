import type { Knex } from 'knex';
import { sqlOf } from '../held.js';
import { ConnectionTimeout, type LeanDialect, type Query } from '../lean.js';

/** As long a statement waits for a connection. Milliseconds. */
const longestWaitMs = 15_000;

interface Waiting {
  take(connection: object): void;
  fail(error: unknown): void;
}

/**
 * Connections that read, each for one statement at a time, and opened when they are first needed. knex's pool sets a
 * timer and makes three promises to give one out, which costs more than SQLite needs for a short statement.
 */
export class Readers {
  readonly sql: Knex.Transaction;
  readonly #client: LeanDialect;
  readonly #free: object[] = [];
  readonly #waiting: Waiting[] = [];
  #opened = 0;
  #onChange: (() => void) | null = null;
  #closed: Promise<void> | null = null;

  /** `pool`: where connections are opened and closed. */
  constructor(
    readonly pool: Knex,
    readonly most: number,
  ) {
    const client: LeanDialect = pool.client;
    this.#client = client;
    const own: Pick<LeanDialect, 'run' | 'acquireConnection' | 'releaseConnection'> = {
      run: (query, runner = null) => {
        const connection = this.#freeOne();
        return connection === undefined
          ? this.#connection().then((other) => this.#run(other, query, runner))
          : this.#run(connection, query, runner);
      },
      // For what knex runs by itself, such as a question about a table. The pool has no connections besides these.
      acquireConnection: async () => this.#freeOne() ?? this.#connection(),
      releaseConnection: async (connection: object) => this.#giveBack(connection),
    };
    this.sql = sqlOf(Object.assign(Object.create(client), own));
  }

  /** None once it is being closed. */
  #freeOne(): object | undefined {
    return this.#closed === null ? this.#free.pop() : undefined;
  }

  async #run(connection: object, query: Query, runner: Parameters<LeanDialect['run']>[1]): Promise<unknown> {
    try {
      return this.#client.processResponse(await this.#client.query(connection, query), runner);
    } finally {
      this.#giveBack(connection);
    }
  }

  async #connection(): Promise<object> {
    if (this.#closed !== null) throw new Error('The database is closed.');
    if (this.#opened === this.most) return this.#wait();
    this.#opened += 1;
    try {
      return await this.#client.acquireConnection();
    } catch (error) {
      this.#opened -= 1;
      // There is none that could be given back to those who wait.
      if (this.#opened === 0) for (const waiting of this.#waiting.splice(0)) waiting.fail(error);
      this.#onChange?.();
      throw error;
    }
  }

  #wait(): Promise<object> {
    let waiting: Waiting | undefined;
    const timer = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(waiting!), 1);
      waiting!.fail(new ConnectionTimeout('The database is busy with other reads.'));
    }, longestWaitMs);
    const given = new Promise<object>((take, fail) => {
      waiting = { take, fail };
      this.#waiting.push(waiting);
    });
    return given.finally(() => clearTimeout(timer));
  }

  #giveBack(connection: object): void {
    const next = this.#waiting.shift();
    if (next !== undefined) return next.take(connection);
    this.#free.push(connection);
    this.#onChange?.();
  }

  /**
   * Closes the connections once the statements that were started, and those that wait for a connection, are over. Others are refused.
   * A store may be closed twice.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    while (this.#free.length < this.#opened) {
      await new Promise<void>((resolve) => {
        this.#onChange = resolve;
      });
    }
    for (const connection of this.#free.splice(0)) await this.#client.releaseConnection(connection);
    await this.pool.destroy();
  }
}
