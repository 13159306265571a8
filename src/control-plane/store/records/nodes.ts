/** A node that has not reported for so long is lost. Milliseconds. */
export const lostAfterMs = 10_000;

/** A gateway that uses this store. */
export interface Node {
  readonly id: string;
  readonly name: string;
  /** Of its program. */
  readonly version: string;
  readonly role: 'all' | 'data';
  /** `lost`: it has not reported for ten seconds. */
  readonly state: 'up' | 'draining' | 'left' | 'lost';
  /** Unix milliseconds, by the database's clock. */
  readonly startedAt: number;
  readonly lastSeenAt: number;
  /** Data workers that serve. */
  readonly workers: number;
  /** How old the oldest record is that waits in its journal. Milliseconds. */
  readonly journalBehindMs: number;
}

/** What a node is from its start to its end. */
export interface NodeStart extends Pick<Node, 'id' | 'name' | 'version' | 'role'> {
  /** Of this start: no other one has it. */
  readonly instance: string;
  /** Of the machine's start and the data directory: two processes never share one at the same time. */
  readonly place: string;
}

/** What a node reports again and again. `starting`: it does not serve yet, and is not listed. */
export interface NodeReport extends Pick<Node, 'workers' | 'journalBehindMs'> {
  readonly state: 'starting' | 'up' | 'draining' | 'left';
}

/** The start that has a node's id, as it was seen last. */
export interface OtherStart {
  readonly instance: string;
  readonly name: string;
  readonly lastSeenAt: number;
}

/** What became of a report. `missing`: the node's record was removed. `replaced`: another start has its id. */
export type Reported = 'reported' | 'missing' | 'replaced';

export interface NodeStore {
  /**
   * Takes a node's id for this start. null: it has it. Else the start that has it and may still live; `dead`: one that
   * the caller has seen not to report any more, and that gives way.
   */
  claim(start: NodeStart, dead?: OtherStart): Promise<OtherStart | null>;
  report(start: NodeStart, report: NodeReport): Promise<Reported>;
  /** Why this program may not use the store any more, since a newer one has changed it; null: it may. */
  refusal(): Promise<string | null>;
  /** By name. Those that are gone for a week are no longer listed. */
  list(): Promise<readonly Node[]>;
  prune(): Promise<void>;
}
