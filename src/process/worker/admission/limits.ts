import type { QuotaLimits } from './quota.js';

/** Bytes of a request's body; more is refused. */
export const longestBody = 4 * 1024 * 1024;
/** Bytes of a body that comes without a key: an accepted invitation is the only one. */
export const longestKeylessBody = 64 * 1024;
/** A body counts as this many bytes at least: an upload costs its connection's memory, however short it is. */
export const leastBody = 16 * 1024;

/** What the control process is given at once by all data workers of its node. */
const mostCalls = 1024;
const mostBytes = 128 * 1024 * 1024;
const mostStreams = 2048;

/** What one data worker admits to the administration at once. */
export interface AdminLimits {
  /** Calls that wait for the control process. */
  readonly calls: QuotaLimits;
  /** Bytes of bodies that are being uploaded or wait for their answer, as announced. */
  readonly bytes: QuotaLimits;
  /** Answers that are sent piece by piece: streams of changes, files, long lists. */
  readonly streams: QuotaLimits;
}

/** The shares of one worker of `workers`: together they stay within what the control process is given. */
export function adminLimits(workers: number): AdminLimits {
  const calls = shares(Math.max(16, Math.floor(mostCalls / workers)));
  // Half of it takes a body of the largest size, so that the first call of a key fits whatever its body is.
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
