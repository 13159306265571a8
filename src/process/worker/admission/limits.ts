import type { QuotaLimits } from './quota.js';

/** Bytes of a request's body; more is refused. */
export const longestBody = 4 * 1024 * 1024;
/** Bytes of a body without a key: only the acceptance of an invitation has one. */
export const longestKeylessBody = 64 * 1024;
/** Bytes that a body counts as at least: even a short upload takes its connection's memory. */
export const leastBody = 16 * 1024;

/** Limits for all data workers of a node together. */
const mostCalls = 1024;
const mostBytes = 128 * 1024 * 1024;
const mostStreams = 2048;

/** Limits of one data worker for calls of the administration at the same time. */
export interface AdminLimits {
  /** Calls that wait for the control process. */
  readonly calls: QuotaLimits;
  /** Announced bytes of bodies that are being uploaded or wait for their answer. */
  readonly bytes: QuotaLimits;
  /** Answers in pieces: streams of changes, files, long lists. */
  readonly streams: QuotaLimits;
}

/** The share of one of `workers` workers: together they stay within the limits of the node. */
export function adminLimits(workers: number): AdminLimits {
  const calls = shares(Math.max(16, Math.floor(mostCalls / workers)));
  // Half of it has room for a body of the largest size, so that the first call of a key always fits.
  const bytes = shares(Math.max(2 * longestBody, Math.floor(mostBytes / workers)));
  const streams = shares(Math.max(64, Math.floor(mostStreams / workers)));
  return {
    calls,
    bytes: { ...bytes, perAddress: Math.max(longestBody, bytes.perAddress) },
    streams: { ...streams, perKey: streams.all / 4 },
  };
}

const shares = (all: number): QuotaLimits => ({
  all,
  unproven: all / 2,
  keyless: all / 8,
  perKey: all / 2,
  perAddress: all / 4,
  keylessPerAddress: Math.max(1, all / 32),
});
