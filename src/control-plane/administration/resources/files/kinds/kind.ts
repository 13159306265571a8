import type { JsonFields } from './json.js';
import type { ReferenceWalk } from './references.js';

/** Fields of `spec` that are set by another method than the one that updates the record. */
export interface Part {
  /** The method that sets them. */
  readonly method: string;
  readonly fields: readonly string[];
  /** Set after all records were created, since they name records that name this one. */
  readonly late?: true;
}

/** A kind of document: the methods of its records, and how its `spec` is compared. */
export interface DocumentKind {
  readonly kind: string;
  /** Where its records belong; `single`: the organisation has exactly one. */
  readonly reach: 'workspace' | 'organisation' | 'either' | 'single';
  /** null: the record always exists. */
  readonly create: string | null;
  readonly list: string | null;
  /** null: lists contain complete records. */
  readonly read: string | null;
  readonly update: string;
  readonly delete: string | null;
  /** The field that identifies the record in requests. */
  readonly id: 'id' | 'slug' | 'workspace_id' | 'secret_reference_id' | 'user_id' | 'deployment_id';
  /** The field by which other records name it. */
  readonly namedBy: 'id' | 'slug';
  /** Is its slug chosen by the caller? Documents are then named by the slug, else by the name. */
  readonly hasSlug: boolean;
  /** Prefix of every slug, which a document may leave out. */
  readonly slugPrefix?: string;
  /** Fields of the request that are no part of `spec`. */
  readonly without?: readonly string[];
  readonly parts?: readonly Part[];
  /** Fields that are only used when a record is created, and are not compared afterwards. */
  readonly once?: readonly string[];
  /** Paths that the gateway fills in: compared only where the document has them, and not exported. */
  readonly computed?: readonly string[];
  /** Default values of absent fields, by their paths; `*` is any item. */
  readonly usual?: Readonly<Record<string, unknown>>;
  /** What is sent for fields that an earlier apply set, that the document no longer has, and that cannot be empty; `sent`: its spec. */
  readonly cleared?: Readonly<Record<string, (sent: JsonFields) => JsonFields>>;
  /** Normalises a spec, if several spellings mean the same. */
  readonly form?: (spec: JsonFields) => JsonFields;
  /** Lists of which only the named items are compared, and the field that names an item. */
  readonly keyed?: Readonly<Record<string, string>>;
  /** Where free JSON of the spec holds secrets. */
  readonly secrets?: 'config' | 'guardrail' | 'partner';
  readonly references?: ReferenceWalk;
  /** For records that are not identified by a slug, an id or a display name. */
  readonly identity?: DocumentIdentity;
  /** The method whose request has the fields of `spec`; the one that creates the record, unless given. */
  readonly specMethod?: string;
  /** `whole`: a change gives all fields to `update`; `never`: there is no method that changes a record. */
  readonly change?: 'whole' | 'never';
  /** Fields of each update besides those that change. */
  readonly withUpdate?: JsonFields;
  /** The field of the answer that has the secret of a new record. */
  readonly newSecret?: string;
  /** Is it exported only if a request names the kind? */
  readonly onRequest?: true;
}

/** Identifies a record whose document's name is not its slug, id or display name. */
export interface DocumentIdentity {
  /** Describes such a name in messages. */
  readonly form: string;
  readonly isName: (name: string) => boolean;
  /** Normalises a name; absent: different spellings are different names. */
  readonly normal?: (name: string) => string;
  /** The document's name for a record from a list. */
  readonly nameOf: (json: JsonFields) => string;
  /** An id that is unique among the records of its kind. */
  readonly idOf: (json: JsonFields) => string;
  /** The fields that identify the record of that id in requests. */
  readonly requestOf: (id: string) => JsonFields;
  /** The request that creates a record: the fields of its name, and its spec. `userId`: returns the id for an e-mail address. */
  readonly newRequest: (
    name: string,
    body: JsonFields,
    userId: (email: string) => Promise<string>,
  ) => Promise<JsonFields>;
  /** The id of a record created by `request`, if the answer does not contain it. */
  readonly newId?: (request: JsonFields) => string;
}
