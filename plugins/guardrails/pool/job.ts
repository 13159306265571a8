import type { CheckParameters, CheckPhase, CheckResult } from '../check.js';

/** A check of a job. */
export interface JobCheck {
  /** Identifies check and parameters: a thread keeps the parameters of keys that it has had. */
  readonly key: string;
  readonly id: string;
  /** Absent: the thread is expected to have them. */
  readonly parameters?: CheckParameters;
}

/** Checks of texts, for a thread. */
export interface CheckJob {
  readonly phase: CheckPhase;
  readonly texts: readonly string[];
  readonly checks: readonly JobCheck[];
  /** Shared: 0 until the job has begun, then one more than the index of the check that runs. */
  readonly progress: Int32Array;
}

export interface TimedResult {
  readonly result: CheckResult;
  /** Milliseconds. */
  readonly ms: number;
}

/** `missing`: keys whose parameters the thread does not have; then nothing was run. */
export type JobResult =
  | { readonly results: readonly TimedResult[] }
  | { readonly missing: readonly string[] };
