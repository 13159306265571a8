import knex, { type Knex } from 'knex';

/** One statement, as knex compiles it. */
export interface Query {
  sql: string;
  bindings: readonly unknown[];
  /** How the answer is read: `first` a row or nothing, `update` how many rows changed, … */
  readonly method?: string;
  readonly returning?: unknown;
  /** Makes something else of the answer. */
  readonly output?: unknown;
}

interface Builder {
  toSQL(): Query | Query[];
}

interface Runner {
  run(): Promise<unknown>;
}

/** What knex's dialects have beyond its types. */
export interface Dialect extends Knex.Client {
  readonly dialect: string;
  _query(connection: object, query: Query): Promise<Query>;
  processResponse(answered: Query, runner: unknown): unknown;
  runner(builder: Builder): Runner;
}

/** One that `lean` has made. */
export interface LeanDialect extends Dialect {
  /** Runs a statement that is compiled already. `runner`: for one with an `output`. */
  run(query: Query, runner?: Runner | null): Promise<unknown>;
}

type ClassOf<T> = Pick<typeof Knex.Client, keyof typeof Knex.Client> & (new (config: Knex.Config) => T);

/** The class of a dialect's name, which knex does not export. */
export const dialectOf = (client: 'sqlite3' | 'pg'): ClassOf<Dialect> =>
  knex({ client, useNullAsDefault: true }).client.constructor;

/**
 * A dialect that runs statements and nothing else. knex reports each to listeners, debuggers and timeouts, of which
 * there are none here: more than half of what a short statement costs.
 */
export const lean = (Base: ClassOf<Dialect>): ClassOf<LeanDialect> =>
  class extends Base implements LeanDialect {
    override runner(builder: Builder): Runner {
      const run = (): Promise<unknown> => {
        const query = builder.toSQL();
        // Of a schema's change, steps that lean on each other.
        if (Array.isArray(query)) return super.runner(builder).run();
        return this.run(query, query.output === undefined ? null : super.runner(builder));
      };
      return { run };
    }

    async run(query: Query, runner: Runner | null = null): Promise<unknown> {
      const connection = await this.acquireConnection();
      try {
        return this.processResponse(await this.query(connection, query), runner);
      } finally {
        await this.releaseConnection(connection);
      }
    }

    override async query(connection: object, said: Query | string): Promise<Query> {
      const query = typeof said === 'string' ? { sql: said, bindings: [] } : said;
      query.bindings = this.prepBindings(query.bindings);
      query.sql = this.positionBindings(query.sql);
      try {
        return await this._query(connection, query);
      } catch (error) {
        throw about(query, error);
      }
    }
  };

/** No connection was free in time. Known to the store as an answer that did not come in time. */
export class ConnectionTimeout extends Error {
  override readonly name = 'KnexTimeoutError';
}

/** What a statement failed with, and which it was. Never its values: sealed credentials are among them. */
export function about({ sql }: Query, error: unknown): unknown {
  if (error instanceof Error) error.message = `${sql} - ${error.message}`;
  return error;
}
