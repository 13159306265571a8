import type pg from 'pg';
import { GatewayError } from '../../../../common/core/errors.js';
import type { Transaction } from './driver.js';
import { hold, sqlOf } from './held.js';
import { abandon, deadline, type PostgresClient } from './postgres-client.js';

/** A transaction in PostgreSQL, right before its commit is sent. */
interface Stamp {
  /** Seconds of the server's clock. */
  readonly at: number;
  /** null: the transaction has written nothing. */
  readonly xid: string | null;
  readonly pid: number;
  /** Another one has other transactions by the same numbers. */
  readonly server: string;
}

const stampText = `SELECT extract(epoch FROM clock_timestamp())::float8 AS at,
  pg_current_xact_id_if_assigned()::text AS xid, pg_backend_pid() AS pid,
  pg_postmaster_start_time()::text AS server`;

/** The server commits nothing that arrives later. Seconds. */
const commitWithin = 2;
/** A commit's answer is waited for so long, and then its outcome is asked for. Milliseconds. */
const commitMs = 2500;
const outcomeMs = 2000;
const againMs = 100;

const stamps = new WeakMap<Transaction, Stamp>();

/** To be called last in a transaction. Throws where a statement has failed and was passed over: COMMIT would quietly undo all. */
export async function stamp(sql: Transaction): Promise<void> {
  const { rows } = await sql.raw(stampText);
  stamps.set(sql, rows[0]);
}

const notCommitted = (cause: unknown): GatewayError =>
  new GatewayError('store_unavailable', 'The store did not answer: nothing was changed. Try again.', {
    cause,
    retryAfterMs: 1000,
  });

/** The server's own word that it has not done it, as opposed to a connection that broke. */
const isRefusal = (error: unknown): boolean =>
  error instanceof Error && 'severity' in error && error.severity === 'ERROR';

/**
 * Transactions of a pool. Where one fails because nothing is answered, its connection is destroyed with all that was not sent.
 * What is under way all the same does no harm: a commit contains until when, by the server's own clock, it is wanted, and is
 * an error afterwards. So what a caller was refused is not done later.
 */
export class PostgresTransactions {
  /** `open`: a connection beside the pool. */
  constructor(
    readonly client: PostgresClient,
    readonly open: () => pg.Client,
  ) {}

  async run<T>(work: (sql: Transaction) => Promise<T>): Promise<T> {
    const connection: pg.Client = await this.client.acquireConnection();
    try {
      return await this.#on(connection, work);
    } finally {
      await this.client.releaseConnection(connection);
    }
  }

  async #on<T>(connection: pg.Client, work: (sql: Transaction) => Promise<T>): Promise<T> {
    const held = hold(this.client, connection);
    const sql = sqlOf(held);
    let value: T;
    try {
      await this.client.query(connection, 'BEGIN');
      value = await work(sql);
      held.end();
    } catch (error) {
      held.end();
      await this.#rollBack(connection);
      throw error;
    }
    await this.#commit(connection, stamps.get(sql));
    return value;
  }

  async #rollBack(connection: pg.Client): Promise<void> {
    const answered = deadline(outcomeMs, () => abandon(connection));
    try {
      await connection.query('ROLLBACK');
    } catch {
      abandon(connection);
    } finally {
      answered();
    }
  }

  async #commit(connection: pg.Client, stamp: Stamp | undefined): Promise<void> {
    if (stamp === undefined) throw new Error('A transaction was not stamped before its commit.');
    const answered = this.client.config.patient ? () => {} : deadline(commitMs, () => abandon(connection));
    const until = stamp.at + commitWithin;
    try {
      // One message: where the first fails, the second is not run.
      await connection.query(`SELECT 1 / (extract(epoch FROM clock_timestamp()) < ${until})::int; COMMIT`);
    } catch (error) {
      if (isRefusal(error)) {
        await this.#rollBack(connection);
        throw notCommitted(error);
      }
      abandon(connection);
      this.client.connections.renew();
      if (stamp.xid === null) return;
      const outcome = await this.#outcome(stamp);
      if (outcome === 'aborted') throw notCommitted(error);
      if (outcome === null) throw error;
    } finally {
      answered();
    }
  }

  /** null: it cannot be found out. */
  async #outcome(stamp: Stamp): Promise<'committed' | 'aborted' | null> {
    const until = performance.now() + outcomeMs;
    while (performance.now() < until) {
      const status = await this.#status(stamp, until - performance.now());
      if (status === 'other server') return null;
      if (status === 'committed' || status === 'aborted') return status;
      await new Promise((again) => setTimeout(again, againMs));
    }
    return null;
  }

  /** As the server has it; one that still waits for its commit when this is no longer wanted is ended. */
  async #status({ xid, pid, at, server }: Stamp, ms: number): Promise<string | null> {
    const client = this.open();
    client.on('error', () => {});
    const answered = deadline(ms, () => abandon(client));
    try {
      await client.connect();
      const { rows } = await client.query<{ status: string | null; at: number; server: string }>(
        `SELECT pg_xact_status($1::xid8) AS status, extract(epoch FROM clock_timestamp())::float8 AS at,
         pg_postmaster_start_time()::text AS server`,
        [xid],
      );
      const [found] = rows;
      if (found === undefined || found.server !== server) return 'other server';
      if (found.status === 'in progress' && found.at > at + commitWithin) {
        await client.query('SELECT pg_terminate_backend($1)', [pid]);
      }
      return found.status;
    } catch {
      return null;
    } finally {
      answered();
      client.end().catch(() => {});
    }
  }
}
