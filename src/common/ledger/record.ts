import type { CacheStatus } from '../core/cache.js';
import type { Charge } from '../core/charges.js';
import type { Decision } from '../core/decision.js';
import type { AttemptRecord } from '../core/exchange.js';
import type { Usage } from '../core/usage.js';
import type { LogFollowing, LogQuery } from './logs/log-query.js';

/** How sure the ledger is of a row: settled by its worker, or found without a settlement after a crash. */
export type RowState = 'settled' | 'unknown';

/**
 * What is known before the first upstream byte. Written to the journal then; enough to bill the request should
 * its worker die.
 */
export interface Intent {
  readonly id: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly org: string;
  readonly workspace: string | null;
  readonly key: string;
  readonly user: string | null;
  readonly config: string | null;
  readonly endpoint: string;
  readonly method: string;
  readonly path: string;
  readonly provider: string;
  /** Of the stored provider; null: there is none. */
  readonly slug: string | null;
  /** Of that provider's integration; null: it has none. */
  readonly integration: string | null;
  readonly model: string | null;
  readonly trace: string;
  /** Reserved cost in picodollars; null: no price is known. */
  readonly reserved: number | null;
  /** What is held back of budgets, for all attempts so far; null: nothing, or an earlier version wrote it. */
  readonly charges: readonly Charge[] | null;
}

/** How it ended. Complete in itself: a row is made from it alone. */
export interface Settlement {
  readonly id: string;
  readonly at: number;
  readonly org: string;
  /** null where the call ended before a key was recognised. */
  readonly workspace: string | null;
  readonly key: string | null;
  /** The end user that the request's metadata names; null: none. */
  readonly user: string | null;
  /** Slug of the stored config, or null. */
  readonly config: string | null;
  /** null: the worker died before the end of the request. */
  readonly configVersion: string | null;
  /** Slug of the stored prompt; always null until prompts can be stored. */
  readonly prompt: string | null;
  readonly endpoint: string;
  readonly method: string;
  readonly path: string;
  readonly provider: string | null;
  /** Of the stored provider that answered, or was called last; null: none, or not recorded by the version that wrote it. */
  readonly slug: string | null;
  /** Slug of that provider's integration; null: it has none, or an earlier version wrote the row. */
  readonly integration: string | null;
  readonly modelAsked: string | null;
  readonly modelUsed: string | null;
  /** HTTP status given to the client; 499: gone before. */
  readonly status: number;
  readonly error: string | null;
  readonly errorMessage: string | null;
  readonly stream: boolean;
  readonly totalMs: number;
  readonly upstreamMs: number;
  readonly firstByteMs: number | null;
  readonly attempts: readonly AttemptRecord[];
  readonly retries: number;
  readonly target: string | null;
  /** Of the attempt that answered. */
  readonly usage: Usage;
  /** Of all attempts together, in picodollars; null: no price is known. */
  readonly cost: number | null;
  readonly cache: CacheStatus;
  readonly metadata: Readonly<Record<string, string>>;
  readonly trace: string;
  readonly span: string | null;
  readonly parentSpan: string | null;
  readonly spanName: string | null;
  /**
   * Trace id and flags of the call's `traceparent`, where its trace is named otherwise or it is not sampled: `<32 digits>-00`.
   * null: `trace` has it.
   */
  readonly traceContext: string | null;
  readonly dropped: readonly string[];
  /** Picodollars and upstream milliseconds that a hit of the cache saved; null: it was none, or no price is known. */
  readonly costSaved: number | null;
  readonly msSaved: number | null;
  /** What was decided on its way through its config; null: there was nothing to decide. */
  readonly route: readonly Decision[] | null;
  /** Fields of stages, by the name of the stage; null: no stage has any. */
  readonly stages: Readonly<Record<string, unknown>> | null;
  /** What it used of budgets; null: nothing, or an earlier version wrote it. */
  readonly charges: readonly Charge[] | null;
  /** null: none was taken, or an earlier version wrote it. */
  readonly steps: StepTimes | null;
}

/**
 * Whole microseconds: for reading the request's body; from the start to the cache lookup; for that lookup; for reading and
 * converting an answer that is not a stream. 0: the step did not run.
 */
export type StepTimes = readonly [body: number, cacheStart: number, cache: number, answer: number];

/** Request and response bodies of one exchange, kept apart from its row. Texts are cut at a cap. */
export interface Bodies {
  readonly id: string;
  readonly at: number;
  readonly org: string;
  readonly workspace: string | null;
  readonly request: string | null;
  readonly response: string | null;
  readonly cut: boolean;
  /** Absent: none were kept. */
  readonly headers?: LoggedHeaders | undefined;
}

/** Headers of a request and its answer, with what is secret masked. */
export interface LoggedHeaders {
  readonly request: Readonly<Record<string, string>>;
  readonly response?: Readonly<Record<string, string>>;
  /** The call to a provider that answered, or the last one; absent: there was none, or an earlier version wrote the record. */
  readonly call?: LoggedCall;
  /** Was the client's body converted for that call? Absent: no. */
  readonly isConverted?: true;
  /** Changes by the target before the conversion; absent: none. */
  readonly edits?: readonly { readonly key: string; readonly value: string | null }[];
}

/** What is logged of a call to a provider. */
export interface LoggedCall {
  /** Without its query. */
  readonly url: string;
  /** HTTP status of the answer; 0: there was none. */
  readonly status: number;
  /**
   * For the request and the answer. 1: the body is the client's logged one. 0: it is logged with `providerBodiesId`, if it
   * was kept.
   */
  readonly same: readonly [sent: 0 | 1, received: 0 | 1];
}

