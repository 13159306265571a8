import type { Knex } from 'knex';
import type { LeanDialect } from './lean.js';

type Held = LeanDialect & { readonly transacting: true; end(): void };

/** The same client, whose statements all go to one connection, until its end. */
function hold(client: LeanDialect, connection: object): Held {
  let isOver = false;
  const own: Partial<Held> = {
    async run(query, runner = null) {
      if (isOver) throw new Error('A statement came after the end of its transaction.');
      return client.processResponse(await client.query(connection, query), runner);
    },
    acquireConnection: async () => connection,
    releaseConnection: async () => {},
    // What knex does for a change of columns in a transaction of its own, it does in a savepoint.
    transacting: true,
    end: () => {
      isOver = true;
    },
  };
  return Object.assign(Object.create(client), own);
}

/** Of what knex offers in a transaction, as much as the store asks for. */
function sqlOf(client: Held): Knex.Transaction {
  const sql = Object.assign((table: string) => client.queryBuilder().table(table), {
    client,
    raw: (...said: unknown[]) => client.raw(...said),
    ref: (column: string) => client.ref(column),
  });
  return Object.defineProperty(sql, 'schema', {
    get: () => client.schemaBuilder(),
  }) as unknown as Knex.Transaction;
}

/**
 * One transaction on a connection of its own. knex would make a whole instance of itself for each, some two hundred
 * functions. The lock comes before anything is read: SQLite would refuse, without waiting, a transaction that has read
 * something another process has changed since.
 */
export async function transact<T>({ client }: Knex, work: (sql: Knex.Transaction) => Promise<T>): Promise<T> {
  const connection: object = await client.acquireConnection();
  const held = hold(client, connection);
  try {
    await client.query(connection, 'BEGIN IMMEDIATE');
    try {
      const value = await work(sqlOf(held));
      await client.query(connection, 'COMMIT');
      return value;
    } catch (error) {
      held.end();
      // In vain after a full disk, which has rolled back already.
      await client.query(connection, 'ROLLBACK').catch(() => {});
      throw error;
    }
  } finally {
    held.end();
    await client.releaseConnection(connection);
  }
}
