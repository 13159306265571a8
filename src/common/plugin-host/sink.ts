import type { Awaitable } from '../core/directory.js';

export interface SinkOptions<Record> {
  /** In logs and metrics; one plugin may have several. */
  readonly name: string;
  /** Hands a batch over. If it throws or rejects, the same batch is tried again, after 1 s, 2 s, 4 s, … up to 30 s. */
  deliver(batch: readonly Record[], signal: AbortSignal): Awaitable<void>;
  /** Records of a batch. Default 100. */
  readonly batch?: number;
  /** Milliseconds that a record waits for others of its batch. Default 1000. */
  readonly everyMs?: number;
  /** Of all records that wait, as JSON; beyond it the oldest are dropped and counted. Default 8 MiB. */
  readonly maxBytes?: number;
  /** Deliveries of a batch before it is dropped and counted. Default 10. */
  readonly attempts?: number;
  /** Milliseconds that one delivery may take. Default 10,000. */
  readonly timeoutMs?: number;
}

/**
 * Records on their way to another service: `gateway_sink_queued_bytes`, `gateway_sink_delivered_total` and
 * `gateway_sink_dropped_total` count them by plugin and sink. What waits when the worker ends is tried once more.
 */
export interface RecordSink<Record> {
  /** false: there is no room, or the record is no JSON. Never throws, never waits. */
  add(record: Record): boolean;
}
