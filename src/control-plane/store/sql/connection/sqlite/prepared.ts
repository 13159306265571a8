import type sqlite3 from 'sqlite3';
import { about, dialectOf, lean, type Query } from '../lean.js';

/** Statements kept for a connection. */
const mostKept = 128;

/** Statements that recur; those that change the schema run once and are not prepared. */
const isRecurrent = /^(?:select|insert|update|delete|begin|commit|rollback|savepoint|release)\b/i;

/** Methods of knex that want to know how many rows changed. */
const counting = new Set(['insert', 'update', 'del', 'counter']);

interface PreparedQuery extends Query {
  response?: unknown;
  context?: sqlite3.RunResult;
}

/** By the statement's text; the one used last is at the end. */
type Statements = Map<string, sqlite3.Statement>;

const kept = new WeakMap<sqlite3.Database, Statements>();

function statementsOf(connection: sqlite3.Database): Statements {
  const statements: Statements = kept.get(connection) ?? new Map();
  kept.set(connection, statements);
  return statements;
}

function prepare(connection: sqlite3.Database, sql: string): Promise<sqlite3.Statement> {
  return new Promise((resolve, reject) => {
    connection.prepare(sql, function (error) {
      if (error === null) resolve(this);
      else reject(error);
    });
  });
}

/** A statement that is not in use; undefined: a new one must be prepared. */
function taken(connection: sqlite3.Database, sql: string): sqlite3.Statement | undefined {
  const statements = statementsOf(connection);
  const statement = statements.get(sql);
  if (statement !== undefined) statements.delete(sql);
  return statement;
}

function giveBack(connection: sqlite3.Database, sql: string, statement: sqlite3.Statement): void {
  const statements = statementsOf(connection);
  if (!isRecurrent.test(sql) || statements.has(sql)) {
    statement.finalize();
    return;
  }
  statements.set(sql, statement);
  if (statements.size <= mostKept) return;
  for (const [oldest, unused] of statements) {
    statements.delete(oldest);
    unused.finalize();
    return;
  }
}

async function prepared(connection: sqlite3.Database, query: PreparedQuery): Promise<PreparedQuery> {
  let statement: sqlite3.Statement;
  try {
    statement = await prepare(connection, query.sql);
  } catch (error) {
    throw about(query, error);
  }
  return execute(connection, statement, query);
}

function execute(
  connection: sqlite3.Database,
  statement: sqlite3.Statement,
  query: PreparedQuery,
): Promise<PreparedQuery> {
  const { sql, bindings, method = '', returning } = query;
  return new Promise((resolve, reject) => {
    const done = function (this: sqlite3.RunResult, error: Error | null, rows?: unknown): void {
      if (error !== null) {
        // One that failed may be half way.
        statement.finalize();
        return reject(about(query, error));
      }
      query.response = rows;
      query.context = this;
      giveBack(connection, sql, statement);
      resolve(query);
    };
    if (counting.has(method) && !returning) statement.run(bindings, done);
    else statement.all(bindings, done);
  });
}

/** SQLite as the store speaks to it: what a connection was asked once it does not compile again. */
export class PreparedSqlite extends lean(dialectOf('sqlite3')) {
  /** Not an async function, as knex's is: each promise on the way of each statement counts. */
  override query(connection: sqlite3.Database, said: PreparedQuery | string): Promise<PreparedQuery> {
    const query = typeof said === 'string' ? { sql: said, bindings: [] } : said;
    const statement = taken(connection, query.sql);
    return statement === undefined ? prepared(connection, query) : execute(connection, statement, query);
  }

  override destroyRawConnection(connection: sqlite3.Database): Promise<void> {
    // SQLite closes nothing that has statements.
    for (const statement of statementsOf(connection).values()) statement.finalize();
    kept.delete(connection);
    return super.destroyRawConnection(connection);
  }
}
