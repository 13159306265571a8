import { AsyncLocalStorage } from 'node:async_hooks';
import type { Knex } from 'knex';
import { GatewayError } from '../../../../common/core/errors.js';
import { coded, isConflict } from './failure.js';
import type { HeldClient } from './held.js';
import { recallReads } from './recalled-reads.js';

/** What queries are written against: a connection, or one transaction of it. SQLite and PostgreSQL by the same calls. */
export type Sql = Knex | Knex.Transaction;
export type Transaction = Knex.Transaction;

export interface WriteOptions {
  /** Takes what this transaction must hold before it reads anything; where absent, the whole store. */
  readonly lock?: (sql: Transaction) => Promise<unknown>;
  /** Within a transaction: where the work throws, it alone is undone, and the rest may go on. */
  readonly apart?: boolean;
  /** The work may be run again after a conflict with another transaction. */
  readonly repeatable?: boolean;
  /** Are repeated statements answered from memory, until something is written to their tables? */
  readonly recalls?: boolean;
}

/** Does a database answer? `read-only`: it takes no changes, as a standby that was not promoted yet. */
export type DatabaseState = 'up' | 'read-only' | 'away';

/** One database, as the store uses it. */
export interface Database {
  /** The last known state; queries of an unavailable database fail at once. */
  readonly state: DatabaseState;
  /** Something was not answered in time: finds out soon whether the database still answers. */
  suspect(): void;
  readonly dialect: 'sqlite' | 'postgres';
  /** Where it is, as may be printed. */
  readonly name: string;
  /** Reads what is committed, and never waits for a write; within a transaction, reads as that one. */
  read<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /**
   * One transaction, on disk when this resolves; of several, one after the other. Every `read` and `write` that
   * `work` awaits joins it, and one such `write` that throws undoes it all, unless it was marked as independent.
   */
  write<T>(work: (sql: Transaction) => Promise<T>, options?: WriteOptions): Promise<T>;
  /** Runs `then` once the transaction around this call is on disk, in the order asked; at once where there is none. */
  afterCommit(then: () => void): void;
  /** Makes changes commit in the order of their numbers, and wakes other nodes when they do. Before each is written. */
  announce(sql: Transaction): Promise<unknown>;
  /** Calls `wake` whenever another node may have committed a change. Returns how to stop. */
  onCommitElsewhere(wake: () => void): () => void;
  /** Does a gateway run on this database? None begins to before the transaction ends. */
  isServed(sql: Transaction): Promise<boolean>;
  close(): Promise<void>;
}

/** What differs between one engine and the other. */
export interface Engine {
  readonly dialect: Database['dialect'];
  readonly state: DatabaseState;
  suspect(): void;
  readonly name: string;
  readonly reader: Knex;
  /** A transaction on a connection that writes. */
  transaction<T>(work: (sql: Transaction) => Promise<T>): Promise<T>;
  /** First in every transaction. */
  begin(sql: Transaction, options: WriteOptions): Promise<unknown>;
  /** Last in every transaction; throws where a commit would quietly undo it. */
  beforeCommit(sql: Transaction): Promise<unknown>;
  announce(sql: Transaction): Promise<unknown>;
  onCommitElsewhere(wake: () => void): () => void;
  isServed(sql: Transaction): Promise<boolean>;
  close(): Promise<void>;
}

/** A transaction, as those within it see it. What joins it runs in turn: it is one connection. */
interface Frame {
  readonly sql: Transaction;
  readonly root: Root;
  turn: Promise<unknown>;
}

interface Root {
  open: boolean;
  /** A dependent part of it threw: it cannot be committed, even where the error was caught. */
  broken: { readonly error: unknown } | null;
  readonly afterCommit: (() => void)[];
}

const triesAfterConflict = 3;

const away = (): GatewayError =>
  new GatewayError('store_unavailable', 'The store does not answer: nothing was changed. Try again.', {
    retryAfterMs: 1000,
  });

