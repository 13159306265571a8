/** What a user of a trace, or a guardrail, thinks of it. */
export interface TraceFeedback {
  readonly id: string;
  readonly org: string;
  readonly workspace: string;
  readonly trace: string;
  /** Gateway key that gave it; of a guardrail: the key of the request. */
  readonly key: string | null;
  /** Id of the guardrail whose verdict it follows from; null: none. */
  readonly guardrail: string | null;
  /** -10 to 10. */
  readonly value: number;
  /** 0 to 1. */
  readonly weight: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The request at which it counts: the first of its trace in its workspace; null: there is none so far. */
  readonly rowId: string | null;
  readonly rowAt: number | null;
}

export interface FeedbackChange {
  readonly value: number;
  /** Absent: stays. */
  readonly weight?: number;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** TraceFeedback of requests, in the ledger's database. Tenant first. */
export interface LedgerFeedbacks {
  add(feedbacks: readonly TraceFeedback[]): Promise<void>;
  /** false: the workspace has no such feedback. */
  update(org: string, workspace: string, id: string, change: FeedbackChange): Promise<boolean>;
  /** Of a trace, oldest first. */
  ofTrace(org: string, workspace: string, trace: string): Promise<readonly TraceFeedback[]>;
}

/** A weight outside of 0 to 1, or none, counts as 1. */
export const weightOf = (given: number | null | undefined): number =>
  typeof given === 'number' && given >= 0 && given <= 1 ? given : 1;
