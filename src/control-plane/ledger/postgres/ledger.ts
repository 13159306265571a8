import type { Client } from 'pg';
import type { Secret } from '../../../common/access/secret.js';
import type { ChargedBudget } from '../../../common/ledger/budgets.js';
import type { LogFollowing, LogQuery } from '../../../common/ledger/logs/log-query.js';
import type { LogRetention } from '../../../common/ledger/logs/retention.js';
import type {
  Bodies,
  LedgerFilter,
  LedgerPage,
  LedgerRow,
  LedgerUsage,
  LogPage,
  UsageFilter,
} from '../../../common/ledger/record.js';
import { Alerts } from '../budgets/alerts.js';
import { Budgets } from '../budgets/budgets.js';
import { hasCharges } from '../budgets/charging.js';
import { KnownBudgets } from '../budgets/known-budgets.js';
import { type BudgetDatabase, numbered, postgresLanguage } from '../budgets/language.js';
import { chargeBatch, LostCommits, replacedRows, stepOf } from '../budgets/postgres-charges.js';
import { readBudgets, type TableRows, takeBudgets } from '../budgets/take-over.js';
import type { Feedbacks } from '../feedback/feedbacks.js';
import type { BodyBatch, BudgetLedger, LedgerBatch, OpenIntent, TakingLedger } from '../ledger.js';
import { copyInto, LedgerConnections, within } from './connections.js';
import { copyBodies } from './copy-bodies.js';
import { daysOf, linesOf, PackedLines } from './copy-lines.js';
import { PostgresExpiry } from './expiry.js';
import { LedgerFailure, unavailable } from './failure.js';
import { postgresFeedbacks, postgresPlacing } from './feedback.js';
import { LedgerReading } from './reading.js';
import {
  bytesOfBodies,
  createStage,
  type DroppedPartitions,
  dayMs,
  dayOf,
  dayStart,
  dropDays,
  ensureDays,
  givenList,
  inTransaction,
  prepareSchema,
  type Retention,
  stage,
} from './schema.js';
import { bookkeeping, takeStaged, timesOf } from './staging.js';
import { postgresUsage } from './usage.js';

export interface PostgresLedgerOptions {
  readonly url: Secret;
  /** The node whose journals are ingested: their positions are kept under it. */
  readonly node: string;
  /** false: tables are waited for until another node has made them. */
  readonly makes?: boolean;
  /** While bodies take more than this, new ones are dropped. */
  readonly bodiesBytes?: number;
  readonly onProblem?: (error: Error) => void;
}

const added = { unknown: [], positions: new Map(), opened: [], closed: [] };
/** Two rows have one id. */
const duplicate = '23505';
/** There is no partition for a row. */
const noPartition = '23514';
const maxTries = 4;
const roomMs = 60_000;

/** A ledger in PostgreSQL, which the nodes share. Opened without a connection: its journals wait for PostgreSQL. */
export async function openPostgresLedger(options: PostgresLedgerOptions): Promise<PostgresLedger> {
  return new PostgresLedger(await LedgerConnections.load(options.url), options);
}

