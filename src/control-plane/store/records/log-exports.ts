import type { Listed, Page, Place } from './place.js';
import type { FilterValues } from './saved-filters.js';

export type LogExportStatus = 'draft' | 'in_progress' | 'success' | 'failed' | 'stopped';
export type LogExportFormat = 'jsonl' | 'csv';

/** What the one who started it may see of the workspace's requests. */
export interface LogExportSight {
  /** Ids of the gateway keys whose requests are in sight; null: of all. */
  readonly keys: readonly string[] | null;
  readonly metadata: boolean;
}

/** Logs of a workspace that are written to a file. */
export interface LogExport {
  readonly id: string;
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly description: string | null;
  /** With `page_size` and `current_page`. */
  readonly filters: FilterValues;
  readonly requestedData: readonly string[];
  readonly format: LogExportFormat;
  readonly status: LogExportStatus;
  /** null: it was not started. */
  readonly sight: LogExportSight | null;
  readonly startedAt: number | null;
  /** Rows that were written, of a draft those that match; null: not known. */
  readonly records: number | null;
  readonly error: string | null;
  /** Counts the nodes that have begun to write it. */
  readonly runs: number;
  /** Id of a user or key. */
  readonly createdBy: string;
  /** When its file was removed; null: it was not, or there is none. */
  readonly fileRemovedAt: number | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

type Asked = 'filters' | 'requestedData' | 'format' | 'description' | 'records';
export type NewLogExport = Pick<LogExport, Asked | 'createdBy'>;
/** Absent: stays as it is. */
export type LogExportChange = Partial<Pick<LogExport, Asked>>;

/** Exports that have ended, and whose files are due for removal. Unix milliseconds. */
export interface ExpiredExports {
  /** Ended well before then; null: these keep their files. */
  readonly before: number | null;
  /** Failed or stopped before then. */
  readonly unfinishedBefore: number;
  /** Of those that this node wrote alone; null: of all. */
  readonly nodeId: string | null;
  readonly limit: number;
}

export interface LogExportStore {
  get(organisationId: string, id: string): Promise<LogExport | null>;
  /** Newest first. `createdBy`: null: by anyone. */
  list(place: Place, createdBy: string | null, page: Page): Promise<Listed<LogExport>>;
  /** How many are in progress. */
  unfinished(place: Place): Promise<number>;
  create(place: Place, input: NewLogExport): Promise<LogExport | 'missing'>;
  /** null: it is no draft. */
  update(organisationId: string, id: string, change: LogExportChange): Promise<LogExport | null>;
  /** null: it is no draft. */
  start(organisationId: string, id: string, sight: LogExportSight): Promise<LogExport | null>;
  /** null: it has ended. */
  cancel(organisationId: string, id: string): Promise<LogExport | null>;
  /**
   * Takes the oldest of all organisations that waits to be written: that no node writes, or a node that gave no sign of life
   * for so many milliseconds, or this node, which then has been restarted. null: there is none.
   */
  claim(nodeId: string, holdMs: number): Promise<LogExport | null>;
  /** A sign of life. false: it was stopped, or another node writes it by now. */
  progress(run: LogExport, records: number, holdMs: number): Promise<boolean>;
  /** Gives it back, to be written by the next node that claims it. */
  release(run: LogExport): Promise<void>;
  /** Of all organisations. */
  expired(which: ExpiredExports): Promise<LogExport[]>;
  fileRemoved(ended: LogExport): Promise<void>;
  /** false: as in `progress`. */
  finish(run: LogExport, records: number, error: string | null): Promise<boolean>;
}
