import { GatewayError } from '../../../common/core/errors.js';
import type { SqliteConnection } from '../../database/sqlite.js';

/** Milliseconds that a search may take. */
const longestMs = 5000;

/** A connection for searches, which may look at every row: the others do not wait for them, and none goes on for long. */
export class SearchConnection {
  /** One after the other: an interruption ends all statements of the connection. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(readonly connection: SqliteConnection) {}

  /** Throws the coded error `store_unavailable` where it takes too long. */
  run<T>(work: (reader: SqliteConnection) => Promise<T>): Promise<T> {
    const done = this.#turn.then(() => this.#timed(work));
    this.#turn = done.catch(() => {});
    return done;
  }

  async #timed<T>(work: (reader: SqliteConnection) => Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.connection.interrupt(), longestMs);
    try {
      return await work(this.connection);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'SQLITE_INTERRUPT') throw error;
      throw new GatewayError(
        'store_unavailable',
        `The search took longer than ${longestMs / 1000} s: set time_of_generation_min and time_of_generation_max closer together.`,
      );
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    await this.#turn;
    await this.connection.close();
  }
}