export class PostgresLedger implements BudgetLedger, TakingLedger {
  readonly node: string;
  readonly budgets: Budgets;
  readonly alerts: Alerts;
  readonly feedbacks: Feedbacks;
  readonly #placing = postgresPlacing();
  readonly #expiry = new PostgresExpiry();
  readonly #database: BudgetDatabase;
  readonly #connections: LedgerConnections;
  /** For statements of analytics. */
  readonly statements: Pick<LedgerConnections, 'read' | 'snapshot' | 'apart'>;
  /** Runs before rows are deleted whose time is over. */
  beforeExpiry: () => Promise<unknown> = async () => {};
  readonly reading: LedgerReading;
  readonly #lines = new PackedLines();
  readonly #known = new KnownBudgets();
  readonly #lostCommits = new LostCommits();
  /** Days that have their partitions, as far as this process has seen. */
  readonly #days = new Set<number>();
  #isPrepared = false;
  #isRoom = true;
  /** When it is read again. */
  #roomUntil = 0;
  /** Are lines read again that were read by a process that was killed? Until a batch has none that is there already. */
  #isRepeating = false;
  /** One transaction at a time: they share the connection. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(
    connections: LedgerConnections,
    readonly options: Omit<PostgresLedgerOptions, 'url'>,
  ) {
    this.node = options.node;
    this.#connections = connections;
    this.statements = connections;
    this.reading = new LedgerReading(connections);
    const database: BudgetDatabase = {
      language: postgresLanguage,
      read: async <Row>(statement: string, parameters: readonly unknown[]) =>
        (await connections.read(numbered(statement), parameters)) as Row[],
      transaction: (work) =>
        this.#write((client) => inTransaction(client, () => work(stepOf(client)))).catch(unavailable),
    };
    this.#database = database;
    this.budgets = new Budgets(database);
    this.alerts = new Alerts(database);
    this.feedbacks = postgresFeedbacks(database, this.#placing.added);
  }

  #write<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const done = this.#turn.then(() =>
      this.#connections.write(async (client) => {
        if (!this.#isPrepared) {
          await prepareSchema(client, this.#connections.place, this.options.makes ?? true);
          this.#isPrepared = true;
        }
        return work(client);
      }),
    );
    this.#turn = done.catch(() => {});
    return done;
  }

  /** Makes the tables, and the partitions of three days. Rejects with a LedgerFailure or a LaterLedger. */
  prepare(): Promise<void> {
    return this.options.makes === false ? this.#write(async () => {}) : this.ensurePartitions(Date.now());
  }

