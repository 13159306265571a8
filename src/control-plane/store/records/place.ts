/** The workspace that owns a record; the first parameter of every method for such records. */
export interface Place {
  readonly organisationId: string;
  readonly workspaceId: string;
}

/** A part of a list. */
export interface Page {
  /** Rows to leave out before the first. */
  readonly offset: number;
  readonly limit: number;
}

export interface Listed<T> {
  readonly total: number;
  readonly rows: readonly T[];
}