/** The id of the logged bodies of a request's call to a provider, if they differ from the client's. */
export const providerBodiesId = (id: string): string => `${id}/provider`;

/** What is logged of one exchange. null: nothing. */
export interface ExchangeBodies {
  readonly client: Bodies | null;
  /** Of its call to a provider, if they differ from the client's. */
  readonly provider: Bodies | null;
}

/** Were bodies of a call to a provider logged besides those of the client? */
export const hasProviderBodies = ({ headers }: Pick<Bodies, 'headers'>): boolean =>
  headers?.call?.same.includes(0) === true;

/** Bodies for the journal: unchanged bytes, kept by reference until they are written, or a text. */
export interface BodiesToKeep extends Omit<Bodies, 'request' | 'response' | 'headers'> {
  /** JSON of `LoggedHeaders` in ASCII, copied before `keepBodies` returns; absent: none are kept. */
  readonly headers?: Buffer | undefined;
  readonly request: Buffer | string | null;
  /** A list: its parts, in order. */
  readonly response: Buffer | readonly Buffer[] | string | null;
}

/** Who waits for an intent to be on file. */
export interface IntentWaiter {
  /** Called once, also while the journal cannot be written: what to do then is the caller's policy (`healthy`). */
  intended(): void;
}

/** A data worker's end of the ledger. Synchronous; a full disk sets `healthy` to false and never throws. */
export interface Journal {
  /**
   * Writes the intent of an attempt, before its first byte is sent. In the file when it returns, or,
   * with a `waiter`, when that is called, at the end of this turn: one `write()` serves all intents of a turn.
   */
  intend(intent: Intent, waiter?: IntentWaiter): void;
  /** On file by the end of this turn of the event loop. Written once per id, with or without an intent. */
  settle(settlement: Settlement): void;
  /** At most a second late; dropped and counted under overload. */
  keepBodies(bodies: BodiesToKeep): void;
  readonly healthy: boolean;
  /** Intents and settlements that could not even wait in memory. */
  readonly dropped: number;
  /** Bodies that were dropped because the disk did not keep up. */
  readonly droppedBodies: number;
  close(): void;
}

/** A row of the ledger as it is read back. */
export interface LedgerRow extends Settlement {
  readonly state: RowState;
  /** Id of the node that served it; null: an earlier version wrote it. */
  readonly node: string | null;
}

/** What to read. Tenant first: an organisation always. */
export interface LedgerFilter {
  readonly org: string;
  readonly workspace?: string;
  readonly trace?: string;
  /** Ids of the gateway keys whose requests are selected; empty: none. */
  readonly keys?: readonly string[];
  /** Only rows ingested after this cursor, of `LedgerPage`; '0' is the beginning. */
  readonly after?: string;
  readonly limit: number;
}

/** Rows, and the cursor for the next ones, which only the ledger can interpret. */
export interface LedgerPage {
  readonly rows: readonly LedgerRow[];
  readonly cursor: string;
  /** Are there rows that `scan` did not reach? */
  readonly isCut?: boolean;
}

export interface LogPage {
  readonly rows: readonly LedgerRow[];
  /** null: it was not requested. */
  readonly total: number | null;
  /** The cursor for rows that arrive later. */
  readonly cursor: string;
}

/** Could a ledger have given this cursor? */
export const isCursor = (text: string): boolean => /^\d{1,19}(?:\.\d{1,10}(?:~[\d:,]{3,2000})?)?$/.test(text);

export interface LedgerReader {
  /** Newest first, or in the order of ingestion when `after` is given. */
  recent(filter: LedgerFilter): Promise<LedgerPage>;
  /** A page of the visible rows, in any order. */
  page(query: LogQuery): Promise<LogPage>;
  /** The rows that arrived after a cursor, in that order. */
  follow(following: LogFollowing): Promise<LedgerPage>;
  get(org: string, id: string): Promise<LedgerRow | null>;
  /** Those of the client. */
  bodies(org: string, id: string): Promise<Bodies | null>;
  /** Those of the call to a provider too. */
  allBodies(org: string, id: string): Promise<ExchangeBodies>;
  /** Sums over at most a day (UTC); a group may occur several times. */
  usage(filter: UsageFilter): Promise<readonly LedgerUsage[]>;
}

/** A range of at most a day (UTC) whose usage is requested. Tenant first. */
export interface UsageFilter {
  readonly org: string;
  readonly workspace?: string;
  /** Names of provider rows; none: all. */
  readonly providers: readonly string[];
  /** Unix milliseconds; `to` is not part of it. */
  readonly from: number;
  readonly to: number;
}

/** What calls of a day to one provider, stored provider and model used. */
export interface LedgerUsage {
  /** UTC: 2026-10-07. */
  readonly day: string;
  readonly provider: string;
  /** Slugs; null: the call named the provider itself. */
  readonly slug: string | null;
  readonly integration: string | null;
  readonly model: string | null;
  /** Calls whose usage is known. */
  readonly calls: number;
  readonly input: number;
  readonly output: number;
  /** Picodollars. */
  readonly cost: bigint;
  /** Calls of which the ledger has no cost. */
  readonly unpriced: number;
  /** Requests whose outcome was lost: what they used is not known. */
  readonly lost: number;
}
