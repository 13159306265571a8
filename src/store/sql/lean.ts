import knex, { type Knex } from 'knex';

/** One statement, as knex compiles it. */
export interface Query {
  sql: string;
  bindings: readonly unknown[];
  readonly method?: string;
  readonly returning?: unknown;
}

interface Builder {
  toSQL(): Query | Query[];
}

/** What knex's dialects have beyond what its types say. */
export interface Dialect extends Knex.Client {
  _query(connection: object, query: Query): Promise<Query>;
  processResponse(answered: Query, runner: unknown): unknown;
  runner(builder: Builder): { run(): Promise<unknown> };
}

type DialectClass = Pick<typeof Knex.Client, keyof typeof Knex.Client> &
  (new (
    config: Knex.Config,
  ) => Dialect);

/** The class behind a dialect's name, which knex does not export. */
export const dialectOf = (client: 'sqlite3' | 'pg'): DialectClass =>
  knex({ client, useNullAsDefault: true }).client.constructor;

/**
 * A dialect that runs statements and nothing else. knex tells of each to listeners, debuggers and timeouts, of which
 * there are none here: more than half of what a short statement costs.
 */
export const lean = (Base: DialectClass): DialectClass =>
  class extends Base {
    override runner(builder: Builder): { run(): Promise<unknown> } {
      const whole = super.runner(builder);
      const run = async (): Promise<unknown> => {
        const query = builder.toSQL();
        // Of a schema's change, steps that lean on each other.
        if (Array.isArray(query)) return whole.run();
        const connection = await this.acquireConnection();
        try {
          return this.processResponse(await this.query(connection, query), whole);
        } finally {
          await this.releaseConnection(connection);
        }
      };
      return { run };
    }

    override async query(connection: object, said: Query | string): Promise<Query> {
      const query = typeof said === 'string' ? { sql: said, bindings: [] } : said;
      query.bindings = this.prepBindings(query.bindings);
      query.sql = this.positionBindings(query.sql);
      try {
        return await this._query(connection, query);
      } catch (error) {
        // Never its values: sealed credentials are among them.
        if (error instanceof Error) error.message = `${query.sql} - ${error.message}`;
        throw error;
      }
    }
  };
