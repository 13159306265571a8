import type { UnredactedBody } from '../../../common/ipc/shared.js';

/** Bodies of one log before guardrails changed them. */
export interface UnredactedText {
  /** null: it was not changed. */
  readonly request: string | null;
  readonly response: string | null;
  /** Is one of them longer than what is kept of it? */
  readonly cut: boolean;
}

export interface UnredactedTextStore {
  /** Seals and keeps it; one that is there already stays. */
  put(body: UnredactedBody): Promise<void>;
  /** By the id of the log. null: there is none. */
  get(organisationId: string, logId: string): Promise<UnredactedText | null>;
  /** Deletes those older than 30 days, and of each organisation all but the newest 10,000. */
  prune(): Promise<void>;
}
