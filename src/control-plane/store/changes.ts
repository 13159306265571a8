import type { Forget } from '../../common/ipc/messages.js';

/** Something that an administrator changed. */
export interface NewChange {
  readonly organisationId: string;
  /** null: the organisation's own. */
  readonly workspaceId: string | null;
  /** `config`, `api_key`, `provider`, …: the audit log's resource types. */
  readonly kind: string;
  readonly id: string;
  readonly slug: string | null;
  readonly action: 'create' | 'update' | 'delete';
  /** What the data workers of other nodes must forget; nothing where absent. Not for clients: it has hashes of keys. */
  readonly forget?: readonly Forget[];
}

export interface Change extends NewChange {
  /** Counts up, with gaps, over all organisations; committed in this order. */
  readonly seq: number;
  /** Unix milliseconds. */
  readonly at: number;
}

/** A place in the feed. */
export interface ChangePoint {
  readonly seq: number;
  /** Of the change with that number: another change has another, as in a store that was set back. Empty: not known. */
  readonly mark: string;
}

/** `missed`: there may have been changes that can no longer be listed one by one. */
export type ChangeListener = (changes: readonly Change[] | 'missed') => void;

/** The feed of changes, kept for a week: what nodes and clients learn of each other's changes by. */
export interface ChangeStore {
  /** Joins the unit of work. */
  append(change: NewChange): Promise<void>;
  /** The same of many. */
  appendAll(changes: readonly NewChange[]): Promise<void>;
  /** The newest `seq`; 0 where nothing was ever changed. */
  newest(): Promise<number>;
  /** Changes after `seq`, oldest first; of one organisation where given. `pruned`: some of them are no longer kept. */
  since(seq: number, limit: number, organisationId?: string): Promise<readonly Change[] | 'pruned'>;
  /**
   * Reports every change committed from now on, by any node, once and in order: at once on this node, within a
   * second on others; those of a time without a store once it is back. `from`: for the first listener, those after that
   * point. Returns how to stop.
   */
  watch(listener: ChangeListener, from?: ChangePoint): Promise<() => void>;
  /** Calls the listener whenever every change up to a point has been reported. */
  onCurrent(listener: (point: ChangePoint) => void): void;
  /** Milliseconds since every change was known; null: they are not watched. */
  readonly behindMs: number | null;
}
