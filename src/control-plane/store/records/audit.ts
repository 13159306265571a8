import type { AuditAnchor } from '../files/audit-anchors.js';
import type { Listed, Page } from './place.js';

/** One administrative action, allowed or refused. Texts hold no secret, but its fingerprint. */
export interface AuditEntry {
  readonly organisationId: string;
  readonly workspaceId: string | null;
  /** The verb that the method has over REST, also for calls over gRPC: POST, PUT or DELETE. */
  readonly method: string;
  readonly uri: string;
  readonly requestId: string;
  /** JSON texts. */
  readonly requestBody: string;
  readonly queryParams: string;
  readonly requestHeaders: string;
  /**
   * Id of the user or key that acts; for a command on the gateway's machine, the name of the user there;
   * for a schedule, its name.
   */
  readonly userId: string;
  readonly userType: 'user' | 'api_key' | 'local_command' | 'schedule';
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
 * follows the end. `head`: the rows agree with each other but not with the head that the master key signed.
 * `anchor`: they agree with each other, but an anchor names another row in this place.
 */
export type AuditDefect = 'edited' | 'deleted' | 'reordered' | 'cut' | 'added' | 'head' | 'anchor';

export type AuditVerdict =
  | { readonly ok: true; readonly rows: number }
  /** `seq`: the first bad row. */
  | { readonly ok: false; readonly seq: number; readonly reason: AuditDefect };

/** The audit log: one chain of rows per organisation, each vouching for the one before it. */
export interface AuditStore {
  /** Joins the unit of work: no row, no change. Throws where the chain's head is missing. */
  append(entry: AuditEntry): Promise<AuditRecord>;
  /** The same of many of one organisation, in their order. */
  appendAll(organisationId: string, entries: readonly AuditEntry[]): Promise<void>;
  /** Newest first. */
  list(organisationId: string, filter: AuditFilter, page: Page): Promise<Listed<AuditRecord>>;
  /** Oldest first, read piece by piece. */
  export(organisationId: string, filter: AuditFilter): AsyncIterable<AuditRecord>;
  /** Ids of all organisations that have a log, or should have. */
  organisations(): Promise<readonly string[]>;
  /**
   * Walks the whole chain. `onProgress` receives the number of rows checked so far. `anchors`, oldest first: ends of
   * this log that were recorded elsewhere and must still be in it.
   */
  verify(
    organisationId: string,
    onProgress?: (rows: number) => void,
    anchors?: readonly AuditAnchor[],
  ): Promise<AuditVerdict>;
  /** The ends of all logs now, to be signed; a log whose end was altered or set back has none. */
  ends(): Promise<readonly AuditAnchor[]>;
  /** One line of JSON, signed. */
  signAnchor(anchor: AuditAnchor): string;
  /** null: this store did not sign that line. */
  readAnchor(line: string): AuditAnchor | null;
  /** From now on nothing is appended to a log that ends before this anchor. */
  requireAnchor(anchor: AuditAnchor): void;
  /** Replaces a secret in an audit text: equal for equal secrets of one organisation, and reveals nothing else. */
  fingerprint(organisationId: string, secret: string): string;
}
