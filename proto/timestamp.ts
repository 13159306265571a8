import type { Timestamp } from './messages.js';

/** Unix milliseconds as google.protobuf.Timestamp. */
export function toTimestamp(ms: number): Timestamp {
  const seconds = Math.floor(ms / 1000);
  return { seconds, nanos: (ms - seconds * 1000) * 1_000_000 };
}

/** google.protobuf.Timestamp as Unix milliseconds. */
export function fromTimestamp(timestamp: Timestamp): number {
  return Number(timestamp.seconds) * 1000 + Math.floor(timestamp.nanos / 1_000_000);
}
