import type { Socket } from 'node:net';
import type { Knex } from 'knex';
import type pg from 'pg';
import { dialectOf, type LeanDialect, lean, type Query } from './lean.js';

/** Milliseconds that a statement is waited for, beyond what the server itself allows it. */
const statementMs = 5500;
/** For the statements that begin a session. Milliseconds. */
const sessionMs = 2000;
/** A connection that was unused for longer is asked whether it still lives, and has so long to answer. Milliseconds. */
const unusedMs = 1000;
const answerMs = 400;
/** So long a server has to end a session. Milliseconds. */
const goodbyeMs = 1000;

/**
 * Calls `late` after `ms`, unless what this returns is called before. What had arrived by then is handled first: a
 * process that was held up is not taken for a server that is silent.
 */
export function deadline(ms: number, late: () => void): () => void {
  let isOver = false;
  const timer = setTimeout(() => {
    setImmediate(() =>
      setImmediate(() => {
        if (!isOver) late();
      }),
    );
  }, ms);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/** Ends a connection at once, and what it has not sent yet is never sent. */
export function abandon(client: pg.Client): void {
  // Set: knex does not give the connection out again.
  Object.assign(client, { __knex__disposed: new Error('given up') });
  const stream = client.connection.stream as Socket;
  try {
    if (stream.connecting) stream.destroy();
    else stream.resetAndDestroy();
  } catch {
    // Not of TLS or a local socket. What is under way to the server comes too late for a commit (postgres-transaction.ts).
    stream.destroy();
  }
}

/** The open connections of a pool, and which of them may still be given out. */
class Connections {
  readonly #open = new Map<object, { readonly generation: number; usedAt: number }>();
  #generation = 0;

  get generation(): number {
    return this.#generation;
  }

  /** No connection that is open now is given out again. */
  renew(): void {
    this.#generation += 1;
  }

  abandonAll(): void {
    this.renew();
    for (const connection of this.#open.keys()) abandon(connection as pg.Client);
  }

  opened(connection: object, generation: number): void {
    this.#open.set(connection, { generation, usedAt: performance.now() });
  }

  used(connection: object): void {
    const known = this.#open.get(connection);
    if (known !== undefined) known.usedAt = performance.now();
  }

  closed(connection: object): void {
    this.#open.delete(connection);
  }

  isCurrent(connection: object): boolean {
    return this.#open.get(connection)?.generation === this.#generation;
  }

  unusedMs(connection: object): number {
    return performance.now() - (this.#open.get(connection)?.usedAt ?? 0);
  }
}

export interface PostgresConfig extends Knex.Config {
  /** Are statements given as long as they take? */
  readonly patient: boolean;
  /** Statements that begin each session. */
  readonly session: string;
}

/** knex's PostgreSQL, none of whose connections is waited for longer than statements may take. */
export interface PostgresClient extends LeanDialect {
  readonly connections: Connections;
  readonly config: PostgresConfig;
}

/** Its class. A function: knex loads the driver for it, which costs a start 40 ms. */
export const postgresClient = (): (new (config: Knex.Config) => PostgresClient) =>
  class extends lean(dialectOf('pg')) implements PostgresClient {
    // No private fields in this class: a transaction's client has it as its prototype (`held.ts`).
    readonly connections = new Connections();
    declare readonly config: PostgresConfig;
    declare readonly _acquireOnlyConnection: () => Promise<pg.Client>;

    override async acquireRawConnection(): Promise<object> {
      const { generation } = this.connections;
      const connection = await this._acquireOnlyConnection();
      const answered = deadline(sessionMs, () => abandon(connection));
      try {
        await connection.query(this.config.session);
      } catch (error) {
        abandon(connection);
        throw error;
      } finally {
        answered();
      }
      this.connections.opened(connection, generation);
      return connection;
    }

    override async validateConnection(connection: object): Promise<boolean> {
      const { connections } = this;
      if (!connections.isCurrent(connection)) return false;
      if (connections.unusedMs(connection) < unusedMs) return true;
      const answered = deadline(answerMs, () => abandon(connection as pg.Client));
      try {
        await (connection as pg.Client).query('SELECT 1');
        return connections.isCurrent(connection);
      } catch {
        // A firewall forgets more than one at a time.
        if (connections.isCurrent(connection)) connections.renew();
        return false;
      } finally {
        answered();
      }
    }

    override async _query(connection: object, query: Query): Promise<Query> {
      const late = (): void => {
        this.connections.renew();
        abandon(connection as pg.Client);
      };
      const answered = this.config.patient ? () => {} : deadline(statementMs, late);
      try {
        return await super._query(connection, query);
      } finally {
        answered();
        this.connections.used(connection);
      }
    }

    override async destroyRawConnection(connection: object): Promise<void> {
      // One that is not trusted is not asked to end either.
      if (!this.connections.isCurrent(connection)) abandon(connection as pg.Client);
      this.connections.closed(connection);
      const ended = deadline(goodbyeMs, () => abandon(connection as pg.Client));
      try {
        await super.destroyRawConnection(connection);
      } finally {
        ended();
      }
    }
  };
