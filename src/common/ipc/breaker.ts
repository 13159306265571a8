import type { Breaker } from '../core/target.js';

/** The place of a circuit breaker: one target of one config of one workspace. */
export interface BreakerPlace {
  readonly organisation: string;
  /** Empty for calls of the organisation itself. */
  readonly workspace: string;
  /** The config's fingerprint: a new version begins with its breakers closed. */
  readonly config: string;
  readonly path: string;
}

/** A worker's counts of a target since its last report, and the rule that applies to them. */
export interface BreakerCounts extends BreakerPlace {
  /** Slug of a stored config. */
  readonly slug: string | null;
  readonly provider: string;
  readonly rule: Breaker;
  /** Three numbers for each slice of time: its number (`breakerSliceMs`), requests, failures among them. Oldest first. */
  readonly counts: readonly number[];
  /** The last failure: an HTTP status, or an error's code. */
  readonly reason: string;
}

/** Milliseconds of one slice; its number is the monotonic time (monotonic.ts) divided by that. */
export const breakerSliceMs = 2000;

export interface BreakerState extends BreakerPlace {
  readonly state: 'open' | 'half_open' | 'closed';
  /** Monotonic milliseconds from which on a request may ask to probe. */
  readonly until: number;
  /** Unix milliseconds; 0: it is closed. */
  readonly openedAt: number;
  /** The last failure: an HTTP status, or an error's code; empty: it is closed. */
  readonly reason: string;
}

/**
 * The outcome of a probe of a target whose breaker is open. `aborted`: the client had disconnected. `unasked`: the
 * request was never sent.
 */
export type ProbeOutcome = 'well' | 'failed' | 'aborted' | 'unasked';

export interface BreakerProbed extends BreakerPlace {
  readonly outcome: ProbeOutcome;
  /** The probe's number; 0: it was called for lack of another target. */
  readonly probe: number;
  readonly reason: string;
}

/** A breaker that is not closed, for operators. */
export interface BreakerReport extends BreakerPlace {
  /** Slug of a stored config; null for an inline one. */
  readonly slug: string | null;
  /** The provider of the last failure. */
  readonly provider: string;
  readonly state: 'open' | 'half_open';
  /** Unix milliseconds. */
  readonly openedAt: number;
  /** Unix milliseconds from which on a request may probe. */
  readonly nextProbeAt: number;
  /** The last failure: an HTTP status, or an error's code. */
  readonly reason: string;
  /** Failures in the minute before it opened, and of each probe since. */
  readonly failures: number;
  readonly requests: number;
}
