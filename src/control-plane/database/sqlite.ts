import sqlite3 from 'sqlite3';

/**
 * A connection to a SQLite file, as the ledger uses one: its statements are few, fixed and measured, and a query
 * builder's share of a batch would be larger than SQLite's.
 */
export class SqliteConnection {
  readonly #database: sqlite3.Database;
  readonly #kept = new Map<string, sqlite3.Statement>();

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

  /** The same for a statement that comes again and again: it stays prepared until the connection is closed. */
  runKept(sql: string, parameters: readonly unknown[]): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#statement(sql, reject).run(parameters, function (this: sqlite3.RunResult, error: Error | null) {
        if (error === null) resolve(this.changes);
        else reject(error);
      });
    });
  }

  #statement(sql: string, onError: (error: Error) => void): sqlite3.Statement {
    let statement = this.#kept.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql, (error: Error | null) => {
        if (error === null) return;
        this.#kept.delete(sql);
        onError(error);
      });
      this.#kept.set(sql, statement);
    }
    return statement;
  }

  all<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.#database.all<Row>(sql, parameters, (error, rows) =>
        error === null ? resolve(rows) : reject(error),
      );
    });
  }

  /** The same for a statement that stays prepared. */
  allKept<Row>(sql: string, parameters: readonly unknown[]): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.#statement(sql, reject).all<Row>(parameters, (error: Error | null, rows: Row[]) =>
        error === null ? resolve(rows) : reject(error),
      );
    });
  }

  /** Ends the statements that are running: they fail with SQLITE_INTERRUPT. */
  interrupt(): void {
    this.#database.interrupt();
  }

  /** Adds to SQL what a library of SQLite's has. */
  loadExtension(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#database.loadExtension(path, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  close(): Promise<void> {
    return new Promise((resolve, reject) => {
      for (const statement of this.#kept.values()) statement.finalize();
      this.#kept.clear();
      this.#database.close((error) => (error === null ? resolve() : reject(error)));
    });
  }
}
