/** Failures within a window that begins with the first of them. */
export interface Failures {
  readonly count: number;
  /** Unix milliseconds. */
  readonly endsAt: number;
}

/** Failed sign-ins of the last minute, which all nodes count together. */
export interface FailedSignInStore {
  /** Counts by name; names without failures are absent. */
  counts(names: readonly string[]): Promise<ReadonlyMap<string, Failures>>;
  /** Adds one failure to each name. */
  add(names: readonly string[], windowMs: number): Promise<void>;
  clear(name: string): Promise<void>;
  /** Deletes windows that have ended. */
  prune(): Promise<void>;
}
