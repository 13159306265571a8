/** Who repeats a request: keys of different callers never meet. */
export interface RequestKey {
  readonly organisationId: string;
  /** Id of the key or user that calls. */
  readonly callerId: string;
  /** What the client sent as `Idempotency-Key` or `request_id`. */
  readonly key: string;
}

export interface KeptAnswer {
  /** Detects another body under the same key. */
  readonly requestHash: string;
  /** Any text, key texts included: sealed at rest. */
  readonly answer: string;
}

/** Answers kept for 24 hours, so that a repeated create is answered and not done again. */
export interface IdempotencyStore {
  get(request: RequestKey): Promise<KeptAnswer | null>;
  /** Joins the unit of work. `taken`: an answer is kept under this key already. */
  put(request: RequestKey, kept: KeptAnswer): Promise<'kept' | 'taken'>;
}
