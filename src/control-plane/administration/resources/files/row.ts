import type { NestedCalls } from '../../access/caller.js';
import type { JsonFields } from './kinds/json.js';

/** An existing record. */
export interface Row {
  readonly id: string;
  readonly slug: string | null;
  /** Its display name; empty: it has none. */
  readonly name: string;
  /** Its name in documents: unique among its kind in its workspace. */
  documentName: string;
  /** null: the organisation's own. */
  readonly workspaceId: string | null;
  readonly etag: string | null;
  /** As lists have it; empty for one that was just made. */
  readonly json: JsonFields;
}

/** By what records are read. */
export interface RowReader {
  readonly calls: NestedCalls;
  readonly organisationId: string;
}
