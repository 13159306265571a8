import type { Listed, Page } from './place.js';

/** One administrative action, allowed or refused (spec/api.md §5.13). Texts hold no secret: a fingerprint stands for it. */
export interface AuditEntry {
  readonly organisationId: string;
  readonly workspaceId: string | null;
  /** As over REST, whichever door was used: POST, PUT or DELETE. */
  readonly method: string;
  readonly uri: string;
  readonly requestId: string;
  /** JSON texts. */
  readonly requestBody: string;
  readonly queryParams: string;
  readonly requestHeaders: string;
  /** Id of the user or key that acts. */
  readonly userId: string;
  readonly userType: 'user' | 'api_key';
  readonly actorName: string;
  readonly responseStatusCode: number;
  /** `config`, `api_key`, … */
  readonly resourceType: string;
  readonly resourceId: string | null;
  /** `create`, `update`, `delete`, … */
  readonly action: string;
  readonly clientIp: string | null;
  readonly country: string | null;
  /** false: refused, and nothing was changed. */
  readonly allowed: boolean;
}

export interface AuditRecord extends AuditEntry {
  /** Counts up from 1 within the organisation, without gaps. */
  readonly seq: number;
  /** Unix milliseconds. */
  readonly at: number;
}

/** Every part given must hold; texts are compared whole. */
export interface AuditFilter {
  /** Unix milliseconds, both included. */
  readonly from?: number;
  readonly to?: number;
  readonly method?: string;
  readonly uri?: string;
  readonly requestId?: string;
  readonly userId?: string;
  readonly userType?: AuditEntry['userType'];
  readonly workspaceId?: string;
  readonly responseStatusCode?: number;
  readonly resourceType?: string;
  readonly resourceId?: string;
  readonly action?: string;
  readonly clientIp?: string;
  readonly country?: string;
  readonly allowed?: boolean;
}

/**
 * Why a row is not as it was written. `deleted`: it is gone from between others, `cut`: from the end. `added`: it
 * stands behind the end. `head`: the rows agree with each other but not with what the master key vouches for.
 */
export type AuditDefect = 'edited' | 'deleted' | 'reordered' | 'cut' | 'added' | 'head';

export type AuditVerdict =
  | { readonly ok: true; readonly rows: number }
  /** `seq`: the first bad row. */
  | { readonly ok: false; readonly seq: number; readonly reason: AuditDefect };

/** The audit log: one chain of rows per organisation, each vouching for the one before it. */
export interface AuditStore {
  /** Joins the unit of work: no row, no change. Throws where the chain's head is missing. */
  append(entry: AuditEntry): Promise<AuditRecord>;
  /** Newest first. */
  list(organisationId: string, filter: AuditFilter, page: Page): Promise<Listed<AuditRecord>>;
  /** Oldest first, read piece by piece. */
  export(organisationId: string, filter: AuditFilter): AsyncIterable<AuditRecord>;
  /** Ids of all organisations that have a log, or should have. */
  organisations(): Promise<readonly string[]>;
  /** Walks the whole chain. `onProgress` is told how many rows have been looked at. */
  verify(organisationId: string, onProgress?: (rows: number) => void): Promise<AuditVerdict>;
  /** Stands for a secret in an audit text: equal for equal secrets of one organisation, and tells nothing else. */
  fingerprint(organisationId: string, secret: string): string;
}
