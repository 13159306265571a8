import type { Client } from 'pg';
import { StoreAway } from '../../files/refused-start.js';
import type { DatabaseState, Transaction } from './driver.js';
import { abandon, deadline, type PostgresClient } from './postgres-client.js';

const channel = 'headgate_changes';
/** Statement by which a transaction wakes the listeners of its schema when it commits. */
export const notify = `SELECT pg_notify('${channel}', current_schema())`;

/** Shared by the listeners of a schema for as long as they live. */
const listenersLock = "hashtext('headgate gateway'), hashtext(current_schema())";

/** Is there a listener? None is added before the transaction ends. */
export async function isListenedTo(sql: Transaction): Promise<boolean> {
  const { rows } = await sql.raw(`SELECT pg_try_advisory_xact_lock(${listenersLock}) AS alone`);
  return rows[0]?.alone !== true;
}

/** A wake-up may be lost with its connection: so often one comes by itself, and the connection is asked whether it lives. */
const pollMs = 1000;
/** It has so long to answer, and a new one so long to be made. Milliseconds. */
const answerMs = 1500;
const connectMs = 1500;
/** Between attempts to reach a server that is away. */
const retryMs = 250;
/** Between attempts to open a store that is there and refused. */
const refusedMs = 5000;

export interface WatchOptions {
  /** The pool of the same database: its connections are not used for longer than they can be trusted. */
  readonly pool: PostgresClient;
  open(): Client;
  /** null: the database is open. Else it is away, and this is to be done when it is back; what it throws is reported by it. */
  readonly prepare: (() => Promise<void>) | null;
  onState(state: DatabaseState): void;
}

/**
 * The one connection that listens for commits of other nodes, and by which this node finds out whether PostgreSQL answers: a
 * server that has gone without a word is noticed within 4 s.
 */
export class PostgresWatch {
  state: DatabaseState;
  #wake: (() => void) | null = null;
  /** The loop that runs, of several that were started one after the other; 0: none. */
  #running = 0;
  #started = 0;
  #client: Client | null = null;
  #prepare: WatchOptions['prepare'];
  #ring: () => void = () => {};

  constructor(readonly options: WatchOptions) {
    this.#prepare = options.prepare;
    this.state = options.prepare === null ? 'up' : 'away';
  }

  /** Calls `wake` at every notification, and every second. Returns how to stop. */
  start(wake: () => void): () => void {
    this.#wake = wake;
    this.#running = ++this.#started;
    void this.#run(this.#running);
    return () => {
      this.#wake = null;
      this.#running = 0;
      this.#ring();
      if (this.#client !== null) abandon(this.#client);
    };
  }

  /** Something was not answered in time: the connection is asked now. */
  suspect(): void {
    this.#ring();
  }

  async #run(loop: number): Promise<void> {
    while (this.#running === loop) {
      const client = await this.#connect();
      if (client === null) {
        this.#set('away');
        await this.#pause(retryMs);
        continue;
      }
      const waitMs = await this.#prepared();
      if (waitMs > 0) {
        abandon(client);
        await this.#pause(waitMs);
        continue;
      }
      const isSilent = await this.#hold(client, loop);
      this.#client = null;
      // What a firewall has forgotten is rarely one alone.
      if (isSilent) this.options.pool.connections.abandonAll();
      else this.options.pool.connections.renew();
    }
  }

  /** Milliseconds until the next attempt; 0: it is done. */
  async #prepared(): Promise<number> {
    try {
      await this.#prepare?.();
      this.#prepare = null;
      return 0;
    } catch (error) {
      return error instanceof StoreAway ? retryMs : refusedMs;
    }
  }

  #set(state: DatabaseState): void {
    if (state === this.state) return;
    this.state = state;
    // A session keeps the mode in which it was begun; what runs on a dead connection fails now.
    if (state === 'away') this.options.pool.connections.abandonAll();
    else this.options.pool.connections.renew();
    this.options.onState(state);
  }

  /** Returns when this connection is of no more use; did it end without a word? */
  async #hold(client: Client, loop: number): Promise<boolean> {
    let isOpen = true;
    let isSilent = false;
    const ask = <T>(work: () => Promise<T>): Promise<T> =>
      within(client, answerMs, work, () => {
        isSilent = true;
      });
    client.on('end', () => {
      isOpen = false;
      this.#ring();
    });
    try {
      const state = await ask(() => this.#listen(client));
      this.#client = client;
      this.#set(state);
      // A later session may write: whether it may is asked with each.
      while (isOpen && this.#running === loop) {
        this.#wake?.();
        await this.#pause(pollMs);
        if (state === 'read-only') break;
        if (isOpen && this.#running === loop) await ask(() => client.query('SELECT 1'));
      }
    } catch {
      // Another one is made.
    } finally {
      abandon(client);
    }
    return isSilent;
  }

  async #listen(client: Client): Promise<DatabaseState> {
    const { rows } = await client.query<{ schema: string; standby: boolean; mode: string }>(
      `SELECT current_schema() AS schema, pg_is_in_recovery() AS standby,
       current_setting('transaction_read_only') AS mode`,
    );
    const [found] = rows;
    if (found?.standby) return 'read-only';
    client.on('notification', ({ payload }) => {
      if (payload === found?.schema) this.#wake?.();
    });
    await client.query(`SELECT pg_advisory_lock_shared(${listenersLock})`);
    await client.query(`LISTEN ${channel}`);
    return found?.mode === 'on' ? 'read-only' : 'up';
  }

  async #connect(): Promise<Client | null> {
    const client = this.options.open();
    client.on('error', () => {});
    try {
      await within(client, connectMs, () => client.connect());
      return client;
    } catch {
      abandon(client);
      return null;
    }
  }

  /** Ends early when something is suspected. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      timer.unref();
      this.#ring = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

async function within<T>(
  client: Client,
  ms: number,
  work: () => Promise<T>,
  late: () => void = () => {},
): Promise<T> {
  const done = deadline(ms, () => {
    late();
    abandon(client);
  });
  try {
    return await work();
  } finally {
    done();
  }
}
