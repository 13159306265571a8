/** Failures within a window that begins with the first of them. */
export interface Failures {
  readonly count: number;
  /** Unix milliseconds. */
  readonly endsAt: number;
}

/** Failed sign-ins of the last minute, which all nodes count together. */
export interface FailedSignInStore {
  /** By name, as far as there were any. */
  counts(names: readonly string[]): Promise<ReadonlyMap<string, Failures>>;
  /** Counts one more for each name. */
  add(names: readonly string[], windowMs: number): Promise<void>;
  clear(name: string): Promise<void>;
  /** Removes what has ended. */
  prune(): Promise<void>;
}
