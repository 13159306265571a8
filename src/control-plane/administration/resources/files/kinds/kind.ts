import type { JsonFields } from './json.js';
import type { ReferenceWalk } from './references.js';

/** Fields of `spec` that another method takes than the one that updates the record. */
export interface Part {
  /** The method that sets them. */
  readonly method: string;
  readonly fields: readonly string[];
  /** Set when all records are there, since they name records that name this one. */
  readonly late?: true;
}

/** A kind of document: the methods of its records, and how its `spec` is compared. */
export interface DocumentKind {
  readonly kind: string;
  /** Where its records belong; `single`: the organisation has exactly one. */
  readonly reach: 'workspace' | 'organisation' | 'either' | 'single';
  /** null: it is always there. */
  readonly create: string | null;
  readonly list: string | null;
  /** null: lists have whole records. */
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
  /** Fields that matter when a record is made, and are not compared afterwards. */
  readonly once?: readonly string[];
  /** Paths that the gateway fills in: compared only where the document has them, and not exported. */
  readonly computed?: readonly string[];
  /** What absent fields mean, by their paths; `*` is any item. */
  readonly usual?: Readonly<Record<string, unknown>>;
  /** Values that take the place of fields which an earlier apply set and that cannot be without one. */
  readonly cleared?: Readonly<Record<string, JsonFields>>;
  /** Brings a spec into its one form where several mean the same. */
  readonly form?: (spec: JsonFields) => JsonFields;
  /** Lists of which only the named items are compared, and the field that names an item. */
  readonly keyed?: Readonly<Record<string, string>>;
  /** Where free JSON of the spec holds secrets. */
  readonly secrets?: 'config' | 'guardrail' | 'partner';
  readonly references?: ReferenceWalk;
  /** Of records that are known by something else than a slug, an id or a display name. */
  readonly identity?: DocumentIdentity;
  /** The method whose request has the fields of `spec`; the one that makes the record, unless given. */
  readonly specMethod?: string;
  /** `whole`: a change gives all fields to `update`; `never`: there is no method that changes a record. */
  readonly change?: 'whole' | 'never';
  /** Fields of each update besides what changes. */
  readonly withUpdate?: JsonFields;
  /** The field of the answer that has the secret of a new record. */
  readonly newSecret?: string;
  /** Is it exported only where a request names the kind? */
  readonly onRequest?: true;
}

/** How a record is known whose document's name is no slug, id or display name of it. */
export interface DocumentIdentity {
  /** What such a name must be, for people. */
  readonly form: string;
  readonly isName: (name: string) => boolean;
  /** One spelling of names that mean the same; absent: each is its own. */
  readonly normal?: (name: string) => string;
  /** The document's name of a record, as lists have it. */
  readonly nameOf: (json: JsonFields) => string;
  /** Its id among all records of its kind. */
  readonly idOf: (json: JsonFields) => string;
  /** The fields by which requests find the record of that id. */
  readonly requestOf: (id: string) => JsonFields;
  /** The request that makes a record: the fields that its name means, and its spec. `userId`: of an e-mail address. */
  readonly newRequest: (
    name: string,
    body: JsonFields,
    userId: (email: string) => Promise<string>,
  ) => Promise<JsonFields>;
  /** The id of a record that was made by `request`, where the answer has none. */
  readonly newId?: (request: JsonFields) => string;
}
