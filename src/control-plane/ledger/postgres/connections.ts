import type pgModule from 'pg';
import type { Client, Pool, PoolClient, QueryResultRow } from 'pg';
import copyStreams from 'pg-copy-streams';
import type { Secret } from '../../../common/access/secret.js';
import { GatewayError } from '../../../common/core/errors.js';
import { codeOf, isEnded, LaterLedger, LedgerFailure, placeOf } from './failure.js';

/** A question or a step of a write may take this long; its connection is given up then. */
const deadlineMs = 5000;
/** The server gives up a little sooner, so that its answer names the reason. */
const statementMs = 4500;
const readers = 3;

/** Analytics sorts and groups in memory; a server may give more. */
const sorting = ` SELECT set_config('work_mem', '32MB', false)
  WHERE pg_size_bytes(current_setting('work_mem')) < pg_size_bytes('32MB');`;

const session = (statementTimeoutMs: number): string =>
  [
    `statement_timeout = ${statementTimeoutMs}`,
    // A transaction whose client is gone would keep others waiting for its rows.
    'idle_in_transaction_session_timeout = 5000',
    'synchronous_commit = on',
    "timezone = 'UTC'",
    // To compile a statement of analytics takes longer than to run it.
    'jit = off',
  ]
    .map((line) => `SET ${line};`)
    .join(' ') + sorting;

/** Ends a connection whose server may be silent: a goodbye would never arrive. */
function cut(client: Client | PoolClient): void {
  const { connection } = client as unknown as { connection: { stream: { destroy(): void } } };
  connection.stream.destroy();
}

/** The connections of a ledger: one that writes, at most three that read. Opened when they are needed. */
export class LedgerConnections {
  readonly place: string;
  readonly #settings: object;
  readonly #pool: Pool;
  #writer: Promise<Client> | null = null;

  private constructor(
    readonly driver: typeof pgModule,
    url: Secret,
  ) {
    this.place = placeOf(url.reveal());
    this.#settings = {
      connectionString: url.reveal(),
      application_name: 'headgate ledger',
      connectionTimeoutMillis: deadlineMs,
      keepAlive: true,
    };
    this.#pool = new driver.Pool({ ...this.#settings, max: readers, idleTimeoutMillis: 30_000 });
    this.#pool.on('error', () => {});
    this.#pool.on('connect', (client) => {
      // One that ends while it is in use is reported by its statement, but its error event must have a listener.
      client.on('error', () => {});
      client.query(session(statementMs)).catch(() => {});
    });
  }

  static async load(url: Secret): Promise<LedgerConnections> {
    // Loaded only where it is wanted: it costs a start 40 ms.
    const driver = (await import('pg')).default;
    return new LedgerConnections(driver, url);
  }

  /** Numbers of 64 bits as numbers: none of the ledger's is above 2^53. */
  get #types() {
    const { types } = this.driver;
    return {
      getTypeParser: (oid: number, format?: unknown) =>
        oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format as 'text'),
    };
  }

  /**
   * Rows of one question. `name`: of a text that is always the same, for which the server keeps its plan. Throws the coded error
   * `store_unavailable`, within 6 s.
   */
  read<Row extends QueryResultRow>(text: string, values: readonly unknown[], name?: string): Promise<Row[]> {
    return this.#reading((client) => this.#rows<Row>(client, text, values, name));
  }

  /** Answers several questions as of the same moment, in the time that `read` has for one, and throws as it does. */
  snapshot<T>(work: (reader: Pick<LedgerConnections, 'read'>) => Promise<T>): Promise<T> {
    return this.#reading(async (client) => {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const done = await work({ read: (text, values, name) => this.#rows(client, text, values, name) });
      await client.query('COMMIT');
      return done;
    });
  }

  async #rows<Row extends QueryResultRow>(
    client: PoolClient,
    text: string,
    values: readonly unknown[],
    name?: string,
  ): Promise<Row[]> {
    const query = { name, text, values: [...values], types: this.#types };
    const { rows } = await client.query<Row>(query as never);
    return rows;
  }

  /** `work` may be run twice. Its connection is closed if it fails. */
  async #reading<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const end = performance.now() + deadlineMs;
    for (let tries = 0; ; tries++) {
      let client: PoolClient | null = null;
      let timer: NodeJS.Timeout | undefined;
      try {
        client = await this.#pool.connect();
        const reader = client;
        timer = setTimeout(() => cut(reader), Math.max(0, end - performance.now()));
        const done = await work(client);
        clearTimeout(timer);
        client.release();
        return done;
      } catch (error) {
        clearTimeout(timer);
        client?.release(true);
        const code = codeOf(error);
        // A kept connection may have been ended since: a new one shows whether the server answers.
        if (tries === 0 && client !== null && isEnded(code) && performance.now() < end - 1000) continue;
        throw new GatewayError('store_unavailable', 'The ledger did not answer: try again.', {
          cause: new LedgerFailure(code, this.place),
        });
      }
    }
  }

  /** Runs work on the connection that writes; the caller lets one run after the other. Throws a LedgerFailure. */
  async write<T>(work: (client: Client) => Promise<T>): Promise<T> {
    let client: Client | null = null;
    try {
      this.#writer ??= this.#connect();
      client = await this.#writer;
      return await work(client);
    } catch (error) {
      // Its state is not known: a transaction may be open.
      this.#writer = null;
      if (client !== null) cut(client);
      if (error instanceof LedgerFailure || error instanceof LaterLedger) throw error;
      throw new LedgerFailure(codeOf(error), this.place);
    }
  }

  /** Runs work on a connection of its own, whose statements may take a minute. */
  async apart<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const client = await this.#connect(60_000).catch((error: unknown) => {
      throw new LedgerFailure(codeOf(error), this.place);
    });
    try {
      return await work(client);
    } catch (error) {
      throw new LedgerFailure(codeOf(error), this.place);
    } finally {
      await client.end().catch(() => {});
    }
  }

  async #connect(statementTimeoutMs = statementMs): Promise<Client> {
    const client = new this.driver.Client({ ...this.#settings, types: this.#types } as never);
    // Reported by the statement under way, or by the next one.
    client.on('error', () => {});
    try {
      await client.connect();
      await within(client, client.query(session(statementTimeoutMs)));
      return client;
    } catch (error) {
      cut(client);
      throw error;
    }
  }

  async close(): Promise<void> {
    const writer = await this.#writer?.catch(() => null);
    this.#writer = null;
    if (writer) await within(writer, writer.end()).catch(() => {});
    await this.#pool.end();
  }
}

/** The outcome of a statement, or of the connection that was cut since the server is silent. */
export async function within<T>(client: Client, step: Promise<T>): Promise<T> {
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    cut(client);
  }, deadlineMs);
  try {
    return await step;
  } catch (error) {
    if (late) throw Object.assign(new Error('timeout'), { code: 'timeout' });
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Sends lines, or tuples in the binary form, and waits for the server to have taken them. */
export async function copyInto(client: Client, statement: string, pieces: readonly Buffer[]): Promise<void> {
  const stream = client.query(copyStreams.from(statement));
  await within(
    client,
    new Promise<void>((resolve, reject) => {
      stream.on('error', reject);
      stream.on('finish', resolve);
      for (const piece of pieces) stream.write(piece);
      stream.end();
    }),
  );
}