  async apply(batch: LedgerBatch): Promise<readonly ChargedBudget[]> {
    // Most batches have no row that is there already: these are put in place directly, at a third of the cost.
    let isStaged = batch.unknown.length > 0 || this.#isRepeating;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#write((client) => this.#apply(client, batch, isStaged));
      } catch (error) {
        const code = error instanceof LedgerFailure ? error.code : '';
        if (tries === maxTries || (code !== duplicate && code !== noPartition)) throw error;
        if (code === duplicate) isStaged = true;
        this.#isRepeating ||= code === duplicate;
        this.#days.clear();
      }
    }
  }

  addRows(rows: readonly LedgerRow[]): Promise<number> {
    const days = daysOf(null, rows);
    const lines = linesOf(rows, 1);
    const batch: LedgerBatch = { ...added, settled: { packed: null, rows } };
    return this.#write(async (client) => {
      await this.#ensure(client, days);
      await within(client, client.query(createStage));
      return inTransaction(client, async () => {
        await copyInto(client, `COPY ${stage} (${givenList}) FROM STDIN`, [lines]);
        const taken = await takeStaged(client, timesOf(days));
        const step = stepOf(client);
        if (await this.#placing.isWanted(step, batch)) await this.#placing.after(step, batch, timesOf(days));
        return taken;
      });
    }).catch(unavailable);
  }

  addBodies(bodies: readonly Bodies[]): Promise<void> {
    const bytes = (text: string | null): Buffer | null => (text === null ? null : Buffer.from(text));
    return this.keepBodies({
      bodies: bodies.map((one) => ({
        ...one,
        request: bytes(one.request),
        response: bytes(one.response),
      })),
      source: 'custom logs',
      position: null,
    }).catch(unavailable);
  }

  async #apply(client: Client, batch: LedgerBatch, isStaged: boolean): Promise<readonly ChargedBudget[]> {
    const { settled, unknown, positions, opened, closed } = batch;
    const packed = settled?.packed ?? null;
    const rows = [...(settled?.rows ?? []), ...unknown];
    const days = daysOf(packed, rows);
    await this.#ensure(client, days);
    const pieces: Buffer[] = [];
    if (packed !== null) pieces.push(this.#lines.of(packed, 1));
    if (rows.length > 0) pieces.push(linesOf(rows, 1 + (packed?.count ?? 0)));
    const statements = bookkeeping(client, this.node, positions, closed);
    if (pieces.length === 0 && opened.length === 0) {
      if (statements !== '') await within(client, client.query(statements));
      return [];
    }
    const isCharging = batch.isCharged !== true && (isStaged || hasCharges(batch));
    let replaced: Awaited<ReturnType<typeof replacedRows>> = [];
    if (isStaged) await within(client, client.query(createStage));
    await within(client, client.query(`BEGIN; ${statements}`));
    if (pieces.length > 0) {
      await copyInto(client, `COPY ${isStaged ? stage : 'exchanges'} (${givenList}) FROM STDIN`, pieces);
      if (isStaged) {
        replaced = await replacedRows(client, stage, ...timesOf(days));
        const taken = await takeStaged(client, timesOf(days));
        this.#isRepeating &&= taken < (packed?.count ?? 0) + rows.length;
      }
    }
    for (const { writer, intent } of opened) {
      // An intent that arrived after its own settlement is not open.
      await within(
        client,
        client.query(
          `INSERT INTO open_intents (node, id, writer, intent) SELECT $1, $2, $3, $4
            WHERE NOT EXISTS (SELECT 1 FROM exchanges WHERE id = $2 AND at >= $5 AND at < $6)
            ON CONFLICT (node, id) DO UPDATE SET writer = excluded.writer, intent = excluded.intent`,
          [
            this.node,
            intent.id,
            writer,
            JSON.stringify(intent),
            dayStart(dayOf(intent.at)),
            dayStart(dayOf(intent.at) + 1),
          ],
        ),
      );
    }
    if (pieces.length > 0) {
      const step = stepOf(client);
      if (await this.#placing.isWanted(step, batch)) await this.#placing.after(step, batch, timesOf(days));
    }
    // Last: other nodes wait for the counters that it changes.
    const charged =
      isCharging && pieces.length > 0
        ? await chargeBatch(client, this.#known, batch, replaced, isStaged ? timesOf(days) : null)
        : { charged: [], rows: [] };
    try {
      await within(client, client.query('COMMIT'));
    } catch (error) {
      this.#lostCommits.add(charged);
      throw error;
    }
    return [...charged.charged, ...this.#lostCommits.of(batch, charged.rows)];
  }

  readonly keepBodies = async ({ bodies, source, position }: BodyBatch): Promise<void> => {
    const days = new Set(bodies.map(({ at }) => dayOf(at)));
    for (let tries = 1; ; tries++) {
      try {
        return await this.#write(async (client) => {
          await this.#ensure(client, days);
          const statements = bookkeeping(client, this.node, new Map([[source, position]]), []);
          await within(client, client.query(`BEGIN; ${statements}`));
          if (bodies.length > 0 && (await this.#hasRoom(client))) await copyBodies(client, bodies);
          await within(client, client.query('COMMIT'));
        });
      } catch (error) {
        if (tries === maxTries || !(error instanceof LedgerFailure) || error.code !== noPartition)
          throw error;
        this.#days.clear();
      }
    }
  };

  /** Asked once a minute: a sum over the partitions. */
  async #hasRoom(client: Client): Promise<boolean> {
    const { bodiesBytes = Number.POSITIVE_INFINITY, onProblem } = this.options;
    const now = performance.now();
    if (now < this.#roomUntil) return this.#isRoom;
    this.#roomUntil = now + roomMs;
    this.#isRoom = (await bytesOfBodies(client)) <= bodiesBytes;
    if (!this.#isRoom) {
      onProblem?.(
        new Error(
          `Bodies take more than ledger_bodies_bytes (${bodiesBytes}) in PostgreSQL: new ones are dropped. Raise it, or set HEADGATE_LOG_BODIES=false.`,
        ),
      );
    }
    return this.#isRoom;
  }

  async #ensure(client: Client, days: ReadonlySet<number>): Promise<void> {
    const missing = [...days].filter((day) => !this.#days.has(day));
    if (missing.length === 0) return;
    await ensureDays(client, missing);
    for (const day of missing) this.#days.add(day);
  }

  /** Makes the partitions of a day and of the two after it. */
  async ensurePartitions(now: number): Promise<void> {
    const today = dayOf(now);
    await this.#write((client) => ensureDays(client, [today, today + 1, today + 2]));
  }

  /**
   * Drops the partitions whose time is over. `rowDays`: so many whole days of rows and bodies are kept, null: all.
   * `bodiesBytes`: beyond, bodies of the oldest days go, never those of today.
   */
  async dropPartitions(now: number, rowDays: number | null, bodiesBytes: number): Promise<DroppedPartitions> {
    await this.prepare();
    if (rowDays !== null) await this.beforeExpiry();
    const rowsBefore = rowDays === null ? null : dayOf(now - rowDays * dayMs);
    const retention: Retention = { rowsBefore, bodiesBefore: null, bodiesBytes, today: dayOf(now) };
    return this.#connections.apart((client) => dropDays(client, retention));
  }

  async expire({ rowsBefore, bodiesBefore, workspaces }: LogRetention): Promise<number> {
    await this.prepare();
    await this.beforeExpiry();
    return this.#connections.apart(async (client) => {
      await dropDays(client, {
        rowsBefore: rowsBefore === null ? null : dayOf(rowsBefore),
        bodiesBefore: bodiesBefore === null ? null : dayOf(bodiesBefore),
        bodiesBytes: Number.POSITIVE_INFINITY,
        today: dayOf(Date.now()),
      });
      return this.#expiry.expire(client, workspaces);
    });
  }

  positions(): Promise<Map<string, number>> {
    return this.#write(async (client) => {
      const { rows } = await within(
        client,
        client.query<{ source: string; position: number }>(
          'SELECT source, position FROM journal_positions WHERE node = $1',
          [this.node],
        ),
      );
      return new Map(rows.map(({ source, position }) => [source, position]));
    });
  }

  openIntents(): Promise<OpenIntent[]> {
    return this.#write(async (client) => {
      const { rows } = await within(
        client,
        client.query<{ writer: string; intent: string }>(
          'SELECT writer, intent FROM open_intents WHERE node = $1',
          [this.node],
        ),
      );
      return rows.map(({ writer, intent }) => ({ writer, intent: { charges: null, ...JSON.parse(intent) } }));
    });
  }

  readBudgets(): AsyncIterable<TableRows> {
    return readBudgets(this.#database);
  }

  takeBudgets(source: string, tables: AsyncIterable<TableRows>): Promise<void> {
    return this.#write((client) =>
      inTransaction(client, () => takeBudgets(stepOf(client), this.node, source, tables)),
    );
  }

  /** A commit is acknowledged when it is on disk. */
  async checkpoint(): Promise<boolean> {
    return true;
  }

  recent(filter: LedgerFilter): Promise<LedgerPage> {
    return this.reading.recent(filter);
  }

  page(query: LogQuery): Promise<LogPage> {
    return this.reading.page(query);
  }

  follow(following: LogFollowing): Promise<LedgerPage> {
    return this.reading.follow(following);
  }

  readonly times = () => this.reading.times();

  changes(after: string, limit: number): ReturnType<LedgerReading['changes']> {
    return this.reading.changes(after, limit);
  }

  get(org: string, id: string): Promise<LedgerRow | null> {
    return this.reading.get(org, id);
  }

  readonly bodies = (org: string, id: string) => this.reading.bodies(org, id);
  readonly allBodies = (org: string, id: string) => this.reading.allBodies(org, id);

  usage(filter: UsageFilter): Promise<LedgerUsage[]> {
    return postgresUsage(this.#connections, filter);
  }

  async close(): Promise<void> {
    await this.#turn;
    await this.#connections.close();
  }
}
