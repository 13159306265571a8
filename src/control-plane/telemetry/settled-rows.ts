import { contextFields } from '../../common/ledger/fields.js';
import {
  contextSlot,
  numberAt,
  type PackedRows,
  type RecordSlot,
  recordWidth,
  slots,
} from '../../common/ledger/packed-rows.js';
import type { LedgerRow } from '../../common/ledger/record.js';
import type { RowBatch } from '../ledger/ledger.js';

/** An attempt of a request, as metrics count it. */
export interface CountedAttempt {
  readonly provider: string;
  /** null: it answered. */
  readonly error: string | null;
}

/** What many rows have in common. */
export interface SharedFacts {
  readonly endpoint: string;
  readonly provider: string | null;
  readonly model: string | null;
  readonly status: number;
  readonly error: string | null;
  readonly stream: boolean;
  readonly cache: string;
  readonly attemptCount: number;
}

/** What metrics count of a settled request. Durations in seconds. */
export interface SettledFacts {
  readonly shared: SharedFacts;
  /** Milliseconds since 1970. */
  readonly at: number;
  traceId(): string;
  /** Picodollars; null: no price is known. */
  readonly cost: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly total: number;
  readonly upstream: number;
  readonly firstByte: number | null;
  attempts(): readonly CountedAttempt[];
}

/** The rows of a batch, without taking them apart as a whole. */
export function* settledFacts({ packed, rows }: RowBatch): Generator<SettledFacts> {
  if (packed !== null) yield* packedFacts(packed);
  for (const row of rows) yield rowFacts(row);
}

const slotOf = (name: string): RecordSlot => slots.find(({ field }) => field?.name === name)!;
const read = {
  id: slotOf('id'),
  trace: slotOf('trace'),
  at: slotOf('at'),
  cost: slotOf('cost'),
  input: slotOf('input_tokens'),
  output: slotOf('output_tokens'),
  total: slotOf('total_us'),
  upstream: slotOf('upstream_us'),
  firstByte: slotOf('first_byte_us'),
};
const contextIndex = Object.fromEntries(contextFields.map(({ name }, i) => [name, i]));

function* packedFacts({ count, contexts, records, rest, restEnds }: PackedRows): Generator<SettledFacts> {
  const shared = (JSON.parse(contexts.toString('latin1')) as unknown[][]).map(sharedFacts);
  for (let row = 0, from = 1; row < count; row++) {
    const record = row * recordWidth;
    const number = (slot: RecordSlot): number | null => numberAt(records, record + slot.from, slot.width);
    const text = ({ from: start, width }: RecordSlot): string =>
      records.toString('latin1', record + start, record + start + width).trimEnd();
    const [restFrom, restEnd] = [from, restEnds[row]!];
    const firstByte = number(read.firstByte);
    yield {
      shared: shared[number(contextSlot) ?? 0]!,
      at: number(read.at) ?? 0,
      traceId: () => text(read.trace) || text(read.id),
      cost: number(read.cost),
      inputTokens: number(read.input) ?? 0,
      outputTokens: number(read.output) ?? 0,
      total: (number(read.total) ?? 0) / 1e6,
      upstream: (number(read.upstream) ?? 0) / 1e6,
      firstByte: firstByte === null ? null : firstByte / 1e6,
      attempts: () =>
        (JSON.parse(rest.toString('utf8', restFrom, restEnd)) as { attempts?: readonly CountedAttempt[] })
          .attempts ?? [],
    };
    from = restEnd + 1;
  }
}

function sharedFacts(values: readonly unknown[]): SharedFacts {
  const value = (name: string): unknown => values[contextIndex[name]!];
  return {
    endpoint: String(value('endpoint')),
    provider: (value('provider') as string | null) ?? null,
    model: (value('model') as string | null) ?? (value('model_asked') as string | null) ?? null,
    status: Number(value('status')),
    error: (value('error') as string | null) ?? null,
    stream: Boolean(value('stream')),
    cache: String(value('cache')),
    attemptCount: Number(value('attempt_count')),
  };
}

function rowFacts(row: LedgerRow): SettledFacts {
  return {
    shared: {
      endpoint: row.endpoint,
      provider: row.provider,
      model: row.modelUsed ?? row.modelAsked,
      status: row.status,
      error: row.error,
      stream: row.stream,
      cache: row.cache,
      attemptCount: row.attempts.length,
    },
    at: row.at,
    traceId: () => row.trace,
    cost: row.cost,
    inputTokens: row.usage.input,
    outputTokens: row.usage.output,
    total: row.totalMs / 1000,
    upstream: row.upstreamMs / 1000,
    firstByte: row.firstByteMs === null ? null : row.firstByteMs / 1000,
    attempts: () => row.attempts,
  };
}
