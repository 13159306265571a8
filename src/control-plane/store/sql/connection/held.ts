import type { Knex } from 'knex';
import type { LeanDialect } from './lean.js';

export type HeldClient = LeanDialect & { readonly transacting: true; end(): void };

/** The same client, whose statements all go to one connection, until its end. */
export function hold(client: LeanDialect, connection: object): HeldClient {
  let isOver = false;
  const own: Partial<HeldClient> = {
    run(query, runner = null) {
      if (isOver) return Promise.reject(new Error('A statement came after the end of its transaction.'));
      return client
        .query(connection, query)
        .then((answered: typeof query) => client.processResponse(answered, runner));
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
export function sqlOf(client: HeldClient): Knex.Transaction {
  const sql = Object.assign((table: string) => client.queryBuilder().table(table), {
    client,
    raw: (...said: unknown[]) => client.raw(...said),
    ref: (column: string) => client.ref(column),
  });
  return Object.defineProperty(sql, 'schema', {
    get: () => client.schemaBuilder(),
  }) as unknown as Knex.Transaction;
}
