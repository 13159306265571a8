import type { Knex } from 'knex';
import { hold, sqlOf } from '../held.js';
import { ConnectionTimeout, type LeanDialect } from '../lean.js';

type Work = (sql: Knex.Transaction) => Promise<unknown>;

/** At most this many share one commit: the first resolves when the last has done its work. */
const mostTogether = 8;
/** As long one waits for its turn. Milliseconds. */
const longestWaitMs = 15_000;

interface Waiting {
  readonly work: Work;
  readonly timer: NodeJS.Timeout;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Has done its work, which is not on disk yet. */
interface Done {
  readonly unit: Waiting;
  readonly value: unknown;
}

/**
 * Transactions on SQLite's one connection that writes, in the order asked for. Those that wait when one has done its
 * work join it: they share its commit, whose fsync costs more than all their statements, and each has a savepoint, so
 * that it alone is undone where it throws. None resolves before the commit is on disk.
 *
 * knex would make a whole instance of itself for each, some two hundred functions. The lock comes before anything is
 * read: SQLite would refuse, without waiting, a transaction that has read something another process has changed since.
 */
export class SqlWriter {
  readonly #client: LeanDialect;
  readonly #waiting: Waiting[] = [];
  #isRunning = false;

  constructor({ client }: Knex) {
    this.#client = client;
  }

  transaction<T>(work: (sql: Knex.Transaction) => Promise<T>): Promise<T> {
    return new Promise<unknown>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(unit), 1);
        reject(new ConnectionTimeout('The database is busy with another change.'));
      }, longestWaitMs);
      const unit: Waiting = { work, timer, resolve, reject };
      this.#waiting.push(unit);
      if (!this.#isRunning) void this.#run();
    }) as Promise<T>;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let first = this.#next(); first !== undefined; first = this.#next()) {
      try {
        const connection: object = await this.#client.acquireConnection();
        try {
          await this.#together(connection, first);
        } finally {
          await this.#client.releaseConnection(connection);
        }
      } catch (error) {
        first.reject(error);
      }
    }
    this.#isRunning = false;
  }

  #next(): Waiting | undefined {
    const unit = this.#waiting.shift();
    if (unit !== undefined) clearTimeout(unit.timer);
    return unit;
  }

  /** Throws the error of `first`. */
  async #together(connection: object, first: Waiting): Promise<void> {
    const say = (text: string): Promise<unknown> => this.#client.query(connection, text);
    const done: Done[] = [];
    await say('BEGIN IMMEDIATE');
    try {
      done.push({ unit: first, value: await this.#workOf(first, connection) });
      for (let count = 1; count < mostTogether && this.#waiting.length > 0; count++) {
        await this.#join(this.#next() as Waiting, connection, say, done);
      }
      await say('COMMIT');
    } catch (error) {
      for (const { unit } of done) unit.reject(error);
      // In vain after a full disk, which has rolled back already.
      await say('ROLLBACK').catch(() => {});
      throw error;
    }
    for (const { unit, value } of done) unit.resolve(value);
  }

  /** Throws where all that was done is lost with it. */
  async #join(
    unit: Waiting,
    connection: object,
    say: (text: string) => Promise<unknown>,
    done: Done[],
  ): Promise<void> {
    try {
      // Never released: the commit ends all of them, and a repeated name means the innermost.
      await say('SAVEPOINT unit');
    } catch (error) {
      // To roll back now would undo the one before, whose savepoint is the innermost yet.
      unit.reject(error);
      throw error;
    }
    try {
      done.push({ unit, value: await this.#workOf(unit, connection) });
    } catch (error) {
      unit.reject(error);
      await say('ROLLBACK TO SAVEPOINT unit').catch(() => {
        throw error;
      });
    }
  }

  async #workOf({ work }: Waiting, connection: object): Promise<unknown> {
    const held = hold(this.#client, connection);
    try {
      return await work(sqlOf(held));
    } finally {
      held.end();
    }
  }
}
