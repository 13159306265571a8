import sqlite3 from 'sqlite3';

/**
 * A connection to a SQLite file, as the ledger uses one: its statements are few, fixed and measured, and a query
 * builder's share of a batch would be larger than SQLite's.
 */
export class SqliteConnection {
  readonly #database: sqlite3.Database;

  private constructor(database: sqlite3.Database) {
    this.#database = database;
  }

  static open(path: string, pragmas: readonly string[]): Promise<SqliteConnection> {
    return new Promise((resolve, reject) => {
      const database = new sqlite3.Database(path, (error) => {
        if (error !== null) return reject(error);
        const connection = new SqliteConnection(database);
        connection.exec(pragmas.map((pragma) => `PRAGMA ${pragma};`).join('\n')).then(
          () => resolve(connection),
          (failed) => database.close(() => reject(failed)),
        );
      });
    });
  }

  exec(sql: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#database.exec(sql, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  /** Rows changed. */
  run(sql: string, parameters: readonly unknown[] = []): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#database.run(sql, parameters, function (error) {
        if (error === null) resolve(this.changes);
        else reject(error);
      });
    });
  }

  all<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.#database.all<Row>(sql, parameters, (error, rows) =>
        error === null ? resolve(rows) : reject(error),
      );
    });
  }

  /** Adds to SQL what a library of SQLite's has. */
  loadExtension(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#database.loadExtension(path, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  close(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#database.close((error) => (error === null ? resolve() : reject(error)));
    });
  }
}
