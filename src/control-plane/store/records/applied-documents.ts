/** A record that a document of configuration describes, as it was last applied. */
export interface AppliedDocument {
  readonly set: string;
  readonly kind: string;
  readonly recordId: string;
  /** null: the organisation's own. */
  readonly workspaceId: string | null;
  /** As documents call it. */
  readonly name: string;
  /** Was it made by documents? Only such records are deleted when no document describes them any more. */
  readonly made: boolean;
  /** Fields of its `spec`. */
  readonly fields: readonly string[];
  /** Keyed hashes of its secrets, by their paths. */
  readonly secrets: Readonly<Record<string, string>>;
}

export interface AppliedDocumentStore {
  /** Of all sets of the organisation. */
  list(organisationId: string): Promise<readonly AppliedDocument[]>;
  /** Replaces the entries of those records in their sets. */
  put(organisationId: string, documents: readonly AppliedDocument[]): Promise<void>;
  /** In one set, or in all. */
  delete(organisationId: string, kind: string, recordId: string, set?: string): Promise<void>;
}