export class SqlDatabase implements Database {
  readonly #engine: Engine;
  readonly #frames = new AsyncLocalStorage<Frame>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  get dialect(): Database['dialect'] {
    return this.#engine.dialect;
  }

  get name(): string {
    return this.#engine.name;
  }

  get state(): DatabaseState {
    return this.#engine.state;
  }

  suspect(): void {
    this.#engine.suspect();
  }

  async read<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const frame = this.#frames.getStore();
    // The error is left unchanged: only the outermost transaction can repeat the work after a conflict.
    if (frame?.root.open) return this.#join(frame, (inner) => this.#within(inner, work));
    if (this.#engine.state === 'away') throw away();
    try {
      return await work(this.#engine.reader);
    } catch (error) {
      throw coded(error);
    }
  }

  async write<T>(work: (sql: Transaction) => Promise<T>, options: WriteOptions = {}): Promise<T> {
    const frame = this.#frames.getStore();
    if (frame !== undefined) {
      if (!frame.root.open) throw new Error('A write came after the end of the transaction it belongs to.');
      return this.#join(frame, (inner) =>
        options.apart ? this.#apart(inner, work, options) : this.#whole(inner, work, options),
      );
    }
    for (let tries = 0; ; tries++) {
      if (this.#engine.state === 'away') throw away();
      try {
        return await this.#transact(work, options);
      } catch (error) {
        if (!options.repeatable || !isConflict(error) || tries === triesAfterConflict) throw coded(error);
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * 2 ** tries));
      }
    }
  }

  async #whole<T>(frame: Frame, work: (sql: Transaction) => Promise<T>, { lock }: WriteOptions): Promise<T> {
    try {
      await lock?.(frame.sql);
      return await this.#within(frame, work);
    } catch (error) {
      frame.root.broken ??= { error };
      throw error;
    }
  }

  /** A repeated name means the innermost savepoint of that name. */
  async #apart<T>(frame: Frame, work: (sql: Transaction) => Promise<T>, options: WriteOptions): Promise<T> {
    const { sql, root } = frame;
    const before = root.broken;
    const callbacks = root.afterCommit.length;
    await sql.raw('SAVEPOINT apart');
    let done: T;
    try {
      done = await this.#whole(frame, work, options);
    } catch (error) {
      try {
        await sql.raw('ROLLBACK TO SAVEPOINT apart');
        await sql.raw('RELEASE SAVEPOINT apart');
        root.broken = before;
        // What was undone is not committed: nothing may be reported of it.
        root.afterCommit.length = callbacks;
      } catch {
        // The whole transaction is lost, and stays marked as broken.
      }
      throw error;
    }
    await sql.raw('RELEASE SAVEPOINT apart');
    return done;
  }

  async #transact<T>(work: (sql: Transaction) => Promise<T>, options: WriteOptions): Promise<T> {
    const root: Root = { open: true, broken: null, afterCommit: [] };
    let failed: { readonly error: unknown } | null = null;
    let committing = false;
    try {
      const value = await this.#engine.transaction(async (sql) => {
        const frame: Frame = { sql, root, turn: Promise.resolve() };
        try {
          await this.#engine.begin(sql, options);
          if (options.recalls) recallReads(sql.client as HeldClient);
          const done = await this.#within(frame, work);
          if (root.broken !== null) throw root.broken.error;
          await this.#engine.beforeCommit(sql);
          committing = true;
          return done;
        } catch (error) {
          failed = { error };
          throw error;
        } finally {
          root.open = false;
        }
      });
      for (const then of root.afterCommit) then();
      return value;
    } catch (error) {
      // A full disk has already rolled back, so that knex reports its own vain ROLLBACK instead of the cause.
      if (failed !== null) throw (failed as { readonly error: unknown }).error;
      throw coded(error, committing);
    }
  }

  async #within<T>(frame: Frame, work: (sql: Transaction) => Promise<T>): Promise<T> {
    try {
      return await this.#frames.run(frame, () => work(frame.sql));
    } finally {
      // What was started and not awaited.
      await frame.turn;
    }
  }

  /** Runs after what joined before it; what it calls in its turn joins it, not the frame. */
  #join<T>(frame: Frame, work: (inner: Frame) => Promise<T>): Promise<T> {
    const inner: Frame = { sql: frame.sql, root: frame.root, turn: Promise.resolve() };
    const mine = frame.turn.then(() => work(inner));
    frame.turn = mine.catch(() => {});
    return mine;
  }

  afterCommit(then: () => void): void {
    const frame = this.#frames.getStore();
    if (frame?.root.open) frame.root.afterCommit.push(then);
    else then();
  }

  announce(sql: Transaction): Promise<unknown> {
    return this.#engine.announce(sql);
  }

  onCommitElsewhere(wake: () => void): () => void {
    return this.#engine.onCommitElsewhere(wake);
  }

  isServed(sql: Transaction): Promise<boolean> {
    return this.#engine.isServed(sql);
  }

  async close(): Promise<void> {
    await this.#engine.close();
    // Until then every promise of the process is given the frame of the one that made it, by each database ever opened.
    this.#frames.disable();
  }
}
